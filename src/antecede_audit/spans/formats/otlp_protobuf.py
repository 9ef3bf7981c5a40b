"""OpenTelemetry's traces as Protocol Buffers: what collectors put into Kafka and into files.

A message is a request (`TracesData`). It stands alone, as in Kafka; or many follow each other, each
after its length: in four bytes, as the collector's file exporter writes it, or as a varint, as the
specification of files has it. Each may be compressed for itself; the exporter does that too.

Some megabytes of requests become columns together. Where anything in them is unusual, or somebody
asked for attributes, each request becomes what `otlp` reads from JSON, span by span.
"""

import io
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import IO, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Column, Flags
from antecede_audit.spans.formats import otlp
from antecede_audit.spans.formats.containers import HEAD_BYTES, ZSTD, decompressed
from antecede_audit.spans.formats.json_documents import DOCUMENT_BYTES_MAX, parsed
from antecede_audit.spans.formats.otlp_columns import CHUNK_BYTES, NotColumnarError, SpanColumns
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

VARINT_BYTES_MAX: Final = 10
LENGTH: Final = 2
"""The type of a field that has a length."""

FIRST_KEY: Final = (1 << 3) | LENGTH
"""Of a request the list of resources is the only field."""
INNER_KEYS: Final = frozenset((number << 3) | LENGTH for number in (1, 2, 3))

TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8
NO_PARENT: Final = bytes(SPAN_BYTES)

SPANS_MIN: Final = 64
"""Fewer spans are read sooner one by one."""

KINDS: Final = pa.array([UNKNOWN, *(otlp.KINDS[number] for number in range(1, 6))])


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
            messages = otlp_messages()
            request = messages.parse(messages.REQUEST, plain)
            document = messages.fields_of(request, with_attributes=bool(keep))
    except InvalidRecordError as error:
        yield RejectRecord(position, str(error), excerpt_of(data[:60].hex()))
        return
    if plain:
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
    messages = otlp_messages()
    spans: list[Any] = []
    processes: list[str] = []
    for data in requests:
        for resource in messages.parse(messages.REQUEST, data).resourceSpans:
            before = len(spans)
            for scope in resource.scopeSpans:
                spans.extend(scope.spans)
            if len(spans) > before:
                name = process_in(resource.resource, names)
                processes.extend([name] * (len(spans) - before))
    if len(spans) < SPANS_MIN:
        raise NotColumnarError
    return SpanColumns(fields_of(spans, pa.array(processes, pa.string())))


def process_in(resource: bytes, names: dict[bytes, str]) -> str:
    """What the process of a resource is called."""
    name = names.get(resource)
    if name is None:
        fields = otlp_messages().resource_fields(resource)
        name = names[resource] = otlp.process_of(fields)
    return name


def fields_of(spans: Sequence[Any], processes: Column) -> tuple[Column, ...]:
    """The columns of `SpanRecord`, if all spans are as they should be."""
    count = len(spans)
    traces, trace_is_zero = identities_of([span.traceId for span in spans], TRACE_BYTES)
    parents, no_parent = identities_of(
        [span.parentSpanId or NO_PARENT for span in spans], SPAN_BYTES
    )
    # A time that is missing is 0; one that does not fit is negative.
    starts = np.array([span.startTimeUnixNano for span in spans], np.uint64).view(np.int64)
    ends = np.array([span.endTimeUnixNano for span in spans], np.uint64).view(np.int64)
    if (
        any(len(span.links) for span in spans)
        or trace_is_zero.any()
        or starts.min() <= 0
        or ends.max() > TIME_NS_MAX
        or (ends < starts).any()
    ):
        raise NotColumnarError
    kind = np.array([span.kind for span in spans])
    none = pa.array(np.zeros(count + 1, np.int32))
    return (
        traces,
        identities_of([span.spanId for span in spans], SPAN_BYTES)[0],
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


def identities_of(ids: Sequence[bytes], width: int) -> tuple[Column, Flags]:
    """Ids in hexadecimal digits, and which of them are all zeros."""
    data = b"".join(ids)
    if set(map(len, ids)) != {width}:
        raise NotColumnarError
    ends = pa.py_buffer(np.arange(len(ids) + 1, dtype=np.int32) * (2 * width))
    digits = pa.py_buffer(data.hex().encode())
    found = pa.StringArray.from_buffers(len(ids), ends, digits)
    is_zero: Flags = np.frombuffer(data, np.uint8).reshape(-1, width).max(axis=1) == 0
    return found, is_zero


def names_of(spans: Sequence[Any]) -> Column:
    """What spans call what they did; null if they do not say."""
    try:
        found = pa.array([span.name for span in spans], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        raise NotColumnarError from None
    return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)


def varint(data: bytes, place: int, end: int) -> tuple[int, int]:
    """The number that begins here, seven bits to a byte, and where it ends."""
    number = 0
    for turn in range(VARINT_BYTES_MAX):
        if place + turn >= end:
            break
        byte = data[place + turn]
        number |= (byte & 0x7F) << (7 * turn)
        if byte < 0x80:
            return number & ((1 << 64) - 1), place + turn + 1
    raise InvalidRecordError("damaged message")


def otlp_messages() -> ModuleType:
    """The messages, imported when the first file has some: few files have, and it takes a while."""
    return import_module("antecede_audit.spans.formats.otlp_messages")
