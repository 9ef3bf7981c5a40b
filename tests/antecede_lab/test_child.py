"""Processes spoken to in JSON lines: what is heard of them, and that none is left behind."""

import os
import signal
import sys

import pytest

from antecede_lab.child import Child, ChildFailed


def test_a_child_that_dies_is_told_with_what_it_said() -> None:
    code = "import sys; print('oh no', file=sys.stderr); sys.exit(3)"
    with Child([sys.executable, "-c", code], name="fragile") as child:
        with pytest.raises(ChildFailed, match=r"fragile ended without an answer"):
            child.hear()
        child.wait()
        with pytest.raises(ChildFailed, match=r"(?s)exit status 3.*oh no"):
            child.hear()


def test_a_child_is_gone_after_its_context_even_if_it_does_not_listen() -> None:
    code = "import time; print('{}', flush=True); time.sleep(1000)"
    with pytest.raises(ChildFailed, match="said nothing for"):  # noqa: PT012, SIM117 the whole life of the child is under test
        with Child([sys.executable, "-c", code]) as child:
            assert child.hear() == {}
            child.hear(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, signal.SIGCONT)


def test_lines_are_told_and_heard_in_order() -> None:
    code = "import sys\nfor line in sys.stdin: print(line, line, sep='')"
    with Child([sys.executable, "-u", "-c", code]) as echo:
        echo.tell({"a": 1})
        echo.tell({"b": 2})
        assert [echo.hear() for _ in range(3)] == [{"a": 1}, {"a": 1}, {"b": 2}]
        assert echo.ask({"c": 3}) == {"b": 2}
        assert echo.hear_until("c") == {"c": 3}
        echo.end_input()
        assert echo.hear_or_end() == {"c": 3}
        assert echo.hear_or_end() is None


@pytest.mark.parametrize("said", ["no json", "[1]"])
def test_what_is_no_json_object_is_an_error(said: str) -> None:
    with (
        Child([sys.executable, "-c", f"print({said!r})"]) as child,
        pytest.raises(ChildFailed, match="which is not"),
    ):
        child.hear()


def test_reading_what_a_child_complains_of_leaves_its_complaints_alone() -> None:
    code = (
        "import sys\n"
        "for line in sys.stdin: print(line, end='', file=sys.stderr, flush=True); print('{}')"
    )
    with Child([sys.executable, "-u", "-c", code]) as child:
        for number in range(3):
            child.ask({"line": number})
            assert child.said().splitlines()[-1] == f'{{"line": {number}}}'
        assert len(child.said().splitlines()) == 3
