"""The former name of `antecede_audit.judging`: it goes with the next release."""

from typing import Any, Final

from antecede.former_names import moved

HOMES: Final = {
    "Duplicate": "antecede_audit.judging",
    "Finding": "antecede_audit.judging",
    "Invention": "antecede_audit.judging",
    "Loss": "antecede_audit.judging",
    "MessageId": "antecede_audit.judging",
    "ORDERS": "antecede_audit.judging",
    "Order": "antecede_audit.judging",
    "PROCESS": "antecede_audit.judging",
    "SelfCause": "antecede_audit.judging",
    "TRACE": "antecede_audit.judging",
    "VIOLATION_COLUMNS": "antecede_audit.judging",
    "Verdict": "antecede_audit.judging:OracleVerdict",
    "Violation": "antecede_audit.judging",
    "check_log": "antecede_audit.judging",
    "explain": "antecede_audit.judging",
    "explain_verdict": "antecede_audit.judging",
    "find_duplicates": "antecede_audit.judging",
    "find_fifo_breaks": "antecede_audit.judging",
    "find_inventions": "antecede_audit.judging",
    "find_losses": "antecede_audit.judging",
    "find_self_causes": "antecede_audit.judging",
    "find_violations": "antecede_audit.judging",
}
"""Where the names are now."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    """What the former package offered."""
    return moved(__name__, HOMES, name)
