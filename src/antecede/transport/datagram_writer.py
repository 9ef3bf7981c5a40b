"""Writing datagrams: everything that may leave for one peer now.

A datagram is a header, the acknowledgement that is owed, control of the transport, control of the
core, then as many messages as fit, repeated ones first. What must precede the packets of a datagram
goes between the control of the transport and that of the core.
"""

from typing import Final, final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64, u8

from antecede.core.packets import Ack, DataPacket, Message, Packet, Permit
from antecede.transport.datagram import Datagram
from antecede.transport.frame_fragments import FrameFragmenter
from antecede.transport.message_fragments import OwnFragments
from antecede.transport.notices import shortened
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.seals import SEAL_BYTES
from antecede.transport.send_queue import sequence_of
from antecede.transport.session import (
    BYE_SENT,
    CREDIT_SENT,
    NOTICES_SENT,
    RELEASE_SENT,
    RESPONSE_SENT,
    Session,
)
from antecede.wire.advice import write_waiting
from antecede.wire.envelope import MARK_BYTE, leading_envelope
from antecede.wire.expulsions import ExpulsionRecord, write_expulsion_records
from antecede.wire.frames import (
    ACK_RANGES,
    BYE,
    CHALLENGE,
    CREDIT,
    EXPULSIONS,
    FRAME_FRAGMENT,
    FRAME_OVERHEAD_MAX,
    HEADER_BYTES_MAX,
    MEMBERS,
    MESSAGE_FRAGMENT,
    NO_KEY,
    NUMBER_AT,
    PACKETS_MAX,
    PING,
    RELEASE,
    RESPONSE,
    SEQUENCE_OFFSET,
    STOPPED,
    write_frame,
    write_header,
)
from antecede.wire.handshake import ADVICE_VERSION, ENVELOPE_VERSION, UNKNOWN_SIZE
from antecede.wire.packets import encode, payload_size, write_message, write_packet
from antecede.wire.varint import varint_size, write_varint

PADDING_SHIFT: Final = 4
"""At most a sixteenth of a datagram is padding."""

SEALED_PING: Final = 96
"""At least 96 bytes behind the header of a sealed datagram with a ping or a bye: as large may be
the answer that its sender is expelled, and no answer is larger than what it answers. Without keys
the sender would say hello, and be told then; a node whose key was withdrawn is not heard any
more."""

PIECE_HEADER_MAX: Final = 40
"""At most 40 bytes around a piece."""

LEAVING_COPIES: Final = 3
"""A node that leaves sends each of its probes, and its last word, 3 times."""


