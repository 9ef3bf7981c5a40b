"""Clones and fingerprints follow from the fields that a class declares: none may be missing."""

from collections import deque
from random import Random

import pytest

from antecede.core.cloning import attributes_of, shown, twin_of
from antecede.core.errors import LocalError
from antecede.core.process import CausalProcess
from antecede.core.retransmission import RetransmissionTimer, RetransmissionTimers
from antecede.core.sliding import SlidingArray
from antecede_lab.catalogue import PROTOCOLS
from tests.properties.schedule import ROUGH, Schedule, run_randomly


def undeclared(process: CausalProcess) -> dict[str, str]:
    """The fields that a clone does not get, as they are now."""
    kind = type(process)
    names = attributes_of(kind) or list(vars(process))
    left = [name for name in names if name not in (*kind.STATE, *kind.ASIDE, "__dict__")]
    return {name: repr(shown(getattr(process, name))) for name in left}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_field_that_changes_is_declared(name: str) -> None:
    for seed in range(5):
        schedule = Schedule(PROTOCOLS[name], 4)
        before = [undeclared(process) for process in schedule.processes]
        run_randomly(schedule, Random(seed), messages=30, eagerness=0.6, trouble=ROUGH)
        assert [undeclared(process) for process in schedule.processes] == before, f"seed {seed}"


def test_what_is_shared_is_shared_among_the_copies() -> None:
    alarms, one, two = RetransmissionTimers(10), RetransmissionTimer(1), RetransmissionTimer(2)
    alarms.start(one, 0)
    queue = deque([one, two])
    copied, copied_queue, by_owner = twin_of((alarms, queue, {1: one, 2: two}))

    assert copied.expired(10) == [by_owner[1]] == [copied_queue[0]]
    assert by_owner[1] is not one
    assert copied_queue[1] is by_owner[2]
    assert alarms.expired(10) == [one]


def test_a_container_may_hold_a_record_that_holds_it() -> None:
    window: SlidingArray[object] = SlidingArray()
    around = [window]
    window.add(around)
    copied = twin_of(around)

    assert copied[0].peek() is copied
    assert copied[0] is not window


def test_mappings_and_sets_are_shown_in_order_and_lists_as_they_are() -> None:
    assert shown({2: [3, 1], 1: {5, 4}}) == [(1, [4, 5]), (2, [3, 1])]
    assert shown({1: {5, 4}, 2: deque([3, 1])}) == [(1, [4, 5]), (2, [3, 1])]
    assert shown((1, {})) == (1, [])


def test_a_process_that_says_nothing_about_itself_cannot_be_cloned() -> None:
    class Forgetful(CausalProcess):
        def submit(self, *_: object) -> list[object]:  # type: ignore[override]  # never called
            return []

        def arrive(self, *_: object) -> list[object]:  # type: ignore[override]  # never called
            return []

    with pytest.raises(LocalError, match="Forgetful has neither `anew` nor a `clone`"):
        Forgetful().clone()
