"""What a row of the event log may say: the rules, as data, and the check of one row.

Every reader of event logs goes by these rules, whether it takes a row at a time
(`antecede_audit.eventlog.reader`) or whole columns (`antecede_audit.eventlog.checked`): a row that
one of them refuses, all refuse, for the same reason. A reader checks the columns that it reads.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

from antecede.core.errors import LocalError
from antecede.eventlog.schema import ALL_COLUMNS, KINDS

Fields: TypeAlias = Mapping[str, object]

INT32_MAX: Final = (1 << 31) - 1
INT64_MAX: Final = (1 << 63) - 1

HALF_MAX: Final = (1 << 62) - 1
"""The limit of positions, and of times on both sides of 0: judges subtract them, and need a bit."""


class Range(NamedTuple):
    """Which integers a column may have, both ends included, and whether it may be null."""

    low: int
    high: int
    nullable: bool = False


INTEGERS: Final[Mapping[str, Range]] = {
    "process": Range(0, INT32_MAX),
    "position": Range(0, HALF_MAX),
    "time_ns": Range(-HALF_MAX, HALF_MAX),
    "sender": Range(0, INT32_MAX, nullable=True),
    "sequence": Range(0, INT64_MAX, nullable=True),
    "target": Range(0, INT32_MAX, nullable=True),
    "packet": Range(0, INT64_MAX, nullable=True),
    "payload_bytes": Range(0, INT32_MAX),
    "metadata_bytes": Range(0, INT32_MAX),
}
"""The columns of integers; if several are wrong in a row, the error names the first."""

TEXTS: Final = ("packet_kind", "trace_id", "span_id")
"""Columns of texts or nulls; `kind` is one of `KINDS`."""

MESSAGE: Final = ("sender", "sequence")
"""The columns that identify a message: both are null, or neither."""

ABOUT_MESSAGES: Final = ("submitted", "delivered")
ADDRESSED: Final = ("sender", "target")
"""What is never null in rows of these kinds."""

JUDGED: Final = ("process", "position", "sender", "sequence", "target", "time_ns", "kind")
"""The columns that say what caused what: an audit reads no others, but for traces and spans."""


def check_row(fields: Fields, columns: Collection[str] = ALL_COLUMNS) -> None:
    """`LocalError` names the first of these columns that is wrong; all of `JUDGED` are among them.

    Where a null may stand, the column may be absent as well.
    """
    for column, (low, high, nullable) in INTEGERS.items():
        value = fields.get(column)
        if (type(value) is int and low <= value <= high) or column not in columns:
            continue
        if value is None and column not in fields and not nullable:
            raise LocalError(f"column {column!r} is missing")
        check_integer(value, column)
    if "kind" not in fields:
        raise LocalError("column 'kind' is missing")
    kind = fields["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise LocalError(f"column 'kind' is {kind!r}, not one of {', '.join(KINDS)}")
    message = fields.get("sender"), fields.get("sequence")
    if (message[0] is None) != (message[1] is None):
        raise LocalError(
            f"columns 'sender' and 'sequence' name a message only together, not as {message}"
        )
    if kind in ABOUT_MESSAGES:
        for column in ADDRESSED:
            if fields.get(column) is None:
                raise LocalError(f"column {column!r} is null in a {kind} row")
    for column in TEXTS:
        if column in columns:
            check_text(fields.get(column), column)


def check_integer(value: object, column: str) -> None:
    """`LocalError` if this is none of the integers that the column may have."""
    low, high, nullable = INTEGERS[column]
    if value is None and nullable:
        return
    if type(value) is not int:
        raise LocalError(f"column {column!r} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise LocalError(f"column {column!r} is {value}, outside {low} to {high}")


def check_text(value: object, column: str) -> None:
    """`LocalError` if this is neither a text nor a null."""
    if value is not None and not isinstance(value, str):
        raise LocalError(f"column {column!r} must be a string or null, not {value!r}")
