"""Causal delivery straight from its definition: slow and obvious, and the measure of fast checkers.

A message happens before another if the sender of the other submitted or delivered it before it
submitted the other; and so on along chains. (Under the order `trace` only what it did in the same
trace counts: `antecede_audit.judging.definition`.) If two messages are delivered at one process and
one happens before the other, it must be delivered first there.

A message delivered where nobody sent it carries causes along and can come too early, but no other
message has to wait for it. `antecede_audit.judging.definition` says which events count.
"""

import math
from collections.abc import Iterable
from typing import TypeAlias

from antecede.eventlog.schema import Event
from antecede_audit.judging.definition import PROCESS, History, Order, Strand, message_of
from antecede_audit.judging.findings import (
    Duplicate,
    Invention,
    Loss,
    OracleVerdict,
    SelfCause,
    Violation,
)
from antecede_audit.judging.witness import find_witness

Events: TypeAlias = Iterable[Event] | History


def check_log(events: Events, *, witnesses: bool = True, order: Order = PROCESS) -> OracleVerdict:
    """Everything that is wrong with a log; looking for witnesses takes most of the time."""
    history = history_of(events, order)
    return OracleVerdict(
        processes=len(history.local),
        messages=len(history.submitted),
        deliveries=sum(len(repeats) for _, _, repeats in history.all_deliveries()),
        violations=find_violations(history, witnesses=witnesses),
        fifo_breaks=find_fifo_breaks(history, witnesses=witnesses),
        duplicates=find_duplicates(history),
        losses=find_losses(history),
        inventions=find_inventions(history),
        self_causes=find_self_causes(history),
    )


def find_violations(
    events: Events, *, witnesses: bool = True, order: Order = PROCESS
) -> list[Violation]:
    """One for each message delivered too early at a process, by process and position."""
    history = history_of(events, order)
    return [
        violation(history, early, late, witnesses)
        for process in sorted(history.local)
        for early, late in overtakings(history, process)
    ]


def find_fifo_breaks(
    events: Events, *, witnesses: bool = True, order: Order = PROCESS
) -> list[Violation]:
    """One for each message delivered before an earlier one of the same sender (and trace)."""
    history = history_of(events, order)
    return [
        violation(history, early, late, witnesses)
        for process in sorted(history.local)
        for deliveries in by_sender(history, process)
        for early, late in fifo_overtakings(history, process, deliveries)
    ]


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
        for process, message, repeats in history_of(events).all_deliveries()
        if len(repeats) > 1
    ]


def find_losses(events: Events) -> list[Loss]:
    """One for each process that a message was submitted to and never delivered at."""
    history = history_of(events)
    return [
        Loss(target=target, message=message, submitted_ns=event.time_ns)
        for message in sorted(history.addressed)
        for target, event in history.addressed[message].items()
        if target not in history.delivered.get(message, {})
    ]


def find_inventions(events: Events) -> list[Invention]:
    """One for each message delivered at a process that it was never submitted to."""
    history = history_of(events)
    return [
        Invention(process=process, message=message, delivered_ns=repeats[0].time_ns)
        for process, message, repeats in history.all_deliveries()
        if not history.is_addressed(message, process)
    ]


def find_self_causes(events: Events, *, order: Order = PROCESS) -> list[SelfCause]:
    """One for each message that happens before itself, which no real run can show."""
    past = history_of(events, order).past()
    return [
        SelfCause(message=message)
        for message in sorted(past.bit)
        if past.of(message) & past.bit[message]
    ]


def overtakings(history: History, process: int) -> list[tuple[Event, Event]]:
    """Each delivery that came too early at a process, and the last one it should have awaited."""
    past = history.past()
    deliveries = history.first_deliveries(process)
    found = []
    later = 0
    for early in reversed(deliveries):
        message = message_of(early)
        overtaken = past.of(message) & later
        if overtaken:
            late = next(e for e in reversed(deliveries) if past.bit[message_of(e)] & overtaken)
            found.append((early, late))
        if history.is_addressed(message, process):
            later |= past.bit[message]
    return found[::-1]


def fifo_overtakings(
    history: History, process: int, deliveries: list[Event]
) -> list[tuple[Event, Event]]:
    """The same among the deliveries of one sender's messages, by the order of their submission."""
    found = []
    later: list[Event] = []
    lowest = math.inf
    for early in reversed(deliveries):
        place = history.submitted[message_of(early)].position
        if lowest < place:
            late = next(e for e in later if history.submitted[message_of(e)].position < place)
            found.append((early, late))
        if history.is_addressed(message_of(early), process):
            later.append(early)
            lowest = min(lowest, place)
    return found[::-1]


def by_sender(history: History, process: int) -> list[list[Event]]:
    """The deliveries at a process of each sender's messages, in order; by trace if that counts."""
    groups: dict[Strand, list[Event]] = {}
    for delivery in history.first_deliveries(process):
        submission = history.submitted.get(message_of(delivery))
        if submission is not None:
            groups.setdefault(history.strand_of(submission), []).append(delivery)
    return list(groups.values())


def violation(history: History, early: Event, late: Event, witness: bool) -> Violation:
    """That `late` was delivered after `early` and, if wanted, how it happened before it."""
    return Violation(
        process=early.process,
        early=message_of(early),
        early_delivered_ns=early.time_ns,
        late=message_of(late),
        late_delivered_ns=late.time_ns,
        early_trace_id=early.trace_id,
        late_trace_id=late.trace_id,
        early_span_id=early.span_id,
        late_span_id=late.span_id,
        witness=find_witness(history, message_of(late), message_of(early), early.process)
        if witness
        else (),
    )


def history_of(events: Events, order: Order = PROCESS) -> History:
    """The history, made from the events if need be; one that is given has its order."""
    return events if isinstance(events, History) else History(events, order)
