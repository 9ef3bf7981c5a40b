"""OpenTelemetry's traces as Protocol Buffers: what collectors put into Kafka and into files.

A message is a request (`TracesData`). It stands alone, as in Kafka; or many follow each other, each
after its length: in four bytes, as the collector's file exporter writes it, or as a varint, as the
specification of files has it. Each may be compressed for itself; the exporter does that too.

Some megabytes of requests become columns together. Where anything in them is unusual, or somebody
asked for attributes, each request becomes what `otlp` reads from JSON, span by span.
"""

import io
from collections.abc import Iterator, Sequence
from typing import IO, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Column, Flags, Integers
from antecede_audit.spans.formats import otlp
from antecede_audit.spans.formats.containers import HEAD_BYTES, ZSTD, decompressed
from antecede_audit.spans.formats.json_documents import DOCUMENT_BYTES_MAX, parsed
from antecede_audit.spans.formats.otlp_columns import CHUNK_BYTES, NotColumnarError, SpanColumns
from antecede_audit.spans.formats.protobuf import (
    EIGHT_BYTES,
    FLAG,
    IDENTITY,
    LENGTH,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    VARINT,
    VARINT_BYTES_MAX,
    Field,
    Layout,
    ProtobufColumns,
    decoded,
    fields_in,
    varint,
)
from antecede_audit.spans.formats.records import (
    KEEP_NOTHING,
    TIME_NS_MAX,
    UNKNOWN,
    InvalidRecordError,
    RejectRecord,
    SpanRecord,
    excerpt_of,
)

Request: TypeAlias = tuple[str, bytes]
"""Where a request stands, and the bytes of it."""

ALONE: Final = "alone"
FOUR_BYTES: Final = "four bytes"
VARINTS: Final = "varints"

FIRST_KEY: Final = (1 << 3) | LENGTH
"""Of a request the list of resources is the only field."""
INNER_KEYS: Final = frozenset((number << 3) | LENGTH for number in (1, 2, 3))

ANY_VALUE: Final[Layout] = {
    1: Field("stringValue", TEXT),
    2: Field("boolValue", FLAG),
    3: Field("intValue", NUMBER),
    4: Field("doubleValue", REAL),
    7: Field("bytesValue", IDENTITY),
}
ANY_VALUE[5] = Field("arrayValue", {1: Field("values", ANY_VALUE, repeated=True)})
KEY_VALUE: Final[Layout] = {1: Field("key", TEXT), 2: Field("value", ANY_VALUE)}
ANY_VALUE[6] = Field("kvlistValue", {1: Field("values", KEY_VALUE, repeated=True)})

LINK: Final[Layout] = {1: Field("traceId", IDENTITY), 2: Field("spanId", IDENTITY)}
BARE_SPAN: Final[Layout] = {
    1: Field("traceId", IDENTITY),
    2: Field("spanId", IDENTITY),
    4: Field("parentSpanId", IDENTITY),
    5: Field("name", TEXT),
    6: Field("kind", NUMBER),
    7: Field("startTimeUnixNano", TIME),
    8: Field("endTimeUnixNano", TIME),
    13: Field("links", LINK, repeated=True),
}
"""A span without its attributes, which are most of it, and which few ask for."""
FULL_SPAN: Final[Layout] = {**BARE_SPAN, 9: Field("attributes", KEY_VALUE, repeated=True)}


RESOURCE: Final[Layout] = {1: Field("attributes", KEY_VALUE, repeated=True)}


def request_layout(span: Layout) -> Layout:
    """A request whose spans have this layout."""
    scope: Layout = {2: Field("spans", span, repeated=True)}
    resource: Layout = {
        1: Field("resource", RESOURCE),
        2: Field("scopeSpans", scope, repeated=True),
    }
    return {1: Field("resourceSpans", resource, repeated=True)}


BARE: Final = request_layout(BARE_SPAN)
FULL: Final = request_layout(FULL_SPAN)

TRACE, SPAN, PARENT, NAME, KIND, START, END, LINKS = BARE_SPAN
IN_COLUMNS: Final = {
    **dict.fromkeys((TRACE, SPAN, PARENT, NAME, LINKS), LENGTH),
    KIND: VARINT,
    START: EIGHT_BYTES,
    END: EIGHT_BYTES,
}
"""How each field of a span is written."""
TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8

SPANS_MIN: Final = 64
"""Fewer spans are read sooner one by one."""

KINDS: Final = pa.array([UNKNOWN, *(otlp.KINDS[number] for number in range(1, 6))])
DIGITS: Final = np.frombuffer(bytes(range(256)).hex().encode(), np.uint16)
"""The two digits of every byte."""


