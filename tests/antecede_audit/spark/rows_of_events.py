"""The rows of a small log as columns, for tests that need no Spark."""

from collections.abc import Iterable

import numpy as np

from antecede.eventlog import Event
from antecede_audit.judging.copies import NEVER, Rows


def rows_of(events: Iterable[Event], run: int = 0) -> Rows:
    """What counts of these events."""
    counted = [
        event
        for event in events
        if event.sender is not None
        and event.sequence is not None
        and (event.kind == "delivered" or is_submission(event))
    ]
    traces: dict[str | None, int] = {None: 0}
    columns = {
        "run": [run for _ in counted],
        "sender": [event.sender for event in counted],
        "sequence": [event.sequence for event in counted],
        "process": [
            event.process if event.kind == "delivered" else whom(event) for event in counted
        ],
        "position": [event.position for event in counted],
        "time_ns": [event.time_ns for event in counted],
        "clock_ns": [event.time_ns for event in counted],
        "trace": [traces.setdefault(event.trace_id, 7 * len(traces)) for event in counted],
    }
    return Rows(
        delivered=np.array([event.kind == "delivered" for event in counted], np.bool_),
        **{name: np.array(values, np.int64) for name, values in columns.items()},
    )


def is_submission(event: Event) -> bool:
    return event.kind == "submitted" and event.process == event.sender


def whom(event: Event) -> int:
    return NEVER if event.target is None else event.target


def joined(parts: list[Rows]) -> Rows:
    """All of them, one below the other."""
    names = Rows.__dataclass_fields__
    return Rows(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
