"""Writes requests of OTLP as Protocol Buffers: the other direction of what ingest reads."""

import struct
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]


def varint(number: int) -> bytes:
    data = bytearray()
    number &= (1 << 64) - 1
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def block(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def request(document: Json) -> bytes:
    """A document of OTLP's JSON, of the fields that matter, as a message."""
    return b"".join(
        block(1, block(1, attributes(entry["resource"], 1)) + scopes(entry["scopeSpans"]))
        for entry in document["resourceSpans"]
    )


def scopes(entries: Iterable[Json]) -> bytes:
    return b"".join(
        block(2, b"".join(block(2, span(fields)) for fields in entry["spans"])) for entry in entries
    )


def span(fields: Json) -> bytes:
    data = block(1, identity(fields["traceId"])) + block(2, identity(fields["spanId"]))
    if fields.get("parentSpanId"):
        data += block(4, identity(fields["parentSpanId"]))
    data += block(5, fields["name"].encode()) + varint(6 << 3) + varint(fields["kind"])
    for number, name in ((7, "startTimeUnixNano"), (8, "endTimeUnixNano")):
        data += varint(number << 3 | 1) + struct.pack("<Q", int(fields[name]))
    for link in fields.get("links", []):
        data += block(13, block(1, identity(link["traceId"])) + block(2, identity(link["spanId"])))
    return data + attributes(fields, 9)


def attributes(fields: Json, number: int) -> bytes:
    return b"".join(
        block(
            number,
            block(1, entry["key"].encode())
            + block(2, block(1, entry["value"]["stringValue"].encode())),
        )
        for entry in fields["attributes"]
    )


def identity(digits: str) -> bytes:
    """Digits as bytes; an odd one has a zero before it."""
    return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}")


def in_frames(messages: Iterable[bytes]) -> bytes:
    """As the collector's file exporter writes them."""
    return b"".join(struct.pack(">I", len(message)) + message for message in messages)


def delimited(messages: Iterable[bytes]) -> bytes:
    """As the specification of files has it."""
    return b"".join(varint(len(message)) + message for message in messages)
