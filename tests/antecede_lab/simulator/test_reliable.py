"""The reliable link: any protocol on a lossy network, exactly once, in order where it must be."""

from collections.abc import Sequence
from typing import Self

import pytest

from antecede.core import (
    BufferFull,
    CausalProcess,
    Deliver,
    Effect,
    LocalError,
    Message,
    Packet,
    RemoteError,
    Transmit,
)
from antecede.core.catalogue import PacketCodec, ProtocolInfo
from antecede.core.retransmission import PATIENCE_NS
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.cykas import CykasAck, CykasMessage, CykasProcess
from antecede_lab.protocols.link_packets import RANGES_LIMIT, LinkAck, LinkData
from antecede_lab.protocols.mf import MfAck
from antecede_lab.protocols.newtop import NewtopMessage, NewtopProcess
from antecede_lab.protocols.tree import TreePacket
from antecede_lab.simulator.reliable_link import RESEND_BATCH, ReliableProcess, over_lossy
from antecede_lab.wire import decode, encode, metadata_size
from antecede_lab.wire.link_codec import LinkCodec
from tests.random_network import play

LINKED = [over_lossy(info) for info in PROTOCOLS.values() if info.network != "lossy"]
SEEDS = range(25)

each_linked = pytest.mark.parametrize("info", LINKED, ids=lambda info: info.name)


class Plain(CausalProcess):
    """Sends and delivers at once, refuses what it is told to; shows what the link does."""

    def __init__(self, me: int) -> None:
        self.me = me
        self.refused: set[bytes] = set()
        self.taken: list[bytes] = []
        self._sequence = 0

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        self._sequence += 1
        packet = CykasMessage(Message(self.me, self._sequence, payload), False)
        return [Transmit(target, packet) for target in targets]

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - no timers
        message = packet.message
        assert message is not None
        if message.payload in self.refused:
            raise RemoteError("not this one")
        self.taken.append(message.payload)
        return [Deliver(message)]

    def clone(self) -> Self:
        raise AssertionError("no model checker here")

    def fingerprint(self) -> bytes:
        return repr(self.taken).encode()


def linked(me: int, fifo: bool, **options: int) -> tuple[Plain, ReliableProcess]:
    inner = Plain(me)
    return inner, ReliableProcess(inner, me, range(3), fifo, **options)


def data(number: int, sender: int = 0) -> LinkData:
    return LinkData(number, CykasMessage(Message(sender, number, b"%d" % number), False))


def answer_of(effects: list[Effect]) -> LinkAck:
    last = effects[-1]
    assert isinstance(last, Transmit)
    assert isinstance(last.packet, LinkAck)
    return last.packet


# Every protocol that needs it.


@each_linked
@pytest.mark.parametrize("seed", SEEDS)
def test_over_a_lossy_network_everything_is_delivered_causally_and_once(
    info: ProtocolInfo, seed: int
) -> None:
    run = play(info, seed)

    assert info.network == "lossy"
    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0
    links = [process for process in run.processes if isinstance(process, ReliableProcess)]
    assert [link.outstanding() for link in links] == [0] * len(run.processes)
    assert [link.deadline_ns() for link in links] == [None] * len(links)


@each_linked
def test_a_tiny_window_and_send_buffer_only_make_it_slower(info: ProtocolInfo) -> None:
    for seed in range(8):
        run = play(info, seed, link_window=2, link_send_limit=6)
        assert run.ledger.violations == []
        assert run.ledger.undelivered() == []


@each_linked
def test_control_packets_keep_their_kind_and_acknowledgements_have_their_own(
    info: ProtocolInfo,
) -> None:
    kinds = {kind for seed in range(5) for kind in play(info, seed).kinds}
    assert {"message", "link-ack"} <= kinds


def test_protocols_that_need_no_link_are_left_alone() -> None:
    assert over_lossy(PROTOCOLS["hybrid"]) is PROTOCOLS["hybrid"]


def test_the_derived_protocol_says_what_it_is() -> None:
    info = over_lossy(PROTOCOLS["newtop"])
    assert (info.name, info.network, info.broadcast_only) == ("newtop+link", "lossy", True)
    assert info.needs_membership
    process = info.create(0, range(3), patience_ns=5, link_patience_ns=7)
    assert isinstance(process, ReliableProcess)
    assert isinstance(process.inner, NewtopProcess)
    with pytest.raises(LocalError):
        info.create(0, range(3), no_such_option=1)


