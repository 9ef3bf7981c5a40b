"""OTLP in Protocol Buffers: alone, in frames of two kinds, compressed, damaged."""

import gzip
import io
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede_audit.spans.formats import otlp_protobuf
from antecede_audit.spans.formats.catalogue import can_be_cut, detected, one_by_one
from antecede_audit.spans.formats.otlp_columns import SpanColumns
from antecede_audit.spans.formats.otlp_protobuf import (
    ALONE,
    FOUR_BYTES,
    VARINTS,
    framing_of,
    spans_in_stream,
    spans_of_request,
)
from antecede_audit.spans.formats.otlp_protobuf import varint as read_varint
from antecede_audit.spans.formats.records import RejectRecord, SpanRecord
from tests.antecede_audit.spans.requests import block, delimited, in_frames, request, varint
from tests.antecede_audit.spans.samples import as_json, attribute, otlp, otlp_span, read, rejects_of

OFFICIAL = bytes.fromhex(
    "0aea010a180a160a0c736572766963652e6e616d6512060a0473686f7012cd010a050a036c696212c301"
    "0a10000102030405060708090a0b0c0d0e0f120800010203040506071a03613d622208ffffffffffffff"
    "ff2a07474554202fc3a930033901002a36fe9c9717412c012a36fe9c97174a080a017412030a01784a10"
    "0a016e120b18fbffffffffffffffff014a070a0162120210014a0e0a0164120921000000000000f83f4a"
    "0b0a016c12062a040a0218015a0d0905000000000000001202657660036a1c0a10010101010101010101"
    "01010101010101120802020202020202027a021802850101010000"
)
"""A request that OpenTelemetry's own package for Python (opentelemetry-proto) has written: every
field of a span, attributes of five types."""

KEEP = frozenset(("t", "n", "b", "d", "l"))

DOCUMENTS = [
    otlp(shop=[otlp_span("a1", "", 0, 50, kind=4)], mail=[otlp_span("b1", "a1", 60, 70, kind=5)]),
    otlp(
        billing=[
            otlp_span("c1", "a1", 80, 90, kind=5)
            | {
                "links": [{"traceId": "5b8efff798038103", "spanId": "b1"}],
                "attributes": [attribute("http.route", "/é")],
            }
        ]
    ),
]
MESSAGES = [request(document) for document in DOCUMENTS]
WANTED = [found for document in DOCUMENTS for found in read(as_json(document))]


