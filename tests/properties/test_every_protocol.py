"""What every protocol of the catalogue promises, under every schedule its network allows.

Adding a protocol to the catalogue adds it here. A failure prints the seed that repeats it.
"""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.catalogue import ProtocolInfo
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import PROTOCOLS
from tests.properties.schedule import ROUGH, Schedule, Trouble, broken_promises, run_randomly

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 6)
troubles = st.builds(
    Trouble, loss=st.floats(0, 0.5), duplication=st.floats(0, 0.4), expiry=st.floats(0, 0.1)
)


def scheduled(
    info: ProtocolInfo, seed: int, processes: int, trouble: Trouble, **options: object
) -> Schedule:
    random = Random(seed)
    schedule = Schedule(info, processes, **options)
    run_randomly(
        schedule,
        random,
        messages=random.randint(5, 40),
        eagerness=random.choice([0.1, 0.3, 0.6, 0.9]),
        trouble=trouble,
    )
    return schedule


@pytest.mark.parametrize("name", PROTOCOLS)
@given(seed=seeds, processes=sizes, trouble=troubles)
def test_delivery_is_ordered_complete_and_exactly_once(
    name: str, seed: int, processes: int, trouble: Trouble
) -> None:
    """Safety under every fault the network allows; liveness when the faults have stopped."""
    schedule = scheduled(PROTOCOLS[name], seed, processes, trouble)

    assert broken_promises(PROTOCOLS[name], schedule) == []
    assert schedule.refused == 0, "an honest packet was refused"


@pytest.mark.parametrize("name", PROTOCOLS)
@given(seed=seeds)
def test_at_rest_nobody_wants_a_timer_and_nothing_is_under_way(name: str, seed: int) -> None:
    """Every buffer empties: a further expiry, far in the future, has nothing left to do."""
    schedule = scheduled(PROTOCOLS[name], seed, 4, ROUGH)

    assert schedule.flights == []
    for process in schedule.processes:
        assert process.deadline_ns() is None
        assert process.expire(schedule.now_ns + 10**12) == []


@pytest.mark.parametrize("name", PROTOCOLS)
@given(seed=seeds)
def test_the_same_calls_give_the_same_effects(name: str, seed: int) -> None:
    """Two runs with one seed write the same log, to the last byte."""
    first = scheduled(PROTOCOLS[name], seed, 4, ROUGH)
    second = scheduled(PROTOCOLS[name], seed, 4, ROUGH)

    assert first.log.digest() == second.log.digest()


@pytest.mark.parametrize("name", PROTOCOLS)
@given(seed=seeds)
def test_a_clone_goes_on_as_the_original_would(name: str, seed: int) -> None:
    """Replaced by a clone at any moment, nobody can tell."""
    info = PROTOCOLS[name]
    schedules = [Schedule(info, 4), Schedule(info, 4)]
    for index in range(2):
        own = Random(seed)
        cloning = Random(seed + 1)
        schedule = schedules[index]
        for _ in range(30):
            if own.random() < 0.4 or not schedule.flights:
                me = own.choice(schedule.everyone)
                others = [process for process in schedule.everyone if process != me]
                schedule.submit(me, others if info.broadcast_only else [own.choice(others)])
            else:
                schedule.arrive(schedule.next_of_some_pair(own))
            if own.random() < 0.1:
                schedule.expire(own.choice(schedule.everyone))
            if index == 1:
                me = cloning.choice(schedule.everyone)
                original = schedule.processes[me]
                clone = schedule.processes[me] = original.clone()
                assert clone.fingerprint() == original.fingerprint()
                assert clone.deadline_ns() == original.deadline_ns()

    assert schedules[0].log.digest() == schedules[1].log.digest()


# `none` holds nothing back, and `mf` and `blocking` have one message under way, never more.
WITH_A_RECEIVE_BUFFER = [
    name
    for name, info in PROTOCOLS.items()
    if info.network == "lossy" and name not in ("none", "mf", "blocking")
]


@pytest.mark.parametrize("name", WITH_A_RECEIVE_BUFFER)
@given(seed=seeds)
def test_a_tiny_receive_buffer_drops_but_never_blocks(name: str, seed: int) -> None:
    """What does not fit comes again; the next in turn always fits."""
    schedule = scheduled(PROTOCOLS[name], seed, 3, ROUGH, receive_limit=1)

    assert broken_promises(PROTOCOLS[name], schedule) == []


UNORDERED = ["fifo", "none"]


@pytest.mark.parametrize("name", UNORDERED)
def test_the_controls_do_break_causal_order(name: str) -> None:
    """They are there to show what happens without it: across some seeds, violations appear."""
    runs = [scheduled(PROTOCOLS[name], seed, 4, ROUGH) for seed in range(20)]

    assert sum(len(check_log(run.log).violations) for run in runs) > 0
