"""Whoever comes, leaves, dies, pauses or is cut off: random worlds under a policy, judged."""

import os

import pytest

from antecede.eventlog.schema import Event
from antecede.events import LEFT_OUT as REPORTED_AS
from antecede_audit.judging.send_outcomes import (
    LEFT_OUT,
    OutcomeReport,
    Send,
    SendOutcomes,
    judge_outcomes,
)
from tests.members.worlds import world_of, wrong_with

WORLDS_PER_TEST = 20
CAMPAIGN = int(os.environ.get("ANTECEDE_CAMPAIGN", "0"))
"""So many more worlds, for a campaign."""


def judged(first: int, worlds: int) -> None:
    for seed in range(first, first + worlds):
        world = world_of(seed)
        assert wrong_with(world, world.run()) == {}, f"world {seed}"


@pytest.mark.parametrize("first", range(0, 160, WORLDS_PER_TEST))
def test_order_is_causal_and_every_target_is_accounted_for_and_nobody_waits_for_long(
    first: int,
) -> None:
    judged(first, WORLDS_PER_TEST)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 4_000 + CAMPAIGN, 100))
def test_the_same_in_thousands_of_worlds(first: int) -> None:
    judged(first, 100)


@pytest.mark.parametrize("protocol", ["hybrid-sps", "hybrid-csps"])
def test_the_same_under_the_other_causal_protocols(protocol: str) -> None:
    for seed in range(5_000, 5_012):
        world = world_of(seed)
        assert wrong_with(world, world.run(protocol)) == {}, f"world {seed}"


def test_worlds_have_everything_in_them() -> None:
    """Of a few dozen, some expel, leave out, lose their power and end without a majority."""
    results = [world_of(seed).run() for seed in range(40)]
    counts = dict.fromkeys(("PeerExpelled", "NodeFenced", "PowerFailed", "Undeliverable"), 0)
    for result in results:
        for kind in counts:
            counts[kind] += result.reports.get(kind, 0)
    assert min(counts.values()) > 0, counts
    assert any(result.left_out for result in results)
    assert any(result.departures.left for result in results)


def delivered(sender: int, sequence: int, process: int) -> Event:
    return Event(
        process=process,
        position=1,
        kind="delivered",
        sender=sender,
        sequence=sequence,
        target=process,
        time_ns=1,
    )


def outcomes(*reports: OutcomeReport, calls: tuple[int, ...] = (1, 2)) -> SendOutcomes:
    sends = [Send(0, sequence, call, ("b",)) for sequence, call in enumerate(calls, start=1)]
    return SendOutcomes(sends=sends, reports=list(reports), lives={"b": {1, 2}})


def test_the_judge_of_outcomes_finds_every_kind_of_wrong() -> None:
    assert LEFT_OUT == REPORTED_AS
    both = [delivered(0, 1, 1), delivered(0, 2, 2)]
    out, gone = OutcomeReport(0, 1, "b", LEFT_OUT), OutcomeReport(0, 1, "b", "gone")
    assert judge_outcomes(both, outcomes()) == {}
    assert judge_outcomes(both[1:], outcomes(out)) == {}
    assert judge_outcomes(both, outcomes(gone)) == {}
    assert set(judge_outcomes(both[1:], outcomes())) == {"neither delivered nor told"}
    assert set(judge_outcomes(both, outcomes(out))) == {"left out, and delivered"}
    assert set(judge_outcomes(both, outcomes(gone, gone))) == {"told too often"}
    assert set(judge_outcomes(both[1:], outcomes(gone, out))) == {"told two things"}
    assert set(judge_outcomes(both, outcomes(calls=(2, 1)))) == {"out of turn"}
    assert set(judge_outcomes(both, outcomes(OutcomeReport(0, 7, "b", "gone")))) == {"never sent"}
    again = outcomes(gone, gone)
    again.crashes[0] = 1
    assert judge_outcomes(both, again) == {}
    dead = outcomes()
    dead.silenced.add(0)
    assert judge_outcomes([], dead) == {}
