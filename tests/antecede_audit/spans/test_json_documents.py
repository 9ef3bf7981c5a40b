"""JSON that is cut short, mixed with rubbish, or not quite UTF-8."""

import gzip
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede_audit.spans.formats import json_documents
from antecede_audit.spans.formats.json_documents import completed, is_cut
from tests.antecede_audit.spans.samples import (
    as_json,
    as_lines,
    jaeger,
    jaeger_span,
    otlp,
    otlp_span,
    read,
    rejects_of,
    spans_of,
    zipkin_span,
)

SPANS = [zipkin_span(str(number), None, "web", number) for number in range(4)]
NAMES = st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize("indent", [None, 2])
def test_the_spans_before_a_truncation_are_kept(indent: int | None) -> None:
    data = json.dumps(SPANS, indent=indent).encode()
    cut = data.rindex(b'"timestamp"') + 15
    found = read(data[:cut])

    assert [one.span for one in spans_of(found)] == ["0", "1", "2"]
    assert rejects_of(found) == [(f"byte {cut}", "truncated")]


def test_a_span_that_was_cut_inside_is_not_taken_for_whole() -> None:
    """All that is needed is there, but what follows may have changed its meaning."""
    data = as_json([*SPANS, {**zipkin_span("9", None, "web", 9), "parentId": "3"}])
    cut = data.rindex(b', "parentId"')
    found = read(data[:cut])

    assert [one.span for one in spans_of(found)] == ["0", "1", "2", "3"]
    assert [reason for _, reason in rejects_of(found)] == ["truncated", "truncated"]


def test_a_truncated_line_at_the_end_keeps_its_whole_spans() -> None:
    whole = as_json(otlp(web=[otlp_span("a", "", 0, 9)]))
    cut = as_json(otlp(web=[otlp_span("b", "", 0, 9), otlp_span("c", "", 0, 9)]))[:-100]
    found = read(whole + b"\n" + cut)

    assert [one.span for one in spans_of(found)] == ["a", "b"]
    assert rejects_of(found)[-1][1] == "truncated"


def test_a_truncated_jaeger_trace_has_lost_its_processes() -> None:
    data = as_json(jaeger(*[jaeger_span(str(i), None, "p1", 0, 9) for i in range(3)], p1="web"))
    found = read(data[: data.index(b'"processes"')])

    assert spans_of(found) == []
    assert [reason for _, reason in rejects_of(found)] == [
        *["processID is not among the processes of its trace"] * 3,
        "truncated",
    ]


def test_lines_that_are_no_json_are_set_aside() -> None:
    lines = [json.dumps([one]) for one in SPANS]
    found = read(as_lines(lines[0], "{broken", lines[1], "", "null"))

    assert len(spans_of(found)) == 2
    assert rejects_of(found) == [("line 2", "not JSON"), ("line 5", "not JSON")]


def test_a_bad_first_line_does_not_spoil_the_others() -> None:
    lines = [json.dumps([one]) for one in SPANS]
    found = read(as_lines("{broken", *lines), "zipkin")

    assert len(spans_of(found)) == 4
    assert rejects_of(found) == [("line 1", "not JSON")]


@pytest.mark.parametrize("data", [b"\x00\x01\x02", b"{]", b'{"a" "b"}', b"[" * 100_000])
def test_what_is_no_json_at_all_is_one_reject(data: bytes) -> None:
    assert rejects_of(read(data, "zipkin")) == [("", "not JSON")]


def test_bytes_that_are_not_utf8_matter_only_where_they_are_used() -> None:
    tagged = as_json([SPANS[0] | {"tags": {"note": "CAFE"}}]).replace(b"CAFE", b"caf\xe9")
    named = as_json([SPANS[0]]).replace(b"web", b"w\xe9b")

    assert len(spans_of(read(tagged))) == 1
    assert rejects_of(read(named)) == [("[0]", "serviceName is not UTF-8")]


