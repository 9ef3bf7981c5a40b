"""Every line that a node is given gets one answer, and whatever it writes is JSON, in UTF-8."""

import asyncio
import io
import json
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antecede import open_node
from antecede.runtime import requests
from antecede.runtime.input_lines import InputLines
from antecede_cli.json_lines import serve_lines
from tests.antecede.runtime.killed_peers import meet_and_kill

Lines = list[dict[str, object]]

ENCODINGS = ["utf-8", "ascii", "latin-1"]


def not_json(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")


def served(source: bytes, encoding: str = "utf-8", *, killed: str = "", **options: object) -> Lines:
    """What a node writes that reads this, read as strictly as the standard wants it.

    It may know a peer that was `killed`.
    """

    async def story() -> bytes:
        written = io.BytesIO()
        # As the command has it: what the encoding lacks is no reason to fail.
        sink = io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace", newline="\n")
        async with open_node("alice", settings=options) as node:
            if killed:
                await meet_and_kill(node, killed)
            await serve_lines(node, io.BytesIO(source), sink)
        return written.getvalue()

    text = asyncio.run(story()).decode("utf-8")
    return [json.loads(line, parse_constant=not_json) for line in text.split("\n")[:-1]]


def answers(source: bytes, encoding: str = "utf-8") -> Lines:
    """The same without events and deliveries."""
    return [line for line in served(source, encoding) if "sent" in line or "error" in line]


def request(text: str, identity: str) -> bytes:
    return f'{{"to": ["alice"], "text": {text}, "id": {identity}}}\n'.encode()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", '[1, {"a": 1e999}]'])
def test_a_number_beyond_all_is_refused(number: str) -> None:
    (answer,) = answers(request('"x"', number))
    assert str(answer["error"]).startswith("not a JSON line: ")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", ["ä", "😀", "\\ud800", "\\udc00 alone", "\\u2028"])
def test_text_comes_back_whatever_the_locale(text: str, encoding: str) -> None:
    given_id = json.loads(f'"{text}"')
    (answer,) = answers(request('"x"', f'"{text}"'), encoding)
    assert answer["sent"] == given_id


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_delivery_comes_out_whole_whatever_the_locale(encoding: str) -> None:
    lines = served(request('"grüße 😀"', "1"), encoding)
    assert [line["text"] for line in lines if "from" in line] == ["grüße 😀"]


@pytest.mark.parametrize("depth", [30, 300, 3_000, 100_000, *range(900, 1000, 7)])
def test_an_id_of_any_depth_is_answered(depth: int) -> None:
    (answer,) = answers(request('"x"', "[" * depth + "]" * depth))
    assert "sent" in answer or "error" in answer


@pytest.mark.parametrize("key", ["expel", "reason"])
def test_an_expulsion_that_no_peer_could_read_is_refused(key: str) -> None:
    asked = {"expel": "bob", "reason": "gone"} | {key: "\ud800"}
    (answer,) = answers(json.dumps(asked).encode() + b"\n")
    assert "error" in answer


def test_who_is_away_is_named_in_the_answer() -> None:
    asked = [
        {"to": ["bob", "alice", "carol"], "text": "x", "id": 1},
        {"to": ["alice"], "text": "y", "id": 2},
        {"to": ["bob", "carol"], "text": "z", "id": 3},
    ]
    source = b"".join(json.dumps(line).encode() + b"\n" for line in asked)
    lines = served(source, peers=["bob", "carol"], meet_within=0)
    sent_to_some, sent_to_all, refused = [x for x in lines if "sent" in x or "error" in x]
    assert sent_to_some == {"sent": 1, "sequence": 1, "left_out": ["bob", "carol"]}
    assert sent_to_all == {"sent": 2, "sequence": 2}
    assert refused["id"] == 3
    assert "'bob' is away" in str(refused["error"])
    left_out = [line for line in lines if line.get("event") == "undeliverable"]
    assert [(line["peer"], line["sequences"], line["why"]) for line in left_out] == [
        ("bob", [1], "left out"),
        ("carol", [1], "left out"),
    ]
    assert [line["text"] for line in lines if "from" in line] == ["x", "y"]


def test_a_line_that_expels_goes_ahead_of_a_message_that_waits() -> None:
    """Or nobody could say with a line that the peer it waits for will not come."""
    asked = [
        {"to": ["bob"], "text": "fills the buffer", "id": 1},
        {"to": ["bob"], "text": "waits for room", "id": 2},
        {"to": ["alice"], "text": "y", "id": 3},
        {"expel": "bob", "reason": "it is dead"},
    ]
    source = b"".join(json.dumps(line).encode() + b"\n" for line in asked)
    lines = served(source, killed="bob", send_limit=1, linger=600)
    filling, refused, sent = [x for x in lines if "sent" in x or "error" in x]
    assert (filling, sent) == ({"sent": 1, "sequence": 1}, {"sent": 3, "sequence": 2})
    assert refused["id"] == 2
    assert "'bob' is away" in str(refused["error"])
    assert [line["reason"] for line in lines if line.get("event") == "expelled"] == ["it is dead"]


def test_a_request_that_waits_for_room_is_answered_once_when_its_peer_is_expelled() -> None:
    """And then the node leaves."""
    asked = [
        {"to": ["bob"], "text": "fills the buffer", "id": 1},
        {"request": "bob", "text": "waits for room", "id": 2},
        {"to": ["alice"], "text": "y", "id": 3},
        {"expel": "bob", "reason": "it is dead"},
    ]
    source = b"".join(json.dumps(line).encode() + b"\n" for line in asked)
    lines = served(source, killed="bob", send_limit=1, linger=600)
    found = [x for x in lines if "sent" in x or "error" in x]
    assert sorted(str(line.get("sent", line.get("id"))) for line in found) == ["1", "2", "3"]
    (refused,) = [line for line in found if "error" in line]
    assert "is away" in str(refused["error"])


@pytest.mark.parametrize("timeout", ["1e306", "1e18", "1" + 400 * "0", "-1", "true", '"soon"'])
def test_a_timeout_that_is_no_time_is_refused(timeout: str) -> None:
    line = f'{{"request": "bob", "text": "x", "id": 1, "timeout": {timeout}}}\n'
    first, second = answers(line.encode() + request('"x"', "2"))
    assert "number of seconds" in str(first["error"])
    assert second == {"sent": 2, "sequence": 1}


def test_beyond_the_limit_of_requests_a_line_is_answered_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "UNDER_WAY_MAX", 0)
    line = b'{"request": "bob", "text": "x", "id": 1}\n'
    first, second = answers(line + request('"x"', "2"))
    assert "requests are waiting for replies" in str(first["error"])
    assert second == {"sent": 2, "sequence": 1}


