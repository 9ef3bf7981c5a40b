"""The spans of `bench.ingest` in other formats, to see how fast each is read."""

import json
import struct
from collections.abc import Callable, Iterable
from typing import Any

Json = dict[str, Any]
MICROSECOND_NS = 1_000
KINDS = {1: "internal", 2: "server", 3: "client"}


def resources_in(lines: Iterable[str]) -> list[Json]:
    """What requests of OTLP in JSON have, each process for itself."""
    return [one for line in lines for one in json.loads(line)["resourceSpans"]]


def spans_in(resource: Json) -> list[Json]:
    """The spans of one process."""
    return [span for scope in resource["scopeSpans"] for span in scope["spans"]]


def attributes_of(owner: Json) -> dict[str, str]:
    """Names and values."""
    return {one["key"]: next(iter(one["value"].values())) for one in owner["attributes"]}


def varint(number: int) -> bytes:
    """Seven bits to a byte."""
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*data, number))


def block(number: int, data: bytes) -> bytes:
    """A field with a length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def packed_attributes(owner: Json, number: int) -> bytes:
    """Attributes as texts."""
    return b"".join(
        block(number, block(1, name.encode()) + block(2, block(1, value.encode())))
        for name, value in attributes_of(owner).items()
    )


def packed_span(span: Json) -> bytes:
    """A span in Protocol Buffers, its fields in the order in which libraries write them."""
    ids = ((1, "traceId"), (2, "spanId"), (4, "parentSpanId"))
    data = b"".join(block(number, bytes.fromhex(span[name])) for number, name in ids if span[name])
    data += block(5, span["name"].encode()) + varint(6 << 3) + varint(span["kind"])
    for number, name in ((7, "startTimeUnixNano"), (8, "endTimeUnixNano")):
        data += varint(number << 3 | 1) + struct.pack("<Q", int(span[name]))
    return data + packed_attributes(span, 9) + block(15, b"")


def otlp_frames(lines: Iterable[str]) -> bytes:
    """As the collector's file exporter writes Protocol Buffers."""
    frames = []
    for line in lines:
        message = b""
        for resource in resources_in([line]):
            spans = b"".join(block(2, packed_span(span)) for span in spans_in(resource))
            inner = block(1, packed_attributes(resource["resource"], 1)) + block(2, spans)
            message += block(1, inner)
        frames.append(struct.pack(">I", len(message)) + message)
    return b"".join(frames)


def zipkin_lists(lines: Iterable[str]) -> bytes:
    """A list of spans on each line."""
    return b"".join(
        json.dumps(
            [zipkin_span(one, span) for one in resources_in([line]) for span in spans_in(one)]
        ).encode()
        + b"\n"
        for line in lines
    )


def zipkin_span(resource: Json, span: Json) -> Json:
    """One span of Zipkin's."""
    names = attributes_of(resource["resource"])
    start, end = (int(span[name]) for name in ("startTimeUnixNano", "endTimeUnixNano"))
    return {
        "traceId": span["traceId"],
        "id": span["spanId"],
        **({"parentId": span["parentSpanId"]} if span["parentSpanId"] else {}),
        "name": span["name"],
        "kind": KINDS[span["kind"]].upper(),
        "timestamp": start // MICROSECOND_NS,
        "duration": (end - start) // MICROSECOND_NS,
        "localEndpoint": {"serviceName": names["service.name"], "ipv4": names["host.name"]},
        "tags": attributes_of(span),
    }


def jaeger_document(lines: Iterable[str]) -> bytes:
    """All traces in one document, as Jaeger's query service exports them."""
    traces: dict[str, Json] = {}
    for resource in resources_in(lines):
        names = attributes_of(resource["resource"])
        process = {
            "serviceName": names["service.name"],
            "tags": [{"key": "hostname", "type": "string", "value": names["host.name"]}],
        }
        for span in spans_in(resource):
            trace = traces.setdefault(
                span["traceId"], {"traceID": span["traceId"], "spans": [], "processes": {}}
            )
            name = f"{names['service.name']}-{names['host.name']}"
            trace["processes"][name] = process
            trace["spans"].append(jaeger_span(span, name))
    return json.dumps({"data": list(traces.values())}).encode()


def jaeger_span(span: Json, process: str) -> Json:
    """One span of Jaeger's."""
    trace, above = span["traceId"], span["parentSpanId"]
    start, end = (int(span[name]) for name in ("startTimeUnixNano", "endTimeUnixNano"))
    tags = {"span.kind": KINDS[span["kind"]], **attributes_of(span)}
    reference = {"refType": "CHILD_OF", "traceID": trace, "spanID": above}
    return {
        "traceID": trace,
        "spanID": span["spanId"],
        "operationName": span["name"],
        "references": [reference] if above else [],
        "startTime": start // MICROSECOND_NS,
        "duration": (end - start) // MICROSECOND_NS,
        "tags": [{"key": name, "type": "string", "value": tags[name]} for name in tags],
        "processID": process,
    }


WRITERS: dict[str, Callable[[list[str]], bytes]] = {
    "otlp-json": lambda lines: "".join(lines).encode(),
    "otlp-protobuf": otlp_frames,
    "jaeger": jaeger_document,
    "zipkin": zipkin_lists,
}
