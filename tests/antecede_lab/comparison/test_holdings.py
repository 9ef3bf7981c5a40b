"""What the state of a process follows, and how latency follows the length of a run."""

import pytest

from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.long_runs import group_run
from antecede_lab.comparison.space import (
    ACKNOWLEDGED,
    BUFFERED,
    HOLDINGS,
    PERMITS,
    UNACKNOWLEDGED,
    state_holding,
)


def per_message(name: str, holding: str) -> float:
    """Integers that one more message of this sort costs."""
    few, many = (state_holding(PROTOCOLS[name], holding, count) for count in (10, 60))
    return (many - few) / 50


@pytest.mark.parametrize("holding", HOLDINGS)
def test_matrix_does_not_follow_what_is_under_way(holding: str) -> None:
    assert per_message("rst", holding) == 0


@pytest.mark.parametrize("holding", [UNACKNOWLEDGED, PERMITS, BUFFERED])
@pytest.mark.parametrize("name", ["hybrid", "hybrid-csps", "paper-sps"])
def test_hybrid_keeps_a_few_integers_for_what_is_held(name: str, holding: str) -> None:
    assert 1 <= per_message(name, holding) <= 10


@pytest.mark.parametrize("name", ["hybrid", "hybrid-sps", "hybrid-csps"])
def test_hybrid_keeps_nothing_of_what_was_acknowledged_behind_one_that_was_not(name: str) -> None:
    assert state_holding(PROTOCOLS[name], ACKNOWLEDGED, 1000) < 200


def test_listings_of_the_paper_keep_what_was_acknowledged_behind_one_that_was_not() -> None:
    """A sliding array has a cell for everything from the oldest on."""
    assert per_message("paper-sps", ACKNOWLEDGED) == 4


def test_who_sends_one_at_a_time_keeps_the_rest_in_its_buffer() -> None:
    assert per_message("mf", ACKNOWLEDGED) == per_message("mf", UNACKNOWLEDGED) == 3


@pytest.mark.parametrize("name", ["hybrid", "hybrid-csps"])
def test_latency_in_groups_does_not_follow_the_length_of_a_run(name: str) -> None:
    short, long = (group_run(PROTOCOLS[name], messages, 1) for messages in (300, 900))
    assert 2.5 < short.mean < 4
    assert long.mean == pytest.approx(short.mean, rel=0.2)
    assert long.longest < 5.5


def test_latency_in_groups_grows_with_the_run_where_messages_overtake_each_other() -> None:
    """The paper's rule: every message leaves as early as it may, and others pay for it."""
    short, long = (group_run(PROTOCOLS["hybrid-sps"], messages, 1) for messages in (1_000, 4_000))
    assert long.mean > 1.2 * short.mean
    assert long.longest > 2 * short.longest
