"""What a node writes into its event log: the four kinds of events, with ids that all nodes share.

Inside a node peers are small local numbers; in the log a process is a number that follows from its
name. A packet's id is made of the two ends, the number of its datagram and its place in there, so
that both ends know it without it being sent.
"""

from hashlib import blake2b
from typing import Final, final

from mypy_extensions import i64

from antecede.trace.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog

PACKET_BITS: Final = 12
"""How many bits number the packets within a datagram."""

PACKET_MASK: Final = (1 << 62) - 1


def path_key(sender: int, target: int) -> int:
    """Where the ids of packets from `sender` to `target` begin: far from those of all others."""
    digest = blake2b(f"{sender}>{target}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & PACKET_MASK


def packet_id(key: i64, number: i64, place: i64) -> i64:
    """The id of the packet at `place` in datagram `number`."""
    return ((key & PACKET_MASK) + (number << PACKET_BITS) + place) & PACKET_MASK


@final
class EventRows:
    """The event log of one node."""

    __slots__ = ("_last_ns", "_log", "_me", "ack", "ask", "message", "offset_ns", "permit")

    def __init__(self, log: EventLog, me: int) -> None:
        self._log: Final = log
        self._me: Final[i64] = me
        self._last_ns: i64 = 0
        # From the clock that drives the node to the one that all nodes share.
        self.offset_ns: i64 = 0
        self.message: Final[i64] = log.intern("message")
        self.ack: Final[i64] = log.intern("ack")
        self.permit: Final[i64] = log.intern("permit")
        self.ask: Final[i64] = log.intern("ask")

    @property
    def me(self) -> i64:
        """This node's id in the log."""
        return self._me

    def submitted(self, sequence: i64, target: i64, size: i64, now_ns: i64) -> None:
        """The application has sent a message, one of whose targets is `target`."""
        time_ns = self._time_ns(now_ns)
        self._log.append(
            self._me, SUBMITTED, self._me, sequence, target, NULL, NULL, time_ns, size, 0
        )

    def delivered(self, sender: i64, sequence: i64, size: i64, now_ns: i64) -> None:
        """A message has been delivered here."""
        time_ns = self._time_ns(now_ns)
        self._log.append(
            self._me, DELIVERED, sender, sequence, self._me, NULL, NULL, time_ns, size, 0
        )

    def transmitted(
        self, kind: i64, sequence: i64, target: i64, packet: i64, now_ns: i64, size: i64, extra: i64
    ) -> None:
        """A packet leaves; `sequence` is `NULL` for control."""
        sender = self._me if sequence != NULL else NULL
        time_ns = self._time_ns(now_ns)
        self._log.append(
            self._me, TRANSMITTED, sender, sequence, target, packet, kind, time_ns, size, extra
        )

    def arrived(
        self, kind: i64, sender: i64, sequence: i64, packet: i64, now_ns: i64, size: i64, extra: i64
    ) -> None:
        """A packet has come from `sender`; `sequence` is `NULL` for control."""
        if sequence == NULL:
            sender = NULL
        time_ns = self._time_ns(now_ns)
        self._log.append(
            self._me, ARRIVED, sender, sequence, self._me, packet, kind, time_ns, size, extra
        )

    def _time_ns(self, now_ns: i64) -> i64:
        """The shared clock's time, which in a log never goes back."""
        time_ns = now_ns + self.offset_ns
        if time_ns < self._last_ns:
            return self._last_ns
        self._last_ns = time_ns
        return time_ns
