"""Small logs as the tables that the kernel takes, made the obvious way; its findings as rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import iter_unpack, pack

from antecede.eventlog import Event
from antecede_audit.judging.definition import History, Order, Strand, message_of
from antecede_audit.judging.findings import MessageId
from antecede_audit.judging.kernel import NONE

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """The events of a log, the copies among them that may be late, and what numbers stand for."""

    history: History
    order: list[Event]
    """Submissions and first deliveries of messages that were both submitted and delivered."""
    unwatched: frozenset[MessageId] = frozenset()
    """Messages that nothing overtook: whoever sends them has the same past before and after."""

    @property
    def places(self) -> int:
        return 1 + max((event.process for event in self.order), default=0)

    @property
    def strands(self) -> list[Strand]:
        return list(dict.fromkeys(self.history.strand_of(event) for event in self.order))

    @property
    def messages(self) -> list[MessageId]:
        return [message_of(event) for event in self.order if event.kind == "submitted"]

    @property
    def watched(self) -> list[Event]:
        """Every delivery of a message that was sent there, sorted by bit and place."""
        deliveries = [
            event
            for event in self.order
            if event.kind == "delivered"
            and message_of(event) not in self.unwatched
            and self.history.is_addressed(message_of(event), event.process)
        ]
        bits = self.bits
        return sorted(deliveries, key=lambda event: (bits[message_of(event)], event.process))

    @property
    def bits(self) -> dict[MessageId, int]:
        """In the order of last deliveries, by clock, place and position."""
        last: dict[MessageId, tuple[int, int, int]] = {}
        for event in self.order:
            message = message_of(event)
            sent_here = self.history.is_addressed(message, event.process)
            if event.kind == "delivered" and sent_here and message not in self.unwatched:
                key = event.time_ns, event.process, event.position
                last[message] = max(last.get(message, key), key)
        return {message: bit for bit, message in enumerate(sorted(last, key=last.__getitem__))}

    def watched_table(self) -> bytes:
        watched, bits = self.watched, self.bits
        last = {
            message_of(event): event
            for event in sorted(watched, key=lambda e: (e.time_ns, e.process, e.position))
        }
        return rows(
            [
                (
                    bits[message_of(event)],
                    event.process,
                    event.position,
                    int(last[message_of(event)] is event),
                )
                for event in watched
            ]
        )

    def messages_table(self) -> bytes:
        bits = self.bits
        counts = [
            len([e for e in self.order if e.kind == "delivered" and message_of(e) == message])
            for message in self.messages
        ]
        return rows(
            [
                (bits.get(message, NONE), count)
                for message, count in zip(self.messages, counts, strict=True)
            ]
        )

    def events_table(self, events: Sequence[Event]) -> bytes:
        """Copies go by their number in `order`."""
        numbers = {message: number for number, message in enumerate(self.messages)}
        place = {id(event): number for number, event in enumerate(self.order)}
        row = {id(event): number for number, event in enumerate(self.watched)}
        return rows(
            [
                (
                    event.process,
                    numbers[message_of(event)],
                    NONE if event.kind == "submitted" else place[id(event)],
                    NONE if event.kind == "submitted" else row.get(id(event), NONE),
                )
                for event in events
            ]
        )

    def passed_table(self, events: Sequence[Event]) -> bytes:
        """The same, each with its strand."""
        strands = {strand: number for number, strand in enumerate(self.strands)}
        plain = iter_unpack("<4q", self.events_table(events))
        return rows(
            [
                (*row, strands[self.history.strand_of(event)])
                for row, event in zip(plain, events, strict=True)
            ]
        )

    def stranded_table(self, events: Sequence[Event]) -> bytes:
        """Strands instead of places, as `settle` wants it."""
        return rows([(row[4], *row[1:4]) for row in iter_unpack("<5q", self.passed_table(events))])

    def found(self, pairs: bytes) -> list[tuple[int, MessageId, MessageId]]:
        """Pairs of early copies and rows of late ones as process, early and late message."""
        watched = self.watched
        return sorted(
            (
                self.order[early].process,
                message_of(self.order[early]),
                message_of(watched[late]),
            )
            for early, late in iter_unpack("<2q", pairs)
        )


def tables_of(events: Sequence[Event], order: Order = "process") -> Tables:
    """The events of each process in its order, one process after the other."""
    history = History(events, order)
    both = [message for message in history.submitted if message in history.delivered]
    lined_up = [
        event
        for process in sorted(history.local)
        for event in history.local[process]
        if message_of(event) in both
    ]
    return Tables(history, lined_up)


def rows(values: Sequence[Row]) -> bytes:
    """Rows of little-endian 64-bit integers."""
    return b"".join(pack(f"<{len(row)}q", *row) for row in values)
