"""The copies of a small log, worked out by hand, for tests that need no Spark."""

from collections.abc import Iterable

import numpy as np

from antecede.pipeline.audit.copies import NEVER, Copies
from antecede.trace import Event

Key = tuple[int, int, int]


def copies_of(events: Iterable[Event], run: int = 0) -> Copies:
    """One copy for each message and process, with everything the log says about it."""
    submitted: dict[Key, Event] = {}
    delivered: dict[Key, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.position):
        if event.sender is None or event.sequence is None:
            continue
        if event.kind == "submitted" and event.process == event.sender:
            target = NEVER if event.target is None else event.target
            submitted.setdefault((event.sender, event.sequence, target), event)
        if event.kind == "delivered":
            key = event.sender, event.sequence, event.process
            delivered.setdefault(key, []).append(event)
    keys = list(dict.fromkeys([*submitted, *delivered]))
    first = [delivered.get(key, [None])[0] for key in keys]
    last = [delivered.get(key, [None])[-1] for key in keys]
    rows = [submitted.get(key) for key in keys]
    columns = {
        "run": [run for _ in keys],
        "sender": [sender for sender, _, _ in keys],
        "sequence": [sequence for _, sequence, _ in keys],
        "process": [process for _, _, process in keys],
        "submitted_position": [NEVER if row is None else row.position for row in rows],
        "submitted_ns": [0 if row is None else row.time_ns for row in rows],
        "delivered_position": [NEVER if row is None else row.position for row in first],
        "delivered_ns": [0 if row is None else row.time_ns for row in first],
        "deliveries": [len(delivered.get(key, [])) for key in keys],
        "last_delivered_ns": [0 if row is None else row.time_ns for row in last],
        "overtaken": [1 for _ in keys],
    }
    return Copies(**{name: np.array(values, np.int64) for name, values in columns.items()})
