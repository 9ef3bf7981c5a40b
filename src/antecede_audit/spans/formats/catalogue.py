"""Which formats there are, how to tell them apart, and how each is read."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from antecede_audit.spans.formats import jaeger, nezha, otlp, otlp_columns, otlp_protobuf, zipkin
from antecede_audit.spans.formats import message_tables as tables
from antecede_audit.spans.formats.containers import HEAD_BYTES, Content, spooled
from antecede_audit.spans.formats.json_documents import documents, parsed
from antecede_audit.spans.formats.lines import BYTE_ORDER_MARK, Line, LineSource, lines_of
from antecede_audit.spans.formats.records import (
    KEEP_NOTHING,
    MessageRecord,
    RejectRecord,
    SpanRecord,
    excerpt_of,
)

Found: TypeAlias = SpanRecord | MessageRecord | RejectRecord
FoundTogether: TypeAlias = Found | otlp_columns.SpanColumns
"""The same, and many spans at a time."""

AUTO: Final = "auto"
JAEGER: Final = "jaeger"
OTLP: Final = "otlp"
ZIPKIN: Final = "zipkin"
NEZHA: Final = "nezha"
MESSAGES: Final = "messages"

FORMATS: Final = (JAEGER, OTLP, ZIPKIN, NEZHA, MESSAGES)

SPANS_OF_DOCUMENT: Final[
    dict[str, Callable[[object, str, frozenset[str]], Iterator[SpanRecord | RejectRecord]]]
] = {
    JAEGER: jaeger.spans_in,
    OTLP: otlp.spans_in,
    ZIPKIN: zipkin.spans_in,
}

PARQUET: Final = b"PAR1"

SAMPLE: Final = 10
"""How many lines of a table are looked at to see how it is laid out."""

SIGNS: Final = (
    (OTLP, re.compile(rb'"(resourceSpans|batches)"\s*:')),
    (JAEGER, re.compile(rb'"traceID"\s*:|"data"\s*:\s*\[\s*\]')),
    (ZIPKIN, re.compile(rb'"traceId"\s*:|^\s*\[\s*\]\s*$')),
)
"""What only documents of a format have, in the order in which to look."""

DEPENDENCIES: Final = re.compile(rb'"callCount"\s*:')

UNKNOWN: Final = "none of the formats that are understood"
EMPTY: Final = "empty file"
NO_TABLE: Final = "not a line of a message table"
NO_TIMES: Final = "a graph of dependencies, without times: `antecede lab grow` takes it"


def detected(head: bytes, unit: str | None) -> str | None:
    """The format of a file that begins like this."""
    if head.startswith(PARQUET):
        return MESSAGES
    if is_binary(head):
        return OTLP
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text[:1] in (b"{", b"["):
        return next((format_name for format_name, sign in SIGNS if sign.search(text)), None)
    lines = first_lines(head)
    if nezha.is_header(lines[0]):
        return NEZHA
    return MESSAGES if table_layout(lines, unit) is not None else None


def table_layout(lines: Sequence[str], unit: str | None) -> tables.TableLayout | None:
    """The layout of a message table that begins with these lines, be they readable or not."""
    return tables.layout_of(lines, unit) or tables.presumed_layout(lines, unit)


def is_binary(head: bytes) -> bool:
    """Whether a file that begins like this has requests in Protocol Buffers."""
    text = head.startswith((b"{", b"[", BYTE_ORDER_MARK))
    return not text and otlp_protobuf.framing_of(head) is not None


def first_lines(head: bytes) -> list[str]:
    """Some lines that are neither empty nor comments; at least one, be it empty."""
    text = head.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    # The last line may be cut off where the head ends.
    whole = text.splitlines()[:-1] or [text]
    lines = (line.strip() for line in (whole if len(head) >= HEAD_BYTES else text.splitlines()))
    return [*islice((x for x in lines if x and not x.startswith(tables.COMMENTS)), SAMPLE)] or [""]


def can_be_cut(head: bytes, format_name: str, unit: str | None) -> bool:
    """Whether every line of a file that begins like this can be read without the others."""
    if is_binary(head):
        return False
    text = head.removeprefix(BYTE_ORDER_MARK)
    if text.lstrip()[:1] in (b"{", b"["):
        first, _, rest = text.partition(b"\n")
        return rest.lstrip()[:1] == b"{" and parsed(first) is not None
    format_name = detected(head, unit) or format_name if format_name == AUTO else format_name
    if format_name == MESSAGES:
        layout = table_layout(first_lines(head), unit)
        return layout is not None and not layout.refers_to_lines
    return format_name == NEZHA and nezha.is_header(first_lines(head)[0])


def read_content(
    content: Content, format_name: str, unit: str | None, keep: frozenset[str] = KEEP_NOTHING
) -> Iterator[FoundTogether]:
    """Everything in a file; `format_name` is its format, by now known."""
    if content.head.startswith(PARQUET) and format_name == MESSAGES:
        with spooled(content.stream) as file:
            yield from tables.copies_in_parquet(file, unit)
    elif format_name == OTLP and is_binary(content.head):
        yield from otlp_protobuf.spans_in_stream(content.head, content.stream, keep)
    elif format_name in SPANS_OF_DOCUMENT:
        yield from read_documents(content.stream, format_name, keep=keep)
    else:
        yield from read_lines(content.head, content.stream, format_name, unit)


def read_documents(
    stream: LineSource,
    format_name: str,
    first_byte: int | None = None,
    keep: frozenset[str] = KEEP_NOTHING,
) -> Iterator[FoundTogether]:
    """The spans of every document in a stream of JSON."""
    if format_name == OTLP:
        yield from otlp_columns.spans_in_lines(stream, first_byte, keep)
        return
    spans_in = SPANS_OF_DOCUMENT[format_name]
    for where, document in documents(stream, first_byte):
        if isinstance(document, RejectRecord):
            yield document
        else:
            yield from spans_in(document, where, keep)


def one_by_one(found: Iterator[FoundTogether]) -> Iterator[Found]:
    """What was found, every span for itself."""
    for record in found:
        if isinstance(record, otlp_columns.SpanColumns):
            yield from record.spans()
        else:
            yield record


def read_lines(
    head: bytes,
    stream: LineSource,
    format_name: str,
    unit: str | None,
    first_byte: int | None = None,
) -> Iterator[Found]:
    """What every line says; `head` is how the file begins, also if the stream begins later."""
    sample = first_lines(head)
    first = sample[0]
    lines = lines_of(stream, first_byte=first_byte)
    if format_name == NEZHA:
        headed = nezha.is_header(first) and first_byte is None
        yield from nezha.spans_in(first, without_header(lines, first, headed))
        return
    layout = table_layout(sample, unit)
    if layout is None:
        for line in tables.without_comments(lines):
            yield RejectRecord(line.position, NO_TABLE, excerpt_of(line.text))
        return
    yield from tables.copies_in(
        layout, without_header(lines, first, layout.headed and first_byte is None)
    )


def without_header(lines: Iterator[Line], header: str, headed: bool) -> Iterator[Line]:
    """The lines after the header, if there is one."""
    for line in lines:
        if headed and line.text.strip() == header:
            headed = False
        else:
            yield line


def unknown_content(head: bytes) -> RejectRecord:
    """That a file is in no format that is understood."""
    if not head:
        return RejectRecord("", EMPTY, "")
    reason = NO_TIMES if DEPENDENCIES.search(head) else UNKNOWN
    return RejectRecord("", reason, excerpt_of(first_lines(head)[0]))
