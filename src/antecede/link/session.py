"""One peer, as long as neither side restarts: its path, what waits to leave, and its credit.

A session writes datagrams: a header, acknowledgements, control, then as many messages as fit, while
window, pace and credit allow. It takes in what concerns the path; the endpoint reads the rest.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.errors import RemoteError
from antecede.core.packets import DataPacket
from antecede.core.process import NEVER_NS
from antecede.link.datagram import Datagram
from antecede.link.frames import (
    ASKED,
    BYE,
    CREDIT,
    DELIVERED,
    HEADER_MOST,
    NUMBERS,
    PACKETS_MOST,
    PERMITTED,
    PING,
    RELEASE,
    message_frame_size,
    write_frame,
    write_header,
    write_message_frame,
)
from antecede.link.outgoing import Outgoing
from antecede.link.path.flight import Sent
from antecede.link.path.path import Path
from antecede.link.path.ranges import AckedNumbers
from antecede.link.path.round_trip import ACK_DELAY_NS
from antecede.link.rows import EventRows, packet_id, path_key
from antecede.trace.log import NULL
from antecede.wire.varint import varint_size, write_varint

ME: Final = 0
"""This node's id in its own core; the sessions with its peers are 1, 2, 3, …"""

CREDIT_DUE: Final = 1
BYE_DUE: Final = 2
RELEASE_DUE: Final = 4
PING_DUE: Final = 8
"""Control of the link itself, as bits; what is lost of it, ping apart, is sent again."""

LEAVE_WHEN_RELEASED: Final = 0
LEAVE_AFTER_BYE: Final = 1
"""How a node leaves: when its peers have nothing more for it, or when they have said bye too."""

PADDING_SHIFT: Final = 4
"""At most a sixteenth of a datagram is padding."""

LEAVING_COPIES: Final = 3
"""How often a node that leaves sends each of its probes."""

PARTS_LIMIT: Final = 1 << 17
"""Parts of large payloads that have come before their turn; beyond that they are not noted, and
the peer is not keeping to the window it was given."""


