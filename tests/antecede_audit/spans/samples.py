"""Small traces in every format, made here: spans as their tools write them."""

import gzip
import io
import json
import tarfile
import zipfile
from typing import Any

from antecede_audit.spans.formats.catalogue import AUTO, Found, detected, one_by_one, read_content
from antecede_audit.spans.formats.containers import Content, DamagedFile, contents
from antecede_audit.spans.formats.records import MessageRecord, RejectRecord, SpanRecord

START_US = 1_700_000_000_000_000
"""Where sample times begin, in microseconds."""

START_NS = START_US * 1000

Json = dict[str, Any]


def span(
    name: str,
    parent: str | None = None,
    *,
    process: str = "a",
    start: int = 0,
    end: int | None = 10,
    kind: str = "",
    trace: str = "t",
    follows: bool = False,
    links: list[str] | None = None,
) -> SpanRecord:
    """A span as reading yields it; times are in nanoseconds after the start."""
    return SpanRecord(
        trace=trace,
        span=name,
        parent=parent,
        follows=follows,
        kind=kind,
        process=process,
        start_ns=START_NS + start,
        end_ns=None if end is None else START_NS + end,
        links=links or [],
    )


def jaeger_span(name: str, parent: str | None, process: str, start: int, duration: int) -> Json:
    references = [] if parent is None else [reference(parent)]
    return {
        "traceID": "f00d",
        "spanID": name,
        "operationName": "something",
        "references": references,
        "startTime": START_US + start,
        "duration": duration,
        "tags": [],
        "logs": [],
        "processID": process,
        "warnings": None,
    }


def reference(parent: str, kind: str = "CHILD_OF", trace: str = "f00d") -> Json:
    return {"refType": kind, "traceID": trace, "spanID": parent}


def jaeger(*spans: Json, **services: str) -> Json:
    processes = {name: {"serviceName": service} for name, service in services.items()}
    return {"data": [{"traceID": "f00d", "spans": list(spans), "processes": processes}]}


def otlp_span(
    name: str, parent: str, start: int, end: int, kind: int = 1, trace: str = "5b8efff798038103"
) -> Json:
    return {
        "traceId": trace,
        "spanId": name,
        "parentSpanId": parent,
        "name": "something",
        "kind": kind,
        "startTimeUnixNano": str(START_NS + start),
        "endTimeUnixNano": str(START_NS + end),
        "attributes": [],
        "status": {},
    }


def otlp(**spans_by_service: list[Json]) -> Json:
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [attribute("service.name", service)]},
                "scopeSpans": [{"scope": {"name": "library"}, "spans": spans}],
            }
            for service, spans in spans_by_service.items()
        ]
    }


def attribute(key: str, value: str) -> Json:
    return {"key": key, "value": {"stringValue": value}}


def zipkin_span(name: str, parent: str | None, service: str, start: int, **more: object) -> Json:
    fields: Json = {
        "traceId": "ca11",
        "id": name,
        "timestamp": START_US + start,
        "localEndpoint": {"serviceName": service},
    }
    if parent is not None:
        fields["parentId"] = parent
    return fields | more


NEZHA_HEADER = (
    "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration"
)


def nezha_line(name: str, parent: str, pod: str, start: int, end: int, trace: str = "beef") -> str:
    times = f"{START_NS + start},{START_NS + end},{(end - start) // 1000}"
    return f"{trace},{name},{parent},{pod},something,{times}"


def as_json(document: object) -> bytes:
    return json.dumps(document).encode()


def as_lines(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def as_tar(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def as_zip(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"folder/{name}", data)
    return buffer.getvalue()


def as_gzip(data: bytes) -> bytes:
    return gzip.compress(data)


def unpacked(data: bytes) -> tuple[list[tuple[str, bytes]], list[DamagedFile]]:
    """The files in a file, and what was damaged."""
    damages: list[DamagedFile] = []
    found = [
        (content.name, content.stream.read())
        for content in contents("file", io.BytesIO(data), damages)
    ]
    return found, damages


def read(
    data: bytes,
    format_name: str = AUTO,
    unit: str | None = None,
    keep: frozenset[str] = frozenset(),
) -> list[Found]:
    """Everything that is found in a file of these bytes."""
    found: list[Found] = []
    for content in contents("file", io.BytesIO(data), []):
        found += one_by_one(read_content(content, form_of(content, format_name, unit), unit, keep))
    return found


def form_of(content: Content, format_name: str, unit: str | None) -> str:
    kind = detected(content.head, unit) if format_name == AUTO else format_name
    assert kind is not None, "the format should be recognised"
    return kind


def spans_of(found: list[Found]) -> list[SpanRecord]:
    return [record for record in found if isinstance(record, SpanRecord)]


def copies_of(found: list[Found]) -> list[MessageRecord]:
    return [record for record in found if isinstance(record, MessageRecord)]


def rejects_of(found: list[Found]) -> list[tuple[str, str]]:
    """Position and reason of everything that was rejected."""
    return [
        (record.position, record.reason) for record in found if isinstance(record, RejectRecord)
    ]
