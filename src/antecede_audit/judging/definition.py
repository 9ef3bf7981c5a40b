"""What the definition of causal delivery looks at: submissions, deliveries, and what came before.

Which events of a process are ordered is a choice. By `process`, all of them: everything a process
did before counts as a cause, which is what causal messaging enforces. By `trace`, those of one
request: events with the same trace id, and those without one among themselves. Messages carry
causes along either way.

Only `submitted` and `delivered` events count, ordered inside a process by position and never by the
clock. Of several at one position, which no run writes, submissions come first, by sequence, and
then deliveries, by sender and sequence. A message is submitted where its first row is, once for all
its targets. Of repeated deliveries at a process the first counts.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, Literal, TypeAlias, final

from antecede.core.errors import LocalError
from antecede.eventlog.schema import Event
from antecede_audit.judging.findings import MessageId

Order: TypeAlias = Literal["process", "trace"]
"""Which events of a process are ordered: all of them, or those of one trace."""

PROCESS: Final[Order] = "process"
TRACE: Final[Order] = "trace"
ORDERS: Final = (PROCESS, TRACE)


def check_order(order: str | None) -> None:
    """`LocalError` if nobody could judge by this order; None: by the one that is usual."""
    if order is not None and order not in ORDERS:
        raise LocalError(f"order is one of {', '.join(ORDERS)}, not {order!r}")


Strand: TypeAlias = tuple[int, str | None]
"""Events that are ordered: a process and, if traces are told apart, one of them."""


def place_of(event: Event) -> tuple[int, int, bool, int, int]:
    """Where an event stands: at which process, and in which order there."""
    is_delivery = event.kind == "delivered"
    message = (event.sender or 0, event.sequence or 0)
    return event.process, event.position, is_delivery, *message


@final
class History:
    """A log without what the definition does not mention."""

    def __init__(self, events: Iterable[Event], order: Order = PROCESS) -> None:
        check_order(order)
        self.order: Final = order
        self.submitted: Final[dict[MessageId, Event]] = {}
        """The first row of each message: the instant of its submission."""
        self.addressed: Final[dict[MessageId, dict[int, Event]]] = {}
        """The row of each target of a message."""
        self.delivered: Final[dict[MessageId, dict[int, list[Event]]]] = {}
        """The deliveries of a message at each process, in order."""
        self.local: Final[dict[int, list[Event]]] = {}
        """Per process, in order: each message's submission and each message's first delivery."""
        self.strands: Final[dict[Strand, list[Event]]] = {}
        """The same events by strand."""
        self._sent: Final[dict[Strand, list[Event]]] = {}
        self._past: CausalPast | None = None
        for event in sorted(events, key=place_of):
            self._add(event)

    def _add(self, event: Event) -> None:
        local = self.local.setdefault(event.process, [])
        if event.sender is None or event.sequence is None:
            return
        message = MessageId(event.sender, event.sequence)
        if event.kind == "submitted" and event.process == event.sender:
            if message not in self.submitted:
                self.submitted[message] = event
                local.append(event)
                self.strands.setdefault(self.strand_of(event), []).append(event)
                self._sent.setdefault(self.strand_of(event), []).append(event)
            if event.target is not None:
                self.addressed.setdefault(message, {}).setdefault(event.target, event)
        elif event.kind == "delivered":
            repeats = self.delivered.setdefault(message, {}).setdefault(event.process, [])
            if not repeats:
                local.append(event)
                self.strands.setdefault(self.strand_of(event), []).append(event)
            repeats.append(event)

    def strand_of(self, event: Event) -> Strand:
        """Which events this one is ordered with."""
        return event.process, event.trace_id if self.order == TRACE else None

    def submission_to(self, message: MessageId, target: int) -> Event:
        """The row of this target, or the first if the message is not addressed to it."""
        return self.addressed.get(message, {}).get(target, self.submitted[message])

    def is_addressed(self, message: MessageId, process: int) -> bool:
        """Whether the message was submitted to this process."""
        return process in self.addressed.get(message, {})

    def first_deliveries(self, process: int) -> list[Event]:
        """The first delivery of each message at a process, in order."""
        return [event for event in self.local[process] if event.kind == "delivered"]

    def sent_after(self, event: Event) -> Iterator[Event]:
        """The submissions of the same strand after this event, in order."""
        sent = self._sent.get(self.strand_of(event), [])
        start = bisect_right(sent, event.position, key=lambda submission: submission.position)
        return islice(sent, start, None)

    def all_deliveries(self) -> Iterator[tuple[int, MessageId, list[Event]]]:
        """Process, message and its deliveries there, by process and first position."""
        for process in sorted(self.local):
            for event in self.first_deliveries(process):
                message = message_of(event)
                yield process, message, self.delivered[message][process]

    def past(self) -> "CausalPast":
        """What happened before each message; worked out once."""
        if self._past is None:
            self._past = CausalPast(self)
        return self._past


@final
class CausalPast:
    """For each message the set of messages that happen before it, as the bits of an integer."""

    def __init__(self, history: History) -> None:
        messages = dict.fromkeys([*history.submitted, *history.delivered])
        self.bit: Final = {message: 1 << number for number, message in enumerate(messages)}
        self._strand_of: Final = history.strand_of
        order = causal_order(history)
        self._before: dict[MessageId, int] = {}
        # The first round finds everything, unless the log contradicts itself; the last nothing.
        news = True
        while news:
            news = self._pass_along(order)

    def of(self, message: MessageId) -> int:
        """The bits of the messages that happen before this one."""
        return self._before.get(message, 0)

    def _pass_along(self, order: list[Event]) -> bool:
        """Let every strand tell what it knows with every submission; whether that was news."""
        known: dict[Strand, int] = {}
        news = False
        for event in order:
            message = message_of(event)
            strand = self._strand_of(event)
            seen = known.get(strand, 0)
            if event.kind == "submitted" and self.of(message) | seen != self.of(message):
                self._before[message] = self.of(message) | seen
                news = True
            known[strand] = seen | self.of(message) | self.bit[message]
        return news


def causal_order(history: History) -> list[Event]:
    """The events of all strands, each delivery after the submission it needs.

    Where that cannot be, because the log contradicts itself, the events that wait for each other
    come last.
    """
    order: list[Event] = []
    done = dict.fromkeys(history.strands, 0)
    placed: set[MessageId] = set()
    waiting: dict[MessageId, list[Strand]] = {}
    ready = list(history.strands)
    while ready:
        strand = ready.pop()
        events = history.strands[strand]
        while done[strand] < len(events):
            event = events[done[strand]]
            message = message_of(event)
            known = message in placed or message not in history.submitted
            if event.kind == "delivered" and not known:
                waiting.setdefault(message, []).append(strand)
                break
            order.append(event)
            done[strand] += 1
            if event.kind == "submitted":
                placed.add(message)
                ready += waiting.pop(message, [])
    for strand, events in history.strands.items():
        order += events[done[strand] :]
    return order


def message_of(event: Event) -> MessageId:
    """The message that a submission or delivery is about."""
    assert event.sender is not None
    assert event.sequence is not None
    return MessageId(event.sender, event.sequence)
