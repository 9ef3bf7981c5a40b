"""What stands in a datagram, byte by byte, and what is read from it."""

from collections.abc import Sequence
from typing import Self
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from antecede.core import Effect, Message, Packet, RemoteError
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.core.process import NodeProcess, Outbox
from antecede.durability.recorder import Recorder as NodeRecorder
from antecede.endpoint.inbox import Inbox
from antecede.endpoint.protocol_driver import ProtocolDriver
from antecede.membership.expulsions import Expulsions
from antecede.membership.sessions import SessionTable
from antecede.transport.datagram_reader import ACK_DELAY_LIMIT_US, DatagramReader
from antecede.transport.frame_fragments import FrameFragmenter
from antecede.transport.message_fragments import OwnFragments
from antecede.transport.peer_lifecycle import AWAITS_BYE, LEAVE_WHEN_RELEASED, LET_GO
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.session import Session
from antecede.wire.envelope import MARK, Envelope, envelope_bytes, seal_envelope
from antecede.wire.frames import (
    ACK_RANGES,
    BYE,
    CREDIT,
    DATAGRAM,
    FRAME_FRAGMENT,
    HEADER_BYTES_MAX,
    MEMBERS,
    MESSAGE_FRAGMENT,
    NO_KEY,
    NUMBER_AT,
    PADDING,
    PING,
    RELEASE,
    STOPPED,
    TOKEN_AT,
    WAITING,
    write_frame,
    write_header,
)
from antecede.wire.packets import (
    ALIKE,
    FLAGGED,
    FOLLOWS,
    MESSAGE,
    MESSAGE_ALIKE,
    MESSAGE_KINDS,
    write_message,
)
from antecede.wire.varint import VARINT_LIMIT, WireReader, write_varint
from antecede_lab.wire.codec import encode, write_packet

PEER = 3
LONG = Envelope(targets=tuple(f"n{number}" for number in range(20)))
TOP = VARINT_LIMIT - 1


class Recorder(NodeProcess):
    """A core that remembers what arrives."""

    def __init__(self) -> None:
        self.arrived: list[Packet] = []

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:  # noqa: ARG002 - never called
        raise AssertionError("nothing is sent here")

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - time means nothing here
        assert source == PEER
        self.arrived.append(packet)
        return []

    def add_process(self, process: int) -> None:
        raise AssertionError(f"{process} does not join")

    def oldest_unacked(self) -> int:
        return 1

    def unacked_by(self, target: int) -> int:  # noqa: ARG002 - it owes nothing
        return 0

    def buffered_bytes(self) -> int:
        return 0

    def abandon_into(self, target: int, now_ns: int, outbox: Outbox) -> list[int]:  # noqa: ARG002 - nothing is known
        return []

    def clone(self) -> Self:
        raise AssertionError("no model checker here")

    def fingerprint(self) -> bytes:
        return repr(self.arrived).encode()


def make_session() -> Session:
    return Session(PEER, "bob", 1_400, 1 << 20, 1 << 20, True, None)


def reading(core: Recorder) -> DatagramReader:
    table = SessionTable()
    expulsions = Expulsions("ann", 1, table, NodeRecorder())
    inbox = Inbox(1 << 20, [], NodeRecorder())
    driver = ProtocolDriver("ann", core, inbox, OwnFragments(), None, table, expulsions)
    return DatagramReader(driver)


def read(data: bytes, session: Session | None = None) -> list[Packet]:
    """The packets of a datagram's frames."""
    core = Recorder()
    reading(core).read(session or make_session(), WireReader(data), 1, 0)
    return core.arrived


def frame(kind: int, *values: int) -> bytes:
    writer = BytesWriter()
    write_frame(writer, kind, values[0])
    for value in values[1:]:
        write_varint(writer, value)
    return writer.getvalue()


def message(
    sequence: int, previous: int, payload: bytes = b"", flagged: bool = False
) -> DataPacket:
    return DataPacket(Message(PEER, sequence, payload), previous, flagged)