def test_only_what_needs_order_waits_for_its_turn() -> None:
    unordered = over_lossy(PROTOCOLS["cykas"]).create(0, range(3))
    early = LinkData(2, CykasMessage(Message(1, 1, b"m"), False))
    assert Deliver(Message(1, 1, b"m")) in unordered.arrive(1, early, 0)

    ordered = over_lossy(PROTOCOLS["tree"]).create(0, range(3))
    early = LinkData(2, TreePacket(Message(1, 1, b"m"), (0,)))
    assert ordered.arrive(1, early, 0) == [Transmit(1, LinkAck(0, ((2, 2),)))]


# Sending.


def test_packets_are_numbered_per_receiver_and_repeated_until_acknowledged() -> None:
    _, link = linked(0, fifo=False)
    first = link.submit([1, 2], b"1", 0)
    assert first == [Transmit(1, data(1)), Transmit(2, data(1))]
    assert link.submit([2], b"2", 0) == [Transmit(2, data(2))]

    assert link.arrive(2, LinkAck(0, ((2, 2),)), 1) == []
    assert link.arrive(1, LinkAck(1, ()), 1) == []
    assert link.expire(2 * PATIENCE_NS) == [Transmit(2, data(1))]
    assert link.arrive(2, LinkAck(2, ()), 2 * PATIENCE_NS) == []
    assert link.outstanding() == 0
    assert link.expire(100 * PATIENCE_NS) == []
    assert link.deadline_ns() is None


