"""Requests of OpenTelemetry in JSON, column by column: many spans at a time.

What is as the specification has it is decoded by msgspec, which knows the fields that are wanted
and skips all others, and is checked a column at a time. As soon as anything is unusual, all lines
at hand are read by `otlp`, span by span, which has the last word: so what is rejected, and where it
stood, does not depend on who read it first.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Column, Integers
from antecede_audit.spans.formats import otlp, records
from antecede_audit.spans.formats.json_documents import (
    DOCUMENT_BYTES_MAX,
    documents,
    line_name,
    on_line,
    parsed,
)
from antecede_audit.spans.formats.lines import LineSource, PushbackSource

CHUNK_BYTES: Final = 4 << 20
"""4 MiB of lines become columns together."""

DIGITS_MAX: Final = 20

ZERO: Final = np.uint8(ord("0"))
NINE: Final = np.uint8(9)

DIGITS: Final = b"0123456789abcdef"
CAPITALS: Final = b"ABCDEF"


class Link(msgspec.Struct, rename="camel", gc=False):
    """Another span that is a cause."""

    trace_id: str
    span_id: str


class BareSpan(msgspec.Struct, rename="camel", gc=False):
    """A span without its attributes, which are most of it."""

    trace_id: str
    span_id: str
    start_time_unix_nano: str | int
    end_time_unix_nano: str | int
    parent_span_id: str | None = None
    kind: int | str = 0
    name: str | None = None
    links: list[Link] | None = None


class FullSpan(BareSpan, gc=False):
    """A span with its attributes, as JSON has them."""

    attributes: Any = None


S = TypeVar("S", BareSpan, FullSpan)


class Scope(msgspec.Struct, Generic[S], gc=False):
    """The spans of one library."""

    spans: list[S] = []


class Resource(msgspec.Struct, Generic[S], rename="camel", gc=False):
    """The spans of one process."""

    resource: msgspec.Raw
    scope_spans: list[Scope[S]] = []
    instrumentation_library_spans: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Request(msgspec.Struct, Generic[S], rename="camel", gc=False):
    """A request; one that has spans under another name is not decoded here."""

    resource_spans: list[Resource[S]]
    batches: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


BARE: Final = msgspec.json.Decoder(Request[BareSpan])
FULL: Final = msgspec.json.Decoder(Request[FullSpan])

Spans: TypeAlias = Sequence[BareSpan | FullSpan]
Place: TypeAlias = tuple[int, int | None]
"""The number of a line, and its first byte if it is amid a file."""


@dataclass(frozen=True, slots=True)
class SpanColumns:
    """Many spans: for each field of `SpanRecord` the values of all of them."""

    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def spans(self) -> Iterator[records.SpanRecord]:
        """The same, one by one."""
        values = (column.to_pylist() for column in self.columns)
        return map(records.SpanRecord._make, zip(*values, strict=True))


class NotColumnarError(Exception):
    """Something in these lines is better looked at span by span."""


def spans_in_lines(
    stream: LineSource, first_byte: int | None, keep: frozenset[str]
) -> Iterator[SpanColumns | records.SpanRecord | records.RejectRecord]:
    """The spans of every request in a stream, as `documents` and `otlp.spans_in` find them."""
    first = stream.readline(DOCUMENT_BYTES_MAX)
    while first and not first.strip():
        first = stream.readline(DOCUMENT_BYTES_MAX)
    following = stream.readline(DOCUMENT_BYTES_MAX) if first and parsed(first) is not None else b""
    if not following:
        for where, document in documents(PushbackSource(first, stream), first_byte):
            yield from found_in(where, document, keep)
        return
    names: dict[bytes, str] = {}
    for lines, places in chunks(first, following, stream, first_byte):
        try:
            yield columns_of(lines, names, keep)
        except NotColumnarError:
            for line, place in zip(lines, places, strict=True):
                for where, document in on_line(line, parsed(line), line_name(*place)):
                    yield from found_in(where, document, keep)


def found_in(
    where: str, document: object, keep: frozenset[str]
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The spans of one document, or that it is none."""
    if isinstance(document, records.RejectRecord):
        yield document
    else:
        yield from otlp.spans_in(document, where, keep)


def chunks(
    first: bytes, following: bytes, stream: LineSource, first_byte: int | None
) -> Iterator[tuple[list[bytes], list[Place]]]:
    """The lines that are not empty, some megabytes at a time."""
    lines, places = [first], [(1, first_byte)]
    size, number, offset = len(first), 1, first_byte
    before, line = first, following
    while line:
        number += 1
        offset = None if offset is None else offset + len(before)
        if not line.isspace():
            lines.append(line)
            places.append((number, offset))
            size += len(line)
        if size >= CHUNK_BYTES:
            yield lines, places
            lines, places, size = [], [], 0
        before, line = line, stream.readline(DOCUMENT_BYTES_MAX)
    if lines:
        yield lines, places


