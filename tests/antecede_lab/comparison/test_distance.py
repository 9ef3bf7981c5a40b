"""Throughput and messages in transit, near and far."""

import pytest

from antecede.core.packets import DataPacket, Message
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.latency import CopyTimes, TimedCopy, in_transit_max, middle_rate
from antecede_lab.comparison.long_runs import SERVICES, STREAM, flow
from tests.antecede_lab.comparison.tiny import TINY

NEAR, FAR = TINY.distances_ms


@pytest.mark.parametrize("name", ["hybrid", "rst", "bss", "newtop", "tree"])
def test_stream_does_not_slow_down_with_distance(name: str) -> None:
    near, far = (flow(PROTOCOLS[name], STREAM, ms, TINY, 1) for ms in (NEAR, FAR))
    assert near.rate == pytest.approx(far.rate, rel=0.05)
    assert (near.in_transit, far.in_transit) == (10 * NEAR, 10 * FAR)


@pytest.mark.parametrize("name", ["mf", "cykas"])
def test_one_message_per_round_trip_is_a_limit(name: str) -> None:
    near, far = (flow(PROTOCOLS[name], STREAM, ms, TINY, 1) for ms in (NEAR, FAR))
    assert near.rate == pytest.approx(1000 / (2 * NEAR))
    assert far.rate == pytest.approx(1000 / (2 * FAR))
    assert near.in_transit == far.in_transit == 1


def test_cykas_has_one_in_transit_for_each_receiver_and_mf_one_in_all() -> None:
    cykas, mf = (flow(PROTOCOLS[name], SERVICES, FAR, TINY, 1) for name in ("cykas", "mf"))
    assert mf.in_transit == 1
    assert 1 < cykas.in_transit <= 4


def test_services_are_as_fast_far_away_under_hybrid_but_not_under_mf() -> None:
    rates = {
        name: [flow(PROTOCOLS[name], SERVICES, ms, TINY, 1).rate for ms in (NEAR, FAR)]
        for name in ("hybrid", "mf")
    }
    assert rates["hybrid"][1] > 0.8 * rates["hybrid"][0]
    assert rates["mf"][1] < 0.5 * rates["mf"][0]


def travelled(sender: int, left_ns: int, arrived_ns: int) -> TimedCopy:
    copy = TimedCopy(sender, 0, 0)
    copy.left_ns, copy.arrived_ns, copy.delivered_ns = left_ns, arrived_ns, arrived_ns
    return copy


def test_in_transit_counts_what_overlaps_of_one_sender() -> None:
    copies = [travelled(0, 0, 10), travelled(0, 5, 15), travelled(0, 10, 20), travelled(1, 5, 15)]
    assert in_transit_max(copies) == 2
    assert in_transit_max(copies[:1]) == 1


def test_copy_leaves_when_it_is_first_transmitted_and_counts_those_ahead() -> None:
    times = CopyTimes(3)
    first, second, third = (Message(0, sequence, b"") for sequence in (1, 2, 3))
    times.submitted(0, first, [1, 2], 10)
    times.transmitted(0, 1, DataPacket(first, 0, False), 0, 11)
    times.transmitted(0, 1, DataPacket(first, 0, False), 1, 19)
    times.submitted(0, second, [1], 20)
    times.transmitted(0, 2, DataPacket(second, 0, False), 2, 21)
    times.submitted(0, third, [1], 30)
    seen = {key: (copy.ahead, copy.left_ns) for key, copy in times.copies.items()}
    assert seen == {
        (0, 1, 1): (0, 11),
        (0, 1, 2): (0, -1),
        (0, 2, 1): (1, 21),
        (0, 3, 1): (1, -1),
    }, "the second left by way of a relay"


def test_rate_is_that_of_the_middle_half() -> None:
    """A slow start and a slow end do not count."""
    times = [0, 9, 90, 91, 92, 93, 94, 200]
    assert middle_rate([travelled(0, 0, time) for time in times]) == pytest.approx(4e9 / 4)
    assert middle_rate([travelled(0, 0, 5)] * 4) == 0.0
