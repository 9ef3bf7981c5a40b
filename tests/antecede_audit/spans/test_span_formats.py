"""Jaeger, OTLP, Zipkin and Nezha: what is read, and what is set aside with which reason."""

import json
from typing import Any

import pytest

from antecede_audit.spans.formats.records import INSTANCE, RejectRecord, SpanRecord
from tests.antecede_audit.spans.samples import (
    NEZHA_HEADER,
    START_NS,
    START_US,
    Json,
    as_json,
    as_lines,
    attribute,
    jaeger,
    jaeger_span,
    nezha_line,
    otlp,
    otlp_span,
    read,
    reference,
    rejects_of,
    spans_of,
    zipkin_span,
)

DONE = "something"


def test_jaeger_spans_are_read() -> None:
    document = jaeger(
        jaeger_span("1", None, "p1", 0, 30), jaeger_span("2", "1", "p2", 5, 10), p1="web", p2="db"
    )

    assert read(as_json(document)) == [
        SpanRecord("f00d", "1", None, False, "", "web", START_NS, START_NS + 30_000, [], DONE),
        SpanRecord(
            "f00d", "2", "1", False, "", "db", START_NS + 5_000, START_NS + 15_000, [], "something"
        ),
    ]


def test_jaeger_says_the_kind_and_the_host_in_tags() -> None:
    tagged = jaeger_span("1", None, "p1", 0, 30)
    tagged["tags"] = [{"key": "span.kind", "type": "string", "value": "producer"}]
    document = jaeger(tagged)
    document["data"][0]["processes"]["p1"] = {
        "serviceName": "web",
        "tags": [{"key": "hostname", "value": "web-7"}],
    }
    [found] = spans_of(read(as_json(document)))

    assert (found.kind, found.process) == ("producer", f"web{INSTANCE}web-7")


def test_jaeger_references_are_parents_or_links() -> None:
    spans = [jaeger_span(name, None, "p1", 0, 9) for name in ("1", "2", "3", "4")]
    spans[1]["references"] = [reference("1", "FOLLOWS_FROM")]
    spans[2]["references"] = [reference("1", "FOLLOWS_FROM"), reference("2")]
    spans[3]["references"] = [reference("9", trace="e1")]
    found = spans_of(read(as_json(jaeger(*spans, p1="web"))))

    assert [(one.parent, one.follows, one.links) for one in found] == [
        (None, False, []),
        ("1", True, []),
        ("2", False, ["f00d/1"]),
        (None, False, ["e1/9"]),
    ]


def test_a_single_jaeger_trace_or_span_is_read_too() -> None:
    trace = jaeger(jaeger_span("1", None, "p1", 0, 30), p1="web")["data"][0]
    alone = jaeger_span("2", "1", "", 0, 30) | {"process": {"serviceName": "db", "tags": []}}
    found = spans_of(read(as_lines(json.dumps(trace), json.dumps(alone))))

    assert [(one.span, one.process) for one in found] == [("1", "web"), ("2", "db")]


def changed(span: Json, **fields: object) -> Json:
    """The span with other fields; None stands for one that is missing."""
    return {key: value for key, value in {**span, **fields}.items() if value is not None}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"startTime": "soon"}, "startTime is not a whole number"),
        ({"startTime": float("nan")}, "startTime is not a whole number"),
        ({"startTime": True}, "startTime is not a whole number"),
        ({"startTime": 0}, "startTime is not after 1970"),
        ({"startTime": 1 << 60}, "startTime is out of range"),
        ({"startTime": None}, "no startTime"),
        ({"duration": -1}, "it ends before it starts"),
        ({"duration": 1.5}, "duration is not a whole number"),
        ({"spanID": ""}, "no spanID"),
        ({"spanID": "\ud800"}, "spanID is not UTF-8"),
        ({"spanID": 7}, "no spanID"),
        ({"processID": "p9"}, "processID is not among the processes of its trace"),
        ({"processID": None}, "no processID"),
        ({"references": ["1"]}, "reference is not an object"),
        ({"process": {"tags": []}}, "no serviceName"),
    ],
)
def test_a_bad_jaeger_span_is_set_aside_and_the_others_are_read(
    fields: dict[str, Any], reason: str
) -> None:
    good = jaeger_span("1", None, "p1", 0, 30)
    found = read(as_json(jaeger(good, changed(good, **fields), good, p1="web")))

    assert [one.span for one in spans_of(found)] == ["1", "1"]
    assert rejects_of(found) == [("data[0].spans[1]", reason)]


def test_unknown_fields_are_no_trouble() -> None:
    odd = jaeger_span("1", None, "p1", 0, 30) | {"flags": 1, "new": {"deep": [1]}}
    document = jaeger(odd, p1="web") | {"errors": None, "also": "new"}

    assert len(spans_of(read(as_json(document)))) == 1


