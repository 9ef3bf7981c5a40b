"""The four instants of every copy of a run, kept to the end, so that two runs can be compared."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.values import Message, Packet
from antecede.sim.observer import Observer

NOT_YET: Final = -1


@final
@mypyc_attr(acyclic=True)
class Copy:
    """A message on its way to one target; `ahead` copies of its sender had not left before it."""

    __slots__ = ("ahead", "arrived_ns", "delivered_ns", "left_ns", "sender", "submitted_ns")

    def __init__(self, sender: i64, submitted_ns: i64, ahead: i64) -> None:
        self.sender: Final[i64] = sender
        self.submitted_ns: Final[i64] = submitted_ns
        self.ahead: Final[i64] = ahead
        self.left_ns: i64 = NOT_YET
        self.arrived_ns: i64 = NOT_YET
        self.delivered_ns: i64 = NOT_YET

    def latency_ns(self) -> int:
        """From submission to delivery."""
        return int(self.delivered_ns - self.submitted_ns)

    def sender_wait_ns(self) -> int:
        """From submission to the first transmission by its sender."""
        return int(self.left_ns - self.submitted_ns)

    def receiver_wait_ns(self) -> int:
        """From arrival to delivery."""
        return int(self.delivered_ns - self.arrived_ns)


@final
class CopyTimes(Observer):
    """Watches a run; `copies` has every copy by (sender, sequence, target)."""

    def __init__(self, processes: int) -> None:
        self.copies: Final[dict[tuple[int, int, int], Copy]] = {}
        self._targets: Final[dict[tuple[int, int], list[int]]] = {}
        self._unsent: Final = [0] * processes

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:
        sender, sequence = int(message.sender), int(message.sequence)
        self._targets[(sender, sequence)] = targets
        for target in targets:
            self.copies[(sender, sequence, target)] = Copy(sender, now_ns, self._unsent[process])
        self._unsent[process] += len(targets)

    def transmitted(
        self, process: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        message = packet.message
        if message is None or message.sender != process:
            return
        sender, sequence = int(message.sender), int(message.sequence)
        copy = self.copies.get((sender, sequence, int(target)))
        if copy is not None:
            self._leave(copy, now_ns)
            return
        # It goes to a relay, on behalf of all that it has not gone to yet.
        for other in self._targets[(sender, sequence)]:
            self._leave(self.copies[(sender, sequence, other)], now_ns)

    def _leave(self, copy: Copy, now_ns: i64) -> None:
        if copy.left_ns == NOT_YET:
            copy.left_ns = now_ns
            self._unsent[copy.sender] -= 1

    def arrived(self, process: i64, source: i64, packet: Packet, number: i64, now_ns: i64) -> None:
        message = packet.message
        if message is None:
            return
        copy = self.copies.get((int(message.sender), int(message.sequence), int(process)))
        if copy is not None and copy.arrived_ns == NOT_YET:
            copy.arrived_ns = now_ns

    def delivered(self, process: i64, message: Message, now_ns: i64) -> None:
        copy = self.copies[(int(message.sender), int(message.sequence), int(process))]
        copy.delivered_ns = now_ns

    def finished(self) -> list[Copy]:
        """The copies that travelled and were delivered."""
        return [copy for copy in self.copies.values() if copy.arrived_ns != NOT_YET]


def in_transit_max(copies: list[Copy]) -> int:
    """The most copies of one sender that were between departure and arrival at once."""
    changes = [(int(copy.arrived_ns), -1, int(copy.sender)) for copy in copies]
    changes += [(int(copy.left_ns), 1, int(copy.sender)) for copy in copies]
    levels: dict[int, int] = {}
    greatest = 0
    for _, change, sender in sorted(changes):
        level = levels.get(sender, 0) + change
        levels[sender] = level
        greatest = max(greatest, level)
    return greatest


def middle_rate(copies: list[Copy]) -> float:
    """Deliveries per second from the first to the third quarter of all deliveries."""
    times = sorted([int(copy.delivered_ns) for copy in copies])
    first, last = len(times) // 4, 3 * len(times) // 4
    span_ns = times[last] - times[first]
    return (last - first) * 1e9 / span_ns if span_ns > 0 else 0.0
