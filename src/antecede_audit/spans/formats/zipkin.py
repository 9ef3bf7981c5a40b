"""Zipkin's JSON, version 2: a list of spans, or a list of such lists.

    [{"traceId", "id", "parentId", "kind": "SERVER", "shared": true, "timestamp": µs,
    "duration": µs, "localEndpoint": {"serviceName", "ipv4"}}]

Both sides of one call may have the same id: the server's record then says `shared`. Which is whose
parent is decided where a trace is put together.
"""

from collections.abc import Iterator
from typing import Final

from antecede_audit.spans.formats import records
from antecede_audit.spans.formats.json_documents import is_cut

MICROSECOND_NS: Final = 1_000


def spans_in(
    document: object, where: str, keep: frozenset[str] = records.KEEP_NOTHING
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The spans of a document, and what in it could not be read."""
    spans = [document] if isinstance(document, dict) else document
    if not isinstance(spans, list):
        yield records.RejectRecord(
            where.removesuffix(": "), "no list of spans", records.excerpt_of(document)
        )
        return
    for number, span in enumerate(spans):
        if isinstance(span, list):
            yield from spans_in(span, f"{where}[{number}]", keep)
            continue
        try:
            yield span_of(records.object_of(span, "span"), keep)
        except records.InvalidRecordError as error:
            yield records.RejectRecord(f"{where}[{number}]", str(error), records.excerpt_of(span))


def span_of(fields: dict[str, object], keep: frozenset[str]) -> records.SpanRecord:
    """One span, or one side of a shared one."""
    if is_cut(fields):
        raise records.InvalidRecordError("truncated")
    start_ns = records.instant_of(fields.get("timestamp"), MICROSECOND_NS, "timestamp")
    end_ns = None
    if fields.get("duration") is not None:
        duration_ns = records.scaled(fields["duration"], MICROSECOND_NS, "duration")
        end_ns = records.end_of(start_ns, start_ns + duration_ns)
    kind, tags = fields.get("kind"), fields.get("tags")
    name = kind.lower() if isinstance(kind, str) else records.UNKNOWN
    return records.SpanRecord(
        trace=records.trace_identity(fields.get("traceId"), "traceId"),
        span=records.identity_of(fields.get("id"), "id"),
        parent=records.optional_identity(fields.get("parentId"), "parentId"),
        follows=False,
        kind=name if name in records.KINDS else records.UNKNOWN,
        process=process_of(fields.get("localEndpoint")),
        start_ns=start_ns,
        end_ns=end_ns,
        links=[],
        operation=records.operation_of(fields.get("name")),
        attributes=records.kept_attributes((key, tags[key]) for key in sorted(keep & tags.keys()))
        if isinstance(tags, dict)
        else None,
    )


def process_of(endpoint: object) -> str:
    """What a process is called: its service, and the address of this instance of it."""
    fields = records.object_of(endpoint, "localEndpoint")
    service = fields.get("serviceName")
    address = fields.get("ipv4") or fields.get("ipv6")
    if not service and address:
        return records.name_of(address, "address")
    return records.process_key(
        records.name_of(service, "serviceName"),
        records.name_of(address, "address") if address else "",
    )