@pytest.mark.parametrize(
    ("document", "rejects"),
    [
        ({"data": 5, "traceID": 1}, [("data", "data is not a list of traces")]),
        ({"data": [{"traceID": 1}]}, [("data[0]", "neither a trace nor a span")]),
        ({"data": [{"spans": [4]}]}, [("data[0].spans[0]", "span is not an object")]),
    ],
)
def test_odd_jaeger_documents_are_set_aside(document: Json, rejects: list[tuple[str, str]]) -> None:
    assert rejects_of(read(as_json(document), "jaeger")) == rejects


def test_otlp_spans_are_read_from_documents_and_lines() -> None:
    first = otlp(web=[otlp_span("AA", "", 0, 30, kind=2)])
    second = otlp(db=[otlp_span("bb", "AA", 5, 15, kind=3)])
    expected = [
        SpanRecord(
            "5b8efff798038103",
            "aa",
            None,
            False,
            "server",
            "web",
            START_NS,
            START_NS + 30,
            [],
            "something",
        ),
        SpanRecord(
            *("5b8efff798038103", "bb", "aa", False, "client", "db"),
            *(START_NS + 5, START_NS + 15, [], DONE),
        ),
    ]

    assert read(as_lines(json.dumps(first), json.dumps(second))) == expected
    both = {"resourceSpans": first["resourceSpans"] + second["resourceSpans"]}
    assert read(as_json(both)) == expected
    assert read(json.dumps(both, indent=2).encode()) == expected


def test_otlp_has_names_for_kinds_plain_numbers_instances_and_links() -> None:
    odd = otlp_span("a", "", 0, 30) | {
        "kind": "SPAN_KIND_CONSUMER",
        "startTimeUnixNano": START_NS,
        "links": [{"traceId": "E2", "spanId": "C3", "attributes": []}],
    }
    document = otlp(web=[odd])
    resource = document["resourceSpans"][0]["resource"]
    resource["attributes"] += [attribute("host.name", "h1"), attribute("service.instance.id", "i1")]
    [found] = spans_of(read(as_json(document)))

    assert (found.kind, found.start_ns, found.process) == ("consumer", START_NS, f"web{INSTANCE}i1")
    assert found.links == ["e2/c3"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"startTimeUnixNano": "12x"}, "startTimeUnixNano is not a whole number"),
        ({"endTimeUnixNano": str(START_NS - 1)}, "it ends before it starts"),
        ({"endTimeUnixNano": None}, "no endTimeUnixNano"),
        ({"traceId": None}, "no traceId"),
        ({"links": [{"traceId": "a"}]}, "no spanId of a link"),
    ],
)
def test_a_bad_otlp_span_is_set_aside(fields: dict[str, Any], reason: str) -> None:
    good = otlp_span("a", "", 0, 30)
    found = read(as_lines(json.dumps(otlp(web=[good, changed(good, **fields)])), "{}"), "otlp")

    assert len(spans_of(found)) == 1
    assert rejects_of(found) == [
        ("line 1: resourceSpans[0].scopeSpans[0].spans[1]", reason),
        ("line 2", "no list resourceSpans"),
    ]


def test_every_span_of_an_otlp_resource_without_a_name_is_set_aside() -> None:
    document = otlp(web=[otlp_span("a", "", 0, 30), otlp_span("b", "a", 0, 30)])
    document["resourceSpans"][0]["resource"]["attributes"] = []
    document["resourceSpans"].append(7)

    assert rejects_of(read(as_json(document))) == [
        ("resourceSpans[0].scopeSpans[0].spans[0]", "no service.name"),
        ("resourceSpans[0].scopeSpans[0].spans[1]", "no service.name"),
        ("resourceSpans[1]", "resource is not an object"),
    ]


def test_zipkin_spans_are_read_shared_ones_and_those_without_an_end() -> None:
    client = zipkin_span("1", None, "web", 0, kind="CLIENT", duration=30)
    server = zipkin_span("1", None, "db", 5, kind="SERVER", shared=True)
    server["localEndpoint"] |= {"ipv4": "10.0.0.1", "port": 80}
    inner = zipkin_span("2", "1", "db", 6, duration=1)
    at = f"db{INSTANCE}10.0.0.1"

    assert read(as_json([client, server, [inner]])) == [
        SpanRecord("ca11", "1", None, False, "client", "web", START_NS, START_NS + 30_000, []),
        SpanRecord("ca11", "1", None, False, "server", at, START_NS + 5_000, None, []),
        SpanRecord("ca11", "2", "1", False, "", "db", START_NS + 6_000, START_NS + 7_000, []),
    ]


