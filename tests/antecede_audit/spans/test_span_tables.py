"""Spans as a table: `spark.read.format("otlp")`, and the values of a broker."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from antecede.core.errors import LocalError
from antecede_audit import register_formats, spans_in_values, spans_to_events
from antecede_audit.eventlog import read_events
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.spark.readers import SPAN_ROWS
from tests.antecede_audit.spans.requests import in_frames, request
from tests.antecede_audit.spans.samples import as_gzip, as_json, otlp, otlp_span
from tests.antecede_audit.spans.test_job import COMPOSE, SHARED

CALLS = otlp(
    web=[otlp_span("a1", "", 0, 90, kind=3), otlp_span("0a", "", 0, 1, trace="00")],
    shop=[otlp_span("b1", "a1", 20, 60, kind=2)],
)


@pytest.fixture(scope="module")
def formats(spark: SparkSession) -> SparkSession:
    register_formats(spark)
    return spark


def operations(spans: DataFrame) -> list[tuple[str, str, str | None]]:
    rows = spans.where("rejected is null").select("process", "span_id", "parent_id").collect()
    return sorted((row[0], row[1], row[2]) for row in rows)


def test_files_of_requests_are_read_as_spans(formats: SparkSession, tmp_path: Path) -> None:
    compressed = pa.Codec("zstd").compress(request(CALLS), asbytes=True)
    for name, data in {
        "a.json": as_json(CALLS),
        "b.pb": in_frames([request(CALLS)]),
        "c.binpb.gz": as_gzip(request(CALLS)),
        "d.otlp": in_frames([compressed]),
        "e.pb": in_frames([request(CALLS)])[:-2],
    }.items():
        (tmp_path / name).write_bytes(data)
    spans = formats.read.format("otlp").load(str(tmp_path)).cache()

    assert spans.schema == SPAN_ROWS
    assert operations(spans) == [("shop", "b1", "a1")] * 4 + [("web", "a1", None)] * 4
    rejects = spans.where("rejected is not null").select("source", "rejected.*").collect()
    assert sorted((Path(row[0]).name, row[1], row[2]) for row in rejects) == [
        ("a.json", "resourceSpans[0].scopeSpans[0].spans[1]", "traceId is all zeros"),
        ("b.pb", "byte 0: resourceSpans[0].scopeSpans[0].spans[1]", "traceId is all zeros"),
        ("c.binpb.gz", "resourceSpans[0].scopeSpans[0].spans[1]", "traceId is all zeros"),
        ("d.otlp", "byte 0: resourceSpans[0].scopeSpans[0].spans[1]", "traceId is all zeros"),
        ("e.pb", "byte 0", "truncated"),
    ]
    spans.unpersist()


def test_jaeger_and_zipkin_are_formats_too(formats: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "j.json").write_bytes(as_json(COMPOSE))
    (tmp_path / "z.json").write_bytes(as_json(SHARED))
    jaeger = formats.read.format("jaeger").load(str(tmp_path / "j.json"))
    zipkin = formats.read.format("zipkin").load(str(tmp_path / "z.json"))

    assert jaeger.where("rejected is null").count() == 7
    assert zipkin.groupBy("rejected.reason").count().collect() == [(None, 3), ("no timestamp", 1)]


def test_values_of_a_broker_become_the_events_that_ingest_makes(
    formats: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "calls.json").write_bytes(as_json(CALLS))
    small = ingest_here([str(tmp_path / "calls.json")], str(tmp_path / "out"))
    rows = [
        ("spans", 3, 17, bytearray(request(CALLS))),
        ("spans", 3, 18, bytearray(as_gzip(b"\xff\xfe no request"))),
        ("spans", 3, 19, None),
    ]
    values = formats.createDataFrame(rows, "topic string, partition int, offset long, value binary")
    spans = spans_in_values(values).cache()

    rejects = spans.where("rejected is not null").select("source", "rejected.*").collect()
    assert [(row[0], row[1], row[2]) for row in rejects] == [
        (
            "spans[3]",
            "offset 17: resourceSpans[0].scopeSpans[0].spans[1]",
            "traceId is all zeros",
        ),
        ("spans[3]", "offset 18", "none of the formats that are understood"),
    ]
    with spans_to_events(spans) as traffic:
        events = sorted(
            (row["process"], row["position"], row["kind"], row["time_ns"], row["span_id"])
            for row in traffic.events.collect()
        )
        names = {row["process"]: row["name"] for row in traffic.processes.collect()}
    assert small is not None
    assert events == [
        (one.process, one.position, one.kind, one.time_ns, one.span_id)
        for one in read_events(tmp_path / "out" / "events")
    ]
    assert names == {0: "shop", 1: "web"}
    spans.unpersist()


def test_a_table_without_values_is_refused(formats: SparkSession) -> None:
    with pytest.raises(LocalError, match="no column value"):
        spans_in_values(formats.range(1))