@final
class DatagramWriter:
    """Writes the datagrams of one node."""

    __slots__ = (
        "_header",
        "_index",
        "_last",
        "_out",
        "_own_fragments",
        "_room",
        "_shared",
        "_shared_by",
        "_size",
        "_surplus",
        "_wants_answer",
        "_writer",
    )

    def __init__(self, own_fragments: OwnFragments, out: list[Datagram]) -> None:
        self._own_fragments: Final = own_fragments
        self._out: Final = out
        self._writer: Final = BytesWriter()
        # What precedes the bytes that are written: the header, of a datagram that will be sealed.
        self._header = b""
        # How many bytes may be written.
        self._room: i64 = 0
        # How many packets are in the datagram; the id of its last message, and its payload's size.
        self._index: i64 = 0
        self._last: i64 = 0
        self._size: i64 = 0
        # By how much the ids of its last messages are larger than their numbers.
        self._surplus: i64 = 0
        # The envelope of the message with this id, which may be the last one in the datagram.
        self._shared = b""
        self._shared_by: i64 = 0
        # Whether a ping or a bye is in the datagram.
        self._wants_answer = False

    def write(self, session: Session, now_ns: i64) -> None:
        """Put everything that may leave now into datagrams."""
        while session.wants_to_write(now_ns):
            self._write_datagram(session, now_ns)
        trial = session.mtu_probe_size(now_ns)
        if trial > 0:
            self._write_mtu_probe(session, trial, now_ns)
        session.on_written(now_ns)

    def write_stopped(self, session: Session, now_ns: i64) -> None:
        """Tell a peer that this node has stopped; there will be nobody to repeat that."""
        sent = SentDatagram(session.channel.path.next_number(), now_ns)
        self._begin(session, sent, now_ns)
        self._writer.append(u8(STOPPED))
        datagram = Datagram(session.address.current, self._finished(session, sent))
        self._out.extend([datagram] * LEAVING_COPIES)
        session.on_sent(sent, now_ns)

    def _begin(self, session: Session, sent: SentDatagram, now_ns: i64) -> None:
        """Begin a datagram with its header."""
        channel = session.channel
        keys = channel.keys
        mark: i64 = NO_KEY if keys is None else keys.key_id(now_ns)
        writer = self._writer
        writer.truncate(0)
        write_header(writer, session.token_out, sent.number, mark)
        self._wants_answer = False
        self._room = channel.path.mtu.size
        if keys is not None:
            # Apart: the cipher wants it so, and cutting it off later would be another copy.
            self._header = writer.getvalue()
            self._room -= len(writer)
            writer.truncate(0)
        write_varint(writer, sent.number - channel.path.oldest_number())

    def _finished(self, session: Session, sent: SentDatagram) -> bytes:
        """The datagram, sealed if there is a key."""
        keys = session.channel.keys
        if keys is None and len(self._writer) < UNKNOWN_SIZE:
            # Or a peer that has restarted could not tell us so: no answer is larger than that.
            self._writer.write(bytes(UNKNOWN_SIZE - len(self._writer)))
        if keys is not None and self._wants_answer and len(self._writer) < SEALED_PING:
            self._writer.write(bytes(SEALED_PING - len(self._writer)))
        data = self._writer.getvalue()
        if keys is not None:
            data = keys.encrypt(self._header, data, sent.number)
        sent.set_size(len(data))
        return data

    def _write_datagram(self, session: Session, now_ns: i64) -> None:
        channel = session.channel
        sent = SentDatagram(channel.path.next_number(), now_ns)
        with_messages = channel.may_send_messages(session.address.allowance, now_ns)
        writer = self._writer
        self._begin(session, sent, now_ns)
        self._index = 0
        self._last = 0
        self._surplus = 0
        if channel.acks.take_ack():
            writer.append(u8(ACK_RANGES))
            channel.acks.write(writer, now_ns)
        self._write_transport_control(session, sent)
        if session.notices.due:
            self._write_expulsions(session, sent)
        if channel.send_queue.has_control():
            self._write_control(session, sent, now_ns)
        if with_messages:
            self._write_messages(session, sent, now_ns)
            self._pad(session)
        answerable = sent.permit > 0 or sent.has_messages()
        datagram = Datagram(session.address.current, self._finished(session, sent), answerable)
        self._out.append(datagram)
        if session.is_leaving() and channel.path.probes > 0 and not session.address.is_unproven():
            # Soon nobody will be here to repeat it.
            self._out.extend([datagram] * (LEAVING_COPIES - 1))
        session.on_sent(sent, now_ns)

    def _write_transport_control(self, session: Session, sent: SentDatagram) -> None:
        writer = self._writer
        channel, lifecycle = session.channel, session.lifecycle
        if channel.flow_control.due:
            write_frame(writer, CREDIT, channel.flow_control.take_grant())
            sent.add_transport_control(CREDIT_SENT)
        if lifecycle.bye_due:
            write_frame(writer, BYE, lifecycle.take_bye())
            sent.add_transport_control(BYE_SENT)
            self._wants_answer = True
        if lifecycle.release_due:
            lifecycle.take_release()
            writer.append(u8(RELEASE))
            sent.add_transport_control(RELEASE_SENT)
        if channel.take_ping():
            self._write_ping(session, sent)
        if session.address.response_due:
            writer.append(u8(RESPONSE))
            write_i64_le(writer, session.address.take_response())
            sent.add_transport_control(RESPONSE_SENT)
        if session.waits.due is not None:
            # Not worth an answer, nor a datagram of its own: it goes with the acknowledgement.
            write_waiting(writer, session.waits.due)
            session.waits.on_told()

    def _write_ping(self, session: Session, sent: SentDatagram) -> None:
        writer = self._writer
        writer.append(u8(PING))
        sent.elicit()
        self._wants_answer = True
        if session.version >= ADVICE_VERSION and session.lifecycle.our_members > 0:
            write_frame(writer, MEMBERS, session.lifecycle.our_members)
        if session.address.challenge != 0:
            writer.append(u8(CHALLENGE))
            write_i64_le(writer, session.address.challenge)

    def _write_expulsions(self, session: Session, sent: SentDatagram) -> None:
        """Append who is expelled, and which expulsions are noted here, as far as there is room."""
        sent.elicit()
        room = self._room - len(self._writer) - HEADER_BYTES_MAX
        if session.notices.write(self._writer, room):
            sent.add_transport_control(NOTICES_SENT)

    def write_expulsion(
        self, session: Session, record: ExpulsionRecord, address: object, size: i64, now_ns: i64
    ) -> None:
        """Tell a peer, in at most `size` bytes, that it is expelled itself.

        It will be told again if it goes on.
        """
        sent = SentDatagram(session.channel.path.next_number(), now_ns)
        self._begin(session, sent, now_ns)
        said = shortened(record, room_for_news(session, size))
        write_expulsion_records(self._writer, EXPULSIONS, [said], True)
        self._out.append(Datagram(address, self._finished(session, sent)))
        session.on_sent(sent, now_ns)

    def _write_control(self, session: Session, sent: SentDatagram, now_ns: i64) -> None:
        """Append what the core has to say beside messages."""
        queue = session.channel.send_queue
        sent.set_ack_and_permit(queue.take_ack(), queue.take_permit())
        if sent.delivered > 0:
            self._write_packet(session, Ack(sent.delivered), sent, now_ns)
        if sent.permit > 0:
            self._write_packet(session, Permit(sent.permit), sent, now_ns)
        ask = queue.take_ask()
        if ask is not None:
            self._write_packet(session, ask, sent, now_ns)
        taken: list[Packet] = []
        for packet in queue.controls():
            if not self._try_write_control(session, packet, sent, now_ns):
                break
            sent.add_control(packet)
            taken.append(packet)
        if taken:
            queue.control_left(taken)

    def _write_messages(self, session: Session, sent: SentDatagram, now_ns: i64) -> None:
        queue = session.channel.send_queue
        if queue.fragmenter is not None:
            self._write_piece(session, queue.fragmenter, sent)
            return
        packet = queue.peek_retransmission()
        while packet is not None and self._try_write_message(session, packet, sent, now_ns):
            sent.add_retransmission(self._last)
            queue.pop_retransmission()
            packet = queue.peek_retransmission()
        if packet is not None:
            if self._is_too_large(session, packet):
                queue.pop_retransmission()
                self._fragment_frame(session, packet, sent, now_ns)
            return
        first: i64 = 0
        packet = queue.peek_new()
        while packet is not None and self._try_write_message(session, packet, sent, now_ns):
            if first == 0:
                first = self._last
            queue.pop_new(self._last, self._size)
            packet = queue.peek_new()
        if first > 0:
            sent.set_messages(first, self._last)
        elif packet is not None and self._is_too_large(session, packet):
            queue.pop_new(sequence_of(packet), payload_size(packet))
            self._fragment_frame(session, packet, sent, now_ns)

    def _try_write_message(
        self, session: Session, packet: Packet, sent: SentDatagram, now_ns: i64
    ) -> bool:
        """Append a message if it fits."""
        message = packet.carried if isinstance(packet, DataPacket) else packet.message
        assert message is not None, "only messages are queued"
        writer = self._writer
        before = len(writer)
        size = len(message.payload)
        if before + size >= self._room or self._index >= PACKETS_MAX:
            return False
        sequence = message.sequence
        if self._own_fragments.numbering.used:
            surplus = self._own_fragments.surplus_of(sequence)
            if surplus != self._surplus:
                write_frame(writer, SEQUENCE_OFFSET, surplus)
                self._surplus = surplus
        if self._own_fragments.continues(sequence):
            writer.append(u8(MESSAGE_FRAGMENT))
        start = len(writer)
        if isinstance(packet, DataPacket):
            # Most have none: a byte tells that without a call.
            marked = size > 0 and message.payload[0] == MARK_BYTE
            shared: i64 = self._alike(session, message) if marked else 0
            write_message(packet, writer, self._last, shared)
        else:
            write_packet(packet, writer, self._last)
        if len(writer) > self._room:
            writer.truncate(before)
            return False
        self._last = sequence
        self._size = size
        if session.rows is not None:
            taken = len(writer) - start
            session.rows.transmitted(packet, sent.number, self._index, taken, now_ns)
        self._index += 1
        return True

    def _alike(self, session: Session, message: Message) -> i64:
        """The size of its envelope if that is left out, as the message before it has the same."""
        if session.version < ENVELOPE_VERSION or session.rows is not None:
            return 0
        alike = self._last > 0 and self._shared_by == self._last
        self._shared_by = message.sequence
        if alike and message.payload.startswith(self._shared):
            return len(self._shared)
        self._shared = leading_envelope(message.payload)
        return 0

    def _is_too_large(self, session: Session, packet: Packet) -> bool:
        """Whether a message fits no datagram, now that they are smaller, and this one is empty."""
        size = payload_size(packet) + FRAME_OVERHEAD_MAX // 2
        return self._last == 0 and size > session.datagram_size

    def _fragment_frame(
        self, session: Session, packet: Packet, sent: SentDatagram, now_ns: i64
    ) -> None:
        """Begin to send a message in pieces of its frame."""
        sequence = sequence_of(packet)
        frame = encode(packet)
        if session.rows is not None:
            session.rows.transmitted(packet, sent.number, self._index, len(frame), now_ns)
        self._index += 1
        frame = self._fragment_prefix(sequence) + frame
        self._write_piece(
            session, session.channel.send_queue.begin_fragmenting(sequence, frame), sent
        )

    def _fragment_prefix(self, sequence: i64) -> bytes:
        """What stands before a message that is a part, or that comes after one."""
        writer = BytesWriter()
        if self._own_fragments.numbering.used:
            write_frame(writer, SEQUENCE_OFFSET, self._own_fragments.surplus_of(sequence))
        if self._own_fragments.continues(sequence):
            writer.append(u8(MESSAGE_FRAGMENT))
        return writer.getvalue()

    def _write_piece(
        self, session: Session, fragmenter: FrameFragmenter, sent: SentDatagram
    ) -> None:
        """Append a piece, as large as there is room for."""
        writer = self._writer
        room = session.datagram_size - len(writer) - PIECE_HEADER_MAX
        if room <= 0:
            return
        offset = fragmenter.offset
        piece = fragmenter.take(room)
        write_frame(writer, FRAME_FRAGMENT, fragmenter.sequence)
        write_varint(writer, fragmenter.size)
        write_varint(writer, fragmenter.check)
        write_varint(writer, offset)
        write_varint(writer, len(piece))
        writer.write(piece)
        sent.set_messages(fragmenter.sequence, fragmenter.sequence)
        if fragmenter.is_taken():
            session.channel.send_queue.end_fragmenting()

    def _write_mtu_probe(self, session: Session, size: i64, now_ns: i64) -> None:
        """Write a datagram that finds out whether one of this size comes through."""
        sent = SentDatagram(session.channel.path.next_number(), now_ns)
        sent.set_trial()
        self._begin(session, sent, now_ns)
        self._writer.append(u8(PING))
        self._writer.write(bytes(size - len(self._writer)))
        self._out.append(Datagram(session.address.current, self._finished(session, sent)))
        session.on_sent(sent, now_ns)

    def _try_write_control(
        self, session: Session, packet: Packet, sent: SentDatagram, now_ns: i64
    ) -> bool:
        """Append control if it fits."""
        if len(self._writer) >= self._room - HEADER_BYTES_MAX or self._index >= PACKETS_MAX:
            return False
        self._write_packet(session, packet, sent, now_ns)
        return True

    def _write_packet(
        self, session: Session, packet: Packet, sent: SentDatagram, now_ns: i64
    ) -> None:
        """Append control."""
        before = len(self._writer)
        write_packet(packet, self._writer, 0)
        if session.rows is not None:
            size = len(self._writer) - before
            session.rows.transmitted(packet, sent.number, self._index, size, now_ns)
        self._index += 1

    def _pad(self, session: Session) -> None:
        """Pad a datagram that is almost full, if more follow: equal sizes leave in one call."""
        short = self._room - len(self._writer)
        if (
            0 < short <= session.datagram_size >> PADDING_SHIFT
            and session.channel.send_queue.has_messages()
        ):
            self._writer.write(bytes(short))


def room_for_news(session: Session, size: i64) -> i64:
    """The bytes that are left for news in the next datagram of a session, if it has this size."""
    path = session.channel.path
    number = path.next_number()
    size -= NUMBER_AT + varint_size(number) + varint_size(number - path.oldest_number())
    return size if session.channel.keys is None else size - SEAL_BYTES
