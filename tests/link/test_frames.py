"""What stands in a datagram, byte by byte, and what is read from it."""

from collections.abc import Sequence
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from antecede.core import CausalProcess, Effect, Message, Packet, RemoteError
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.core.process import EffectList
from antecede.link.frames import (
    ASKED,
    BYE,
    CREDIT,
    DATAGRAM,
    DELIVERED,
    FLAGGED,
    FOLLOWS,
    HEADER_MOST,
    MESSAGE,
    MESSAGE_FRAME_MOST,
    MESSAGE_KINDS,
    MORE,
    NO_KEY,
    NUMBER_AT,
    NUMBERS,
    PADDING,
    PERMITTED,
    PING,
    RELEASE,
    TOKEN_AT,
    message_frame_size,
    write_frame,
    write_header,
    write_message_frame,
)
from antecede.link.incoming import ACK_DELAY_LIMIT_US, Incoming
from antecede.link.path.flight import Sent
from antecede.link.session import Session
from antecede.wire.varint import VARINT_LIMIT, Reader, write_varint

PEER = 3
TOP = VARINT_LIMIT - 1


class Recorder(CausalProcess):
    """A core that remembers what arrives."""

    def __init__(self) -> None:
        self.arrived: list[Packet] = []

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:  # noqa: ARG002 - never called
        raise AssertionError("nothing is sent here")

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:  # noqa: ARG002 - time means nothing here
        assert source == PEER
        self.arrived.append(packet)
        return []

    def clone(self) -> Self:
        raise AssertionError("no model checker here")

    def fingerprint(self) -> bytes:
        return repr(self.arrived).encode()


def make_session() -> Session:
    return Session(PEER, "bob", 1_400, 1 << 20, True)


def read(data: bytes, session: Session | None = None) -> list[Packet]:
    """The packets of a datagram's frames."""
    core = Recorder()
    incoming = Incoming(core, EffectList())
    incoming.read(session or make_session(), Reader(data), 1, 0)
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
    """Message frames, one after the other as a session writes them."""
    writer = BytesWriter()
    last = 0
    for index, packet in enumerate(packets):
        before = len(writer)
        write_message_frame(writer, packet, index < len(more) and more[index], last)
        size = message_frame_size(packet, last)
        assert len(writer) - before == size + len(packet.carried.payload)
        assert size <= MESSAGE_FRAME_MOST
        last = int(packet.carried.sequence)
    return writer.getvalue()


def test_a_header_is_kind_key_token_number_and_distance() -> None:
    writer = BytesWriter()
    write_header(writer, 0x0123456789ABCDEF, 300, 297)
    data = writer.getvalue()
    assert data[:TOKEN_AT] == bytes([DATAGRAM, NO_KEY])
    assert data[TOKEN_AT:NUMBER_AT] == bytes.fromhex("efcdab8967452301")
    assert data[NUMBER_AT:] == bytes([0xAC, 0x02, 3])

    writer = BytesWriter()
    write_header(writer, TOP, TOP, 1)
    assert len(writer) <= HEADER_MOST


def test_a_message_that_follows_the_one_before_it_names_no_ids() -> None:
    assert written([message(7, 4, b"ab"), message(8, 7, b"c", flagged=True), message(12, 8)]) == (
        bytes([MESSAGE, 7, 3, 2])
        + b"ab"
        + bytes([MESSAGE | FLAGGED | FOLLOWS, 1])
        + b"c"
        + bytes([MESSAGE, 12, 4, 0])
    )


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
    assert list(session.parts) == list(dict.fromkeys(parts))


@given(data_packets(), st.integers(0, 2_000))
def test_a_datagram_that_is_cut_short_is_read_as_far_as_it_goes(
    packets: list[DataPacket], end: int
) -> None:
    data = written(packets)[:end]
    core = Recorder()
    try:
        Incoming(core, EffectList()).read(make_session(), Reader(data), 1, 0)
    except RemoteError:
        assert len(core.arrived) < len(packets)
    assert core.arrived == packets[: len(core.arrived)]