@pytest.mark.parametrize("field", ["ipv4", "ipv6"])
def test_a_zipkin_process_without_a_name_goes_by_its_address(field: str) -> None:
    inner = zipkin_span("1", None, "web", 0)
    inner["localEndpoint"] = {field: "fe80::1"}

    assert [one.process for one in spans_of(read(as_json([inner])))] == ["fe80::1"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"timestamp": None}, "no timestamp"),
        ({"timestamp": -START_US}, "timestamp is not after 1970"),
        ({"duration": "long"}, "duration is not a whole number"),
        ({"localEndpoint": None}, "no localEndpoint"),
        ({"localEndpoint": {"port": 1}}, "no serviceName"),
        ({"localEndpoint": {"serviceName": "a\x07"}}, "serviceName has control characters"),
    ],
)
def test_a_bad_zipkin_span_is_set_aside(fields: dict[str, Any], reason: str) -> None:
    good = zipkin_span("1", None, "web", 0)
    found = read(as_json([good, changed(good, **fields)]))

    assert len(spans_of(found)) == 1
    assert rejects_of(found) == [("[1]", reason)]


def test_nezha_lines_are_read() -> None:
    data = as_lines(
        NEZHA_HEADER, nezha_line("1", "root", "pod-a", 0, 30), nezha_line("2", "1", "pod-b", 5, 15)
    )

    assert read(data) == [
        SpanRecord("beef", "1", None, False, "", "pod-a", START_NS, START_NS + 30, [], DONE),
        SpanRecord("beef", "2", "1", False, "", "pod-b", START_NS + 5, START_NS + 15, [], DONE),
    ]


def test_bad_nezha_lines_are_set_aside_by_their_number() -> None:
    good = nezha_line("1", "root", "pod-a", 0, 30)
    data = as_lines(
        NEZHA_HEADER,
        good,
        good.replace("pod-a", ""),
        good + ",more",
        "",
        good.replace(str(START_NS), "1e30"),
        nezha_line("1", "root", "pod-a", 30, 0),
    ) + good.replace("pod-a", "pod-\xff").encode("latin-1")
    found = read(data)

    assert len(spans_of(found)) == 1
    assert rejects_of(found) == [
        ("line 3", "no PodName"),
        ("line 4", "not 8 columns"),
        ("line 6", "StartTimeUnixNano is not a whole number"),
        ("line 7", "it ends before it starts"),
        ("line 8", "PodName is not UTF-8"),
    ]


def test_nezha_columns_may_be_in_another_order_and_more() -> None:
    header = "PodName,new,EndTimeUnixNano,StartTimeUnixNano,ParentID,SpanID,TraceID"
    line = f'"pod, quoted",x,{START_NS + 9},{START_NS},root,1,t'

    assert [(one.process, one.span) for one in spans_of(read(as_lines(header, line)))] == [
        ("pod, quoted", "1")
    ]
    assert rejects_of(read(as_lines("TraceID,SpanID", "t,1"), "nezha")) == [
        ("line 1", "no column ParentID in the first line"),
        ("line 2", "no column ParentID in the first line"),
    ]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            as_json(jaeger(jaeger_span("1", None, "p", 0, 30) | {"traceID": "0000"}, p="web")),
            "ID",
        ),
        (as_json(otlp(web=[otlp_span("a", "", 0, 30, trace="0" * 32)])), "Id"),
        (as_json([zipkin_span("1", None, "web", 0) | {"traceId": "0" * 16}]), "Id"),
        (as_lines(NEZHA_HEADER, nezha_line("1", "root", "web", 0, 30, trace="0")), "TraceID"),
    ],
)
def test_the_trace_id_of_nothing_makes_no_trace(content: bytes, what: str) -> None:
    (reason,) = [reject.reason for reject in read(content) if isinstance(reject, RejectRecord)]

    assert reason == f"{what if what == 'TraceID' else 'trace' + what} is all zeros"


def test_a_parent_of_zeros_is_none() -> None:
    (span,) = spans_of(read(as_json(otlp(web=[otlp_span("a", "0" * 16, 0, 30)]))))

    assert span.parent is None


def test_attributes_that_are_asked_for_come_along_as_text() -> None:
    keep = frozenset({"tenant", "http.route", "status"})
    tags = {"tenant": "acme", "other": "no"}
    in_jaeger = jaeger_span("1", None, "p1", 0, 30)
    in_jaeger["tags"] = [{"key": key, "value": value} for key, value in tags.items()]
    in_jaeger["tags"].append({"key": "status", "value": 200})
    in_otlp = otlp_span("a", "", 0, 30)
    in_otlp["attributes"] = [attribute(key, value) for key, value in tags.items()]
    in_otlp["attributes"].append({"key": "status", "value": {"intValue": "200"}})
    in_zipkin = zipkin_span("1", None, "web", 0, tags=tags | {"status": "200"})

    for document in (jaeger(in_jaeger, p1="web"), otlp(web=[in_otlp]), [in_zipkin]):
        (span,) = spans_of(read(as_json(document), keep=keep))
        assert span.attributes is not None
        assert dict(span.attributes) == {"tenant": "acme", "status": "200"}
        (bare,) = spans_of(read(as_json(document)))
        assert bare.attributes is None
