"""Spans as CSV in the layout of the Nezha data set.

    TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration

The parent of a first span is `root`. There is no kind of span. The columns may stand in any order,
and there may be others.
"""

from collections.abc import Iterator
from typing import Final

from antecede.pipeline.ingest.formats.lines import Line, cells_of
from antecede.pipeline.ingest.formats.records import (
    UNKNOWN,
    Reject,
    Span,
    UnreadableError,
    end_of,
    excerpt_of,
    identity_of,
    instant_of,
    name_of,
    operation_of,
    optional_identity,
    trace_identity,
)

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


def spans_in(header: str, lines: Iterator[Line]) -> Iterator[Span | Reject]:
    """The span of every line, and what could not be read."""
    names = [cell.strip() for cell in header.split(",")]
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        yield Reject("line 1", f"no column {missing[0]}", excerpt_of(header))
        return
    places = [names.index(column) for column in COLUMNS]
    operation = names.index(OPERATION) if OPERATION in names else None
    for line in lines:
        try:
            yield span_of(line.text, len(names), places, operation)
        except UnreadableError as error:
            yield Reject(line.position, str(error), excerpt_of(line.text))


def span_of(text: str, width: int, places: list[int], operation: int | None) -> Span:
    """The span of one line."""
    cells = cells_of(text, ",")
    if len(cells) != width:
        raise UnreadableError(f"not {width} columns")
    trace, span, parent, pod, start, end = [cells[place] for place in places]
    start_ns = instant_of(start, 1, "StartTimeUnixNano")
    return Span(
        trace=trace_identity(trace, "TraceID"),
        span=identity_of(span, "SpanID"),
        parent=None if parent == ROOT else optional_identity(parent, "ParentID"),
        follows=False,
        kind=UNKNOWN,
        process=name_of(pod, "PodName"),
        start_ns=start_ns,
        end_ns=end_of(start_ns, instant_of(end, 1, "EndTimeUnixNano")),
        links=[],
        operation=None if operation is None else operation_of(cells[operation]),
    )