@final
class Session:
    """What there is between this node and one incarnation of a peer."""

    __slots__ = (
        "_acks_owed",
        "ack_at_ns",
        "address",
        "bye_acked",
        "bye_mode",
        "controls_due",
        "datagram_size",
        "datagrams_in",
        "datagrams_out",
        "delivered_cost",
        "dirty",
        "dirty_again",
        "duplicates",
        "ended",
        "fixed_address",
        "granted",
        "heard_ns",
        "id",
        "inboxed_cost",
        "incarnation",
        "key_in",
        "key_out",
        "largest",
        "largest_at_ns",
        "last_delivered",
        "left",
        "left_ns",
        "met",
        "name",
        "outgoing",
        "paced_ns",
        "parts",
        "parts_size",
        "path",
        "payload_limit",
        "peer_bye",
        "peer_released",
        "pieces",
        "probe",
        "process",
        "repeated",
        "rows",
        "silent",
        "token_in",
        "token_out",
        "uncredited",
        "wake_ns",
        "window",
    )

    def __init__(
        self, local_id: i64, name: str, datagram_size: i64, window: i64, cumulative: bool
    ) -> None:
        self.id: Final[i64] = local_id
        self.name: Final = name
        self.address: object = None
        self.fixed_address = False
        self.incarnation: i64 = 0
        self.token_in: i64 = 0
        self.token_out: i64 = 0
        self.met = False
        self.ended = False
        self.datagram_size: i64 = datagram_size
        self.path = Path(datagram_size, 16 * datagram_size)
        self.outgoing: Final = Outgoing(cumulative)
        self.controls_due: i64 = 0
        # Whether it waits to be written to, and whether something read asks for that.
        self.dirty = False
        self.dirty_again = False
        self.probe = False
        self.payload_limit: i64 = 0
        # The largest payload that goes to it in one message, and that it and we allow.
        self.largest: i64 = 0
        # Acknowledgements of datagrams: how many are owed, and by when.
        self._acks_owed: i64 = 0
        self.ack_at_ns: i64 = NEVER_NS
        self.largest_at_ns: i64 = 0
        self.paced_ns: i64 = NEVER_NS
        # When the endpoint's timer will look at this session next.
        self.wake_ns: i64 = NEVER_NS
        # The window that we give: what was delivered of the peer's, what of that waits in the
        # inbox, and how far the peer may go.
        self.window: Final[i64] = window
        self.delivered_cost: i64 = 0
        self.inboxed_cost: i64 = 0
        self.granted: i64 = 0
        self.uncredited = False
        # A payload that comes in parts: ids of parts that are not the last, and those delivered.
        self.last_delivered: i64 = 0
        self.parts: dict[int, bool] = {}
        self.pieces: list[bytes] = []
        self.parts_size: i64 = 0
        # Leaving: what we said, and what the peer said.
        self.bye_mode: i64 = -1
        self.bye_acked = False
        self.peer_bye: i64 = -1
        self.peer_released = False
        self.left = False
        self.heard_ns: i64 = 0
        self.left_ns: i64 = 0
        self.silent = False
        self.rows: EventRows | None = None
        self.process: i64 = 0
        self.key_in: i64 = 0
        self.key_out: i64 = 0
        self.datagrams_in: i64 = 0
        self.datagrams_out: i64 = 0
        self.duplicates: i64 = 0
        self.repeated: i64 = 0

    def known_as(self, process: i64, rows: EventRows | None) -> None:
        """The peer's id in event logs."""
        self.process = process
        self.rows = rows
        if rows is not None:
            self.key_in = path_key(process, rows.me)
            self.key_out = path_key(rows.me, process)

    def establish(self, incarnation: i64, token_out: i64, window_cap: i64, now_ns: i64) -> None:
        """The peer is known: from now on datagrams can leave."""
        self.incarnation = incarnation
        self.token_out = token_out
        self.path = Path(self.datagram_size, window_cap)
        self.met = True
        self.heard_ns = now_ns
        self.left_ns = now_ns

    def is_new(self, number: i64) -> bool:
        """Whether a datagram that comes has not come before."""
        self.datagrams_in += 1
        if not self.path.received.has(number):
            return True
        # No answer: nobody sends a number twice, and a network that repeats all it carries would
        # repeat the answers too.
        self.duplicates += 1
        return False

    def arrived(self, number: i64, floor: i64, now_ns: i64) -> None:
        """A new datagram has been read to its end: only then may it be acknowledged."""
        received = self.path.received
        if number > received.largest:
            self.largest_at_ns = now_ns
        received.add(number)
        received.settle(floor)

    def owe_ack(self, at_once: bool, now_ns: i64) -> None:
        """The peer waits to hear that its datagram has come."""
        self._acks_owed += 1
        if at_once:
            self.ack_at_ns = now_ns
        elif self.ack_at_ns > now_ns + ACK_DELAY_NS:
            self.ack_at_ns = now_ns + ACK_DELAY_NS

    def acknowledged(self, acked: AckedNumbers, delay_ns: i64, now_ns: i64) -> None:
        """The peer says which datagrams have come."""
        path = self.path
        path.acknowledged(acked, delay_ns, now_ns)
        if path.flight.settled_controls & BYE_DUE:
            self.bye_acked = True
        self._repeat_lost_control()

    def expire(self, now_ns: i64) -> None:
        """Let the path do what is due; afterwards `path.lost` holds what was lost."""
        self.path.expire(now_ns)
        self._repeat_lost_control()

    def oldest_to_probe(self) -> Sent | None:
        """If a probe is wanted: the datagram whose messages it should repeat, if there is one."""
        path = self.path
        if not path.probe_wanted:
            return None
        path.probe_wanted = False
        self.probe = True
        self.controls_due |= PING_DUE
        self.outgoing.repeat_control()
        if self.bye_mode >= 0 and not self.bye_acked:
            self.controls_due |= BYE_DUE
        oldest = path.flight.oldest_with_messages()
        if oldest is not None:
            oldest.probed = True
        return oldest

    def note_part(self, sequence: i64) -> None:
        """The message with this id, when it is delivered, is not the end of its payload."""
        if sequence > self.last_delivered and len(self.parts) < PARTS_LIMIT:
            self.parts[sequence] = True

    def forget_pieces(self) -> None:
        """The payload that came in parts is complete, or will not be."""
        self.pieces.clear()
        self.parts_size = 0

    def peer_says_bye(self, mode: i64) -> None:
        """The peer wants to leave: at once when we have nothing for it, or after our bye."""
        if mode > LEAVE_AFTER_BYE:
            raise RemoteError(f"a good-bye of unknown kind {mode}")
        self.peer_bye = mode

    def part(self) -> None:
        """Release a peer that wants to leave: nothing here is for it."""
        self.left = True
        self.path.parting = True
        self.controls_due |= RELEASE_DUE

    def grant(self) -> None:
        """Give the peer more credit, if enough of what came has been consumed."""
        limit = self.delivered_cost - self.inboxed_cost + self.window
        if limit - self.granted >= self.window >> 2:
            self.granted = limit
            self.controls_due |= CREDIT_DUE

    def wants_to_write(self, now_ns: i64) -> bool:
        """Whether anything waits that may leave now."""
        if self.controls_due != 0 or self.ack_at_ns <= now_ns or self.outgoing.has_control():
            return True
        return self._may_send_messages(now_ns)

    def write(
        self, now_ns: i64, writer: BytesWriter, parts: dict[int, bool], out: list[Datagram]
    ) -> None:
        """Put everything that may leave now into datagrams."""
        self.paced_ns = NEVER_NS
        if not self.met or self.ended:
            return
        while self.wants_to_write(now_ns):
            self._write_datagram(now_ns, writer, parts, out)
        self.probe = False
        if self.outgoing.has_messages():
            self.paced_ns = self.path.paced_until_ns(now_ns)

    def next_wake_ns(self) -> i64:
        """When the path, an acknowledgement or the pace wants attention."""
        wake_ns = self.path.wake_ns()
        if self.ack_at_ns < wake_ns:
            wake_ns = self.ack_at_ns
        return self.paced_ns if self.paced_ns < wake_ns else wake_ns

    def _may_send_messages(self, now_ns: i64) -> bool:
        if not self.outgoing.has_messages():
            return False
        if self.probe or self.path.flight.size == 0:
            return True
        return self.path.room(now_ns) >= self.datagram_size

    def _repeat_lost_control(self) -> None:
        for sent in self.path.lost:
            if sent.delivered > 0 or sent.permit > 0:
                self.outgoing.repeat_control()
            self.controls_due |= sent.controls & (CREDIT_DUE | RELEASE_DUE)
            if sent.controls & BYE_DUE and not self.bye_acked:
                self.controls_due |= BYE_DUE

    def _write_datagram(
        self, now_ns: i64, writer: BytesWriter, parts: dict[int, bool], out: list[Datagram]
    ) -> None:
        path = self.path
        sent = Sent(path.next_number(), now_ns)
        with_messages = self._may_send_messages(now_ns)
        writer.truncate(0)
        write_header(writer, self.token_out, sent.number, path.oldest_number())
        self._write_numbers(writer, now_ns)
        place = self._write_control(writer, sent, now_ns)
        self._write_link_control(writer, sent)
        if with_messages:
            self._write_messages(writer, parts, sent, place, now_ns)
            self._fill_up(writer)
        sent.size = len(writer)
        datagram = Datagram(self.address, writer.getvalue())
        out.append(datagram)
        if self.bye_mode >= 0 and path.probes > 0:
            # Soon nobody will be here to repeat it.
            out.extend([datagram] * (LEAVING_COPIES - 1))
        path.left(sent, now_ns)
        self.left_ns = now_ns
        self.datagrams_out += 1

    def _write_numbers(self, writer: BytesWriter, now_ns: i64) -> None:
        if self._acks_owed == 0 or self.path.received.largest == 0:
            self.ack_at_ns = NEVER_NS
            return
        self._acks_owed = 0
        self.ack_at_ns = NEVER_NS
        writer.append(u8(NUMBERS))
        write_varint(writer, (now_ns - self.largest_at_ns) // 1000)
        self.path.received.write(writer)

    def _write_link_control(self, writer: BytesWriter, sent: Sent) -> None:
        due = self.controls_due
        if due == 0:
            return
        if due & CREDIT_DUE:
            write_frame(writer, CREDIT, self.granted)
        if due & BYE_DUE:
            write_frame(writer, BYE, self.bye_mode)
        if due & RELEASE_DUE:
            writer.append(u8(RELEASE))
        if due & PING_DUE:
            writer.append(u8(PING))
        sent.controls = due
        sent.eliciting = True
        self.controls_due = 0

    def _write_control(self, writer: BytesWriter, sent: Sent, now_ns: i64) -> i64:
        """Append what the core has to say; how many packets that are."""
        outgoing = self.outgoing
        if not outgoing.has_control():
            return 0
        sent.eliciting = True
        place: i64 = 0
        if outgoing.delivered_due > 0:
            sent.delivered = outgoing.delivered_due
            outgoing.delivered_last = outgoing.delivered_due
            outgoing.delivered_due = 0
            place = self._write_ack(writer, sent.delivered, sent.number, place, now_ns)
        if outgoing.permit_due > 0:
            sent.permit = outgoing.permit_due
            outgoing.permit_last = outgoing.permit_due
            outgoing.permit_due = 0
            write_frame(writer, PERMITTED, sent.permit)
            size = 1 + varint_size(sent.permit)
            if self.rows is not None:
                self._log_control(self.rows.permit, sent.number, place, now_ns, size)
            place += 1
        ask = outgoing.ask
        if ask is not None:
            outgoing.ask = None
            write_frame(writer, ASKED, ask.delivered)
            write_varint(writer, ask.lowest)
            size = 1 + varint_size(ask.delivered) + varint_size(ask.lowest)
            if self.rows is not None:
                self._log_control(self.rows.ask, sent.number, place, now_ns, size)
            place += 1
        return self._write_single_acks(writer, sent.number, place, now_ns)

    def _write_single_acks(self, writer: BytesWriter, number: i64, place: i64, now_ns: i64) -> i64:
        """Acks that do not cover what is before them, as many as fit."""
        acks = self.outgoing.acks
        taken = 0
        room = self.datagram_size - HEADER_MOST
        while taken < len(acks) and len(writer) < room and place < PACKETS_MOST:
            place = self._write_ack(writer, acks[taken], number, place, now_ns)
            taken += 1
        if taken > 0:
            del acks[:taken]
        return place

    def _write_ack(
        self, writer: BytesWriter, sequence: i64, number: i64, place: i64, now_ns: i64
    ) -> i64:
        write_frame(writer, DELIVERED, sequence)
        if self.rows is not None:
            size = 1 + varint_size(sequence)
            self._log_control(self.rows.ack, number, place, now_ns, size)
        return place + 1

    def _write_messages(
        self, writer: BytesWriter, parts: dict[int, bool], sent: Sent, place: i64, now_ns: i64
    ) -> None:
        outgoing = self.outgoing
        last: i64 = 0
        packet = outgoing.next_repeat()
        while packet is not None and self._fits(writer, packet, last, place):
            last = self._write_message(writer, parts, packet, last, sent.number, place, now_ns)
            place += 1
            if sent.again is None:
                sent.again = []
            sent.again.append(last)
            self.repeated += 1
            outgoing.repeat_left()
            packet = outgoing.next_repeat()
        if packet is None:
            packet = outgoing.next_new()
            while packet is not None and self._fits(writer, packet, last, place):
                last = self._write_message(writer, parts, packet, last, sent.number, place, now_ns)
                place += 1
                if sent.first == 0:
                    sent.first = last
                sent.last = last
                outgoing.new_left(packet)
                packet = outgoing.next_new()
        if last > 0:
            sent.eliciting = True
        self.probe = False

    def _fill_up(self, writer: BytesWriter) -> None:
        """Pad a datagram that is almost full, if more follow: equal sizes leave in one call."""
        short = self.datagram_size - len(writer)
        if 0 < short <= self.datagram_size >> PADDING_SHIFT and self.outgoing.has_messages():
            writer.write(bytes(short))

    def _fits(self, writer: BytesWriter, packet: DataPacket, last: i64, place: i64) -> bool:
        if place >= PACKETS_MOST:
            return False
        size = message_frame_size(packet, last) + len(packet.carried.payload)
        return len(writer) + size <= self.datagram_size

    def _write_message(
        self,
        writer: BytesWriter,
        parts: dict[int, bool],
        packet: DataPacket,
        last: i64,
        number: i64,
        place: i64,
        now_ns: i64,
    ) -> i64:
        sequence = packet.carried.sequence
        more = len(parts) > 0 and sequence in parts
        before = len(writer)
        write_message_frame(writer, packet, more, last)
        rows = self.rows
        if rows is not None:
            size = len(packet.carried.payload)
            extra = len(writer) - before - size
            identity = packet_id(self.key_out, number, place)
            rows.transmitted(rows.message, sequence, self.process, identity, now_ns, size, extra)
        return sequence

    def _log_control(self, kind: i64, number: i64, place: i64, now_ns: i64, size: i64) -> None:
        rows = self.rows
        if rows is not None:
            identity = packet_id(self.key_out, number, place)
            rows.transmitted(kind, NULL, self.process, identity, now_ns, 0, size)
