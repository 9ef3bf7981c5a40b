"""What is constructed is constructed once, in both builds, and is gone when it is dropped."""

import gc
from collections.abc import Iterator
from sys import getrefcount

import pytest

from antecede.core.packets import Message
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.mf import MfMessage
from antecede_lab.simulator.workloads.open_loop import Broadcast

TIMES = 50


def growth(make: Iterator[object]) -> int:
    """How many objects are left of those that were made and dropped."""
    next(make)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(TIMES):
        next(make)
    gc.collect()
    return len(gc.get_objects()) - before


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_process_that_was_dropped_leaves_nothing_behind(name: str) -> None:
    info = PROTOCOLS[name]
    assert growth(info.create(1, [1, 2, 3]) for _ in range(TIMES + 1)) < TIMES // 2


def test_a_workload_that_was_dropped_leaves_nothing_behind() -> None:
    made = (Broadcast(3, messages=5, interval_ns=10, seed=number) for number in range(TIMES + 1))
    assert growth(made) < TIMES // 2


def test_packets_let_go_of_the_messages_that_they_carried() -> None:
    messages = [Message(1, number, b"x") for number in range(TIMES)]
    before = [getrefcount(message) for message in messages]
    packets = [MfMessage(message) for message in messages]
    del packets
    assert [getrefcount(message) for message in messages] == before
