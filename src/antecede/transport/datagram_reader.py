"""Reading the frames of a datagram: control for the transport, packets for the core.

Frames are performed one by one, in order. A frame that makes no sense is a `RemoteError`: what came
before it in the datagram has happened, the rest has not.
"""

from abc import abstractmethod
from typing import Final, final

from librt.strings import read_i64_le
from mypy_extensions import i64, trait

from antecede.core.errors import RemoteError
from antecede.core.packets import (
    Ack,
    Ask,
    DataPacket,
    ExpulsionAck,
    ExpulsionNotice,
    Message,
    Packet,
    YouAreExpelled,
)
from antecede.transport.recovery.ack_ranges import read_ranges
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.session import Session
from antecede.wire.advice import Advice, read_waiting
from antecede.wire.envelope import leading_envelope
from antecede.wire.expulsions import ExpulsionRecord, read_expulsion_records
from antecede.wire.frames import (
    ACK_RANGES,
    BYE,
    CHALLENGE,
    CREDIT,
    EXPULSIONS,
    EXPULSIONS_ACKED,
    FIRST_TRANSPORT_KIND,
    FRAME_FRAGMENT,
    MEMBERS,
    MESSAGE_FRAGMENT,
    PADDING,
    PING,
    RELEASE,
    RESPONSE,
    SEQUENCE_OFFSET,
    STOPPED,
    SUSPECTS,
    WAITING,
)
from antecede.wire.packets import (
    MESSAGE,
    MESSAGE_ALIKE,
    MESSAGE_KINDS,
    read_message,
    read_packet,
)
from antecede.wire.varint import WireReader

ACK_DELAY_LIMIT_US: Final = 1 << 40
"""Nobody keeps an acknowledgement for 2^40 us, 12 days; larger figures are nonsense."""


@trait
class FrameHandler:
    """Whom the reader tells of what is not for the transport: the endpoint's protocol driver.

    A trait, because that is an `Outbox` as well; whoever implements it is called without a detour.
    """

    __slots__ = ()

    @abstractmethod
    def on_packet(self, session: Session, packet: Packet, now_ns: i64) -> None:
        """A packet of the protocol has come from a peer."""

    @abstractmethod
    def on_expulsions(self, session: Session, records: list[ExpulsionRecord], now_ns: i64) -> None:
        """A peer says who is expelled: nothing else of its datagram counts before that."""

    @abstractmethod
    def on_expulsions_acked(
        self, session: Session, records: list[ExpulsionRecord], now_ns: i64
    ) -> None:
        """A peer has taken note of these."""


