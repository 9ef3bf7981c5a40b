"""A path: when it probes, when it gives up hope, and how much it lets leave."""

import pytest

from antecede.core import RemoteError
from antecede.core.process import NEVER_NS
from antecede.transport.recovery.ack_ranges import AckRanges
from antecede.transport.recovery.cubic import DECREASE, INITIAL_DATAGRAMS, LEAST_DATAGRAMS
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.recovery.path import (
    COLLAPSE_PROBES,
    PROBE_DOUBLINGS_MAX,
    PROBE_NS_MAX,
    Path,
)
from antecede.transport.recovery.round_trip import ACK_DELAY_NS

MS = 1_000_000
SECOND = 1_000 * MS
SIZE = 1_000
TRIP_NS = 10 * MS


def ack(*ranges: tuple[int, int]) -> AckRanges:
    """An acknowledgement of these ranges, newest first."""
    acked = AckRanges()
    for first, last in ranges:
        acked.firsts.append(first)
        acked.lasts.append(last)
    return acked


def leave(path: Path, now_ns: int, *, eliciting: bool = True, size: int = SIZE) -> int:
    """A datagram leaves; its number."""
    sent = SentDatagram(path.next_number(), now_ns)
    sent.size = size
    sent.eliciting = eliciting
    path.on_sent(sent, now_ns)
    return int(sent.number)


def settled_path(trip_ns: int = TRIP_NS) -> Path:
    """A path on which answers have always taken `trip_ns`."""
    path = Path(SIZE, 1 << 30)
    for turn in range(60):
        number = leave(path, turn * SECOND)
        path.on_ack(ack((1, number)), 0, turn * SECOND + trip_ns)
    assert path.round_trip.smoothed_ns == trip_ns
    return path


def rings(path: Path, count: int) -> list[int]:
    """When the next probes are wanted, if no answer ever comes."""
    times: list[int] = []
    while len(times) < count:
        now_ns = int(path.wake_ns())
        path.expire(now_ns)
        if path.take_probe():
            times.append(now_ns)
    return times


def test_a_path_with_nothing_on_the_way_wants_no_timer() -> None:
    path = settled_path()
    assert path.wake_ns() == NEVER_NS
    leave(path, 100 * SECOND, eliciting=False)
    assert path.wake_ns() == NEVER_NS
    path.expire(10**15)
    assert not path.take_probe()


def test_probes_without_an_answer_come_at_growing_intervals_up_to_a_limit() -> None:
    path = settled_path()
    now_ns = 100 * SECOND
    leave(path, now_ns)
    patience = int(path.round_trip.probe_timeout_ns())

    times = rings(path, 12)
    intervals = [after - before for before, after in zip([now_ns, *times], times, strict=False)]
    longest = 2 * TRIP_NS + PROBE_NS_MAX
    assert intervals == [
        min(patience << min(probes, PROBE_DOUBLINGS_MAX), longest) for probes in range(12)
    ]
    assert intervals[-1] == min(patience << PROBE_DOUBLINGS_MAX, longest)


def test_the_longest_interval_is_a_little_more_than_two_round_trips() -> None:
    path = settled_path(5 * SECOND)
    leave(path, 200 * SECOND)
    times = rings(path, 10)
    assert times[-1] - times[-2] == 2 * 5 * SECOND + PROBE_NS_MAX


def test_the_first_probe_waits_for_a_round_trip_and_the_peers_delay() -> None:
    path = settled_path()
    leave(path, 100 * SECOND)
    leave(path, 100 * SECOND + MS)
    assert rings(path, 1)[0] >= 100 * SECOND + TRIP_NS + ACK_DELAY_NS


def test_an_answer_ends_the_back_off() -> None:
    path = settled_path()
    leave(path, 100 * SECOND)
    second = leave(path, 100 * SECOND)
    now_ns = rings(path, 4)[-1]
    assert path.probes == 4

    path.on_ack(ack((1, second - 1)), 0, now_ns)
    assert path.probes == 0
    assert rings(path, 1) == [now_ns + int(path.round_trip.probe_timeout_ns())]


def test_a_few_probes_in_vain_make_the_window_collapse_once() -> None:
    path = settled_path()
    leave(path, 100 * SECOND)
    rings(path, COLLAPSE_PROBES - 1)
    assert path.congestion.window == INITIAL_DATAGRAMS * SIZE
    rings(path, 1)
    assert path.congestion.window == LEAST_DATAGRAMS * SIZE

    path.congestion.window = 8 * SIZE
    rings(path, 5)
    assert path.congestion.window == 8 * SIZE


