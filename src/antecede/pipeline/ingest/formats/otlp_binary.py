"""OpenTelemetry's traces as Protocol Buffers: what collectors put into Kafka and into files.

A message is a request (`TracesData`). It stands alone, as in Kafka; or many follow each other, each
after its length: in four bytes, as the collector's file exporter writes it, or as a varint, as the
specification of files has it. Each may be compressed for itself; the exporter does that too. From
here on a request is what `otlp` reads from JSON.
"""

import io
from collections.abc import Iterator
from typing import IO, Final

from antecede.pipeline.ingest.containers import HEAD_BYTES, ZSTD, decompressed
from antecede.pipeline.ingest.formats import otlp
from antecede.pipeline.ingest.formats.json_text import DOCUMENT_BYTES_MAX, parsed
from antecede.pipeline.ingest.formats.protobuf import (
    FLAG,
    IDENTITY,
    LENGTH,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    VARINT_BYTES_MAX,
    Field,
    Layout,
    decoded,
    varint,
)
from antecede.pipeline.ingest.formats.records import Reject, Span, UnreadableError, excerpt_of

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


def request_layout(span: Layout) -> Layout:
    """A request whose spans have this layout."""
    scope: Layout = {2: Field("spans", span, repeated=True)}
    resource: Layout = {
        1: Field("resource", {1: Field("attributes", KEY_VALUE, repeated=True)}),
        2: Field("scopeSpans", scope, repeated=True),
    }
    return {1: Field("resourceSpans", resource, repeated=True)}


BARE: Final = request_layout(BARE_SPAN)
FULL: Final = request_layout(FULL_SPAN)


def framing_of(head: bytes) -> str | None:
    """How the requests in a file that begins like this follow each other; None: it has none."""
    if head[:1] < bytes([FIRST_KEY]):  # A request alone begins with that: no frame is so long.
        length = int.from_bytes(head[:4], "big")
        if length and begins_a_frame(head[4:], length):
            return FOUR_BYTES
    try:
        length, place = varint(head, 0, len(head))
    except UnreadableError:
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
    except UnreadableError:
        return False
    return inside + inner <= place + outer


def spans_in_stream(
    head: bytes, stream: IO[bytes], keep: frozenset[str]
) -> Iterator[Span | Reject]:
    """The spans of all requests in a file that begins like this."""
    framing = framing_of(head)
    if framing is None:
        yield Reject(
            "", "neither JSON nor requests in Protocol Buffers", excerpt_of(head[:60].hex())
        )
        return
    if framing == ALONE:
        data = stream.read(DOCUMENT_BYTES_MAX + 1)
        if len(data) > DOCUMENT_BYTES_MAX:
            yield Reject("", f"a request of more than {DOCUMENT_BYTES_MAX >> 20} MiB", "")
        else:
            yield from spans_of_request(data, "", keep)
        return
    offset = 0
    while True:
        length, width = length_of(stream, framing)
        if length is None:
            if width:
                yield Reject(f"byte {offset}", "truncated", "")
            return
        data = stream.read(length)
        if len(data) < length:
            yield Reject(f"byte {offset}", "truncated", excerpt_of(data[:60].hex()))
            return
        yield from spans_of_request(data, f"byte {offset}: ", keep)
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


def spans_of_request(data: bytes, where: str, keep: frozenset[str]) -> Iterator[Span | Reject]:
    """The spans of one request, compressed or not, in Protocol Buffers or in JSON."""
    position = where.removesuffix(": ")
    try:
        plain = unpacked(data)
        document = parsed(plain) if plain.startswith(b"{") else None
        if document is None:
            document = decoded(plain, FULL if keep else BARE)
    except UnreadableError as error:
        yield Reject(position, str(error), excerpt_of(data[:60].hex()))
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
        raise UnreadableError("cannot be decompressed") from None