@final
class DatagramReader:
    """Reads the datagrams of one node."""

    __slots__ = (
        "_handler",
        "_index",
        "_joined",
        "_last",
        "_number",
        "_part",
        "_shared",
        "_surplus",
        "advice",
        "asked",
        "lost",
        "messages",
        "news",
        "numbers",
        "owed",
        "stopped",
    )

    def __init__(self, handler: FrameHandler) -> None:
        self._handler: Final = handler
        # The datagram's number, how many packets were in it so far, and the id of the last message.
        self._number: i64 = 0
        self._index: i64 = 0
        self._last: i64 = 0
        # Whether the next message is a part of its payload, and not the last.
        self._part = False
        # By how much the ids of the messages that follow are larger than their numbers.
        self._surplus: i64 = 0
        # The envelope that messages in a row have, written with the first of them.
        self._shared = b""
        # Whether the frames at hand came in pieces.
        self._joined = False
        # What the datagram contained: messages, acknowledgements, anything to be acknowledged, the
        # word that its sender has stopped.
        self.messages = False
        self.numbers = False
        self.owed = False
        self.stopped = False
        # Whether it told of expulsions.
        self.news = False
        # The lowest message whose permit was asked for, or 0; and whom its sender waits for.
        self.asked: i64 = 0
        self.advice: Advice | None = None
        # What its acknowledgements have shown to be lost.
        self.lost: list[SentDatagram] = []

    def read(self, session: Session, reader: WireReader, number: i64, now_ns: i64) -> None:
        """Perform all frames of datagram `number`."""
        self._number = number
        self._index = self._last = self._surplus = self.asked = 0
        self._part = self._joined = False
        self.messages = self.numbers = self.owed = self.stopped = self.news = False
        self.advice = None
        if self.lost:
            self.lost = []
        self._read_frames(session, reader, now_ns)

    def _read_frames(self, session: Session, reader: WireReader, now_ns: i64) -> None:
        packet: DataPacket | None = None
        while reader.remaining() > 0:
            start = reader.position()
            kind = reader.byte()
            if MESSAGE <= kind < MESSAGE + MESSAGE_KINDS:
                packet = read_message(kind, reader, session.id, self._last)
                session.channel.flow_control.check(packet.previous)
                size = reader.position() - start
                self._take_message(session, packet, packet.carried, size, now_ns)
            elif MESSAGE_ALIKE <= kind < MESSAGE_ALIKE + MESSAGE_KINDS:
                shared = self._shared_with(packet)
                packet = read_message(kind, reader, session.id, self._last, shared)
                session.channel.flow_control.check(packet.previous)
                size = reader.position() - start + len(shared)
                self._take_message(session, packet, packet.carried, size, now_ns)
            elif kind == PADDING:
                return
            elif kind < FIRST_TRANSPORT_KIND:
                self._read_packet(session, reader, kind, start, now_ns)
            elif kind == ACK_RANGES:
                self._read_ack(session, reader, now_ns)
            elif kind in (EXPULSIONS, EXPULSIONS_ACKED):
                self._read_expulsions(session, reader, kind, now_ns)
            elif kind == FRAME_FRAGMENT:
                self._read_frame_fragment(session, reader, now_ns)
            elif kind == WAITING:
                self.advice = read_waiting(reader)
            else:
                self.owed = True
                self._read_control(session, reader, kind)

    def _shared_with(self, before: DataPacket | None) -> bytes:
        """The envelope of the message before one that leaves it out."""
        if before is None:
            raise RemoteError("a message is like another that is not there")
        payload = before.carried.payload
        if not (self._shared and payload.startswith(self._shared)):
            self._shared = leading_envelope(payload)
            if not self._shared:
                raise RemoteError("a message has the envelope of another that has none")
        return self._shared

    def _read_packet(
        self, session: Session, reader: WireReader, kind: i64, start: i64, now_ns: i64
    ) -> None:
        packet = read_packet(kind, reader, session.id, self._last)
        if isinstance(packet, (ExpulsionNotice, ExpulsionAck, YouAreExpelled)):
            # Ids are each node's own. Between nodes news has names: EXPULSIONS, EXPULSIONS_ACKED.
            raise RemoteError("news of expulsions with ids, which mean nothing here")
        size = reader.position() - start
        message = packet.message
        if message is not None:
            session.channel.flow_control.check(message.sequence - 1)
            self._take_message(session, packet, message, size, now_ns)
            return
        self.owed = True
        if session.rows is not None:
            session.rows.arrived(packet, self._number, self._index, size, now_ns)
        self._index += 1
        if isinstance(packet, Ack):
            session.channel.send_queue.delivered_up_to(packet.sequence)
        self._handler.on_packet(session, packet, now_ns)
        if isinstance(packet, Ask):
            self.asked = packet.lowest

    def _take_message(
        self, session: Session, packet: Packet, message: Message, size: i64, now_ns: i64
    ) -> None:
        self.messages = True
        self.owed = True
        sequence = message.sequence
        if self._part:
            # Remembered until the core delivers it; what it has delivered already it will not.
            session.payload_assembler.note_part(sequence)
            self._part = False
        if self._surplus > 0:
            session.payload_assembler.note_surplus(sequence, self._surplus)
        if session.rows is not None:
            session.rows.arrived(packet, self._number, self._index, size, now_ns)
        self._index += 1
        self._last = sequence
        flow_control = session.channel.flow_control
        delivered = flow_control.delivered
        self._handler.on_packet(session, packet, now_ns)
        if flow_control.delivered == delivered:
            flow_control.came_early(sequence, len(message.payload))

    def _read_frame_fragment(self, session: Session, reader: WireReader, now_ns: i64) -> None:
        """Keep a piece of a frame; the last one brings the whole, which is then performed."""
        if self._joined:
            raise RemoteError("a piece in pieces")
        self.owed = True
        self.messages = True
        sequence = reader.positive()
        size = reader.varint()
        check = reader.varint()
        offset = reader.varint()
        frame = session.frame_assemblers.add(
            sequence, size, check, offset, reader.take(reader.varint())
        )
        if frame is None:
            return
        self._last = 0
        self._surplus = 0
        self._joined = True
        self._read_frames(session, WireReader(frame), now_ns)
        self._joined = False
        self._last = 0
        self._surplus = 0

    def _read_ack(self, session: Session, reader: WireReader, now_ns: i64) -> None:
        delay_us = reader.varint()
        if delay_us > ACK_DELAY_LIMIT_US:
            raise RemoteError(f"an acknowledgement delayed by {delay_us} microseconds")
        acked = read_ranges(reader)
        lost = session.on_ack(acked, delay_us * 1000, now_ns)
        if lost is not None:
            self.lost += lost
        self.numbers = True

    def _read_expulsions(
        self, session: Session, reader: WireReader, kind: i64, now_ns: i64
    ) -> None:
        self.owed = True
        self.news = True
        if kind == EXPULSIONS:
            self._handler.on_expulsions(session, read_expulsion_records(reader, True), now_ns)
        else:
            records = read_expulsion_records(reader, False)
            self._handler.on_expulsions_acked(session, records, now_ns)

    def _read_control(self, session: Session, reader: WireReader, kind: i64) -> None:
        if kind == MESSAGE_FRAGMENT:
            self._part = True
        elif kind == SEQUENCE_OFFSET:
            self._surplus = reader.varint()
        elif kind == CREDIT:
            session.channel.flow_control.extend(reader.varint())
        elif kind == BYE:
            session.lifecycle.on_bye(reader.varint())
        elif kind == RELEASE:
            session.lifecycle.on_released()
        elif kind == STOPPED:
            self.stopped = True
        elif kind == CHALLENGE:
            session.address.on_challenge(read_i64_le(reader.take(8), 0))
        elif kind == RESPONSE:
            session.address.on_response(read_i64_le(reader.take(8), 0))
        elif kind == SUSPECTS:
            # Of versions that counted suspicions: nothing is made of it any more.
            reader.positive()
            read_expulsion_records(reader, False)
        elif kind == MEMBERS:
            session.lifecycle.on_members(reader.positive())
        elif kind != PING:
            raise RemoteError(f"a frame of unknown kind {kind}")
