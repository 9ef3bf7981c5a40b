"""Work per message, in executed lines: it follows the budget, not who or how much there is."""

import pytest

import antecede
from bench.steps import Ring, StepCounter, spread, steps_with_processes, steps_with_unacked

SPREAD_MAX = 1.2
MESSAGES = 150

pytestmark = pytest.mark.skipif(
    antecede.compiled(), reason="compiled code reports no lines; the interpreted build counts them"
)


def test_steps_do_not_grow_with_the_processes() -> None:
    """Fewer of them share destinations when there are more: it costs less, if anything."""
    few, *more = [steps_with_processes("hybrid-facts", processes) for processes in (10, 100, 1_000)]

    assert spread(more) < SPREAD_MAX, more
    assert more[0].steps_per_message < few.steps_per_message


def test_steps_do_not_grow_with_the_unacked() -> None:
    series = [steps_with_unacked("hybrid-facts", unacked) for unacked in (100, 1_000, 10_000)]

    assert spread(series) < SPREAD_MAX, series


def steps_with_budget(facts: int, load: int) -> float:
    """Steps per message among 24 processes that all talk, with so many packets under way."""
    ring = Ring("hybrid-facts", 24, seed=3)
    for me in range(24):
        ring.processes[me] = ring.info.create(me, ring.everyone, facts=facts)
    for _ in range(load):
        ring.submit(ring.random.randrange(24))
    with StepCounter() as counter:
        for _ in range(MESSAGES):
            ring.submit(ring.random.randrange(24))
            while len(ring.flights) > load:
                ring.carry()
    return counter.steps / MESSAGES


def test_steps_grow_at_most_in_proportion_to_the_budget() -> None:
    """Four times the facts, in traffic that has use for them, at most four times the work."""
    steps = [steps_with_budget(facts, 80) for facts in (4, 16, 64)]

    assert steps[1] < 4 * steps[0]
    assert steps[2] < 4 * steps[1]