def written(packets: Sequence[DataPacket], more: Sequence[bool] = ()) -> bytes:
    """Message frames, one after the other as a datagram has them."""
    writer = BytesWriter()
    last = 0
    for index, packet in enumerate(packets):
        if index < len(more) and more[index]:
            writer.append(MESSAGE_FRAGMENT)
        write_packet(packet, writer, last)
        last = int(packet.carried.sequence)
    return writer.getvalue()


def test_a_header_is_kind_key_token_and_number() -> None:
    writer = BytesWriter()
    write_header(writer, 0x0123456789ABCDEF, 300, NO_KEY)
    data = writer.getvalue()
    assert data[:TOKEN_AT] == bytes([DATAGRAM, NO_KEY])
    assert data[TOKEN_AT:NUMBER_AT] == bytes.fromhex("efcdab8967452301")
    assert data[NUMBER_AT:] == bytes([0xAC, 0x02])

    writer = BytesWriter()
    write_header(writer, TOP, TOP, NO_KEY)
    assert len(writer) <= HEADER_BYTES_MAX


def test_a_message_that_follows_the_one_before_it_names_no_ids() -> None:
    assert written([message(7, 4, b"ab"), message(8, 7, b"c", flagged=True), message(12, 8)]) == (
        bytes([MESSAGE, 7, 3, 2])
        + b"ab"
        + bytes([MESSAGE | FLAGGED | FOLLOWS, 1])
        + b"c"
        + bytes([MESSAGE, 12, 4, 0])
    )


def test_a_message_leaves_out_the_envelope_of_the_one_before_it() -> None:
    envelope = envelope_bytes(Envelope(targets=("bob", "carol")))
    first, second = message(7, 4, envelope + b"ab"), message(8, 7, envelope + b"c", flagged=True)
    third = message(12, 8, envelope)
    writer = BytesWriter()
    write_message(first, writer, 0)
    write_message(second, writer, 7, len(envelope))
    write_message(third, writer, 8, len(envelope))
    data = writer.getvalue()
    assert data == (
        bytes([MESSAGE, 7, 3, len(envelope) + 2])
        + envelope
        + b"ab"
        + bytes([MESSAGE | ALIKE | FLAGGED | FOLLOWS, 1])
        + b"c"
        + bytes([MESSAGE | ALIKE, 12, 4, 0])
    )
    assert read(data) == [first, second, third]


@pytest.mark.parametrize("before", [b"", b"plain", seal_envelope(LONG, b"")[:40], MARK + b"\xff"])
def test_a_message_cannot_leave_out_what_the_one_before_it_has_not(before: bytes) -> None:
    with pytest.raises(RemoteError, match="of another that has none"):
        read(written([message(5, 4, before)]) + bytes([MESSAGE | ALIKE, 6, 1, 0]))


def test_the_very_first_message_follows_none() -> None:
    assert written([message(1, 0, b"x")]) == bytes([MESSAGE, 1, 1, 1]) + b"x"
    assert read(written([message(1, 0), message(2, 1)])) == [message(1, 0), message(2, 1)]


positives = st.one_of(st.integers(1, 300), st.integers(1, TOP))


@st.composite
def data_packets(draw: st.DrawFn) -> list[DataPacket]:
    """Messages as one datagram may hold them: repeated ones, gaps, runs."""
    packets: list[DataPacket] = []
    for _ in range(draw(st.integers(0, 12))):
        follows: bool = draw(st.booleans())
        if packets and follows:
            previous = int(packets[-1].carried.sequence)
            sequence = min(TOP, previous + draw(st.sampled_from([1, 1, 1, 2, 200])))
        else:
            sequence = draw(positives)
            previous = draw(st.integers(0, sequence - 1))
        if sequence > previous:
            payload = draw(st.binary(max_size=200))
            packets.append(message(sequence, previous, payload, draw(st.booleans())))
    return packets


