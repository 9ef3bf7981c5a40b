"""The former name of `antecede.eventlog` and `antecede_audit.eventlog`: it goes with the next
release."""

from typing import Any, Final

from antecede.former_names import moved

HOMES: Final = {
    "ALL_COLUMNS": "antecede.eventlog",
    "ARRIVED": "antecede.eventlog",
    "COLUMNS": "antecede.eventlog",
    "DELIVERED": "antecede.eventlog",
    "Event": "antecede.eventlog",
    "EventLog": "antecede.eventlog",
    "KINDS": "antecede.eventlog",
    "NULL": "antecede.eventlog",
    "RowSink": "antecede.eventlog",
    "SUBMITTED": "antecede.eventlog",
    "TRACE_COLUMNS": "antecede.eventlog",
    "TRANSMITTED": "antecede.eventlog",
    "WorkloadRow": "antecede_audit.eventlog",
    "check_workload": "antecede_audit.eventlog",
    "log_of": "antecede_audit.eventlog",
    "open_sink": "antecede.eventlog",
    "read_events": "antecede_audit.eventlog",
    "read_runs": "antecede_audit.eventlog",
    "read_workload": "antecede_audit.eventlog",
    "record_events": "antecede.eventlog",
    "write_events": "antecede.eventlog",
    "write_workload": "antecede_audit.eventlog",
}
"""Where the names are now."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """What the former package offered."""
    return moved(__name__, HOMES, name)
