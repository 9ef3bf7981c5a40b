"""How late a protocol is, compared with RST on the same network."""

from dataclasses import replace

import pytest

from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.latency import lateness, run_copies
from antecede_lab.comparison.long_runs import conversation_waits
from tests.antecede_lab.comparison.tiny import TINY

LATE = replace(TINY, latency_messages_each=25)


@pytest.mark.parametrize("name", ["rst", "ks", "prs", "ses", "bss"])
def test_optimal_protocols_deliver_at_the_very_instant_of_rst(name: str) -> None:
    seen = lateness(PROTOCOLS[name], 2.0, LATE, 1)
    assert (seen.mean, seen.longest, seen.least, seen.per_buffered) == (0.0, 0.0, 0.0, 0.0)
    assert seen.trend.latency_ns > 900_000


def test_every_protocol_meets_the_same_traffic_and_the_same_delays() -> None:
    rst, hybrid = (
        run_copies(PROTOCOLS[name], PROTOCOLS["rst"], 1.0, LATE, 1).copies
        for name in ("rst", "hybrid")
    )
    assert list(rst) == list(hybrid)
    for key, copy in rst.items():
        other = hybrid[key]
        assert copy.submitted_ns == other.submitted_ns
        assert copy.arrived_ns - copy.left_ns == other.arrived_ns - other.left_ns


def test_sender_buffering_is_late_at_the_sender_and_more_so_under_load() -> None:
    calm, busy = (lateness(PROTOCOLS["mf"], load, LATE, 1) for load in (0.1, 2.0))
    assert busy.mean > 5 * calm.mean > 0
    assert busy.sender == pytest.approx(busy.mean, rel=0.05)
    assert busy.per_buffered <= 1.0
    assert busy.longest > 3.0


def test_newtop_is_late_at_the_receiver_by_as_much_as_its_patience() -> None:
    short, long = (lateness(PROTOCOLS["newtop"], 0.1, LATE, 1, ms * 1_000_000) for ms in (20, 100))
    assert short.sender == long.sender == 0.0
    assert long.longest > 3 * short.longest > 0


def test_hybrid_is_late_by_round_trips_in_random_traffic() -> None:
    seen = lateness(PROTOCOLS["hybrid"], 2.0, LATE, 1)
    assert 0 < seen.mean < seen.longest < 3.0


def test_detour_is_on_neither_side() -> None:
    seen = lateness(PROTOCOLS["tree"], 0.1, LATE, 1)
    assert seen.mean > 0.1
    assert seen.sender == 0.0
    assert abs(seen.receiver) < 0.01


@pytest.mark.parametrize("name", ["hybrid-sps", "paper-sps"])
def test_reports_fall_further_behind_with_every_turn_under_sps(name: str) -> None:
    """A word takes half a round trip, a report one and a half: one more to wait for each turn."""
    assert [conversation_waits(PROTOCOLS[name], turns).longest for turns in (5, 10)] == [4.0, 9.0]


@pytest.mark.parametrize(
    "name", ["hybrid", "hybrid-csps", "paper-basic", "paper-multicast", "cykas", "mf"]
)
def test_reports_wait_for_one_round_trip_where_words_wait_too(name: str) -> None:
    assert [conversation_waits(PROTOCOLS[name], turns).longest for turns in (5, 10)] == [1.0, 1.0]


def test_reports_do_not_wait_under_receiver_buffering() -> None:
    assert conversation_waits(PROTOCOLS["ks"], 10).longest == 0.0