@given(data_packets(), st.lists(st.booleans(), max_size=12))
def test_messages_are_read_as_they_were_written(
    packets: list[DataPacket], more: list[bool]
) -> None:
    session = make_session()
    assert read(written(packets, more), session) == packets

    parts = [
        int(packet.carried.sequence)
        for packet, goes_on in zip(packets, more, strict=False)
        if goes_on
    ]
    for sequence in sorted(dict.fromkeys(parts)):
        assert session.payload_assembler.on_delivered(sequence)
    assert session.payload_assembler.is_empty()


@given(data_packets(), st.integers(0, 2_000))
def test_a_datagram_that_is_cut_short_is_read_as_far_as_it_goes(
    packets: list[DataPacket], end: int
) -> None:
    data = written(packets)[:end]
    core = Recorder()
    try:
        reading(core).read(make_session(), WireReader(data), 1, 0)
    except RemoteError:
        assert len(core.arrived) < len(packets)
    assert core.arrived == packets[: len(core.arrived)]


@given(data_packets(), st.integers(1, 60))
def test_frames_in_pieces_are_read_as_if_they_were_whole(
    packets: list[DataPacket], size: int
) -> None:
    data = b""
    for packet in packets:
        cut = FrameFragmenter(packet.carried.sequence, encode(packet))
        while not cut.is_taken():
            offset = int(cut.offset)
            piece = cut.take(size)
            header = (int(cut.sequence), int(cut.size), int(cut.check), offset, len(piece))
            data += frame(FRAME_FRAGMENT, *header) + piece
    assert read(data) == packets


def test_control_is_handed_to_the_core() -> None:
    data = encode(Ack(5)) + encode(Permit(300)) + encode(Ask(4, 6))
    assert read(data) == [Ack(5), Permit(300), Ask(4, 6)]


def test_what_the_peer_says_it_has_is_not_repeated_to_it() -> None:
    session = make_session()
    session.channel.flow_control.extend(1 << 20)
    for sequence in (1, 2):
        session.channel.send_queue.put(message(sequence, sequence - 1))
        session.channel.send_queue.pop_new(sequence, 0)
    for sequence in (1, 2):
        session.channel.send_queue.put(message(sequence, sequence - 1))
    for last in (1, 0):
        read(encode(Ack(last)), session)
        assert session.channel.send_queue.peek_retransmission() == message(2, 1)


def test_control_of_the_link_changes_the_session() -> None:
    session = make_session()
    session.lifecycle.say_bye(LEAVE_WHEN_RELEASED)
    assert read(frame(CREDIT, 900) + frame(BYE, 1) + bytes([RELEASE, PING]), session) == []
    assert session.channel.flow_control.limit == 900
    assert (session.lifecycle.theirs, session.lifecycle.ours) == (AWAITS_BYE, LET_GO)
    read(frame(CREDIT, 800), session)
    assert session.channel.flow_control.limit == 900, "credit is never taken back"


def test_an_acknowledgement_of_datagrams_reaches_the_path() -> None:
    session = make_session()
    sent = SentDatagram(1, 0)
    sent.size = 100
    sent.eliciting = True
    session.channel.path.on_sent(sent, 0)
    read(frame(ACK_RANGES, 0, 1, 1, 0), session)
    assert session.channel.path.in_flight.eliciting == 0


def test_what_one_acknowledgement_shows_to_be_lost_the_next_in_the_datagram_does_not_hide() -> None:
    session = make_session()
    for number in range(1, 5):
        sent = SentDatagram(number, 0)
        sent.set_messages(number, number)
        session.channel.path.on_sent(sent, 0)
    reader = reading(Recorder())
    both = frame(ACK_RANGES, 0, 1, 4, 0) + frame(ACK_RANGES, 0, 2, 4, 0, 0, 0)
    reader.read(session, WireReader(both), 1, 0)
    assert [sent.first for sent in reader.lost] == [1]

    reader.read(session, WireReader(bytes([PING])), 2, 0)
    assert reader.lost == []


