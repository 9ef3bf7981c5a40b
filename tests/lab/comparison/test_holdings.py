"""What the state of a process follows, and how latency follows the length of a run."""

import pytest

from antecede.core.catalogue import PROTOCOLS
from antecede.lab.comparison.holdings import (
    ACKNOWLEDGED,
    BUFFERED,
    HOLDINGS,
    PERMITS,
    UNACKNOWLEDGED,
    state_holding,
)
from antecede.lab.comparison.lengths import group_run


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


def test_who_sends_one_at_a_time_keeps_the_rest_in_its_buffer() -> None:
    assert per_message("mf", ACKNOWLEDGED) == per_message("mf", UNACKNOWLEDGED) == 3


def test_latency_in_groups_does_not_follow_the_length_of_a_run() -> None:
    """Under CSPS; and it is that of the messages, not of the conversation."""
    short, long = (group_run(PROTOCOLS["hybrid-csps"], messages, 1) for messages in (300, 900))
    assert 2.5 < short.mean < 4
    assert long.mean == pytest.approx(short.mean, rel=0.2)
    assert long.longest < 5.5
