"""Copies of our own messages until they are acknowledged: the sending half of `fifo` and `none`.

Each copy names its predecessor to the same receiver. Constant time per copy.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64

from antecede.core.checks import check_room
from antecede.core.effects import Transmit
from antecede.core.outstanding import Outstanding
from antecede.core.packets import DataPacket, Message


@final
class UnackedCopies:
    """The unacknowledged copies, by receiver, and when to transmit them again."""

    MADE_OF: ClassVar = ("_limit", "patience_ns")

    __slots__ = ("_last_sent", "_limit", "_oldest", "_outstanding", "_packets", "_unacked", "bytes")

    def __init__(self, limit: i64, patience_ns: i64) -> None:
        self._limit: Final[i64] = limit
        self._last_sent: dict[int, int] = {}
        self._packets: dict[int, dict[int, DataPacket]] = {}
        self._unacked: dict[int, int] = {}
        # Payloads of the messages that somebody has not acknowledged.
        self.bytes: i64 = 0
        # No message below this one is unacknowledged.
        self._oldest: i64 = 1
        self._outstanding = Outstanding(patience_ns)

    @property
    def patience_ns(self) -> i64:
        """How long to wait for an acknowledgement, the first time."""
        return self._outstanding.patience_ns

    def check_room(self) -> None:
        """`BufferFull` if there are already as many unacknowledged messages as allowed."""
        check_room(len(self._unacked), self._limit)

    def send(self, message: Message, receivers: list[int], now_ns: i64) -> list[Transmit]:
        """The first transmission of every copy."""
        sequence = message.sequence
        if receivers:
            self._unacked[sequence] = len(receivers)
            self.bytes += len(message.payload)
        sent: list[Transmit] = []
        for receiver in receivers:
            packet = DataPacket(message, self._last_sent.get(receiver, 0), False)
            self._last_sent[receiver] = sequence
            self._packets.setdefault(receiver, {})[sequence] = packet
            self._outstanding.add(receiver, sequence, now_ns)
            sent.append(Transmit(receiver, packet))
        return sent

    def acked(self, receiver: i64, sequence: i64, now_ns: i64) -> None:
        """`receiver` has this one; nothing happens if it was not waited for."""
        if self._outstanding.answer(receiver, sequence, now_ns):
            self._forget(receiver, sequence)

    def acked_up_to(self, receiver: i64, sequence: i64, now_ns: i64) -> None:
        """`receiver` has everything up to this one; nothing happens if it was not waited for."""
        if not self._outstanding.is_open(receiver, sequence):
            return
        for number in self._outstanding.answer_up_to(receiver, sequence, now_ns):
            self._forget(receiver, number)

    def unacknowledged(self) -> int:
        """How many messages somebody has not acknowledged."""
        return len(self._unacked)

    def oldest(self, following: i64) -> i64:
        """The oldest message that somebody has not acknowledged, or else the `following` one."""
        while self._oldest < following and self._oldest not in self._unacked:
            self._oldest += 1
        return self._oldest

    def owed_by(self, receiver: i64) -> int:
        """How many messages `receiver` has not acknowledged."""
        return len(self._packets.get(receiver, {}))

    def oldest_owed_by(self, receiver: i64) -> int:
        """The id of the oldest of them, or 0."""
        for sequence in self._packets.get(receiver, {}):
            return sequence
        return 0

    def lost(self, receiver: i64, first: i64, last: i64) -> list[DataPacket]:
        """The copies to `receiver` from id `first` to id `last` that it has not acknowledged."""
        packets = self._packets.get(receiver, {})
        if last - first > len(packets):
            return [packet for number, packet in packets.items() if first <= number <= last]
        numbers = range(first, last + 1)
        return [packets[number] for number in numbers if number in packets]

    def abandon(self, receiver: i64, now_ns: i64) -> list[int]:
        """`receiver` is waited for no more: what it has not acknowledged, oldest first."""
        given_up = self._outstanding.open_ids(receiver)
        for sequence in given_up:
            self.acked(receiver, sequence, now_ns)
        return given_up

    def next_ns(self) -> i64:
        """When to ask for `take_due` again."""
        return self._outstanding.next_ns()

    def take_due(self, now_ns: i64) -> list[Transmit]:
        """What to transmit again now."""
        repeated: list[Transmit] = []
        for due in self._outstanding.due(now_ns):
            packets = self._packets[due.peer]
            for number in due.ids:
                repeated.append(Transmit(due.peer, packets[number]))
        return repeated

    def state(self) -> str:
        """Equal states, equal strings; timers do not count."""
        waiting = [
            (receiver, list(self._packets[receiver].values()))
            for receiver in sorted(self._packets)
            if self._packets[receiver]
        ]
        return repr((sorted(self._last_sent.items()), waiting))

    def _forget(self, receiver: i64, sequence: i64) -> None:
        packet = self._packets[receiver].pop(sequence)
        self._unacked[sequence] -= 1
        if self._unacked[sequence] == 0:
            del self._unacked[sequence]
            self.bytes -= len(packet.carried.payload)
