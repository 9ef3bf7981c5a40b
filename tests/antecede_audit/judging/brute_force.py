"""The definition once more, as dumb as can be: a matrix of all pairs of messages, closed by force.

Shares nothing with the oracle but the events it reads and the shape of the rows it returns.
"""

from collections.abc import Iterable
from itertools import product

from antecede.eventlog import Event

Message = tuple[int, int]
Row = tuple[int, int, int, int, int, int, int, int, str]


class BruteForce:
    """All the facts about a small log, looked up by scanning it again and again."""

    def __init__(self, events: Iterable[Event], order: str = "process") -> None:
        self.events = list(events)
        self.by_trace = order == "trace"
        self.submissions: list[tuple[Message, int, int | None]] = []
        self.deliveries: list[tuple[Message, int, int, int]] = []
        for event in self.events:
            if event.sender is None or event.sequence is None:
                continue
            message = event.sender, event.sequence
            if event.kind == "submitted" and event.process == event.sender:
                self.submissions.append((message, event.position, event.target))
            if event.kind == "delivered":
                self.deliveries.append((message, event.position, event.process, event.time_ns))
        sent = {message for message, _, _ in self.submissions}
        self.messages = sorted(sent | {message for message, _, _, _ in self.deliveries})
        self.before = self._closure()

    def submitted_at(self, message: Message) -> int | None:
        """The position of the first row with which its sender submitted it."""
        rows = [position for other, position, _ in self.submissions if other == message]
        return min(rows, default=None)

    def delivered_at(self, message: Message, process: int) -> tuple[int, int] | None:
        """Position and time of its first delivery at a process."""
        rows = [
            (position, time_ns)
            for other, position, place, time_ns in self.deliveries
            if (other, place) == (message, process)
        ]
        return min(rows, default=None)

    def is_addressed(self, message: Message, process: int) -> bool:
        return any((other, to) == (message, process) for other, _, to in self.submissions)

    def ordered(self, process: int, first: int | None, second: int | None) -> bool:
        """Whether both positions are there and in this order, in one trace if that is asked for."""
        if first is None or second is None or first >= second:
            return False
        here = {event.position: event for event in self.events if event.process == process}
        return not self.by_trace or here[first].trace_id == here[second].trace_id

    def sent_before(self, first: Message, second: Message) -> bool:
        """Whether one sender submitted both, in this order."""
        one, other = self.submitted_at(first), self.submitted_at(second)
        return first[0] == second[0] and self.ordered(first[0], one, other)

    def delivered_before(self, first: Message, second: Message) -> bool:
        """Whether the sender of the second had delivered the first when it submitted the second."""
        one, other = self.delivered_at(first, second[0]), self.submitted_at(second)
        return self.ordered(second[0], None if one is None else one[0], other)

    def _direct(self) -> dict[tuple[Message, Message], bool]:
        return {
            (first, second): self.sent_before(first, second) or self.delivered_before(first, second)
            for first, second in product(self.messages, repeat=2)
        }

    def _closure(self) -> dict[tuple[Message, Message], bool]:
        before = self._direct()
        for middle, first, second in product(self.messages, repeat=3):
            if before[first, middle] and before[middle, second]:
                before[first, second] = True
        return before

    def distance(self, first: Message, second: Message) -> int:
        """The fewest steps from one message to another that it happens before."""
        direct = self._direct()
        steps, reached = 0, {first}
        while second not in reached:
            reached |= {
                after for (before, after), true in direct.items() if true and before in reached
            }
            steps += 1
        return steps

    def violations(self) -> list[Row]:
        """A row for each message that overtook one that happened before it."""
        return self._overtakings([pair for pair, before in self.before.items() if before])

    def fifo_breaks(self) -> list[Row]:
        """A row for each message that overtook an earlier one of its sender."""
        return self._overtakings(
            [
                (first, second)
                for first, second in product(self.messages, repeat=2)
                if self.sent_before(first, second)
            ]
        )

    def _overtakings(self, pairs: list[tuple[Message, Message]]) -> list[Row]:
        rows = []
        for process, early in product(sorted({fact[2] for fact in self.deliveries}), self.messages):
            first = self.delivered_at(early, process)
            later = [
                (delivery, late)
                for late, other in pairs
                if other == early
                and self.is_addressed(late, process)
                and (delivery := self.delivered_at(late, process)) is not None
                and first is not None
                and first[0] < delivery[0]
            ]
            if first is not None and later:
                (_, late_ns), late = max(later)
                kind = "fifo" if late[0] == early[0] else "transitive"
                rows.append((process, *early, first[1], *late, late_ns, late_ns - first[1], kind))
        return sorted(rows)

    def duplicates(self) -> list[tuple[int, Message, int]]:
        """Process, message and number of deliveries, where there is more than one."""
        copies = [(process, message) for message, _, process, _ in self.deliveries]
        return sorted({(*copy, copies.count(copy)) for copy in copies if copies.count(copy) > 1})

    def losses(self) -> list[tuple[int, Message]]:
        """Target and message of each copy that was never delivered."""
        copies = {(to, message) for message, _, to in self.submissions if to is not None}
        return sorted(copies - {(process, message) for message, _, process, _ in self.deliveries})

    def inventions(self) -> list[tuple[int, Message]]:
        """Process and message of each delivery that nobody asked for."""
        copies = {(process, message) for message, _, process, _ in self.deliveries}
        return sorted(copy for copy in copies if not self.is_addressed(copy[1], copy[0]))

    def self_causes(self) -> list[Message]:
        """The messages that happen before themselves."""
        return [message for message in self.messages if self.before[message, message]]