def test_a_byte_order_mark_is_no_trouble() -> None:
    assert len(spans_of(read(b"\xef\xbb\xbf" + as_json(SPANS)))) == 4


LARGE = [
    *[zipkin_span(str(number), None, 'w[e\\"b{', number) for number in range(60)],
    {"id": "no span"},
]
TRACES = [jaeger(jaeger_span(str(i), None, "p1", 0, 9), p1="web")["data"][0] for i in range(40)]
DOCUMENTS = {
    "zipkin": LARGE,
    "zipkin lists": [LARGE[first : first + 5] for first in range(0, len(LARGE), 5)],
    "jaeger": {"total": 0, "data": [*TRACES, 17, {"no": "trace"}], "errors": [{"data": []}]},
    "otlp": {"x": [[]], **otlp(**{f"s{i}": [otlp_span(f"{i:02x}", "", 0, 9)] for i in range(40)})},
}


def small_limits(patch: pytest.MonkeyPatch, document_bytes: int = 3_000) -> None:
    """Take documents for too large that are not."""
    patch.setattr(json_documents, "DOCUMENT_BYTES_MAX", document_bytes)
    patch.setattr(json_documents, "PIECE_BYTES", 500)
    patch.setattr(json_documents, "READ_BYTES", 7)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_document_that_is_too_large_is_read_in_pieces(
    name: str, indent: int | None, packed: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed(json.dumps(DOCUMENTS[name], indent=indent).encode())
    whole = read(data)
    small_limits(monkeypatch)
    found = read(data)

    assert len(spans_of(whole)) >= 40
    assert spans_of(found) == spans_of(whole)
    assert [reason for _, reason in rejects_of(found)] == [
        reason for _, reason in rejects_of(whole)
    ]


def test_what_is_wrong_in_a_large_document_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    data = as_json([*LARGE[:-1], {"id": "no span"}, *LARGE[:9]])
    [(place, _)] = rejects_of(read(data))
    start, entry = int(place.split(":")[0].removeprefix("byte ")), int(place[-2])

    assert json.JSONDecoder().raw_decode("[" + data[start:].decode().rstrip("]") + "]")[0][
        entry
    ] == {"id": "no span"}


def test_a_large_document_that_breaks_off_has_its_whole_spans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_limits(monkeypatch)
    data = as_json(LARGE[:-1])
    cut = data.rindex(b'"timestamp"')
    found = read(data[:cut])

    assert [one.span for one in spans_of(found)] == [str(number) for number in range(59)]
    assert rejects_of(found)[-1] == (f"byte {cut}", "truncated")


def test_an_entry_that_is_too_large_is_set_aside_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    tags = {f"tag{number}": "x" * 50 for number in range(200)}
    data = as_json([*LARGE[:30], LARGE[0] | {"tags": tags}, *LARGE[30:60]])
    found = read(data)

    assert [one.span for one in spans_of(found)] == [str(number) for number in range(60)]
    [(place, reason)] = rejects_of(found)
    assert reason == "an entry of a list that is too large"
    start = int(place.removeprefix("byte "))
    assert json.JSONDecoder().raw_decode(data[start:].decode())[0]["tags"] == tags


def test_a_large_document_that_is_no_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "DOCUMENT_BYTES_MAX", 1 << 20)
    large = as_json({"traceID": "a", "spans": [{"x": "y" * 100}] * 20_000})

    assert rejects_of(read(large)) == [("", "a document of more than 1 MiB that is no list")]


@settings(max_examples=200)
@given(
    records=st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1),
    share=st.floats(0, 1),
)
def test_a_document_cut_anywhere_has_its_whole_records_and_marks_a_broken_one(
    records: list[dict[str, object]], share: float
) -> None:
    text = json.dumps(records)
    rest = completed(text[: int(share * (len(text) - 1))])

    if rest is not None:
        found = json.loads(rest)
        whole = [record for record in found if not is_cut(record)]
        assert whole == records[: len(whole)]
        assert len(found) - len(whole) <= 1
