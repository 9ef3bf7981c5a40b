"""Peers take turns in being read: who floods waits behind itself, not in front of others."""

from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.receive_queue import (
    ALONE_NS,
    DATAGRAM_COST,
    QUANTUM,
    QUEUE_BYTES,
    QUEUE_DATAGRAMS,
    STRANGERS_FEW,
    STRANGERS_QUANTUM,
    FairReceiveQueue,
)
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    Post,
    address_of,
    introduce,
    session_of,
    submit,
)

NAMES = (ANN, BOB, CAT)


def trio() -> tuple[Post, dict[str, Endpoint], FairReceiveQueue]:
    """Three nodes that have met, and how cat reads."""
    post = Post()
    nodes = {name: post.add(name) for name in NAMES}
    for name, node in nodes.items():
        for other in NAMES:
            if other != name:
                introduce(node, other, post.now_ns)
    post.pass_time(300 * MS)
    return post, nodes, FairReceiveQueue(nodes[CAT])


def written(post: Post, node: Endpoint, payload: bytes) -> bytes:
    """A datagram for cat with one message."""
    submit(node, [CAT], payload, post.now_ns)
    node.write(post.now_ns)
    (data,) = [d.data for d in node.out if d.address == address_of(CAT)]
    node.out.clear()
    return data


def shared() -> tuple[Post, dict[str, Endpoint], FairReceiveQueue]:
    """The same when cat has lately heard of both others."""
    post, nodes, intake = trio()
    for name in (ANN, BOB):
        intake.receive(address_of(name), written(post, nodes[name], b"early"), post.now_ns)
    intake.drain_round(post.now_ns)
    assert len(nodes[CAT].take_inbox()) == 2
    return post, nodes, intake


def came(nodes: dict[str, Endpoint], name: str) -> int:
    """Datagrams of a peer that cat has read."""
    return int(session_of(nodes[CAT], name).channel.acks.datagrams)


