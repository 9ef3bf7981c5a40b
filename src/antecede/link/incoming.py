"""Reading the frames of a datagram: control for the path and the link, packets for the core.

Frames are performed one by one, in order. A frame that makes no sense is a `RemoteError`: what came
before it in the datagram has happened, the rest has not.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import RemoteError
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.core.process import CausalProcess, Outbox
from antecede.core.values import Message, Packet
from antecede.link.frames import (
    ASKED,
    BYE,
    CREDIT,
    DELIVERED,
    FLAGGED,
    FOLLOWS,
    MESSAGE,
    MESSAGE_KINDS,
    MORE,
    NUMBERS,
    PADDING,
    PERMITTED,
    PING,
    RELEASE,
    message_frame_size,
)
from antecede.link.path.ranges import read_ranges
from antecede.link.rows import packet_id
from antecede.link.session import Session
from antecede.trace.log import NULL
from antecede.wire.varint import Reader, varint_size

ACK_DELAY_LIMIT_US: Final = 1 << 40
"""Nobody keeps an acknowledgement for longer; larger figures are nonsense."""


@final
class Incoming:
    """Reads the datagrams of one node."""

    __slots__ = ("_last", "_number", "_outbox", "_place", "_process", "messages", "numbers", "owed")

    def __init__(self, process: CausalProcess, outbox: Outbox) -> None:
        self._process: Final = process
        self._outbox: Final = outbox
        self._number: i64 = 0
        self._place: i64 = 0
        self._last: i64 = 0
        # What the last datagram contained: messages, acknowledgements, anything to be acknowledged.
        self.messages = False
        self.numbers = False
        self.owed = False

    def read(self, session: Session, reader: Reader, number: i64, now_ns: i64) -> None:
        """Perform all frames of datagram `number`."""
        self._number = number
        self._place = 0
        self._last = 0
        self.messages = False
        self.numbers = False
        self.owed = False
        while reader.left() > 0:
            kind = reader.byte()
            if MESSAGE <= kind < MESSAGE + MESSAGE_KINDS:
                self._read_message(session, reader, kind, now_ns)
            elif kind == NUMBERS:
                self._read_numbers(session, reader, now_ns)
            elif kind == PADDING:
                return
            else:
                self.owed = True
                self._read_control(session, reader, kind, now_ns)

    def _read_message(self, session: Session, reader: Reader, kind: i64, now_ns: i64) -> None:
        self.messages = True
        self.owed = True
        if kind & FOLLOWS:
            if self._last == 0:
                raise RemoteError("a message follows another that is not there")
            previous = self._last
            sequence = previous + 1
        else:
            sequence = reader.positive()
            previous = sequence - reader.positive()
            if previous < 0:
                raise RemoteError(f"message {sequence} follows one before the first")
        payload = reader.take(reader.varint())
        if kind & MORE:
            # Remembered until the core delivers it; what it has delivered already it will not.
            session.note_part(sequence)
        flagged = (kind & FLAGGED) != 0
        packet = DataPacket(Message(session.id, sequence, payload), previous, flagged)
        if session.rows is not None:
            size = len(payload)
            extra = message_frame_size(packet, self._last)
            self._log(session, session.rows.message, sequence, now_ns, size, extra)
        self._last = sequence
        self._process.arrive_into(session.id, packet, now_ns, self._outbox)

    def _read_numbers(self, session: Session, reader: Reader, now_ns: i64) -> None:
        delay_us = reader.varint()
        if delay_us > ACK_DELAY_LIMIT_US:
            raise RemoteError(f"an acknowledgement delayed by {delay_us} microseconds")
        acked = read_ranges(reader)
        session.acknowledged(acked, delay_us * 1000, now_ns)
        self.numbers = True

    def _read_control(self, session: Session, reader: Reader, kind: i64, now_ns: i64) -> None:
        if kind == DELIVERED:
            sequence = reader.varint()
            if session.outgoing.peer_delivered < sequence:
                session.outgoing.peer_delivered = sequence
            self._hand_over(session, Ack(sequence), now_ns)
        elif kind == PERMITTED:
            self._hand_over(session, Permit(reader.varint()), now_ns)
        elif kind == ASKED:
            delivered = reader.varint()
            self._hand_over(session, Ask(delivered, reader.varint()), now_ns)
        elif kind == CREDIT:
            limit = reader.varint()
            if session.outgoing.credit_limit < limit:
                session.outgoing.credit_limit = limit
                session.dirty_again = True
        elif kind == BYE:
            session.peer_says_bye(reader.varint())
        elif kind == RELEASE:
            session.peer_released = True
        elif kind != PING:
            raise RemoteError(f"a frame of unknown kind {kind}")

    def _hand_over(self, session: Session, packet: Packet, now_ns: i64) -> None:
        rows = session.rows
        if rows is not None:
            if isinstance(packet, Ack):
                size = 1 + varint_size(packet.sequence)
                self._log(session, rows.ack, NULL, now_ns, 0, size)
            elif isinstance(packet, Permit):
                size = 1 + varint_size(packet.sequence)
                self._log(session, rows.permit, NULL, now_ns, 0, size)
            elif isinstance(packet, Ask):
                size = 1 + varint_size(packet.delivered) + varint_size(packet.lowest)
                self._log(session, rows.ask, NULL, now_ns, 0, size)
        self._process.arrive_into(session.id, packet, now_ns, self._outbox)

    def _log(
        self, session: Session, kind: i64, sequence: i64, now_ns: i64, size: i64, extra: i64
    ) -> None:
        rows = session.rows
        if rows is not None:
            identity = packet_id(session.key_in, self._number, self._place)
            rows.arrived(kind, session.process, sequence, identity, now_ns, size, extra)
        self._place += 1
