"""Slow applications slow their senders; large payloads arrive whole; memory is bounded by both."""

import pytest

from antecede.durability.unconfirmed import InboundMessage
from antecede.endpoint.limits import Limits
from antecede.endpoint.sender import FLUSH_BYTES
from antecede.events import TOO_LARGE, PeerMet, TooLarge, Undeliverable
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant, Uniform
from antecede.transport.flow_control import MESSAGE_COST, OVERDRAFT
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    SECOND,
    Group,
    Post,
    introduce,
    make_endpoint,
    session_of,
    submit,
)

SMALL = Limits(send_limit=200, window=16_000)


def offer(group: Group, payload: bytes, duration_ns: int, target: str = BOB) -> int:
    """Let Ann send whenever she has room for some time; how many that were."""
    sent = 0
    end_ns = group.now_ns + duration_ns
    while True:
        while group.nodes[ANN].sending.has_room():
            group.send(ANN, [target], payload)
            sent += 1
        if group.network.next_ns() > end_ns:
            group.network.now_ns = end_ns
            return sent
        group.step()


# Slow consumers.


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_a_consumer_that_sleeps_bounds_what_is_kept_on_both_sides(loss: float) -> None:
    group = Group([ANN, BOB], Faults(loss=loss), limits=SMALL)
    group.run_for(SECOND)
    group.asleep.add(BOB)
    sent = offer(group, bytes(100), 20 * SECOND)

    window = int(SMALL.window)
    cost = MESSAGE_COST + 100
    unread = len(group.nodes[BOB].inbox.messages)
    assert window - cost <= unread * cost <= window + cost
    assert group.nodes[ANN].buffered() == sent - unread == SMALL.send_limit
    assert session_of(group.nodes[ANN], BOB).channel.send_queue.waits_for_credit()
    assert group.nodes[BOB].inbox.blocks_a_peer()

    before = group.datagrams_sent()
    steps = group.run_for(20 * SECOND)
    assert group.datagrams_sent() - before < 60, "waiting for credit is quiet"
    assert steps < 300


def test_when_the_consumer_wakes_up_everything_goes_on() -> None:
    group = Group([ANN, BOB], limits=SMALL)
    group.run_for(SECOND)
    group.asleep.add(BOB)
    sent = offer(group, b"x" * 100, 5 * SECOND)
    group.asleep.clear()
    sent += offer(group, b"x" * 100, 20 * MS)
    assert sent > 1_000
    group.run_until(group.drained)
    group.run_for(SECOND)
    assert len(group.got[BOB]) == sent
    assert not group.nodes[BOB].inbox.blocks_a_peer()
    group.assert_all_is_well()


def test_a_sleeper_holds_up_only_those_who_send_to_it() -> None:
    group = Group([ANN, BOB, CAT], limits=SMALL)
    group.run_for(SECOND)
    group.asleep.add(BOB)
    for _ in range(190):
        group.send(ANN, [BOB], bytes(100))
    group.run_for(SECOND)
    assert session_of(group.nodes[ANN], BOB).channel.send_queue.queued() > 0

    for _ in range(5):
        group.send(ANN, [CAT], b"to cat")
        group.send(CAT, [ANN], b"to ann")
    group.run_for(SECOND)
    assert len(group.got[CAT]) == 5
    assert len(group.got[ANN]) == 5


def test_a_lost_grant_of_credit_is_repeated() -> None:
    """However much is lost, the credit for what was consumed reaches the sender."""
    for seed in range(5):
        group = Group([ANN, BOB], Faults(loss=0.5), limits=SMALL, seed=seed)
        for _ in range(200):
            group.send(ANN, [BOB], bytes(200))
        group.run_until(group.drained)
        assert len(group.got[BOB]) == 200


@pytest.mark.parametrize("payload", [1, 300, 1_100])
def test_a_window_smaller_than_a_few_messages_is_no_dead_end(payload: int) -> None:
    group = Group([ANN, BOB], Faults(loss=0.1), limits=Limits(window=1_000))
    for _ in range(100):
        group.send(ANN, [BOB], bytes(payload))
    group.run_until(group.drained)
    group.run_for(SECOND)
    assert len(group.got[BOB]) == 100
    group.assert_all_is_well()


