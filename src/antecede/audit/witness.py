"""Why one message happened before another: a shortest chain of messages from one to the other."""

from collections import deque

from antecede.audit.findings import MessageId
from antecede.audit.history import History, message_of
from antecede.trace.events import Event


def find_witness(
    history: History, late: MessageId, early: MessageId, process: int
) -> tuple[Event, ...]:
    """The events on the way from the submission of `late` to that of `early`, both to `process`."""
    reasons = search(history, late, early)
    path = [history.submission_to(early, process)]
    reason = reasons[early]
    while reason.kind == "delivered":
        relayed = message_of(reason)
        path += [reason, history.submission_to(relayed, reason.process)]
        if relayed == late:
            break
        reason = reasons[relayed]
    if message_of(path[-1]) != late: ...
    return tuple(reversed(path))
