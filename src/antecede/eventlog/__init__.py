"""The event log: schema and rules, the log in memory, and writers (JSON lines, Parquet)."""

from antecede.eventlog.log import (
    ARRIVED,
    DELIVERED,
    NULL,
    SUBMITTED,
    TRANSMITTED,
    EventLog,
    RowSink,
)
from antecede.eventlog.schema import ALL_COLUMNS, COLUMNS, KINDS, TRACE_COLUMNS, Event
from antecede.eventlog.writers import open_sink, record_events, write_events

__all__ = [
    "ALL_COLUMNS",
    "ARRIVED",
    "COLUMNS",
    "DELIVERED",
    "KINDS",
    "NULL",
    "SUBMITTED",
    "TRACE_COLUMNS",
    "TRANSMITTED",
    "Event",
    "EventLog",
    "RowSink",
    "open_sink",
    "record_events",
    "write_events",
]
