"""Zipkin's JSON, version 2: a list of spans, or a list of such lists.

    [{"traceId", "id", "parentId", "kind": "SERVER", "shared": true, "timestamp": µs,
    "duration": µs, "localEndpoint": {"serviceName", "ipv4"}}]

Both sides of one call may have the same id: the server's record then says `shared`. Which is whose
parent is decided where a trace is put together.
"""

from collections.abc import Iterator
from typing import Final

from antecede.pipeline.ingest.formats.json_text import is_cut
from antecede.pipeline.ingest.formats.records import (
    KEEP_NOTHING,
    KINDS,
    UNKNOWN,
    Reject,
    Span,
    UnreadableError,
    end_of,
    excerpt_of,
    identity_of,
    instant_of,
    kept_attributes,
    name_of,
    object_of,
    operation_of,
    optional_identity,
    process_key,
    scaled,
    trace_identity,
)

MICROSECOND_NS: Final = 1_000


def spans_in(
    document: object, where: str, keep: frozenset[str] = KEEP_NOTHING
) -> Iterator[Span | Reject]:
    """The spans of a document, and what in it could not be read."""
    spans = [document] if isinstance(document, dict) else document
    if not isinstance(spans, list):
        yield Reject(where.removesuffix(": "), "no list of spans", excerpt_of(document))
        return
    for number, span in enumerate(spans):
        if isinstance(span, list):
            yield from spans_in(span, f"{where}[{number}]", keep)
            continue
        try:
            yield span_of(object_of(span, "span"), keep)
        except UnreadableError as error:
            yield Reject(f"{where}[{number}]", str(error), excerpt_of(span))


def span_of(fields: dict[str, object], keep: frozenset[str]) -> Span:
    """One span, or one side of a shared one."""
    if is_cut(fields):
        raise UnreadableError("truncated")
    start_ns = instant_of(fields.get("timestamp"), MICROSECOND_NS, "timestamp")
    end_ns = None
    if fields.get("duration") is not None:
        duration_ns = scaled(fields["duration"], MICROSECOND_NS, "duration")
        end_ns = end_of(start_ns, start_ns + duration_ns)
    kind, tags = fields.get("kind"), fields.get("tags")
    name = kind.lower() if isinstance(kind, str) else UNKNOWN
    return Span(
        trace=trace_identity(fields.get("traceId"), "traceId"),
        span=identity_of(fields.get("id"), "id"),
        parent=optional_identity(fields.get("parentId"), "parentId"),
        follows=False,
        kind=name if name in KINDS else UNKNOWN,
        process=process_of(fields.get("localEndpoint")),
        start_ns=start_ns,
        end_ns=end_ns,
        links=[],
        operation=operation_of(fields.get("name")),
        attributes=kept_attributes((key, tags[key]) for key in sorted(keep & tags.keys()))
        if isinstance(tags, dict)
        else None,
    )


def process_of(endpoint: object) -> str:
    """What a process is called: its service, and the address of this instance of it."""
    fields = object_of(endpoint, "localEndpoint")
    service = fields.get("serviceName")
    address = fields.get("ipv4") or fields.get("ipv6")
    if not service and address:
        return name_of(address, "address")
    return process_key(
        name_of(service, "serviceName"), name_of(address, "address") if address else ""
    )
