"""Why one message happened before another: a shortest chain of messages from one to the other."""

from collections import deque

from antecede.eventlog.schema import Event
from antecede_audit.judging.definition import History, message_of
from antecede_audit.judging.findings import MessageId


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