def test_repetitions_back_off_and_start_afresh_after_progress() -> None:
    _, link = linked(0, fifo=False)
    link.submit([1], b"1", 0)
    link.submit([1], b"2", 0)
    rung = [
        now_ns // PATIENCE_NS
        for now_ns in range(0, 8 * PATIENCE_NS, PATIENCE_NS // 4)
        if link.expire(now_ns)
    ]
    assert rung == [1, 3, 7]

    link.arrive(1, LinkAck(1, ()), 8 * PATIENCE_NS)
    assert link.expire(9 * PATIENCE_NS - 1) == []
    assert link.expire(9 * PATIENCE_NS) == [Transmit(1, data(2))]


def test_no_more_than_a_window_is_under_way() -> None:
    _, link = linked(0, fifo=True, window=2)
    link.submit([1], b"1", 0)
    link.submit([1], b"2", 0)
    assert link.submit([1], b"3", 0) == []
    assert link.arrive(1, LinkAck(0, ((2, 2),)), 0) == []
    assert link.arrive(1, LinkAck(2, ()), 0) == [Transmit(1, data(3))]


def test_a_repetition_is_of_bounded_size() -> None:
    _, link = linked(0, fifo=True)
    for number in range(1, 2 * RESEND_BATCH):
        link.submit([1], b"%d" % number, 0)
    repeated = link.expire(PATIENCE_NS)
    assert repeated == [Transmit(1, data(number)) for number in range(1, RESEND_BATCH + 1)]


def test_a_full_send_buffer_says_so() -> None:
    inner, link = linked(0, fifo=True, send_limit=1)
    link.submit([1], b"1", 0)
    before = link.fingerprint()
    with pytest.raises(BufferFull):
        link.submit([2], b"2", 0)
    with pytest.raises(LocalError):
        link.submit([2], "2", 0)
    assert link.fingerprint() == before
    assert inner.taken == []


def test_acknowledgements_of_what_was_never_sent_are_refused() -> None:
    _, link = linked(0, fifo=True, window=2)
    for payload in (b"1", b"2", b"3"):
        link.submit([1], payload, 0)
    before = link.fingerprint()
    bad = [
        (1, LinkAck(3, ())),
        (1, LinkAck(0, ((2, 3),))),
        (1, LinkAck(-1, ())),
        (1, LinkAck(0, ((1, 1),))),
        (1, LinkAck(0, ((2, 1),))),
        (2, LinkAck(1, ())),
        (0, LinkAck(0, ())),
        (9, LinkAck(0, ())),
        (1, MfAck(1)),
    ]
    for source, wrong in bad:
        with pytest.raises(RemoteError):
            link.arrive(source, wrong, 0)
    assert link.fingerprint() == before


# Receiving.


def test_a_fifo_link_keeps_what_comes_early_and_takes_in_the_rest_in_order() -> None:
    inner, link = linked(1, fifo=True)
    assert link.arrive(0, data(3), 0) == [Transmit(0, LinkAck(0, ((3, 3),)))]
    assert link.arrive(0, data(2), 0) == [Transmit(0, LinkAck(0, ((2, 3),)))]
    assert inner.taken == []
    assert answer_of(link.arrive(0, data(1), 0)) == LinkAck(3, ())
    assert inner.taken == [b"1", b"2", b"3"]


def test_another_link_takes_in_everything_at_once() -> None:
    inner, link = linked(1, fifo=False)
    assert answer_of(link.arrive(0, data(3), 0)) == LinkAck(0, ((3, 3),))
    assert answer_of(link.arrive(0, data(1), 0)) == LinkAck(1, ((3, 3),))
    assert inner.taken == [b"3", b"1"]


@pytest.mark.parametrize("fifo", [True, False])
def test_a_repeated_packet_is_only_answered(fifo: bool) -> None:
    inner, link = linked(1, fifo)
    for number in (1, 3, 1, 3, 1):
        answer = answer_of(link.arrive(0, data(number), 0))
    assert answer == LinkAck(1, ((3, 3),))
    assert inner.taken == ([b"1"] if fifo else [b"1", b"3"])


@pytest.mark.parametrize("fifo", [True, False])
def test_a_full_buffer_never_drops_the_next_in_order(fifo: bool) -> None:
    inner, link = linked(1, fifo, window=3)
    for number in (9, 5, 4, 3, 2):
        link.arrive(0, data(number), 0)
    assert answer_of(link.arrive(0, data(1), 0)) == LinkAck(3, ())
    assert sorted(inner.taken) == [b"1", b"2", b"3"]


def test_an_answer_has_a_bounded_number_of_ranges() -> None:
    _, link = linked(1, fifo=True)
    for number in range(3, 100, 2):
        effects = link.arrive(0, data(number), 0)
    ranges = tuple((number, number) for number in range(3, 3 + 2 * RANGES_LIMIT, 2))
    assert answer_of(effects) == LinkAck(0, ranges)


@pytest.mark.parametrize("fifo", [True, False])
def test_a_packet_that_is_refused_counts_as_not_arrived(fifo: bool) -> None:
    inner, link = linked(1, fifo)
    inner.refused.add(b"1")
    before = link.fingerprint()
    with pytest.raises(RemoteError):
        link.arrive(0, data(1), 0)
    assert link.fingerprint() == before

    inner.refused.clear()
    assert answer_of(link.arrive(0, data(1), 0)) == LinkAck(1, ())
    assert inner.taken == [b"1"]


def test_a_packet_refused_in_its_turn_waits_for_its_repetition() -> None:
    inner, link = linked(1, fifo=True)
    inner.refused.add(b"2")
    for number in (3, 2):
        link.arrive(0, data(number), 0)
    assert answer_of(link.arrive(0, data(1), 0)) == LinkAck(1, ((3, 3),))
    with pytest.raises(RemoteError):
        link.arrive(0, data(2), 0)

    inner.refused.clear()
    assert answer_of(link.arrive(0, data(2), 0)) == LinkAck(3, ())
    assert inner.taken == [b"1", b"2", b"3"]


def test_the_oldest_packet_is_repeated_even_if_it_is_known_to_have_arrived() -> None:
    _, link = linked(0, fifo=True)
    for payload in (b"1", b"2"):
        link.submit([1], payload, 0)
    link.arrive(1, LinkAck(0, ((2, 2),)), 0)
    link.arrive(1, LinkAck(1, ()), 0)
    assert link.expire(2 * PATIENCE_NS) == [Transmit(1, data(2))]


def test_what_no_link_sends_is_refused() -> None:
    _, link = linked(1, fifo=True)
    before = link.fingerprint()
    for wrong in (data(0), LinkData(1, data(1)), LinkData(1, LinkAck(0, ()))):
        with pytest.raises(RemoteError):
            link.arrive(0, wrong, 0)
    assert link.fingerprint() == before


def test_an_inner_protocol_without_room_is_only_delayed() -> None:
    """Newtop refuses a third waiting message; the link brings it again once there is room."""
    info = over_lossy(PROTOCOLS["newtop"])
    runs = [play(info, seed, receive_limit=2) for seed in range(10)]

    assert [run.ledger.violations for run in runs] == [[]] * len(runs)
    assert [run.ledger.undelivered() for run in runs] == [[]] * len(runs)
    assert sum(run.refused for run in runs) > 0


# Values, clones and bytes.


def test_a_numbered_packet_shows_what_is_inside() -> None:
    inner = NewtopMessage(Message(0, 1, b"m"), 4)
    packet = LinkData(3, inner)
    assert (packet.kind, packet.message) == ("message", Message(0, 1, b"m"))
    assert packet.metadata_integers == 1 + inner.metadata_integers == 3
    assert LinkData(3, CykasAck(1)).kind == "ack"
    assert LinkAck(3, ((5, 6),)).metadata_integers == 3


@each_linked
def test_a_clone_goes_its_own_way(info: ProtocolInfo) -> None:
    two_at_once = {"window": 2} if info.name.startswith("baldoni") else {}
    alice, bob = (info.create(me, range(2), **two_at_once) for me in range(2))
    for payload in (b"a", b"b"):
        alice.submit([1], payload, 0)
    effect = bob.submit([0], b"c", 0)[0]
    assert isinstance(effect, Transmit)
    assert isinstance(effect.packet, LinkData)
    alice.arrive(1, LinkAck(0, ()), 0)
    twin = alice.clone()
    before = alice.fingerprint()
    assert twin.fingerprint() == before
    assert twin.deadline_ns() == alice.deadline_ns()

    twin.arrive(1, effect.packet, 0)
    assert twin.fingerprint() != before
    assert alice.fingerprint() == before
    assert twin.expire(PATIENCE_NS) != []
    assert alice.fingerprint() == before


@each_linked
def test_a_clone_keeps_the_place_of_its_timer(info: ProtocolInfo) -> None:
    alice = info.create(0, range(2))
    alice.submit([1], b"a", 0)
    # It rings once, has more patience then, and is looked at in vain.
    for now_ns in (PATIENCE_NS, 2 * PATIENCE_NS):
        alice.expire(now_ns)

    assert alice.clone().deadline_ns() == alice.deadline_ns() == 3 * PATIENCE_NS


def test_links_inside_links_are_refused_however_deep() -> None:
    with pytest.raises(RemoteError):
        decode(b"\x30\x01" * 100_000, 0)
    with pytest.raises(LocalError):
        encode(LinkData(1, LinkData(1, CykasAck(1))))


def test_the_number_costs_two_bytes_as_long_as_it_is_small() -> None:
    packet = CykasMessage(Message(0, 9, b"payload"), True)
    assert metadata_size(LinkData(100, packet)) == metadata_size(packet) + 2


def test_a_clone_keeps_what_came_early_for_itself() -> None:
    link = over_lossy(PROTOCOLS["tree"]).create(0, range(3))
    packets = [TreePacket(Message(1, number, b"m"), (0,)) for number in (1, 2)]
    link.arrive(1, LinkData(2, packets[1]), 0)
    twin = link.clone()
    before = link.fingerprint()
    assert twin.arrive(1, LinkData(1, packets[0]), 0) == [
        Deliver(Message(1, 1, b"m")),
        Deliver(Message(1, 2, b"m")),
        Transmit(1, LinkAck(2, ())),
    ]
    assert link.fingerprint() == before


class Backwards(PacketCodec):
    """A user's codec, for acknowledgements alone."""

    def encode(self, packet: Packet) -> bytes:
        assert isinstance(packet, CykasAck)
        return b"%d" % packet.sequence

    def decode(self, data: bytes, source: int) -> Packet:  # noqa: ARG002 - acks name nobody
        if not data.isdigit():
            raise RemoteError("no number")
        return CykasAck(int(data))


def test_a_users_packets_travel_in_their_own_form() -> None:
    own = ProtocolInfo(
        "own",
        CykasProcess,
        ordering="causal",
        multicast=False,
        network="reliable",
        paper="",
        codec=Backwards(),
    )
    codec = over_lossy(own).codec
    assert isinstance(codec, LinkCodec)
    for packet in (LinkData(300, CykasAck(77)), LinkAck(4, ((6, 8),))):
        assert codec.decode(codec.encode(packet), 0) == packet
    for wrong in (b"", b"\x01", b"\x30", b"\x30\x05x", b"\x02\x05"):
        with pytest.raises(RemoteError):
            codec.decode(wrong, 0)
    with pytest.raises(LocalError):
        codec.encode(MfAck(1))
