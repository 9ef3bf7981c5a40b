"""Spans into a file, as an OpenTelemetry collector's file exporter writes them: OTLP in JSON, one
request per line. `antecede ingest` reads it, and so does everybody else who reads OTLP.

    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(OtlpFile("spans.jsonl")))
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from opentelemetry.trace import SpanKind

KINDS: Final = {
    SpanKind.INTERNAL: 1,
    SpanKind.SERVER: 2,
    SpanKind.CLIENT: 3,
    SpanKind.PRODUCER: 4,
    SpanKind.CONSUMER: 5,
}


class OtlpFile:
    """A span exporter, in OpenTelemetry's sense, that appends to a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path: Final = Path(path)

    def export(self, spans: Sequence[Any]) -> Any:  # noqa: ANN401 - OpenTelemetry is an extra
        """Write these; called by a span processor, and perhaps by those of several services."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        lines = [json.dumps(request_of(span), separators=(",", ":")) + "\n" for span in spans]
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(lines))
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - as it is called
        """Everything is written already."""
        return True

    def shutdown(self) -> None:
        """Nothing is open."""


def request_of(span: Any) -> dict[str, Any]:  # noqa: ANN401 - OpenTelemetry is an extra
    """One span as a request of OTLP."""
    scope = span.instrumentation_scope
    scoped = {"scope": {"name": scope.name, "version": scope.version}, "spans": [fields_of(span)]}
    resource = {"attributes": attributes_of(span.resource.attributes)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}


def fields_of(span: Any) -> dict[str, Any]:  # noqa: ANN401 - OpenTelemetry is an extra
    """A span; ids are hexadecimal and times are strings, as OTLP's JSON wants it."""
    fields: dict[str, Any] = {
        "traceId": f"{span.context.trace_id:032x}",
        "spanId": f"{span.context.span_id:016x}",
        "name": span.name,
        "kind": KINDS[span.kind],
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": attributes_of(span.attributes or {}),
    }
    if span.parent is not None:
        fields["parentSpanId"] = f"{span.parent.span_id:016x}"
    if span.links:
        fields["links"] = [
            {
                "traceId": f"{link.context.trace_id:032x}",
                "spanId": f"{link.context.span_id:016x}",
            }
            for link in span.links
        ]
    return fields


def attributes_of(attributes: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a mapping of theirs
    """Attributes, each wrapped in what its type is called."""
    return [{"key": key, "value": value_of(value)} for key, value in attributes.items()]


def value_of(value: object) -> dict[str, Any]:
    """One value of an attribute."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"arrayValue": {"values": [value_of(one) for one in value]}}
    return {"stringValue": str(value)}