def test_control_is_handed_to_the_core() -> None:
    data = frame(DELIVERED, 5) + frame(PERMITTED, 300) + frame(ASKED, 4, 6)
    session = make_session()
    assert read(data, session) == [Ack(5), Permit(300), Ask(4, 6)]
    assert session.outgoing.peer_delivered == 5
    read(frame(DELIVERED, 4), session)
    assert session.outgoing.peer_delivered == 5


def test_control_of_the_link_changes_the_session() -> None:
    session = make_session()
    assert read(frame(CREDIT, 900) + frame(BYE, 1) + bytes([RELEASE, PING]), session) == []
    assert session.outgoing.credit_limit == 900
    assert (session.peer_bye, session.peer_released) == (1, True)
    read(frame(CREDIT, 800), session)
    assert session.outgoing.credit_limit == 900, "credit is never taken back"


def test_an_acknowledgement_of_datagrams_reaches_the_path() -> None:
    session = make_session()
    sent = Sent(1, 0)
    sent.size = 100
    sent.eliciting = True
    session.path.left(sent, 0)
    read(frame(NUMBERS, 0, 1, 1, 0), session)
    assert session.path.flight.eliciting == 0


@pytest.mark.parametrize("data", [b"", bytes([PADDING]), bytes([PADDING]) + b"anything at all"])
def test_padding_ends_a_datagram(data: bytes) -> None:
    assert read(frame(DELIVERED, 5) + data) == [Ack(5)]


@pytest.mark.parametrize(
    ("data", "owed"),
    [
        (b"", False),
        (bytes([PADDING, 1]), False),
        (bytes([PING]), True),
        (frame(CREDIT, 1), True),
        (frame(DELIVERED, 1), True),
        (written([message(1, 0)]), True),
    ],
    ids=["nothing", "padding", "ping", "credit", "ack", "message"],
)
def test_everything_but_acknowledgements_is_acknowledged(data: bytes, owed: bool) -> None:
    """Otherwise two nodes would acknowledge each other's acknowledgements for ever."""
    session = make_session()
    sent = Sent(1, 0)
    sent.eliciting = True
    session.path.left(sent, 0)
    incoming = Incoming(Recorder(), EffectList())
    incoming.read(session, Reader(frame(NUMBERS, 0, 1, 1, 0) + data), 1, 0)
    assert incoming.owed == owed
    assert incoming.numbers


UNKNOWN_KINDS = (PING + 1, MESSAGE - 1, MESSAGE + MESSAGE_KINDS, 255)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bytes([MESSAGE | FOLLOWS, 0]), "follows another that is not there"),
        (bytes([MESSAGE, 0, 1, 0]), "a zero where an id"),
        (bytes([MESSAGE, 5, 0, 0]), "a zero where an id"),
        (bytes([MESSAGE, 5, 6, 0]), "follows one before the first"),
        (bytes([MESSAGE, 5, 1, 9]), "9 bytes were announced, 0 follow"),
        (bytes([MESSAGE | MORE, 5, 1]), "ends too early"),
        (frame(BYE, 2), "a good-bye of unknown kind 2"),
        (frame(NUMBERS, ACK_DELAY_LIMIT_US + 1, 1, 1, 0), "delayed by"),
        (frame(NUMBERS, 0, 1, 1, 0), "never sent"),
        (frame(NUMBERS, 0, 0), "an acknowledgement of 0 ranges"),
        *((bytes([kind, 1, 1]), f"a frame of unknown kind {kind}") for kind in UNKNOWN_KINDS),
    ],
)
def test_a_frame_that_makes_no_sense_is_refused(data: bytes, reason: str) -> None:
    core = Recorder()
    with pytest.raises(RemoteError, match=reason):
        Incoming(core, EffectList()).read(make_session(), Reader(frame(DELIVERED, 5) + data), 1, 0)
    assert core.arrived == [Ack(5)], "what came before it has happened"