def test_what_is_taken_for_lost_by_time_is_found_when_the_timer_rings() -> None:
    path = settled_path()
    start_ns = 100 * SECOND
    first = leave(path, start_ns)
    second = leave(path, start_ns + MS)
    lost = path.on_ack(ack((second, second), (1, first - 1)), 0, start_ns + TRIP_NS + MS)
    assert lost is None

    wake_ns = int(path.wake_ns())
    assert wake_ns == start_ns + path.round_trip.loss_delay_ns()
    assert path.expire(wake_ns - 1) is None
    assert [sent.number for sent in path.expire(wake_ns) or []] == [first]
    assert path.wake_ns() == NEVER_NS
    assert path.congestion.losses == 1
    assert not path.take_probe()


def test_many_losses_at_once_shrink_the_window_once() -> None:
    path = settled_path()
    start_ns = 100 * SECOND
    numbers = [leave(path, start_ns + index) for index in range(8)]
    lost = path.on_ack(ack((numbers[-1], numbers[-1])), 0, start_ns + TRIP_NS)
    assert [sent.number for sent in lost or []] == numbers[:5]
    assert path.congestion.losses == 1
    before = (INITIAL_DATAGRAMS + 1) * SIZE
    assert path.congestion.window == int(before * DECREASE)


def test_a_loss_that_was_none_gives_the_window_back() -> None:
    path = settled_path()
    start_ns = 100 * SECOND
    numbers = [leave(path, start_ns + index) for index in range(6)]
    path.on_ack(ack((numbers[-1], numbers[-1])), 0, start_ns + TRIP_NS)
    assert path.congestion.window < INITIAL_DATAGRAMS * SIZE
    lost = path.on_ack(ack((numbers[0], numbers[-1])), 0, start_ns + TRIP_NS + 1)
    assert path.congestion.window == (INITIAL_DATAGRAMS + 1) * SIZE
    assert lost is None


def test_an_acknowledgement_of_what_was_never_sent_changes_nothing() -> None:
    path = settled_path()
    number = leave(path, 100 * SECOND)
    before = (path.in_flight.size, path.round_trip.samples, path.wake_ns())
    with pytest.raises(RemoteError, match="never sent"):
        path.on_ack(ack((1, number + 1)), 0, 100 * SECOND + 1)
    assert (path.in_flight.size, path.round_trip.samples, path.wake_ns()) == before
    assert path.in_flight.lost_count == 0


def test_an_old_acknowledgement_measures_nothing_and_postpones_no_probe() -> None:
    path = settled_path()
    leave(path, 100 * SECOND)
    wake_ns = path.wake_ns()
    samples = path.round_trip.samples
    path.on_ack(ack((1, 10)), 0, 100 * SECOND + 5 * MS)
    assert (path.round_trip.samples, path.wake_ns()) == (samples, wake_ns)


def test_the_window_grows_only_while_it_is_in_use() -> None:
    path = Path(SIZE, 1 << 30)
    number = leave(path, 0)
    path.on_ack(ack((1, number)), 0, MS)
    assert path.congestion.window == INITIAL_DATAGRAMS * SIZE

    for _ in range(5):
        number = leave(path, MS)
    path.on_ack(ack((1, number)), 0, 2 * MS)
    assert path.congestion.window == (INITIAL_DATAGRAMS + 5) * SIZE


def test_no_more_leaves_than_the_window_lets() -> None:
    path = settled_path(MS)
    now_ns = 100 * SECOND
    for used in range(INITIAL_DATAGRAMS):
        assert path.sendable_bytes(now_ns) == (INITIAL_DATAGRAMS - used) * SIZE
        leave(path, now_ns)
    assert path.sendable_bytes(now_ns) == 0
    assert path.paced_until_ns(now_ns) == NEVER_NS, "it is not the pace that holds it back"


def test_a_large_window_is_spent_at_a_pace() -> None:
    path = settled_path(50 * MS)
    path.congestion.window = 100 * SIZE
    now_ns = 100 * SECOND
    left = 0
    while path.sendable_bytes(now_ns) >= SIZE:
        leave(path, now_ns)
        left += 1
    assert left < 20

    until_ns = int(path.paced_until_ns(now_ns))
    assert now_ns < until_ns < now_ns + 50 * MS
    assert path.sendable_bytes(until_ns) >= SIZE - 1


def test_the_oldest_number_is_the_first_that_is_not_settled() -> None:
    path = settled_path()
    first = leave(path, 100 * SECOND)
    leave(path, 100 * SECOND)
    third = leave(path, 100 * SECOND)
    assert path.oldest_number() == first
    path.on_ack(ack((third, third), (first, first)), 0, 100 * SECOND + TRIP_NS)
    assert path.oldest_number() == first + 1
    path.on_ack(ack((first, third)), 0, 100 * SECOND + TRIP_NS)
    assert path.oldest_number() == path.next_number() == third + 1
