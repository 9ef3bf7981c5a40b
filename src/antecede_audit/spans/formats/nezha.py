"""Spans as CSV in the layout of the Nezha data set.

    TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration

The parent of a first span is `root`. There is no kind of span. The columns may stand in any order,
and there may be others.
"""

from collections.abc import Iterator
from typing import Final

from antecede_audit.spans.formats import records
from antecede_audit.spans.formats.lines import Line, cells_of

COLUMNS: Final = (
    "TraceID",
    "SpanID",
    "ParentID",
    "PodName",
    "StartTimeUnixNano",
    "EndTimeUnixNano",
)

OPERATION: Final = "OperationName"
"""A column that may be missing."""

ROOT: Final = "root"


def is_header(line: str) -> bool:
    """Whether this is the first line of such a file."""
    return set(COLUMNS) <= {cell.strip() for cell in line.split(",")}


def spans_in(
    header: str, lines: Iterator[Line]
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The span of every line, and what could not be read."""
    names = [cell.strip() for cell in header.split(",")]
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        reason = f"no column {missing[0]} in the first line"
        for line in lines:
            yield records.RejectRecord(line.position, reason, records.excerpt_of(line.text))
        return
    places = [names.index(column) for column in COLUMNS]
    operation = names.index(OPERATION) if OPERATION in names else None
    for line in lines:
        try:
            yield span_of(line.text, len(names), places, operation)
        except records.InvalidRecordError as error:
            yield records.RejectRecord(line.position, str(error), records.excerpt_of(line.text))


def span_of(text: str, width: int, places: list[int], operation: int | None) -> records.SpanRecord:
    """The span of one line."""
    cells = cells_of(text, ",")
    if len(cells) != width:
        raise records.InvalidRecordError(f"not {width} columns")
    trace, span, parent, pod, start, end = [cells[place] for place in places]
    start_ns = records.instant_of(start, 1, "StartTimeUnixNano")
    return records.SpanRecord(
        trace=records.trace_identity(trace, "TraceID"),
        span=records.identity_of(span, "SpanID"),
        parent=None if parent == ROOT else records.optional_identity(parent, "ParentID"),
        follows=False,
        kind=records.UNKNOWN,
        process=records.name_of(pod, "PodName"),
        start_ns=start_ns,
        end_ns=records.end_of(start_ns, records.instant_of(end, 1, "EndTimeUnixNano")),
        links=[],
        operation=None if operation is None else records.operation_of(cells[operation]),
    )