def test_who_floods_does_not_keep_another_waiting() -> None:
    """However much of ann waits, bob's message is read first in the next round."""
    post, nodes, intake = shared()
    flood, message = written(post, nodes[ANN], b"x" * 1000), written(post, nodes[BOB], b"urgent")
    before = came(nodes, ANN)
    for _ in range(700):
        intake.receive(address_of(ANN), flood, post.now_ns)
    intake.receive(address_of(BOB), message, post.now_ns)
    intake.drain_round(post.now_ns)
    assert [m.payload for m in nodes[CAT].take_inbox()] == [b"urgent", b"x" * 1000]
    share = -(-QUANTUM // (len(flood) + DATAGRAM_COST))
    assert came(nodes, ANN) - before == share
    assert intake.has_waiting()


def test_lanes_that_are_never_empty_get_equal_shares() -> None:
    post, nodes, intake = trio()
    large, small = written(post, nodes[ANN], b"x" * 1200), written(post, nodes[BOB], b"y" * 50)
    before = came(nodes, ANN), came(nodes, BOB)
    for _ in range(700):
        intake.receive(address_of(ANN), large, post.now_ns)
        intake.receive(address_of(BOB), small, post.now_ns)
    for _ in range(5):
        intake.drain_round(post.now_ns)
    read = [
        (came(nodes, name) - was) * (len(data) + DATAGRAM_COST)
        for name, was, data in zip((ANN, BOB), before, (large, small), strict=True)
    ]
    assert all(abs(size - 5 * QUANTUM) <= 2 * (len(large) + DATAGRAM_COST) for size in read), read


def test_who_is_alone_is_read_at_once() -> None:
    post, nodes, intake = trio()
    for _ in range(50):
        intake.receive(address_of(ANN), written(post, nodes[ANN], b"x"), post.now_ns)
        assert not intake.has_waiting()
        post.now_ns += MS
    assert len(nodes[CAT].take_inbox()) == 50


def test_greetings_are_nobody_to_take_turns_with_and_a_flood_of_strangers_is() -> None:
    post, nodes, intake = trio()
    for _ in range(STRANGERS_FEW):
        intake.receive("elsewhere", b"?", post.now_ns)
        intake.receive(address_of(ANN), written(post, nodes[ANN], b"x"), post.now_ns)
        assert not intake.has_waiting()
        post.now_ns += MS
    post.now_ns += MS
    for _ in range(STRANGERS_FEW):
        intake.receive("elsewhere", b"?", post.now_ns)
    intake.receive(address_of(ANN), written(post, nodes[ANN], b"x"), post.now_ns)
    assert intake.has_waiting()


def test_who_is_alone_again_need_not_take_turns() -> None:
    post, nodes, intake = trio()
    intake.receive(address_of(ANN), written(post, nodes[ANN], b"1"), post.now_ns)
    intake.receive(address_of(BOB), written(post, nodes[BOB], b"2"), post.now_ns)
    assert intake.has_waiting()
    intake.drain_round(post.now_ns)
    post.now_ns += MS
    intake.receive(address_of(BOB), written(post, nodes[BOB], b"3"), post.now_ns)
    assert intake.has_waiting()
    intake.drain_round(post.now_ns)
    post.now_ns += ALONE_NS
    intake.receive(address_of(BOB), written(post, nodes[BOB], b"4"), post.now_ns)
    assert not intake.has_waiting()
    assert [m.payload for m in nodes[CAT].take_inbox()] == [b"1", b"2", b"3", b"4"]


def test_what_waits_of_one_peer_is_bounded_and_costs_nobody_else() -> None:
    post, nodes, intake = shared()
    flood = written(post, nodes[ANN], b"x" * 1000)
    fit = QUEUE_BYTES // len(flood)
    intake.receive(address_of(ANN), flood, post.now_ns)
    intake.receive(address_of(BOB), b"?", post.now_ns)  # Somebody else waits, too.
    for _ in range(fit - 1 + 500):
        intake.receive(address_of(ANN), flood, post.now_ns)
    assert int(intake.dropped) == 500
    for _ in range(QUEUE_DATAGRAMS - 1 + 10):
        intake.receive(address_of(BOB), b"?", post.now_ns)
    assert int(intake.dropped) == 500 + 10
    intake.receive(address_of(BOB), written(post, nodes[BOB], b"heard"), post.now_ns)
    intake.drain_round(post.now_ns)
    assert b"heard" in [m.payload for m in nodes[CAT].take_inbox()]


def test_nothing_is_lost_while_nobody_else_waits() -> None:
    """Who was heard of lately and has nothing to say costs nobody anything."""
    post, nodes, intake = shared()
    flood = written(post, nodes[ANN], b"x" * 1000)
    before = came(nodes, ANN)
    fit = QUEUE_BYTES // len(flood)
    for _ in range(fit + 500):
        intake.receive(address_of(ANN), flood, post.now_ns)
    assert int(intake.dropped) == 0
    assert came(nodes, ANN) - before == 500  # The oldest are read to make room.
    assert intake.has_waiting()


def joined(post: Post, node: Endpoint, count: int) -> tuple[bytes, int]:
    """Datagrams for cat of one size with a message each, in one buffer; the last is smaller."""
    datas = [written(post, node, b"%04d" % n + bytes(996)) for n in range(count - 1)]
    datas.append(written(post, node, b"last"))
    assert len({len(data) for data in datas[:-1]}) == 1
    return b"".join(datas), len(datas[0])


def test_what_came_joined_is_read_at_once_where_nobody_else_is_heard_of() -> None:
    post, nodes, intake = trio()
    data, size = joined(post, nodes[ANN], 5)
    intake.receive_joined(address_of(ANN), data, size, post.now_ns)
    payloads = [m.payload[:4] for m in nodes[CAT].take_inbox()]
    assert payloads == [b"0000", b"0001", b"0002", b"0003", b"last"]
    assert nodes[CAT].malformed == 0


def test_what_came_joined_is_cut_in_its_turn() -> None:
    post, nodes, intake = shared()
    urgent = written(post, nodes[BOB], b"urgent")
    data, size = joined(post, nodes[ANN], 10)
    intake.receive_joined(address_of(ANN), data, size, post.now_ns)
    intake.receive(address_of(BOB), urgent, post.now_ns)
    intake.drain_round(post.now_ns)
    share = -(-QUANTUM // (size + DATAGRAM_COST))
    ordered = [b"urge"] + [b"%04d" % n for n in range(9)] + [b"last"]
    assert [m.payload[:4] for m in nodes[CAT].take_inbox()] == ordered[: 1 + share]
    while intake.has_waiting():
        intake.drain_round(post.now_ns)
    assert [m.payload[:4] for m in nodes[CAT].take_inbox()] == ordered[1 + share :]
    assert nodes[CAT].malformed == 0


def test_what_came_joined_counts_as_the_datagrams_it_is() -> None:
    post, nodes, intake = shared()
    intake.receive("elsewhere", b"?", post.now_ns)
    intake.receive(address_of(ANN), written(post, nodes[ANN], b"x"), post.now_ns)
    many = b"?" * 1000
    for _ in range(QUEUE_DATAGRAMS // len(many) + 1):
        intake.receive_joined("elsewhere", many, 1, post.now_ns)
    assert int(intake.dropped) == len(many)
    intake.receive_joined(address_of(ANN), bytes(QUEUE_BYTES), 60_000, post.now_ns)
    assert int(intake.dropped) == len(many) + -(-QUEUE_BYTES // 60_000)


def test_a_flood_of_strangers_is_dropped_unread_though_nobody_else_waits() -> None:
    post, nodes, intake = shared()
    stale = int(nodes[CAT].directory.stale)
    strange = b"\xa0\0" + bytes(50)
    for _ in range(2 * QUEUE_DATAGRAMS):
        intake.receive("elsewhere", strange, post.now_ns)
    assert int(intake.dropped) == QUEUE_DATAGRAMS
    assert int(nodes[CAT].directory.stale) == stale
    intake.receive(address_of(BOB), written(post, nodes[BOB], b"heard"), post.now_ns)
    intake.drain_round(post.now_ns)
    assert [m.payload for m in nodes[CAT].take_inbox()] == [b"heard"]


def test_strangers_share_one_lane_wherever_they_are() -> None:
    post, nodes, intake = trio()
    message = written(post, nodes[BOB], b"urgent")
    intake.receive(address_of(BOB), message, post.now_ns)
    for number in range(3000):
        token = (number + 1).to_bytes(8, "little")
        intake.receive(f"at {number}", b"\xa0\0" + token + bytes(30), post.now_ns)
    malformed = int(nodes[CAT].directory.stale)
    intake.drain_round(post.now_ns)
    read = int(nodes[CAT].directory.stale) - malformed
    assert 0 < read <= 1 + STRANGERS_QUANTUM // DATAGRAM_COST
    assert intake.has_waiting()
    assert not intake.peer_waits()
    intake.receive(address_of(BOB), written(post, nodes[BOB], b"again"), post.now_ns)
    intake.drain_round(post.now_ns)
    assert [m.payload for m in nodes[CAT].take_inbox()] == [b"urgent", b"again"]
