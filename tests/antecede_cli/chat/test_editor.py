"""The line that is being typed."""

import pytest

from antecede_cli.messaging.chat_session import LineEditor


@pytest.mark.parametrize(
    ("keys", "lines", "rest"),
    [
        (b"hello\n", ["hello"], ""),
        (b"one\rtwo\nthr", ["one", "two"], "thr"),
        (b"\n", [""], ""),
        (b"helo\x7flo\n", ["hello"], ""),
        (b"\x7f\x08x", [], "x"),
        (b"all of it\x15new", [], "new"),
        (b"one two  \x17three", [], "one three"),
        (b"a\x1b[Ab\x1b[1;5Cc\x1bOPd\x1bxe", [], "abcde"),
        (b"a\tb\x01\x02", [], "a b"),
        ("Grüße 👋\n".encode(), ["Grüße 👋"], ""),
    ],
)
def test_keys_make_lines(keys: bytes, lines: list[str], rest: str) -> None:
    editor = LineEditor()

    assert editor.feed(keys) == lines
    assert (editor.text, editor.ended) == (rest, False)


def test_a_letter_may_come_in_pieces() -> None:
    editor = LineEditor()
    for byte in "é".encode():
        editor.feed(bytes([byte]))

    assert editor.text == "é"


def test_the_end_comes_with_no_bytes_and_keeps_what_was_typed() -> None:
    editor = LineEditor()
    editor.feed(b"unfinished")

    assert editor.feed(b"") == ["unfinished"]
    assert editor.ended
    assert LineEditor().feed(b"") == []


def test_ctrl_d_ends_on_an_empty_line_only() -> None:
    editor = LineEditor()
    assert editor.feed(b"x\x04") == []
    assert not editor.ended

    assert editor.feed(b"\n\x04ignored\n") == ["x"]
    assert editor.ended
