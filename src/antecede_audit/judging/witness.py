"""Why one message happened before another: a shortest chain of messages from one to the other."""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from antecede.eventlog.schema import Event
from antecede_audit.judging.definition import History, message_of
from antecede_audit.judging.findings import IDENTITY_COLUMNS, MessageId, Violation
from antecede_audit.judging.verdict_summary import Found


def find_witness(
    history: History, late: MessageId, early: MessageId, process: int
) -> tuple[Event, ...]:
    """The events that lead from the submission of `late` to that of `early`, as seen at `process`.

    Of a message to many, the row is shown that matters for the path.
    """
    reasons = find_reasons(history, late, early)
    path = [history.submission_to(early, process)]
    message = early
    while message != late:
        reason = reasons[message]
        message = message_of(reason)
        if reason.kind == "delivered":
            path += [reason, history.submission_to(message, reason.process)]
        else:
            path.append(history.submission_to(message, process))
    return tuple(reversed(path))


def find_reasons(history: History, late: MessageId, early: MessageId) -> dict[MessageId, Event]:
    """For each message reached from `late`, breadth first up to `early`, the event behind it.

    That event comes before the submission at the same process: it is the submission of `late`, or
    the delivery of `late` or of a message reached before. Only messages in the past of `early` are
    looked at; if one submission of a process is not among them, neither is any later one.
    """
    past = history.past()
    relevant = past.of(early) | past.bit[early]
    reasons: dict[MessageId, Event] = {}
    queue = deque([history.submitted[late], *first_deliveries(history, late)])
    while early not in reasons:
        reason = queue.popleft()
        for submission in history.sent_after(reason):
            message = message_of(submission)
            if message in reasons or not past.bit[message] & relevant:
                break
            reasons[message] = reason
            queue += first_deliveries(history, message)
    return reasons


def first_deliveries(history: History, message: MessageId) -> list[Event]:
    """The first delivery of a message at each process."""
    return [repeats[0] for repeats in history.delivered.get(message, {}).values()]


def witnessed(violation: Violation, history: History) -> Violation:
    """The violation with its witness, if these events have it."""
    if violation.late not in history.submitted or violation.early not in history.submitted:
        return violation
    return replace(violation, witness=shortest_path(history, violation))


def shortest_path(history: History, violation: Violation) -> tuple[Event, ...]:
    """The events that lead from the late submission to the early one; empty if none do."""
    reasons = reasons_after(history, violation.late, violation.early)
    message = violation.early
    if message not in reasons:
        return ()
    path = [history.submission_to(message, violation.process)]
    while message != violation.late:
        reason = reasons[message]
        message = message_of(reason)
        if reason.kind == "delivered":
            path += [reason, history.submission_to(message, reason.process)]
        else:
            path.append(history.submission_to(message, violation.process))
    return tuple(reversed(path))


def reasons_after(history: History, late: MessageId, early: MessageId) -> Mapping[MessageId, Event]:
    """For each message that follows from `late`, breadth first up to `early`, what it follows from.

    If one submission of a strand has been reached, so have all later ones.
    """
    reasons: dict[MessageId, Event] = {}
    queue = deque([history.submitted[late], *first_deliveries(history, late)])
    while queue and early not in reasons:
        reason = queue.popleft()
        for submission in history.sent_after(reason):
            message = message_of(submission)
            if message in reasons:
                break
            reasons[message] = reason
            queue += first_deliveries(history, message)
    return reasons


def violation_of(row: Mapping[str, Any]) -> Found:
    """A row of the violations table as a value."""
    return row["run_id"], Violation(
        process=row["process"],
        early=MessageId(row["early_sender"], row["early_sequence"]),
        early_delivered_ns=row["early_delivered_ns"],
        late=MessageId(row["late_sender"], row["late_sequence"]),
        late_delivered_ns=row["late_delivered_ns"],
        witness=(),
        **{name: row.get(name) for name in IDENTITY_COLUMNS},
    )