@pytest.mark.parametrize("data", [b"", bytes([PADDING]), bytes([PADDING]) + b"anything at all"])
def test_padding_ends_a_datagram(data: bytes) -> None:
    assert read(encode(Ack(5)) + data) == [Ack(5)]


@pytest.mark.parametrize(
    ("data", "owed"),
    [
        (b"", False),
        (bytes([PADDING, 1]), False),
        (bytes([PING]), True),
        (frame(CREDIT, 1), True),
        (encode(Ack(1)), True),
        (frame(WAITING, 1) + b"c\x07", False),
        (bytes([STOPPED]), True),
        (written([message(1, 0)]), True),
    ],
    ids=["nothing", "padding", "ping", "credit", "ack", "advice", "stopped", "message"],
)
def test_everything_but_acknowledgements_is_acknowledged(data: bytes, owed: bool) -> None:
    """Otherwise two nodes would acknowledge each other's acknowledgements for ever."""
    session = make_session()
    sent = SentDatagram(1, 0)
    sent.eliciting = True
    session.channel.path.on_sent(sent, 0)
    reader = reading(Recorder())
    reader.read(session, WireReader(frame(ACK_RANGES, 0, 1, 1, 0) + data), 1, 0)
    assert reader.owed == owed
    assert reader.numbers


def in_one_piece(whole: bytes) -> bytes:
    """A frame that comes as if in pieces."""
    return frame(FRAME_FRAGMENT, 1, len(whole), crc32(whole), 0, len(whole)) + whole


NAMES = 0x8B
"""What nodes of earlier versions called a frame that says whom numbers mean: not used again."""

UNKNOWN_KINDS = (MEMBERS + 1, NAMES, 255)
UNKNOWN_PACKETS = (1, MESSAGE - 1, MESSAGE_ALIKE + MESSAGE_KINDS, 0x7F)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bytes([MESSAGE | FOLLOWS, 0]), "follows another that is not there"),
        (bytes([MESSAGE | ALIKE, 5, 1, 0]), "like another that is not there"),
        (bytes([MESSAGE, 0, 1, 0]), "a zero where an id"),
        (bytes([MESSAGE, 5, 0, 0]), "a zero where an id"),
        (bytes([MESSAGE, 5, 6, 0]), "follows one before the first"),
        (bytes([MESSAGE, 5, 1, 9]), "9 bytes were announced, 0 follow"),
        (bytes([MESSAGE_FRAGMENT, MESSAGE, 5, 1]), "ends too early"),
        (in_one_piece(bytes([FRAME_FRAGMENT, 1, 1, 0, 0, 1])), "a piece in pieces"),
        (bytes([FRAME_FRAGMENT, 1, 5, 0, 9, 1, 0]), "a piece of 1 bytes at 9 of 5"),
        (bytes([FRAME_FRAGMENT, 1, 1, 0, 0, 1, 7]), "pieces that do not fit together"),
        (frame(BYE, 2), "a good-bye of unknown kind 2"),
        (frame(ACK_RANGES, ACK_DELAY_LIMIT_US + 1, 1, 1, 0), "delayed by"),
        (frame(ACK_RANGES, 0, 1, 1, 0), "never sent"),
        (frame(ACK_RANGES, 0, 0), "an acknowledgement of 0 ranges"),
        *((bytes([kind, 1, 1]), f"a frame of unknown kind {kind}") for kind in UNKNOWN_KINDS),
        *((bytes([kind, 1, 1]), f"no packet is of kind {kind}") for kind in UNKNOWN_PACKETS),
    ],
)
def test_a_frame_that_makes_no_sense_is_refused(data: bytes, reason: str) -> None:
    core = Recorder()
    with pytest.raises(RemoteError, match=reason):
        reading(core).read(make_session(), WireReader(encode(Ack(5)) + data), 1, 0)
    assert core.arrived == [Ack(5)], "what came before it has happened"
