"""Ctrl-C while a process is being started."""

import signal
import threading
from collections.abc import Iterator

import pytest

from antecede_lab.child import interrupts_held


@pytest.fixture(autouse=True)
def as_in_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_takes_effect_at_the_end_of_the_block() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 what happens inside is the point
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            steps.append("to the end of the block")
        steps.append("beyond it")

    assert steps == ["to the end of the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def fail_after_an_interrupt() -> None:
    with interrupts_held():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("first")


def test_a_failure_in_the_block_is_not_hidden_by_the_interrupt() -> None:
    with pytest.raises(ValueError, match="first"):
        fail_after_an_interrupt()

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_interrupts_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_held():
        signal.raise_signal(signal.SIGINT)

    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_have_nothing_to_hold() -> None:
    reached = []

    def hold() -> None:
        with interrupts_held():
            reached.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()

    assert reached == [signal.default_int_handler]
