"""Requests read many spans at a time: never anything else than span by span."""

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede_audit.spans.formats import otlp, otlp_columns
from antecede_audit.spans.formats.catalogue import Found, one_by_one
from antecede_audit.spans.formats.json_documents import documents
from antecede_audit.spans.formats.otlp_columns import SpanColumns, spans_in_lines
from antecede_audit.spans.formats.records import RejectRecord
from tests.antecede_audit.spans.samples import as_lines, attribute, otlp_span
from tests.antecede_audit.spans.samples import otlp as request

KEEP = frozenset({"tenant"})

ODD: dict[str, Any] = {
    "traceId": ["ABCDEF", "0" * 32, "", None, 7, "no hex", " ab", "a\x00b", "ü", "\ud800"],
    "spanId": ["Ab", "", None, 7, "x-y", "a b"],
    "parentSpanId": [None, "0000", "", "FF", 3, "né"],
    "startTimeUnixNano": [
        0,
        -1,
        "0",
        "17e8",
        1.5,
        17.0,
        "1" * 21,
        1 << 70,
        None,
        True,
        " 5 ",
        "+5",
    ],
    "endTimeUnixNano": [17, "17", 1 << 62, (1 << 62) + 1, "", None, "0x11", "٣"],
    "kind": [0, 9, "SPAN_KIND_SERVER", "odd", None, 2.0, True],
    "name": ["", None, 5, "Grüße", "\ud800"],
    "links": [None, [], [{"traceId": "AB", "spanId": "c"}], [{"traceId": "ab"}], [4], {}],
    "attributes": [None, [attribute("tenant", "x")], [{"key": "tenant", "value": 3}], [2], "no"],
    "unheard": [{"of": ["anything"]}, None],
}
"""What a field may be instead of what it should be."""

LINES = ["", "{}", "null", "{oops", "[]", '{"resourceSpans": {}}', '{"batches": []}', "17"]

spans = st.builds(
    lambda name, odd: otlp_span(name, "aa", 1, 5, kind=3) | odd,
    st.sampled_from(["01", "02", "b3"]),
    st.dictionaries(st.sampled_from(list(ODD)), st.integers(0, 20), max_size=1).map(
        lambda chosen: {name: ODD[name][turn % len(ODD[name])] for name, turn in chosen.items()}
    ),
)
requests = st.builds(
    lambda inner, name: json.dumps(request(**{name: inner})),
    st.lists(spans, max_size=3),
    st.sampled_from(["shop", "web", " "]),
)
lines = st.lists(st.one_of(requests, requests, requests, st.sampled_from(LINES)), max_size=6)


def slowly(data: bytes, first_byte: int | None, keep: frozenset[str]) -> list[Found]:
    """The spans of every document, one by one."""
    found: list[Found] = []
    for where, document in documents(io.BytesIO(data), first_byte):
        if isinstance(document, RejectRecord):
            found.append(document)
        else:
            found += otlp.spans_in(document, where, keep)
    return found


@settings(max_examples=300, deadline=None)
@given(
    text=lines, first_byte=st.sampled_from([None, 40]), keep=st.sampled_from([KEEP, frozenset()])
)
def test_columns_have_what_is_found_span_by_span(
    text: list[str], first_byte: int | None, keep: frozenset[str]
) -> None:
    data = as_lines(*text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(otlp_columns, "CHUNK_BYTES", 1_500)
        found = [*one_by_one(spans_in_lines(io.BytesIO(data), first_byte, keep))]

    assert found == slowly(data, first_byte, keep)


def test_what_is_as_it_should_be_comes_in_columns() -> None:
    """Or the test above would compare nothing."""
    spans = [otlp_span(f"{n:02x}", f"{n - 1:02x}" if n else "", n, n + 5, kind=2) for n in range(9)]
    spans[3]["links"] = [{"traceId": "ab", "spanId": "cd"}]
    spans[4]["startTimeUnixNano"] = str(spans[4]["startTimeUnixNano"])
    spans[5]["attributes"] = [attribute("tenant", "x"), attribute("other", "y")]
    data = as_lines(*[json.dumps(request(shop=[span])) for span in spans])
    [found] = spans_in_lines(io.BytesIO(data), None, KEEP)

    assert isinstance(found, SpanColumns)
    assert [*found.spans()] == slowly(data, None, KEEP)


def test_one_odd_line_does_not_change_the_others() -> None:
    good = json.dumps(request(shop=[otlp_span("01", "", 0, 5)]))
    data = as_lines(good, "{oops", good)
    first, reject, last = one_by_one(spans_in_lines(io.BytesIO(data), None, frozenset()))

    assert first == last
    assert reject == RejectRecord("line 2", "not JSON", "{oops\n")