def framing_of(head: bytes) -> str | None:
    """How the requests in a file that begins like this follow each other; None: it has none."""
    if head[:1] < bytes([FIRST_KEY]):  # A request alone begins with that: no frame is so long.
        length = int.from_bytes(head[:4], "big")
        if length and begins_a_frame(head[4:], length):
            return FOUR_BYTES
    try:
        length, place = varint(head, 0, len(head))
    except InvalidRecordError:
        return None
    if 0 < length <= DOCUMENT_BYTES_MAX and begins_a_frame(head[place:], length):
        return VARINTS
    size = len(head) if len(head) < HEAD_BYTES else DOCUMENT_BYTES_MAX
    return ALONE if begins_a_request(head, size) else None


def begins_a_frame(data: bytes, length: int) -> bool:
    """Whether a frame of this length may begin like this."""
    if data.startswith((ZSTD, b'{"')):
        return True
    return begins_a_request(data, length)


def begins_a_request(data: bytes, length: int) -> bool:
    """Whether a request of this length may begin like this: a resource that fits, and in it one of
    its fields that fits."""
    if not data or data[0] != FIRST_KEY:
        return False
    try:
        outer, place = varint(data, 1, len(data))
        if place + outer > length or place >= len(data) or data[place] not in INNER_KEYS:
            return False
        inner, inside = varint(data, place + 1, len(data))
    except InvalidRecordError:
        return False
    return inside + inner <= place + outer


def spans_in_stream(
    head: bytes, stream: IO[bytes], keep: frozenset[str]
) -> Iterator[SpanColumns | SpanRecord | RejectRecord]:
    """The spans of all requests in a file that begins like this."""
    names: dict[bytes, str] = {}
    waiting: list[Request] = []
    size = 0
    for found in requests_in(head, stream):
        if isinstance(found, RejectRecord):
            yield from spans_of_requests(waiting, keep, names)
            yield found
            waiting, size = [], 0
            continue
        waiting.append(found)
        size += len(found[1])
        if size >= CHUNK_BYTES:
            yield from spans_of_requests(waiting, keep, names)
            waiting, size = [], 0
    yield from spans_of_requests(waiting, keep, names)


def requests_in(head: bytes, stream: IO[bytes]) -> Iterator[Request | RejectRecord]:
    """The requests in a file that begins like this, and that there is none where one should be."""
    framing = framing_of(head)
    if framing is None:
        yield RejectRecord(
            "", "neither JSON nor requests in Protocol Buffers", excerpt_of(head[:60].hex())
        )
        return
    if framing == ALONE:
        data = stream.read(DOCUMENT_BYTES_MAX + 1)
        if len(data) > DOCUMENT_BYTES_MAX:
            yield RejectRecord("", f"a request of more than {DOCUMENT_BYTES_MAX >> 20} MiB", "")
        else:
            yield "", data
        return
    offset = 0
    while True:
        length, width = length_of(stream, framing)
        if length is None:
            if width:
                yield RejectRecord(f"byte {offset}", "truncated", "")
            return
        data = stream.read(length)
        if len(data) < length:
            yield RejectRecord(f"byte {offset}", "truncated", excerpt_of(data[:60].hex()))
            return
        yield f"byte {offset}: ", data
        offset += width + length


def length_of(stream: IO[bytes], framing: str) -> tuple[int | None, int]:
    """The length of the next request, and of what says so; None where a file ends or breaks off."""
    if framing == FOUR_BYTES:
        data = stream.read(4)
        whole = len(data) == 4 and int.from_bytes(data, "big") <= DOCUMENT_BYTES_MAX
        return (int.from_bytes(data, "big") if whole else None), len(data)
    data = b""
    while len(data) < VARINT_BYTES_MAX and (byte := stream.read(1)):
        data += byte
        if byte[0] < 0x80:
            length, _ = varint(data, 0, len(data))
            return (length if length <= DOCUMENT_BYTES_MAX else None), len(data)
    return None, len(data)


def spans_of_requests(
    requests: Sequence[Request], keep: frozenset[str], names: dict[bytes, str]
) -> Iterator[SpanColumns | SpanRecord | RejectRecord]:
    """The spans of these requests, all in one go if they are as they should be; `names` remembers
    what processes are called."""
    try:
        if keep != KEEP_NOTHING:
            raise NotColumnarError
        yield columns_of([unpacked(data) for _, data in requests], names)
    except (NotColumnarError, InvalidRecordError):
        for where, data in requests:
            yield from spans_of_request(data, where, keep)


def spans_of_request(
    data: bytes, where: str, keep: frozenset[str]
) -> Iterator[SpanRecord | RejectRecord]:
    """The spans of one request, compressed or not, in Protocol Buffers or in JSON."""
    position = where.removesuffix(": ")
    try:
        plain = unpacked(data)
        document = parsed(plain) if plain.startswith(b"{") else None
        if document is None:
            document = decoded(plain, FULL if keep else BARE)
    except InvalidRecordError as error:
        yield RejectRecord(position, str(error), excerpt_of(data[:60].hex()))
        return
    if document:
        yield from otlp.spans_in(document, where, keep)


