"""What is wrong with an event log: the oracle by definition, fast judges, findings in words."""

from antecede_audit.judging.definition import ORDERS, PROCESS, TRACE, Order
from antecede_audit.judging.explain import explain, explain_verdict
from antecede_audit.judging.findings import (
    VIOLATION_COLUMNS,
    Duplicate,
    Finding,
    Invention,
    Loss,
    MessageId,
    OracleVerdict,
    SelfCause,
    Violation,
)
from antecede_audit.judging.oracle import (
    check_log,
    find_duplicates,
    find_fifo_breaks,
    find_inventions,
    find_losses,
    find_self_causes,
    find_violations,
)

__all__ = [
    "ORDERS",
    "PROCESS",
    "TRACE",
    "VIOLATION_COLUMNS",
    "Duplicate",
    "Finding",
    "Invention",
    "Loss",
    "MessageId",
    "OracleVerdict",
    "Order",
    "SelfCause",
    "Violation",
    "check_log",
    "explain",
    "explain_verdict",
    "find_duplicates",
    "find_fifo_breaks",
    "find_inventions",
    "find_losses",
    "find_self_causes",
    "find_violations",
]