def test_credit_that_is_almost_used_up_does_not_hold_back_a_large_message() -> None:
    """Small messages take too little to be worth a grant, and then one comes as large as most."""
    group = Group([ANN, BOB], limits=Limits(window=64 << 10), mtu=60_000)
    group.run_for(SECOND)
    for _ in range(150):
        group.send(ANN, [BOB], bytes(36))
    group.run_for(SECOND)
    group.send(ANN, [BOB], bytes(59_000))
    group.run_until(group.drained, within_ns=SECOND)


def test_messages_to_oneself_are_bounded_by_the_window_too() -> None:
    group = Group([ANN, BOB], limits=SMALL)
    group.asleep.add(ANN)
    sent = 0
    while group.nodes[ANN].sending.has_room(to_self=True):
        group.send(ANN, [ANN], bytes(100))
        sent += 1
    assert sent == -(-SMALL.window // (MESSAGE_COST + 100))
    assert group.nodes[ANN].sending.has_room(), "that is nothing to messages to others"
    assert not group.nodes[ANN].inbox.blocks_a_peer()
    group.asleep.clear()
    group.consume()
    assert len(group.got[ANN]) == sent
    assert group.nodes[ANN].sending.has_room(to_self=True)


# Large payloads.


def pattern(size: int) -> bytes:
    """Bytes that show if any piece is missing or out of place."""
    return b"".join(number.to_bytes(4, "big") for number in range(size // 4 + 1))[:size]


@pytest.mark.parametrize(
    ("size", "mtu", "loss"),
    [(3 << 20, 60_000, 0.1), (400_000, 1_400, 0.1), (100_000, 600, 0.3)],
)
def test_a_large_payload_arrives_whole_over_a_network_that_loses(
    size: int, mtu: int, loss: float
) -> None:
    faults = Faults(loss=loss, duplication=0.1, latency=Uniform(MS, 5 * MS))
    group = Group([ANN, BOB], faults, mtu=mtu)
    payload = pattern(size)
    sequence = group.send(ANN, [BOB], payload)
    after = group.send(ANN, [BOB], b"after it")
    group.run_until(group.drained)
    group.run_for(SECOND)

    assert after == sequence + 1
    assert group.got[BOB] == [
        InboundMessage(ANN, sequence, payload),
        InboundMessage(ANN, after, b"after it"),
    ]
    group.assert_all_is_well()


def test_a_payload_larger_than_every_limit_takes_no_more_room_than_they_allow() -> None:
    limits = Limits(send_limit=20, send_bytes=15_000, window=20_000)
    group = Group([ANN, BOB], limits=limits)
    ann, bob = group.nodes[ANN], group.nodes[BOB]
    payload = pattern(300_000)
    sequence = group.send(ANN, [BOB], payload)
    most = 0
    while not ann.sending.large_is_done():
        assert not ann.sending.has_room(), "nothing comes between its parts"
        assert ann.buffered() <= 20
        assert ann.sending.bytes_held <= 15_000 + 1_400
        most = max(most, int(session_of(bob, ANN).payload_assembler.size))
        group.step()
    assert most > 0
    group.run_until(group.drained)
    assert group.got[BOB] == [InboundMessage(ANN, sequence, payload)]


@pytest.mark.parametrize("size", [0, 1, 1_143, 1_144, 1_145, 2_288, 2_289])
def test_payloads_around_the_size_of_a_part_arrive_as_they_are(size: int) -> None:
    group = Group([ANN, BOB])
    sequence = group.send(ANN, [BOB], pattern(size))
    group.run_until(group.drained)
    assert group.got[BOB] == [InboundMessage(ANN, sequence, pattern(size))]
    assert sequence == 1


def test_a_large_payload_to_oneself_is_one_message() -> None:
    group = Group([ANN, BOB])
    payload = pattern(200_000)
    sequence = group.send(ANN, [ANN], payload)
    assert group.got[ANN] == [InboundMessage(ANN, sequence, payload)]
    assert group.drained()


@pytest.mark.parametrize("targets", [[CAT, ANN, BOB], [BOB, CAT, ANN]], ids=str)
def test_a_large_payload_to_peers_with_different_datagrams_fits_them_all(
    targets: list[str],
) -> None:
    group = Group([], Faults(loss=0.1))
    for name in (ANN, BOB, CAT):
        group.add(name, make_endpoint(name, log=group.log))
    sizes = {BOB: 600, CAT: 60_000}
    for name, mtu in sizes.items():
        introduce(group.nodes[ANN], name, group.now_ns, mtu=mtu)
        introduce(group.nodes[name], ANN, group.now_ns, mtu=mtu)
    payload = pattern(50_000)
    sequence = group.send(ANN, targets, payload)
    group.run_until(group.drained)
    group.run_for(SECOND)

    for name in (ANN, BOB, CAT):
        assert group.got[name] == [InboundMessage(ANN, sequence, payload)]
    group.assert_all_is_well()
    assert group.log is not None
    largest = max(event.payload_bytes for event in group.log if event.kind == "transmitted")
    assert largest <= 600


def test_parts_of_two_senders_do_not_mix() -> None:
    group = Group([ANN, BOB, CAT], Faults(loss=0.1))
    payloads = {ANN: pattern(60_000), CAT: pattern(60_000)[::-1]}
    for name, payload in payloads.items():
        group.send(name, [BOB], payload)
    group.run_until(group.drained)
    assert {message.sender: message.payload for message in group.got[BOB]} == payloads


def test_a_payload_beyond_the_receivers_limit_is_dropped_and_reported() -> None:
    """A sender is told the limit and refuses; one that does not gets nothing through."""
    group = Group([])
    group.add(ANN, make_endpoint(ANN))
    group.add(BOB, make_endpoint(BOB, payload_limit=10_000))
    introduce(group.nodes[ANN], BOB, group.now_ns)
    introduce(group.nodes[BOB], ANN, group.now_ns)
    group.run_for(SECOND)
    assert session_of(group.nodes[ANN], BOB).payload_limit == 10_000

    first = group.send(ANN, [BOB], bytes(10_001))
    second = group.send(ANN, [BOB], bytes(100_000))
    group.send(ANN, [BOB], bytes(10_000))
    group.send(ANN, [BOB], b"small")
    while not group.drained():
        group.step()
        assert session_of(group.nodes[BOB], ANN).payload_assembler.kept() <= 10_000
    assert group.payloads(BOB) == [bytes(10_000), b"small"]
    assert group.nodes[BOB].inbox.too_large == 2
    assert [report for report in group.reports(BOB) if isinstance(report, TooLarge)] == [
        TooLarge(name=ANN, sequence=first, size=10_001, limit=10_000),
        TooLarge(name=ANN, sequence=second, size=100_000, limit=10_000),
    ]
    assert session_of(group.nodes[BOB], ANN).payload_assembler.is_empty()


def test_a_queue_of_messages_fills_datagrams() -> None:
    """Two bytes around most messages: 1 000 of them take little more than their payloads."""
    group = Group([ANN, BOB], Faults(latency=Constant(MS)), log=False)
    group.run_for(SECOND)
    before = int(session_of(group.nodes[ANN], BOB).datagrams_out)
    for _ in range(1_000):
        assert group.nodes[ANN].sending.send_fast(BOB, bytes(64), group.now_ns) > 0
    group.run_until(group.drained)
    assert len(group.got[BOB]) == 1_000
    assert session_of(group.nodes[ANN], BOB).datagrams_out - before <= 1_000 * 66 // 1_400 + 6


def test_the_quick_way_of_sending_declines_what_needs_care() -> None:
    group = Group([ANN, BOB], limits=Limits(send_limit=2))
    group.run_for(SECOND)
    quick = group.nodes[ANN].sending.send_fast
    now_ns = group.now_ns
    assert [quick(CAT, b"x", now_ns), quick(BOB, "x", now_ns), quick([CAT], b"x", now_ns)] == [
        0
    ] * 3
    for several in ([], [7], [ANN, BOB], [BOB, BOB], [BOB, [BOB]], {BOB}, 7):
        assert quick(several, b"x", now_ns) == 0, several
    assert quick([BOB], bytes(1_145), now_ns) == quick(BOB, bytes(1_145), now_ns) == 0
    assert [quick(BOB, bytes(1_144), now_ns), quick([BOB], b"x", now_ns)] == [1, 2]
    assert quick(BOB, b"x", now_ns) == 0, "there is no room"
    group.run_until(group.drained)
    assert quick(BOB, b"x", group.now_ns) == 3


def test_the_quick_way_of_sending_declines_when_enough_waits_to_be_written() -> None:
    group = Group([ANN, BOB])
    group.run_for(SECOND)
    sending = group.nodes[ANN].sending
    while sending.send_fast(BOB, bytes(1_000), group.now_ns) > 0:
        pass
    assert sending.wants_flush()
    assert FLUSH_BYTES < sending.unwritten <= FLUSH_BYTES + 1_000 + MESSAGE_COST
    group.nodes[ANN].write(group.now_ns)
    assert sending.send_fast(BOB, bytes(1_000), group.now_ns) > 0


# A peer that does not keep to anything.


def test_a_peer_that_ignores_its_credit_fills_no_more_than_its_window() -> None:
    group = Group([ANN, BOB], limits=Limits(send_limit=10_000, window=100_000), log=False)
    group.run_for(SECOND)
    group.asleep.add(BOB)
    session_of(group.nodes[ANN], BOB).channel.flow_control.extend(1 << 60)
    for _ in range(5_000):
        group.send(ANN, [BOB], bytes(1_000))
    group.run_for(5 * SECOND)
    bob = group.nodes[BOB]
    unread = sum(MESSAGE_COST + len(message.payload) for message in bob.inbox.messages)
    assert 100_000 <= unread <= 100_000 + 2 * OVERDRAFT
    assert bob.malformed > 0
    assert "beyond the credit" in bob.last_malformed

    group.asleep.clear()
    group.run_until(group.drained)
    assert len(group.got[BOB]) == 5_000, "nothing is lost: it comes again"


def test_what_comes_early_counts_against_the_window_too() -> None:
    """The first message never arrives, so that all others wait for it in the core."""
    post = Post()
    limits = Limits(send_limit=10_000, window=100_000)
    ann, bob = (post.add(name, make_endpoint(name, limits=limits)) for name in (ANN, BOB))
    introduce(ann, BOB, post.now_ns)
    introduce(bob, ANN, post.now_ns)
    post.pass_time(200 * MS)
    session_of(ann, BOB).channel.flow_control.extend(1 << 60)
    for number in range(2_000):
        submit(ann, [BOB], b"first" * 20 if number == 0 else bytes(1_000), post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: b"first" in letter.data)
    assert bob.take_inbox() == []
    early = bob.expected(session_of(bob, ANN))[1]
    assert 0 < early * (MESSAGE_COST + 1_000) <= 100_000 + 2 * OVERDRAFT
    for _ in range(200):
        post.pass_time(100 * MS)
        bob.take_inbox()
    assert ann.buffered() == 0


def test_a_payload_that_its_receiver_turns_out_not_to_take_is_reported_by_both() -> None:
    """It was sent before the two had met, when nobody knew of the limit."""
    group = Group([])
    group.add(ANN, make_endpoint(ANN))
    introduce(group.nodes[ANN], BOB, group.now_ns)
    group.send(ANN, [BOB], b"small")
    large = group.send(ANN, [BOB], bytes(20_000))
    fits = group.send(ANN, [BOB], bytes(9_000))
    group.add(BOB, make_endpoint(BOB, payload_limit=10_000))
    introduce(group.nodes[BOB], ANN, group.now_ns)
    group.run_until(group.drained)
    group.run_for(SECOND)
    assert [message.sequence for message in group.got[BOB]] == [1, fits]
    assert group.reports(ANN) == [
        PeerMet(name=BOB),
        Undeliverable(
            name=BOB,
            sequences=(large,),
            reason="larger than 10,000 bytes, its payload_limit",
            why=TOO_LARGE,
        ),
    ]
    assert TooLarge(name=ANN, sequence=large, size=20_000, limit=10_000) in group.reports(BOB)
