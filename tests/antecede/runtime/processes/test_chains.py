"""Real processes: while the end of a chain does not answer, its beginning can see that."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection

import pytest

from antecede.runtime.config.addresses import parse_address
from antecede_lab.child import Child
from tests.antecede.runtime.processes.groups import free_address

NAMES = ("a", "b", "c", "d")
PATIENCE_S = 60.0
CHAIN = "b waits for a, who waits for c, silent for "


@contextmanager
def four() -> Iterator[tuple[dict[str, Child], dict[str, str]]]:
    """Four nodes that have met, and where they serve their metrics."""
    where = {name: free_address() for name in NAMES}
    served = {name: free_address() for name in NAMES}
    with ExitStack() as stack:
        children: dict[str, Child] = {}
        for name in NAMES:
            others = [f"--peer={other}={where[other]}" for other in NAMES if other != name]
            command = ["node", "--name", name, "--bind", where[name], "--metrics", served[name]]
            child = Child.python("antecede", *command, "--expel=manual", *others, name=name)
            children[name] = stack.enter_context(child)
        for name in NAMES:
            others = [other for other in NAMES if other != name]
            children[name].tell({"to": others, "text": "here"})
        for name in NAMES:
            for _ in range(3):
                children[name].hear_until("from")
        for name in NAMES:
            # Or somebody may still owe a permit.
            wait_until_said(served[name], "/explain", "nothing is waiting")
        yield children, served


def get(address: str, path: str) -> tuple[int, str]:
    """The status and the body of what a node answers."""
    place = parse_address(address)
    connection = HTTPConnection(place.host, place.port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def wait_until_said(address: str, path: str, words: str) -> str:
    """What a node answers, once it says these words."""
    end = time.monotonic() + PATIENCE_S
    while words not in (said := get(address, path)[1]):
        assert time.monotonic() < end, said
        time.sleep(0.1)
    return said


def wait_until_logged(child: Child, words: str) -> None:
    """Wait for a line of the log."""
    end = time.monotonic() + PATIENCE_S
    while words not in child.said():
        assert time.monotonic() < end, child.said()
        time.sleep(0.1)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_b_and_a_say_that_b_waits_for_a_who_waits_for_c(how: signal.Signals) -> None:
    with four() as (children, served):
        children["c"].signal(how)
        children["a"].tell({"to": ["b", "c"], "text": "x"})
        assert children["b"].hear_until("from")["text"] == "x"
        children["b"].tell({"to": ["d"], "text": "y"})
        for name in "ab":
            wait_until_said(served[name], "/explain", CHAIN)
            assert get(served[name], "/readyz")[0] == 503
            assert get(served[name], "/healthz")[0] == 200
        assert get(served["d"], "/readyz")[0] == 200
        wait_until_logged(children["b"], CHAIN)
        wait_until_said(served["b"], "/metrics", "antecede_peer_held_back_messages{")
        assert 'peer="c"} 1.0' in get(served["b"], "/metrics")[1]
        children["a"].tell({"expel": "c", "reason": "so it was said"})
        assert children["d"].hear_until("from")["text"] == "y"
        wait_until_said(served["b"], "/readyz", '"blocked": []')
        assert get(served["b"], "/readyz")[0] == 200
        wait_until_logged(children["b"], "what was held back for a goes on")
        if how == signal.SIGSTOP:
            children["c"].kill()
        for name in "abd":
            children[name].end_input()
        assert [children[name].wait() for name in "abd"] == [0, 0, 0]
