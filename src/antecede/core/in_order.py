"""First in, first out per source: the receiving half that the paper's algorithms and `fifo` share.

Every message names its predecessor from the same sender to the same receiver, and is delivered when
that was the last one delivered. A message that arrives too early waits in a map under the id of its
predecessor. Constant time per message, whatever the order of arrival.

This is lines 25, 27, 45 and 48-52 of Algorithm 1: `last_delivered` is ld and `_early` is rb.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede.core.cloning import shown
from antecede.core.errors import RemoteError
from antecede.core.packets import DataPacket


@final
class FifoReceiver:
    """What has been delivered from every source, and what waits for a gap to close."""

    MADE_OF: ClassVar = ("limit",)

    __slots__ = ("_early", "_last_delivered", "limit")

    def __init__(self, limit: i64) -> None:
        self.limit: Final[i64] = limit
        self._last_delivered: dict[int, int] = {}
        self._early: dict[int, dict[int, DataPacket]] = {}

    def last_delivered(self, source: i64) -> i64:
        """The id of the last message delivered from `source`, or 0: ld."""
        return self._last_delivered.get(source, 0)

    def waiting(self, source: i64) -> int:
        """How many messages of `source` wait for a gap to close."""
        return len(self._early.get(source, {}))

    def is_duplicate(self, source: i64, packet: DataPacket) -> bool:
        """Whether it has been delivered already (line 45); `RemoteError` if it cannot exist."""
        delivered = self.last_delivered(source)
        check_predecessor(source, packet, delivered)
        return packet.carried.sequence <= delivered

    def take(self, source: i64, packet: DataPacket) -> list[DataPacket]:
        """Keep a new packet; everything whose turn has come is removed and returned, in order.

        A full buffer drops what comes too early (it will come again), never the next in turn.
        """
        early = self._early.get(source)
        turn = self.last_delivered(source)
        if packet.previous != turn:
            if early is None:
                early = {}
            if len(early) < self.limit:
                early[packet.previous] = packet
                self._early[source] = early
            return []
        in_turn: list[DataPacket] = []
        following: DataPacket | None = packet
        while following is not None:
            in_turn.append(following)
            turn = following.carried.sequence
            following = None if early is None else early.pop(turn, None)
        self._last_delivered[source] = turn
        if early is not None and not early:
            del self._early[source]
        return in_turn

    def state(self) -> object:
        """Equal states, equal values."""
        return shown(self._last_delivered), shown(self._early)


def check_predecessor(source: i64, packet: DataPacket, delivered: i64) -> None:
    """`RemoteError` if no correct `source` numbers its messages like this."""
    sequence = packet.carried.sequence
    if packet.carried.sender != source:
        raise RemoteError(f"a message of {packet.carried.sender} came from {source}")
    if packet.previous < 0 or packet.previous >= sequence:
        raise RemoteError(f"message {sequence} cannot follow {packet.previous}")
    if packet.previous < delivered < sequence:
        raise RemoteError(
            f"message {sequence} claims to follow {packet.previous}, but {delivered} did"
        )
