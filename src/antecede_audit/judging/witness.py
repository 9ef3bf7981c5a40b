"""Why one message happened before another: a shortest chain of messages from one to the other."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace

from antecede.eventlog.schema import Event
from antecede_audit.judging.definition import History, message_of
from antecede_audit.judging.findings import MessageId, Violation


def find_witness(
    history: History, late: MessageId, early: MessageId, process: int
) -> tuple[Event, ...]:
    """The events that lead from the submission of `late` to that of `early`, as seen at `process`.

    Of a message to many, the row is shown that matters for the path. `late` happened before
    `early`: knowing that, only messages in the past of `early` are looked at.
    """
    past = history.past()
    relevant = past.of(early) | past.bit[early]
    reasons = find_reasons(history, late, early, lambda message: bool(past.bit[message] & relevant))
    return path_of(history, reasons, late, early, process)


def witnessed(violation: Violation, history: History) -> Violation:
    """The violation with its witness, if these events have it."""
    late, early = violation.late, violation.early
    if late not in history.submitted or early not in history.submitted:
        return violation
    reasons = find_reasons(history, late, early, lambda _: True)
    if early not in reasons:
        return violation
    return replace(violation, witness=path_of(history, reasons, late, early, violation.process))


def path_of(
    history: History,
    reasons: Mapping[MessageId, Event],
    late: MessageId,
    early: MessageId,
    process: int,
) -> tuple[Event, ...]:
    """The path from `late` to `early`, both included, that these reasons make."""
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


def find_reasons(
    history: History,
    late: MessageId,
    early: MessageId,
    is_relevant: Callable[[MessageId], bool],
) -> dict[MessageId, Event]:
    """For each message that follows from `late`, breadth first up to `early`, the event behind it.

    That event comes before the submission at the same process: it is the submission of `late`, or
    the delivery of `late` or of a message reached before. If one submission of a process has been
    reached, or is not relevant, the same is true of all later ones.
    """
    reasons: dict[MessageId, Event] = {}
    queue = deque([history.submitted[late], *first_deliveries(history, late)])
    while queue and early not in reasons:
        reason = queue.popleft()
        for submission in history.sent_after(reason):
            message = message_of(submission)
            if message in reasons or not is_relevant(message):
                break
            reasons[message] = reason
            queue += first_deliveries(history, message)
    return reasons


def first_deliveries(history: History, message: MessageId) -> list[Event]:
    """The first delivery of a message at each process."""
    return [repeats[0] for repeats in history.delivered.get(message, {}).values()]
