"""Causal delivery straight from its definition: slow, obvious, and what every fast checker must equal.

A message happens before another if the sender of the other submitted or delivered it before it
submitted the other; and so on along chains. If two messages are delivered at one process and one
happens before the other, it must be delivered first there.

Only `submitted` and `delivered` events count, ordered inside a process by position and never by the
clock. A message is submitted where its first row is, once for all its targets. Of repeated
deliveries the first counts. A message delivered where nobody sent it can carry causes along and can
come too early, but nothing has to wait for it.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, final

from antecede.audit.findings import (
    Duplicate,
    Invention,
    Loss,
    MessageId,
    SelfCause,
    Verdict,
    Violation,
)
from antecede.trace.events import Event


@final
class History:
    """What the definition looks at: submissions and deliveries, in local order."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.submitted: Final[dict[MessageId, dict[int | None, Event]]] = {}
        """The row of each target of a message; the first of them is the instant of submission."""
        self.delivered: Final[dict[MessageId, dict[int, list[Event]]]] = {}
        """The deliveries of a message at each process, the first one first."""
        self.local: Final[dict[int, list[Event]]] = {}
        """Per process: the submission of each message and the first delivery of each."""
        for event in sorted(events, key=lambda event: (event.process, event.position)):
            self._add(event)

    def _add(self, event: Event) -> None:
        local = self.local.setdefault(event.process, [])
        if event.sender is None or event.sequence is None:
            return
        message = MessageId(event.sender, event.sequence)
        if event.kind == "submitted" and event.process == event.sender:
            rows = self.submitted.setdefault(message, {})
            if not rows:
                local.append(event)
            rows.setdefault(event.target, event)
        elif event.kind == "delivered":
            repeats = self.delivered.setdefault(message, {}).setdefault(event.process, [])
            if not repeats:
                local.append(event)
            repeats.append(event)

    def submission(self, message: MessageId) -> Event:
        """The instant of submission."""
        return next(iter(self.submitted[message].values()))

    def submission_to(self, message: MessageId, target: int) -> Event:
        """The row of this target, or any if the message is not addressed to it."""
        return self.submitted[message].get(target, self.submission(message))

    def is_addressed(self, message: MessageId, process: int) -> bool:
        """Whether the message was submitted to this process."""
        return process in self.submitted.get(message, {})

    def deliveries_at(self, process: int) -> list[Event]:
        """The first delivery of each message at a process, in order."""
        return [event for event in self.local[process] if event.kind == "delivered"]


Events: TypeAlias = Iterable[Event] | History


def check_log(events: Events) -> Verdict:
    """Everything that is wrong with a log."""
    history = history_of(events)
    return Verdict(
        processes=len(history.local),
        messages=len(history.submitted),
        deliveries=sum(len(repeats) for _, _, repeats in deliveries_in(history)),
        violations=find_violations(history),
        fifo_breaks=find_fifo_breaks(history),
        duplicates=find_duplicates(history),
        losses=find_losses(history),
        inventions=find_inventions(history),
        self_causes=find_self_causes(history),
    )


def find_violations(events: Events) -> list[Violation]:
    """One for each message delivered too early at a process, by process and position."""
    history = history_of(events)
    past = CausalPast(history)
    violations = []
    for process in sorted(history.local):
        deliveries = history.deliveries_at(process)
        owed = 0
        found = []
        for index in reversed(range(len(deliveries))):
            message = message_of(deliveries[index])
            overtaken = past.causes_of(message) & owed
            if overtaken:
                late = last_among(deliveries, overtaken, past)
                found.append(violation_of(history, past, deliveries[index], late))
            if history.is_addressed(message, process):
                owed |= past.bit[message]
        violations += reversed(found)
    return violations


def find_fifo_breaks(events: Events) -> list[Violation]:
    """One for each message delivered before an earlier one of the same sender."""
    history = history_of(events)
    breaks = []
    for process in sorted(history.local):
        deliveries = [
            event
            for event in history.deliveries_at(process)
            if message_of(event) in history.submitted
        ]
        for index, early in enumerate(deliveries):
            for late in reversed(deliveries[index + 1 :]):
                if is_fifo_break(history, early, late):
                    breaks.append(fifo_break_of(history, early, late))
                    break
    return breaks


def find_duplicates(events: Events) -> list[Duplicate]:
    """One for each message delivered more than once at a process."""
    return [
        Duplicate(
            process=process,
            message=message,
            deliveries=len(repeats),
            first_delivered_ns=repeats[0].time_ns,
            last_delivered_ns=repeats[-1].time_ns,
        )
        for process, message, repeats in deliveries_in(history_of(events))
        if len(repeats) > 1
    ]


def find_losses(events: Events) -> list[Loss]:
    """One for each process that a message was submitted to and never delivered at."""
    history = history_of(events)
    return [
        Loss(target=target, message=message, submitted_ns=event.time_ns)
        for message in sorted(history.submitted)
        for target, event in history.submitted[message].items()
        if target not in history.delivered.get(message, {})
    ]


def find_inventions(events: Events) -> list[Invention]:
    """One for each message delivered at a process that it was never submitted to."""
    history = history_of(events)
    return [
        Invention(process=process, message=message, delivered_ns=repeats[0].time_ns)
        for process, message, repeats in deliveries_in(history)
        if not history.is_addressed(message, process)
    ]


def find_self_causes(events: Events) -> list[SelfCause]:
    """One for each message that happens before itself, which no real run can show."""
    past = CausalPast(history_of(events))
    return [
        SelfCause(message=message)
        for message in sorted(past.bit)
        if past.causes_of(message) & past.bit[message]
    ]