def test_a_line_that_expels_passes_no_message_but_those_that_wait() -> None:
    """What stands between two such lines is done between them."""

    async def story() -> list[bytes]:
        lines = InputLines(io.BytesIO(b"first\nurgent 1\nbetween\nurgent 2\n"), urgent=is_urgent)
        await lines.ended.wait()
        found = [await lines.next_line()]
        assert lines.take_urgent() == b"urgent 1\n"  # The first line waits.
        found += [await lines.next_line() for _ in range(3)]
        return found

    def is_urgent(line: bytes) -> bool:
        return line.startswith(b"urgent")

    assert asyncio.run(story()) == [b"first\n", b"between\n", b"urgent 2\n", b""]


text = st.text(max_size=20) | st.sampled_from(["alice", "bob", "\ud800", "\x00", "\x85"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)
keys = st.sampled_from(["to", "text", "base64", "id", "expel", "reason", "x"])
objects = st.dictionaries(keys, values, max_size=5)
messages = st.fixed_dictionaries({"to": st.just(["alice"]), "text": text, "id": values})
written = (messages | objects | values).map(lambda value: json.dumps(value).encode())
torn = st.tuples(written, st.integers(0, 40)).map(lambda pair: pair[0][: pair[1]])
raw = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b""))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(written | torn | raw, max_size=40), st.sampled_from(ENCODINGS[:2]))
def test_every_line_gets_one_answer(lines: list[bytes], encoding: str) -> None:
    """Nobody can be expelled here, so an expulsion is answered with an error, too."""
    found = answers(b"".join(line + b"\n" for line in lines), encoding)
    assert len(found) == len(lines)