def unpacked(data: bytes) -> bytes:
    """The request, if it was compressed."""
    stream = decompressed(data[:HEAD_BYTES], io.BytesIO(data))
    if stream is None:
        return data
    try:
        return stream.read(DOCUMENT_BYTES_MAX)
    except (OSError, EOFError, ValueError):
        raise InvalidRecordError("cannot be decompressed") from None


def columns_of(requests: Sequence[bytes], names: dict[bytes, str]) -> SpanColumns:
    """The spans of these requests; `NotColumnarError` or `InvalidRecordError` if they have to be
    looked at one by one."""
    data = b"".join(requests)
    starts: list[int] = []
    ends: list[int] = []
    processes: list[str] = []
    place = 0
    for request in requests:
        for resource in messages_in(data, (place, place + len(request)), 1):
            before = len(starts)
            for scope in messages_in(data, resource, 2):
                for start, end in messages_in(data, scope, 2):
                    starts.append(start)
                    ends.append(end)
            if len(starts) > before:
                name = process_in(data, resource, names)
                processes.extend([name] * (len(starts) - before))
        place += len(request)
    if len(starts) < SPANS_MIN:
        raise NotColumnarError
    spans = ProtobufColumns(data, np.array(starts), np.array(ends), IN_COLUMNS)
    return SpanColumns(fields_of(spans, pa.array(processes, pa.string())))


def messages_in(data: bytes, stretch: tuple[int, int], wanted: int) -> Iterator[tuple[int, int]]:
    """Where the messages begin and end that are this field of the one in the stretch."""
    for number, wire, start, end in fields_in(data, *stretch):
        if number == wanted:
            if wire != LENGTH:
                raise NotColumnarError
            yield start, end


def process_in(data: bytes, resource: tuple[int, int], names: dict[bytes, str]) -> str:
    """What the process of a resource is called."""
    text = b""
    for start, end in messages_in(data, resource, 1):
        text = data[start:end]  # The last one counts.
    name = names.get(text)
    if name is None:
        name = names[text] = otlp.process_of(decoded(text, RESOURCE))
    return name


def fields_of(spans: ProtobufColumns, processes: Column) -> tuple[Column, ...]:
    """The columns of `SpanRecord`, if all spans are as they should be."""
    count = spans.count
    traces, trace_is_zero = identities_of(spans, TRACE, TRACE_BYTES)
    starts, ends = times_of(spans, START), times_of(spans, END)
    parents, no_parent = identities_of(spans, PARENT, SPAN_BYTES, optional=True)
    if (
        spans.has(LINKS).any()
        or trace_is_zero.any()
        or starts.min() <= 0
        or ends.max() > TIME_NS_MAX
        or (ends < starts).any()
    ):
        raise NotColumnarError
    kind = spans.number[KIND]
    none = pa.array(np.zeros(count + 1, np.int32))
    return (
        traces,
        identities_of(spans, SPAN, SPAN_BYTES)[0],
        pc.if_else(pa.array(no_parent), pa.scalar(None, pa.string()), parents),
        pa.array(np.zeros(count, np.bool_)),
        KINDS.take(pa.array(np.where((kind >= 0) & (kind < len(KINDS)), kind, 0))),
        processes,
        pa.array(starts),
        pa.array(ends),
        pa.ListArray.from_arrays(none, pa.array([], pa.string())),
        names_of(spans),
        pa.nulls(count, pa.map_(pa.string(), pa.string())),
    )


def identities_of(
    spans: ProtobufColumns, number: int, width: int, *, optional: bool = False
) -> tuple[Column, Flags]:
    """Ids in hexadecimal digits, and which of them are all zeros, or missing where they may be."""
    missing = spans.length[number] == 0
    if ((spans.length[number] != width) & ~(missing & optional)).any():
        raise NotColumnarError
    data = spans.bytes_of(number, width)
    ends = pa.py_buffer(np.arange(spans.count + 1, dtype=np.int32) * (2 * width))
    digits = pa.py_buffer(DIGITS[data].tobytes())
    found = pa.StringArray.from_buffers(spans.count, ends, digits)
    return found, missing | ~data.any(axis=1)


def times_of(spans: ProtobufColumns, number: int) -> Integers:
    """Points in time; those that do not fit are negative."""
    if not spans.has(number).all():
        raise NotColumnarError
    found: Integers = np.ascontiguousarray(spans.bytes_of(number, 8)).view("<i8")[:, 0]
    return found


def names_of(spans: ProtobufColumns) -> Column:
    """What spans call what they did; null if they do not say."""
    ends, data = spans.all_bytes_of(NAME)
    bounds = pa.py_buffer(ends.astype(np.int32))
    found = pa.StringArray.from_buffers(spans.count, bounds, pa.py_buffer(data))
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        raise NotColumnarError from None
    return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)
