"""What a node writes into its event log: the four kinds of events, with ids that all nodes share.

Inside a node peers are small local numbers; in the log a process is a number that follows from its
name. A packet's id is made of the two ends, the number of its datagram and its place in there, so
that both ends know it without it being sent.

Who a peer is in the log is certain only when it is met: one that has lived before, with a log in
the same folder, is another process now. What is sent to it before, and all rows after that, are
held back for a while, so that they can name it.
"""

from abc import abstractmethod
from hashlib import blake2b
from typing import Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Ack, DataPacket, Packet
from antecede.eventlog.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog

PACKET_BITS: Final = 12
"""12 bits number the packets within a datagram."""

PACKET_MASK: Final = (1 << 62) - 1

HELD_MAX: Final = 1 << 15
"""At most 32,768 rows wait until a peer is met; then it is taken for the one of that name."""

HELD_ROUNDS: Final = 10
"""How often `release_old` leaves them held back."""

Row: TypeAlias = tuple[int, int, int, int, int, int, int, int, int]
"""Kind, sender, sequence, target, packet, its kind, time, sizes of payload and metadata."""


def path_key(sender: int, target: int) -> int:
    """Where the ids of packets from `sender` to `target` begin: far from those of all others."""
    digest = blake2b(f"{sender}>{target}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & PACKET_MASK


def packet_id(key: i64, number: i64, index: i64) -> i64:
    """The id of the packet that is at `index` among those of datagram `number`."""
    return ((key & PACKET_MASK) + (number << PACKET_BITS) + index) & PACKET_MASK


@mypyc_attr(allow_interpreted_subclasses=True)
class EventSink:
    """Takes note of what happens at one node, in ids that all nodes share; `me` is its own."""

    def __init__(self, me: i64) -> None:
        self.me: Final[i64] = me

    @abstractmethod
    def submitted(self, sequence: i64, target: i64, size: i64, now_ns: i64) -> None:
        """The application has sent a message, one of whose targets is `target`."""

    @abstractmethod
    def submitted_to_stranger(
        self, session: i64, sequence: i64, target: i64, size: i64, now_ns: i64
    ) -> None:
        """The same, to somebody who has not been met, and may turn out not to be `target`."""

    @abstractmethod
    def introduced(self, session: i64, process: i64) -> None:
        """A peer is known now, or never will be."""

    @abstractmethod
    def transmitted(
        self, packet: Packet, target: i64, identity: i64, frame_size: i64, now_ns: i64
    ) -> None:
        """A packet leaves, in a frame of `size` bytes."""

    @abstractmethod
    def arrived(
        self, packet: Packet, sender: i64, identity: i64, frame_size: i64, now_ns: i64
    ) -> None:
        """A packet has come from `sender`."""

    @abstractmethod
    def delivered(self, sender: i64, sequence: i64, payload: bytes, now_ns: i64) -> None:
        """A message has been delivered here."""


@final
class EventRows(EventSink):
    """The event log of one node."""

    __slots__ = (
        "_ack",
        "_held",
        "_last_ns",
        "_log",
        "_message",
        "_rounds",
        "_strangers",
        "offset_ns",
    )

    def __init__(self, log: EventLog, me: int) -> None:
        super().__init__(me)
        self._log: Final = log
        self._last_ns: i64 = 0
        # Rows held back, in order; where those stand that name somebody not met yet, by session.
        self._held: list[Row] = []
        self._strangers: dict[int, list[int]] = {}
        self._rounds: i64 = 0
        # From the clock that drives the node to the one that all nodes share.
        self.offset_ns: i64 = 0
        self._message: Final[i64] = log.intern("message")
        self._ack: Final[i64] = log.intern("ack")

    def set_offset(self, offset_ns: i64) -> None:
        """From now on add this to the clock that drives the node, for the clock that all share."""
        self.offset_ns = offset_ns

    def submitted(self, sequence: i64, target: i64, size: i64, now_ns: i64) -> None:
        time_ns = self._time_ns(now_ns)
        self._put(SUBMITTED, self.me, sequence, target, NULL, NULL, time_ns, size, 0)

    def submitted_to_stranger(
        self, session: i64, sequence: i64, target: i64, size: i64, now_ns: i64
    ) -> None:
        if len(self._held) >= HELD_MAX:
            self.release()
        time_ns = self._time_ns(now_ns)
        self._strangers.setdefault(session, []).append(len(self._held))
        self._held.append((SUBMITTED, self.me, sequence, target, NULL, NULL, time_ns, size, 0))

    def introduced(self, session: i64, process: i64) -> None:
        # What was sent to it can be written.
        places = self._strangers.pop(session, None)
        if places is None:
            return
        for place in places:
            row = self._held[place]
            self._held[place] = (*row[:3], process, *row[4:])
        if not self._strangers:
            self.release()

    def release_old(self) -> None:
        """To be called now and then: nothing is held back for ever."""
        self._rounds = self._rounds + 1 if self._held else 0
        if self._rounds > HELD_ROUNDS:
            self.release()

    def release(self) -> None:
        """Write what is held back, whoever its targets may turn out to be."""
        held = self._held
        self._held = []
        self._strangers.clear()
        self._rounds = 0
        for row in held:
            self._log.append(self.me, *row)

    def transmitted(
        self, packet: Packet, target: i64, identity: i64, frame_size: i64, now_ns: i64
    ) -> None:
        sender = NULL if packet.message is None else self.me
        self._put_packet(TRANSMITTED, packet, sender, target, identity, frame_size, now_ns)

    def arrived(
        self, packet: Packet, sender: i64, identity: i64, frame_size: i64, now_ns: i64
    ) -> None:
        if packet.message is None:
            sender = NULL
        self._put_packet(ARRIVED, packet, sender, self.me, identity, frame_size, now_ns)

    def delivered(self, sender: i64, sequence: i64, payload: bytes, now_ns: i64) -> None:
        time_ns = self._time_ns(now_ns)
        self._put(DELIVERED, sender, sequence, self.me, NULL, NULL, time_ns, len(payload), 0)

    def _put_packet(
        self,
        kind: i64,
        packet: Packet,
        sender: i64,
        target: i64,
        identity: i64,
        frame_size: i64,
        now_ns: i64,
    ) -> None:
        message = packet.message
        sequence: i64 = NULL if message is None else message.sequence
        size: i64 = 0 if message is None else len(message.payload)
        packet_kind = self._kind_of(packet)
        time_ns = self._time_ns(now_ns)
        extra = frame_size - size
        self._put(kind, sender, sequence, target, identity, packet_kind, time_ns, size, extra)

    def _kind_of(self, packet: Packet) -> i64:
        """The number of a packet's kind in the log."""
        if isinstance(packet, DataPacket):
            return self._message
        return self._ack if isinstance(packet, Ack) else self._log.intern(packet.kind)

    def _put(
        self,
        kind: i64,
        sender: i64,
        sequence: i64,
        target: i64,
        packet: i64,
        packet_kind: i64,
        time_ns: i64,
        size: i64,
        extra: i64,
    ) -> None:
        """Write a row, behind those that are held back."""
        if self._held:
            self._held.append(
                (kind, sender, sequence, target, packet, packet_kind, time_ns, size, extra)
            )
            if len(self._held) >= HELD_MAX:
                self.release()
            return
        self._log.append(
            self.me, kind, sender, sequence, target, packet, packet_kind, time_ns, size, extra
        )

    def _time_ns(self, now_ns: i64) -> i64:
        """The shared clock's time, which in a log never goes back."""
        time_ns = now_ns + self.offset_ns
        if time_ns < self._last_ns:
            return self._last_ns
        self._last_ns = time_ns
        return time_ns


@final
class SessionRows:
    """The rows about what passes between this node and one peer."""

    __slots__ = ("_key_in", "_key_out", "_log", "process")

    def __init__(self, log: EventSink, process: int) -> None:
        self._log: Final = log
        # The peer's id in the log, and where the ids of packets from and to it begin.
        self.process: i64 = process
        self._key_in: i64 = path_key(process, log.me)
        self._key_out: i64 = path_key(log.me, process)

    def known_as(self, process: int) -> None:
        """The peer has said which id it has."""
        self.process = process
        self._key_in = path_key(process, self._log.me)
        self._key_out = path_key(self._log.me, process)

    def transmitted(
        self, packet: Packet, number: i64, index: i64, frame_size: i64, now_ns: i64
    ) -> None:
        """A packet leaves in datagram `number`; its frame takes `size` bytes."""
        identity = packet_id(self._key_out, number, index)
        self._log.transmitted(packet, self.process, identity, frame_size, now_ns)

    def arrived(
        self, packet: Packet, number: i64, index: i64, frame_size: i64, now_ns: i64
    ) -> None:
        """A packet has come in datagram `number`."""
        identity = packet_id(self._key_in, number, index)
        self._log.arrived(packet, self.process, identity, frame_size, now_ns)
