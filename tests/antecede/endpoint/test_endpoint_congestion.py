"""Congestion: a queue that overflows makes the window shrink, and the link is used all the same."""

import pytest

from antecede.endpoint.limits import Limits
from antecede.network_model.faults import Faults, Partition
from antecede.network_model.latency import Constant
from antecede.network_model.memory_network import Bottleneck
from antecede.transport.recovery.ack_ranges import AckRanges
from antecede.transport.recovery.cubic import INITIAL_DATAGRAMS, LEAST_DATAGRAMS
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.recovery.path import Path
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    MTU,
    SECOND,
    Group,
    Post,
    address_of,
    introduce,
    make_endpoint,
    session_of,
    submit,
)

RATE = 200_000
"""Bytes per second; acknowledgements pass the bottleneck too."""

PAYLOAD = bytes(1_000)


LARGE_LIMITS = Limits(send_limit=10_000, window=64 << 20)


class Stream:
    """Ann sends to Bob, through a bottleneck, as much as goes."""

    def __init__(self, trip_ns: int, bottleneck: Bottleneck | None, send_limit: int = 400) -> None:
        faults = Faults(latency=Constant(trip_ns // 2))
        limits = Limits(send_limit=send_limit)
        self.group = Group([ANN, BOB], faults, bottleneck=bottleneck, limits=limits, log=False)
        self.group.run_for(SECOND)
        self.ann = self.group.nodes[ANN]

    @property
    def window(self) -> int:
        return int(session_of(self.ann, BOB).channel.path.congestion.window)

    def run_for(self, duration_ns: int) -> float:
        """Send for some time; how many bytes a second were delivered."""
        group = self.group
        before = len(group.got[BOB])
        end_ns = group.now_ns + duration_ns
        while True:
            while self.ann.sending.has_room():
                submit(self.ann, [BOB], PAYLOAD, group.now_ns)
            group.network.collect(address_of(ANN))
            if group.network.next_ns() > end_ns:
                break
            group.step()
        group.network.now_ns = end_ns
        return (len(group.got[BOB]) - before) * len(PAYLOAD) * SECOND / duration_ns


def test_a_long_way_is_used_almost_as_well_as_a_short_one() -> None:
    """Given enough window, 50 ms of round trip cost less than a fifth of the link."""
    rates = {}
    for trip_ns in (0, 50 * MS):
        stream = Stream(trip_ns, Bottleneck(RATE, 20_000))
        stream.run_for(SECOND)
        rates[trip_ns] = stream.run_for(3 * SECOND)
    assert 0.85 * RATE < rates[0] <= RATE
    assert rates[50 * MS] > 0.8 * rates[0]


def test_without_enough_window_the_round_trip_is_what_limits() -> None:
    stream = Stream(50 * MS, Bottleneck(RATE, 20_000), send_limit=2)
    rate = stream.run_for(3 * SECOND)
    assert rate < 0.25 * RATE


def test_a_queue_that_overflows_shrinks_the_window_and_little_is_lost() -> None:
    bottleneck = Bottleneck(RATE, 20_000)
    stream = Stream(20 * MS, bottleneck)
    stream.run_for(5 * SECOND)
    flight = session_of(stream.ann, BOB).channel.path.in_flight
    congestion = session_of(stream.ann, BOB).channel.path.congestion

    assert congestion.losses >= 2
    assert not congestion.in_slow_start
    assert stream.window < 40_000, "what the queue and the link hold, and not much more"
    assert 10 * bottleneck.dropped < flight.records.next
    assert flight.spurious == 0
    stream.group.run_until(stream.group.drained)
    assert [message.sequence for message in stream.group.got[BOB]] == list(
        range(1, len(stream.group.got[BOB]) + 1)
    )


def test_a_window_follows_a_link_that_becomes_narrow_and_wide_again() -> None:
    bottleneck = Bottleneck(RATE, 20_000)
    stream = Stream(20 * MS, bottleneck)
    stream.run_for(2 * SECOND)
    wide = stream.window

    bottleneck.bytes_per_second = RATE // 8
    bottleneck.queue_bytes = 4_000
    stream.run_for(3 * SECOND)
    narrow = stream.window
    assert narrow < wide // 2
    assert stream.run_for(2 * SECOND) > 0.5 * RATE / 8

    bottleneck.bytes_per_second = RATE
    bottleneck.queue_bytes = 20_000
    stream.run_for(3 * SECOND)
    assert stream.window > 2 * narrow
    assert stream.run_for(2 * SECOND) > 0.7 * RATE


def test_two_streams_through_one_queue_both_get_on() -> None:
    limits = Limits(send_limit=200)
    faults = Faults(latency=Constant(10 * MS))
    group = Group(
        [ANN, BOB, CAT], faults, bottleneck=Bottleneck(RATE, 20_000), limits=limits, log=False
    )
    group.run_for(SECOND)
    end_ns = group.now_ns + 5 * SECOND
    while group.now_ns < end_ns:
        for name in (ANN, CAT):
            while group.nodes[name].sending.has_room():
                submit(group.nodes[name], [BOB], PAYLOAD, group.now_ns)
            group.network.collect(address_of(name))
        group.step()
    shares = [sum(message.sender == name for message in group.got[BOB]) for name in (ANN, CAT)]
    assert sum(shares) * len(PAYLOAD) > 0.8 * 5 * RATE
    assert min(shares) > 0.2 * sum(shares)


@pytest.mark.parametrize(("trip_ns", "highest"), [(MS, 50_000), (8 * MS, 4 * 50_000)])
def test_without_loss_the_window_grows_to_what_the_peer_can_take(
    trip_ns: int, highest: int
) -> None:
    """Its socket holds what comes within two milliseconds; of a longer way the rest is on it."""
    group = Group([], Faults(latency=Constant(trip_ns // 2)))
    group.add(ANN, make_endpoint(ANN, limits=Limits(send_limit=1_000)))
    group.add(BOB, make_endpoint(BOB, socket_bytes=50_000))
    introduce(group.nodes[ANN], BOB, group.now_ns)
    introduce(group.nodes[BOB], ANN, group.now_ns)
    for _ in range(1_000):
        group.send(ANN, [BOB], PAYLOAD)
    group.run_until(group.drained)
    congestion = session_of(group.nodes[ANN], BOB).channel.path.congestion
    assert (congestion.window, congestion.losses) == (highest, 0)


@pytest.mark.parametrize("socket_bytes", [1 << 41, (1 << 62) - 1])
def test_a_peer_that_says_it_can_take_everything_is_not_believed(socket_bytes: int) -> None:
    path = Path(MTU, socket_bytes)
    for turn in range(20):
        number = path.next_number()
        sent = SentDatagram(number, turn * SECOND)
        sent.size = path.congestion.window
        sent.eliciting = True
        path.on_sent(sent, turn * SECOND)
        acked = AckRanges()
        acked.firsts.append(int(number))
        acked.lasts.append(int(number))
        path.on_ack(acked, 0, turn * SECOND + SECOND // 2)
    assert path.congestion.window == INITIAL_DATAGRAMS * MTU << 20, "nor does it do any harm"


def test_a_peer_that_says_it_can_take_nothing_gets_it_slowly() -> None:
    group = Group([], Faults(loss=0.1))
    group.add(ANN, make_endpoint(ANN))
    group.add(BOB, make_endpoint(BOB, socket_bytes=0))
    introduce(group.nodes[ANN], BOB, group.now_ns)
    introduce(group.nodes[BOB], ANN, group.now_ns)
    for _ in range(200):
        group.send(ANN, [BOB], PAYLOAD)
    group.run_until(group.drained)
    assert len(group.got[BOB]) == 200
    assert session_of(group.nodes[ANN], BOB).channel.path.congestion.window == LEAST_DATAGRAMS * MTU


def test_a_cut_link_makes_the_window_collapse_and_healing_opens_it_again() -> None:
    cut = Partition(start_ns=3 * SECOND, end_ns=6 * SECOND, island=frozenset([0]))
    faults = Faults(latency=Constant(5 * MS), partitions=(cut,))
    group = Group([ANN, BOB], faults, limits=Limits(send_limit=300), log=False)
    congestion = None
    lowest = 1 << 40
    end_ns = 9 * SECOND
    ann = group.nodes[ANN]
    while group.now_ns < end_ns:
        # A message now and then, while there is room.
        if ann.sending.has_room():
            submit(ann, [BOB], PAYLOAD, group.now_ns)
        group.network.collect(address_of(ANN))
        group.run_for(4 * MS)
        congestion = session_of(ann, BOB).channel.path.congestion
        if cut.start_ns < group.now_ns < cut.end_ns:
            lowest = min(lowest, int(congestion.window))
    group.run_until(group.drained)
    assert congestion is not None
    assert lowest == LEAST_DATAGRAMS * MTU
    assert congestion.window >= INITIAL_DATAGRAMS * MTU
    assert len(group.got[BOB]) == ann.sending.sent


def test_a_burst_is_spread_over_the_round_trip() -> None:
    """No queue of ten datagrams overflows because a window of a hundred leaves at once."""
    bottleneck = Bottleneck(10_000_000, 25_000)
    stream = Stream(50 * MS, bottleneck)
    session_of(stream.ann, BOB).channel.path.congestion.window = 100 * MTU
    stream.run_for(45 * MS)
    assert session_of(stream.ann, BOB).channel.path.in_flight.size > 80 * MTU
    assert bottleneck.dropped == 0


def test_thousands_of_messages_that_are_lost_at_once_are_repeated_at_once() -> None:
    """None of them waits for the core's timer, which repeats some dozens a second."""
    post = Post()
    ann, bob = (post.add(name, make_endpoint(name, limits=LARGE_LIMITS)) for name in (ANN, BOB))
    introduce(ann, BOB, post.now_ns, mtu=60_000)
    introduce(bob, ANN, post.now_ns, mtu=60_000)
    post.pass_time(200 * MS)
    for _ in range(8_000):
        submit(ann, [BOB], bytes(64), post.now_ns)
    full = [letter for letter in post.collect() if len(letter.data) > 50_000]
    assert len(full) > 7

    post.pass_time(SECOND // 2, lose=lambda letter: letter in full[:7])
    assert session_of(ann, BOB).channel.path.in_flight.lost_count == 7
    assert session_of(ann, BOB).repeated > 5_000
    assert len(bob.take_inbox()) == 8_000
