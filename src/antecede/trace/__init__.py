"""The event log: its schema, the log in memory, and its files (JSON lines, Parquet)."""

from antecede.trace.events import ALL_COLUMNS, COLUMNS, KINDS, TRACE_COLUMNS, Event
from antecede.trace.files import open_sink, read_events, read_runs, record_events, write_events
from antecede.trace.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog, RowSink
from antecede.trace.restore import log_of
from antecede.trace.workload import WorkloadRow, check_workload, read_workload, write_workload

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
    "WorkloadRow",
    "check_workload",
    "log_of",
    "open_sink",
    "read_events",
    "read_runs",
    "read_workload",
    "record_events",
    "write_events",
    "write_workload",
]