def zstd(data: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return compressed


def test_a_request_of_the_official_library_is_read() -> None:
    assert framing_of(OFFICIAL) == ALONE
    assert read(OFFICIAL, keep=KEEP) == [
        SpanRecord(
            trace="000102030405060708090a0b0c0d0e0f",
            span="0001020304050607",
            parent="ffffffffffffffff",
            follows=False,
            kind="client",
            process="shop",
            start_ns=1_700_000_000_000_000_001,
            end_ns=1_700_000_000_000_000_300,
            links=["01010101010101010101010101010101/0202020202020202"],
            operation="GET /é",
            attributes=[
                ("t", "x"),
                ("n", "-5"),
                ("b", "true"),
                ("d", "1.5"),
                ("l", '{"values": [{"intValue": 1}]}'),
            ],
        )
    ]


@pytest.mark.parametrize(
    ("data", "framing"),
    [
        (in_frames(MESSAGES), FOUR_BYTES),
        (delimited(MESSAGES), VARINTS),
        (in_frames([zstd(message) for message in MESSAGES]), FOUR_BYTES),
        (in_frames([zstd(as_json(document)) for document in DOCUMENTS]), FOUR_BYTES),
        (in_frames([as_json(document) for document in DOCUMENTS]), FOUR_BYTES),
        (b"".join(MESSAGES), ALONE),
    ],
    ids=["frames", "delimited", "frames of zstd", "frames of zstd of JSON", "of JSON", "joined"],
)
def test_files_of_requests_are_what_their_json_is(data: bytes, framing: str) -> None:
    assert framing_of(data) == framing
    assert detected(data, None) == "otlp"
    assert not can_be_cut(data, "auto", None)
    for packed in (data, gzip.compress(data), zstd(data)):
        assert read(packed) == WANTED
    kept = read(data, keep=frozenset({"http.route"}))
    assert [one.attributes for one in kept if isinstance(one, SpanRecord)][-1] == [
        ("http.route", "/é")
    ]


def test_json_lines_in_zstd_are_read() -> None:
    lines = "".join(json.dumps(document) + "\n" for document in DOCUMENTS)

    assert read(zstd(lines.encode())) == WANTED


@pytest.mark.parametrize("spans", [100, 1_000, 100_000])
def test_a_request_alone_is_recognised_whatever_its_length(spans: int) -> None:
    """Its length takes one to three bytes; the fifth byte of all may look like that of a frame."""
    message = request(otlp(shop=[otlp_span("a1", "", 0, 50)] * min(spans, 1_000)))
    padded = message + block(1, block(3, b"x" * (spans * 20)))

    assert framing_of(padded[: 1 << 16]) == ALONE


def test_what_breaks_off_or_is_damaged_says_where() -> None:
    data = in_frames(MESSAGES)
    second = 4 + len(MESSAGES[0])

    assert rejects_of(read(data[:-3])) == [(f"byte {second}", "truncated")]
    assert rejects_of(read(data[: second + 2])) == [(f"byte {second}", "truncated")]
    broken = MESSAGES[0][:4] + b"\xff" * 12 + MESSAGES[0][16:]
    found = read(in_frames([MESSAGES[1], broken, MESSAGES[1]]))
    assert rejects_of(found) == [(f"byte {4 + len(MESSAGES[1])}", "damaged message")]
    assert len([one for one in found if isinstance(one, SpanRecord)]) == 2
    assert rejects_of(read(in_frames([zstd(MESSAGES[0])[:-4]]))) == [
        ("byte 0", "cannot be decompressed")
    ]


def test_a_bad_span_is_rejected_with_its_place() -> None:
    zeros = otlp_span("a1", "", 0, 50, trace="00000000")
    [found] = read(in_frames([request(otlp(shop=[zeros]))]))

    assert isinstance(found, RejectRecord)
    assert found.position == "byte 0: resourceSpans[0].scopeSpans[0].spans[0]"
    assert found.reason == "traceId is all zeros"


@given(number=st.integers(0, (1 << 64) - 1))
def test_varints_come_back(number: int) -> None:
    data = varint(number)

    assert read_varint(data, 0, len(data)) == (number, len(data))


@given(place=st.integers(0, len(OFFICIAL) - 1), byte=st.integers(0, 255))
def test_no_byte_that_is_wrong_stops_the_reader(place: int, byte: int) -> None:
    wrong = OFFICIAL[:place] + bytes([byte]) + OFFICIAL[place + 1 :]
    found = read(in_frames([OFFICIAL, wrong, OFFICIAL]), keep=KEEP)

    assert [found[0], found[-1]] == read(OFFICIAL, keep=KEEP) * 2


@given(st.binary(max_size=200))
def test_anything_at_all_is_read_or_rejected(data: bytes) -> None:
    for found in read(data, "otlp"):
        assert isinstance(found, SpanRecord | RejectRecord)


TRACE = "5b8efff798038103d269b633813fc60c"
NOTHING: frozenset[str] = frozenset()
ODD: dict[str, Any] = {
    "traceId": ["ab", "0" * 32, ""],
    "spanId": ["ab", "", "0" * 16],
    "parentSpanId": ["", "0" * 16, "ab", "eee19b7ec3c1b174"],
    "startTimeUnixNano": [0, 1, (1 << 62) + 1, 1 << 63],
    "endTimeUnixNano": [0, 1 << 62, (1 << 64) - 1],
    "kind": [0, 1, 5, 6, 300, -1],
    "name": ["", "Grüße", "a" * 200],
    "links": [[{"traceId": TRACE, "spanId": "ab"}]],
    "attributes": [[attribute("tenant", "x" * 300)]],
}
odd_spans = st.builds(
    lambda name, odd: otlp_span(name, "", 1, 5, kind=3) | {"traceId": TRACE} | odd,
    st.sampled_from(["eee19b7ec3c1b174", "0102030405060708"]),
    st.dictionaries(st.sampled_from(list(ODD)), st.integers(0, 20), max_size=1).map(
        lambda chosen: {name: ODD[name][turn % len(ODD[name])] for name, turn in chosen.items()}
    ),
)
many_requests = st.lists(
    st.builds(
        lambda inner, name: request(otlp(**{name: inner})),
        st.lists(odd_spans, min_size=1, max_size=3),
        st.sampled_from(["shop", "web", " "]),
    ),
    min_size=1,
    max_size=5,
)


def in_columns(
    data: bytes, chunk_bytes: int = 600
) -> list[SpanColumns | SpanRecord | RejectRecord]:
    """What is found if hardly any spans are too few for columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(otlp_protobuf, "SPANS_MIN", 1)
        patch.setattr(otlp_protobuf, "CHUNK_BYTES", chunk_bytes)
        return [*spans_in_stream(data, io.BytesIO(data), NOTHING)]


def span_by_span(messages: list[bytes]) -> list[SpanRecord | RejectRecord]:
    """The same, request by request."""
    found: list[SpanRecord | RejectRecord] = []
    offset = 0
    for message in messages:
        found += spans_of_request(message, f"byte {offset}: ", NOTHING)
        offset += 4 + len(message)
    return found


@settings(max_examples=200, deadline=None)
@given(
    messages=many_requests,
    damage=st.none() | st.tuples(st.integers(0, 4), st.integers(20, 300), st.integers(0, 255)),
)
def test_columns_have_what_is_found_span_by_span(
    messages: list[bytes], damage: tuple[int, int, int] | None
) -> None:
    if damage is not None:
        which, place, byte = damage
        changed = bytearray(messages[which % len(messages)])
        changed[max(20, place % len(changed))] = byte  # after what tells how the file is framed
        messages[which % len(messages)] = bytes(changed)

    assert [*one_by_one(iter(in_columns(in_frames(messages))))] == span_by_span(messages)


def test_what_is_as_it_should_be_comes_in_columns() -> None:
    """Or the test above would compare nothing."""
    spans = [
        otlp_span(f"{n:016x}", f"{n - 1:016x}" if n else "", n, n + 5, kind=n % 7) for n in range(9)
    ]
    messages = [request(otlp(shop=[one | {"traceId": TRACE}])) for one in spans]
    [found] = in_columns(in_frames(messages), chunk_bytes=1 << 20)

    assert isinstance(found, SpanColumns)
    assert [*found.spans()] == span_by_span(messages)
