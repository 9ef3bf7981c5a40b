"""Jaeger's JSON, as its query service and its user interface export it.

A document has traces (`data`), a trace has spans and, apart from them, the processes they ran in:

    {"data": [{"traceID": …, "spans": [{"traceID", "spanID", "references": [{"refType", "traceID",
    "spanID"}], "startTime": µs, "duration": µs, "processID": "p1", "tags": [{"key", "value"}]}],
    "processes": {"p1": {"serviceName", "tags"}}}]}

A single trace without the `data` around it is read too, and so is a single span that brings its
`process` along, as Jaeger's storage writes them.
"""

from collections.abc import Iterator
from typing import Final

from antecede_audit.spans.formats import records
from antecede_audit.spans.formats.json_documents import is_cut

MICROSECOND_NS: Final = 1_000

INSTANCE_TAGS: Final = ("hostname", "host.name", "ip")
"""What tells instances of a service apart, the best first."""


def spans_in(
    document: object, where: str, keep: frozenset[str] = records.KEEP_NOTHING
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The spans of a document, and what in it could not be read."""
    if isinstance(document, dict) and "data" in document:
        traces, prefix = document["data"], f"{where}data"
    else:
        traces, prefix = [document], where or "document"
    if not isinstance(traces, list):
        yield records.RejectRecord(
            prefix, "data is not a list of traces", records.excerpt_of(document)
        )
        return
    for number, trace in enumerate(traces):
        yield from spans_of_trace(trace, f"{prefix}[{number}]", keep)


def spans_of_trace(
    trace: object, where: str, keep: frozenset[str]
) -> Iterator[records.SpanRecord | records.RejectRecord]:
    """The spans of one trace."""
    if isinstance(trace, dict) and "spanID" in trace:
        trace = {"spans": [trace]}
    spans = trace.get("spans") if isinstance(trace, dict) else None
    if not isinstance(trace, dict) or not isinstance(spans, list):
        yield records.RejectRecord(where, "neither a trace nor a span", records.excerpt_of(trace))
        return
    processes = trace.get("processes")
    known = processes if isinstance(processes, dict) else {}
    names: dict[str, str] = {}
    for number, span in enumerate(spans):
        try:
            yield span_of(records.object_of(span, "span"), known, names, keep)
        except records.InvalidRecordError as error:
            yield records.RejectRecord(
                f"{where}.spans[{number}]", str(error), records.excerpt_of(span)
            )


def span_of(
    fields: dict[str, object],
    processes: dict[str, object],
    names: dict[str, str],
    keep: frozenset[str],
) -> records.SpanRecord:
    """One span; `names` remembers what the processes of its trace are called."""
    if is_cut(fields):
        raise records.InvalidRecordError("truncated")
    trace = records.trace_identity(fields.get("traceID"), "traceID")
    parent, follows, links = causes_of(fields, trace)
    start_ns = records.instant_of(fields.get("startTime"), MICROSECOND_NS, "startTime")
    duration_ns = records.scaled(fields.get("duration"), MICROSECOND_NS, "duration")
    return records.SpanRecord(
        trace=trace,
        span=records.identity_of(fields.get("spanID"), "spanID"),
        parent=parent,
        follows=follows,
        kind=kind_of(fields.get("tags")),
        process=process_of(fields, processes, names),
        start_ns=start_ns,
        end_ns=records.end_of(start_ns, start_ns + duration_ns),
        links=links,
        operation=records.operation_of(fields.get("operationName")),
        attributes=tags_of(fields.get("tags"), keep) if keep else None,
    )


def tags_of(tags: object, keep: frozenset[str]) -> records.Attributes | None:
    """The tags of these names."""
    entries = [entry for entry in tags if isinstance(entry, dict)] if isinstance(tags, list) else []
    return records.kept_attributes(
        (entry.get("key"), entry.get("value")) for entry in entries if entry.get("key") in keep
    )


def causes_of(fields: dict[str, object], trace: str) -> tuple[str | None, bool, list[str]]:
    """The parent, whether it did not wait, and the spans that are linked besides."""
    waiting: list[tuple[str, str]] = []
    followed: list[tuple[str, str]] = []
    references = fields.get("references")
    for reference in references if isinstance(references, list) else []:
        fields_of_reference = records.object_of(reference, "reference")
        other = fields_of_reference.get("traceID", trace)
        key = (
            records.identity_of(other, "traceID of a reference"),
            records.identity_of(fields_of_reference.get("spanID"), "spanID of a reference"),
        )
        kind = fields_of_reference.get("refType")
        (followed if kind == "FOLLOWS_FROM" else waiting).append(key)
    if not waiting and fields.get("parentSpanID"):
        waiting.append((trace, records.identity_of(fields["parentSpanID"], "parentSpanID")))
    everything = waiting + followed
    parent = next((key for key in everything if key[0] == trace), None)
    links = [records.span_key(*key) for key in everything if key != parent]
    return (None if parent is None else parent[1]), parent not in (None, *waiting), links


def kind_of(tags: object) -> str:
    """What the tag `span.kind` says, if there is one."""
    kind = tag(tags, ("span.kind",)).lower()
    return kind if kind in records.KINDS else records.UNKNOWN


def tag(tags: object, keys: tuple[str, ...]) -> str:
    """The text of the first of these keys that has one, or the empty string."""
    if not isinstance(tags, list):
        return ""
    values = {entry.get("key"): entry.get("value") for entry in tags if isinstance(entry, dict)}
    for key in keys:
        value = values.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def process_of(
    fields: dict[str, object], processes: dict[str, object], names: dict[str, str]
) -> str:
    """Which process the span ran in."""
    if "process" in fields:
        return process_name(fields["process"])
    number = fields.get("processID")
    if not isinstance(number, str) or not number:
        raise records.InvalidRecordError("no processID")
    if number not in names:
        if number not in processes:
            raise records.InvalidRecordError("processID is not among the processes of its trace")
        names[number] = process_name(processes[number])
    return names[number]


def process_name(process: object) -> str:
    """What a process is called: its service, and which instance of it."""
    fields = records.object_of(process, "process")
    service = records.name_of(fields.get("serviceName"), "serviceName")
    instance = tag(fields.get("tags"), INSTANCE_TAGS)
    return records.process_key(service, records.name_of(instance, "instance") if instance else "")
