"""Event logs and workloads as they are read: checked, row by row or column by column."""

from antecede_audit.eventlog.reader import log_of, read_events, read_runs
from antecede_audit.eventlog.workload import (
    WorkloadRow,
    check_workload,
    read_workload,
    write_workload,
)

__all__ = [
    "WorkloadRow",
    "check_workload",
    "log_of",
    "read_events",
    "read_runs",
    "read_workload",
    "write_workload",
]
