"""OpenTelemetry's traces in JSON, as collectors write them: a request, or one on each line.

    {"resourceSpans": [{"resource": {"attributes": [{"key", "value": {"stringValue"}}]},
    "scopeSpans": [{"spans": [{"traceId", "spanId", "parentSpanId", "kind": 2,
    "startTimeUnixNano": "…", "endTimeUnixNano": "…", "links": [{"traceId", "spanId"}]}]}]}]}

Numbers of 64 bits are strings in this notation; plain numbers are read as well. `batches` instead
of `resourceSpans` is what Tempo writes, `instrumentationLibrarySpans` what there was before scopes.
"""

from collections.abc import Iterator
from typing import Final

from antecede_audit.spans.formats import records
from antecede_audit.spans.formats.json_documents import is_cut

KINDS: Final[dict[object, str]] = {
    1: records.INTERNAL,
    2: records.SERVER,
    3: records.CLIENT,
    4: records.PRODUCER,
    5: records.CONSUMER,
    "SPAN_KIND_INTERNAL": records.INTERNAL,
    "SPAN_KIND_SERVER": records.SERVER,
    "SPAN_KIND_CLIENT": records.CLIENT,
    "SPAN_KIND_PRODUCER": records.PRODUCER,
    "SPAN_KIND_CONSUMER": records.CONSUMER,
}

INSTANCE_ATTRIBUTES: Final = (
    "service.instance.id",
    "k8s.pod.name",
    "container.id",
    "host.name",
    "host.id",
)
"""What tells instances of a service apart, the best first."""

RESOURCES: Final = ("resourceSpans", "batches")
SCOPES: Final = ("scopeSpans", "instrumentationLibrarySpans")


def spans_in(
    document: object, where: str, keep: frozenset[str] = records.KEEP_NOTHING
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The spans of a request, and what in it could not be read."""
    fields = document if isinstance(document, dict) else {}
    found = [key for key in RESOURCES if isinstance(fields.get(key), list)]
    if not found:
        position = where.removesuffix(": ") or "document"
        yield records.RejectRecord(position, "no list resourceSpans", records.excerpt_of(document))
    for key in found:
        for number, resource in enumerate(fields[key]):
            yield from spans_of_resource(resource, f"{where}{key}[{number}]", keep)


def spans_of_resource(
    resource: object, where: str, keep: frozenset[str]
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The spans of one process."""
    if not isinstance(resource, dict):
        yield records.RejectRecord(where, "resource is not an object", records.excerpt_of(resource))
        return
    process: str | records.InvalidRecordError
    try:
        process = process_of(resource.get("resource"))
    except records.InvalidRecordError as error:
        process = error
    for key in SCOPES:
        scopes = resource.get(key)
        for number, scope in enumerate(scopes if isinstance(scopes, list) else []):
            yield from spans_of_scope(scope, process, f"{where}.{key}[{number}]", keep)


def spans_of_scope(
    scope: object, process: str | records.InvalidRecordError, where: str, keep: frozenset[str]
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The spans of one library in a process, or why none of them can be used."""
    spans = scope.get("spans", []) if isinstance(scope, dict) else None
    if not isinstance(spans, list):
        yield records.RejectRecord(where, "no list of spans", records.excerpt_of(scope))
        return
    for number, span in enumerate(spans):
        try:
            if isinstance(process, records.InvalidRecordError):
                raise process
            yield span_of(records.object_of(span, "span"), process, keep)
        except records.InvalidRecordError as error:
            yield records.RejectRecord(
                f"{where}.spans[{number}]", str(error), records.excerpt_of(span)
            )


def span_of(fields: dict[str, object], process: str, keep: frozenset[str]) -> records.SpanRecord:
    """One span of this process."""
    if is_cut(fields):
        raise records.InvalidRecordError("truncated")
    start_ns = records.instant_of(fields.get("startTimeUnixNano"), 1, "startTimeUnixNano")
    end_ns = records.instant_of(fields.get("endTimeUnixNano"), 1, "endTimeUnixNano")
    kind = fields.get("kind")
    return records.SpanRecord(
        trace=records.trace_identity(fields.get("traceId"), "traceId"),
        span=records.identity_of(fields.get("spanId"), "spanId"),
        parent=records.optional_identity(fields.get("parentSpanId"), "parentSpanId"),
        follows=False,
        kind=KINDS.get(kind, records.UNKNOWN) if isinstance(kind, int | str) else records.UNKNOWN,
        process=process,
        start_ns=start_ns,
        end_ns=records.end_of(start_ns, end_ns),
        links=links_of(fields.get("links")),
        operation=records.operation_of(fields.get("name")),
        attributes=attributes_among(fields.get("attributes"), keep) if keep else None,
    )


def attributes_among(attributes: object, keep: frozenset[str]) -> records.Attributes | None:
    """The attributes of these names; a value is wrapped in an object that says its type."""
    entries = attributes if isinstance(attributes, list) else []
    return records.kept_attributes(
        (entry.get("key"), next(iter(value.values()), None))
        for entry in entries
        if isinstance(entry, dict)
        and entry.get("key") in keep
        and isinstance(value := entry.get("value"), dict)
    )


def links_of(links: object) -> list[str]:
    """The spans that are linked as causes."""
    if not isinstance(links, list):
        return []
    found = []
    for link in links:
        fields = records.object_of(link, "link")
        trace = records.identity_of(fields.get("traceId"), "traceId of a link")
        found.append(
            records.span_key(trace, records.identity_of(fields.get("spanId"), "spanId of a link"))
        )
    return found


def process_of(resource: object) -> str:
    """What a process is called: its service, and which instance of it."""
    attributes = attributes_of(resource)
    service = records.name_of(attributes.get("service.name"), "service.name")
    for key in INSTANCE_ATTRIBUTES:
        if attributes.get(key):
            return records.process_key(service, records.name_of(attributes[key], key))
    return service


def attributes_of(resource: object) -> dict[str, str]:
    """The attributes that are texts."""
    entries = resource.get("attributes") if isinstance(resource, dict) else None
    attributes = {}
    for entry in entries if isinstance(entries, list) else []:
        value = entry.get("value") if isinstance(entry, dict) else None
        text = value.get("stringValue") if isinstance(value, dict) else None
        if isinstance(text, str):
            attributes[str(entry.get("key"))] = text
    return attributes