def columns_of(
    lines: Sequence[bytes], names: dict[bytes, str], keep: frozenset[str]
) -> SpanColumns:
    """The spans of these requests; `names` remembers what processes are called."""
    spans: list[BareSpan | FullSpan] = []
    processes: list[str] = []
    for request in decoded(lines, FULL if keep else BARE):
        if request.batches is not msgspec.UNSET:
            raise NotColumnarError
        for resource in request.resource_spans:
            if resource.instrumentation_library_spans is not msgspec.UNSET:
                raise NotColumnarError
            before = len(spans)
            for scope in resource.scope_spans:
                spans += scope.spans
            if len(spans) > before:
                processes.extend(repeat(process_in(resource.resource, names), len(spans) - before))
    starts = times_of([span.start_time_unix_nano for span in spans])
    ends = times_of([span.end_time_unix_nano for span in spans])
    if spans and (starts.min() <= 0 or ends.max() > records.TIME_NS_MAX or (ends < starts).any()):
        raise NotColumnarError
    traces = identities_of([span.trace_id for span in spans])
    if pc.any(are_zeros(traces)).as_py():
        raise NotColumnarError
    return SpanColumns(
        (
            traces,
            identities_of([span.span_id for span in spans]),
            parents_of([span.parent_span_id for span in spans]),
            pa.array(np.zeros(len(spans), np.bool_)),
            kinds_of([span.kind for span in spans]),
            pa.array(processes, pa.string()),
            pa.array(starts),
            pa.array(ends),
            links_of(spans),
            operations_of([span.name for span in spans]),
            attributes_of(spans, keep),
        )
    )


def decoded(lines: Sequence[bytes], decoder: Any) -> list[Any]:  # noqa: ANN401 either request
    """The requests on these lines."""
    try:
        return [decoder.decode(line) for line in lines]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise NotColumnarError from None


def process_in(resource: msgspec.Raw, names: dict[bytes, str]) -> str:
    """What a process is called."""
    text = bytes(resource)
    name = names.get(text)
    if name is None:
        try:
            name = names[text] = otlp.process_of(json.loads(text))
        except (records.InvalidRecordError, ValueError):
            raise NotColumnarError from None
    return name


def identities_of(texts: Sequence[str | None], *, empty: bool = False) -> Column:
    """Ids in hexadecimal digits, in lower case; only some may be empty or missing."""
    found = pa.array(texts, pa.string())
    shortest = pc.min(pc.binary_length(found)).as_py()
    if not empty and (found.null_count or shortest == 0):
        raise NotColumnarError
    others = bytes_of(found).tobytes().translate(None, DIGITS)
    if others.translate(None, CAPITALS):
        raise NotColumnarError
    return pc.ascii_lower(found) if others else found


def bytes_of(texts: Column) -> npt.NDArray[np.uint8]:
    """All bytes of an array of texts that is not a slice of another, without those between."""
    _, bounds, content = texts.buffers()
    if not len(texts) or content is None:
        return np.zeros(0, np.uint8)
    return np.frombuffer(content, np.uint8)[: np.frombuffer(bounds, np.int32)[len(texts)]]


def are_zeros(identities: Column) -> Column:
    """Which ids are empty, or have no other digits than 0."""
    return pc.equal(pc.ascii_ltrim(identities, "0"), "")


def parents_of(texts: Sequence[str | None]) -> Column:
    """Ids that may be left out, empty, or all zeros."""
    found = identities_of(texts, empty=True)
    return pc.if_else(are_zeros(found), pa.scalar(None, pa.string()), found)


def times_of(values: Sequence[str | int]) -> Integers:
    """Points in time: all of them digits, or all of them numbers."""
    try:
        if values and isinstance(values[0], str):
            texts = pa.array(values, pa.string())
            lengths = pc.min_max(pc.binary_length(texts)).as_py()
            if lengths["min"] < 1 or lengths["max"] > DIGITS_MAX:
                raise NotColumnarError
            if (bytes_of(texts) - ZERO > NINE).any():
                raise NotColumnarError
            return np.asarray(texts.cast(pa.int64()))
        if set(map(type, values)) <= {int}:
            return np.array(values, np.int64)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise NotColumnarError from None
    raise NotColumnarError


def operations_of(names: Sequence[str | None]) -> Column:
    """Names that may be left out or empty."""
    found = pa.array(names, pa.string())
    if pc.min(pc.binary_length(found)).as_py() == 0:
        return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)
    return found


def links_of(spans: Spans) -> Column:
    """The spans that are linked as causes."""
    linked = [span.links for span in spans]
    if not any(linked):
        none = pa.array(np.zeros(len(spans) + 1, np.int32))
        return pa.ListArray.from_arrays(none, pa.array([], pa.string()))
    try:
        found = [
            [
                records.span_key(
                    records.identity_of(one.trace_id, "traceId"),
                    records.identity_of(one.span_id, "spanId"),
                )
                for one in span.links
            ]
            if span.links
            else []
            for span in spans
        ]
    except records.InvalidRecordError:
        raise NotColumnarError from None
    return pa.array(found, pa.list_(pa.string()))


def kinds_of(values: Sequence[int | str]) -> Column:
    """What kinds are called: a dictionary of the few values there are, and then their names."""
    known = {value: place for place, value in enumerate(dict.fromkeys(values))}
    names = pa.array([otlp.KINDS.get(one, records.UNKNOWN) for one in known], pa.string())
    return names.take(pa.array([known[one] for one in values], pa.int32()))


def attributes_of(spans: Spans, keep: frozenset[str]) -> Column:
    """The attributes that somebody asked for."""
    kind = pa.map_(pa.string(), pa.string())
    if not keep:
        return pa.nulls(len(spans), kind)
    found = [
        otlp.attributes_among(span.attributes, keep) if isinstance(span, FullSpan) else None
        for span in spans
    ]
    return pa.array(found, kind)
