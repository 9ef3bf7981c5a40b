"""The traces in ANTECEDE_DATA: the counts that come with them are those that ingest finds."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede_audit.eventlog import read_events, read_workload
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.judging.oracle import check_log
from antecede_audit.spans.formats.records import RejectRecord, SpanRecord
from antecede_audit.spans.reading import ReadOptions, read_part
from antecede_audit.spans.summary import IngestSummary
from antecede_audit.spans.trace_files import find_files, parts_of
from antecede_audit.spark.ingest import ingest
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Replay
from tests.antecede_audit.spans.call_oracle import Call, calls_of_trace
from tests.antecede_audit.spans.test_small_job import tables_at

DATA = os.environ.get("ANTECEDE_DATA")

pytestmark = pytest.mark.skipif(
    DATA is None, reason="ANTECEDE_DATA does not say where the real traces are"
)


def data(name: str) -> str:
    assert DATA is not None
    return str(Path(DATA) / name)


def ingested(paths: list[str], out: Path) -> IngestSummary:
    """What traces come to, in this process: on Spark it is the same, as other tests show."""
    summary = ingest_here(paths, str(out))
    assert summary is not None
    return summary


def read_spans(path: str) -> tuple[list[SpanRecord], Counter[str]]:
    """The spans of a trace, read here instead of on Spark, and why others were rejected."""
    records = [
        record
        for part in parts_of(find_files([path]).files)
        for *_, record in read_part(part, ReadOptions())
    ]
    reasons = Counter(record.reason for record in records if isinstance(record, RejectRecord))
    return [record for record in records if isinstance(record, SpanRecord)], reasons


def calls_of(spans: list[SpanRecord]) -> tuple[list[Call], Counter[str]]:
    """The messages of all traces, and what else was counted."""
    traces: dict[str, list[SpanRecord]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    tally: Counter[str] = Counter()
    return [call for trace in traces.values() for call in calls_of_trace(trace, tally)], tally


def test_one_file_of_train_ticket(spark: SparkSession, tmp_path: Path) -> None:
    """The long campaign reads all 85."""
    (trace,) = Path(data("nezha-trainticket")).glob("*_trace.csv.gz")
    calls, tally = calls_of(read_spans(str(trace))[0])

    summary = ingest(spark, [str(trace)], str(tmp_path), run_id="nezha")

    assert (summary.messages, summary.copies, summary.rejects) == (len(calls), len(calls), 0)
    assert summary.counts["missing_parents"] == tally["missing_parents"]
    assert len(read_events(tmp_path / "events")) == 2 * len(calls)


@pytest.mark.long
def test_train_ticket(spark: SparkSession, tmp_path: Path) -> None:
    summary = ingest(spark, [data("nezha-trainticket")], str(tmp_path), run_id="nezha")

    assert (summary.messages, summary.copies, summary.processes) == (102_844, 102_844, 28)
    assert (summary.rejects, summary.read[0].files) == (0, 85)
    assert summary.read[0].records - summary.counts["duplicate_spans"] == 325_859
    assert summary.counts["missing_parents"] == 0
    assert 9_000 < summary.counts["received_before_sent"] < 10_000, "0.2 % and 18 % of 51 422"
    assert summary.counts["clamped"] < summary.counts["received_before_sent"]
    assert max(map(abs, summary.clock_offsets_ns.values())) < 2_000_000, "clocks differ a little"
    written = json.loads((tmp_path / "summary.json").read_text())
    assert written["copies"] == 102_844
    events = pq.read_table(tmp_path / "events", columns=["kind", "sender", "target"]).to_pydict()
    routes = Counter(zip(events["kind"], events["sender"], events["target"], strict=True))
    assert Counter(events["kind"]) == {"submitted": 102_844, "delivered": 102_844}
    assert len({(sender, target) for _, sender, target in routes}) == 2 * 55
    rows = read_workload(tmp_path / "workload")
    assert sum(not row.causes for row in rows) == 4_551, "as many as traces"
    assert len(read_events(tmp_path / "events")) == 2 * 102_844


def test_the_first_e_mails(tmp_path: Path) -> None:
    """As many as are quick to read; the long campaign reads all."""
    (trace,) = Path(data("email-eu-core")).glob("*.txt.gz")
    with gzip.open(trace, "rt") as lines:
        first = [next(lines) for _ in range(20_000)]
    sample = tmp_path / "first.txt"
    sample.write_text("".join(first))
    letters = [tuple(map(int, line.split())) for line in first]

    summary = ingested([str(sample)], tmp_path / "out")

    assert (summary.rejects, summary.copies) == (0, len(letters))
    assert summary.messages == len({(sender, time) for sender, _, time in letters})
    rows = read_workload(tmp_path / "out" / "workload")
    assert sum(len(row.targets) for row in rows) == len(set(letters)), "one line stands twice"
    assert len(read_events(tmp_path / "out" / "events")) == 2 * len(letters)


@pytest.mark.long
def test_e_mail(spark: SparkSession, tmp_path: Path) -> None:
    summary = ingest(spark, [data("email-eu-core")], str(tmp_path), run_id="e-mail")

    assert (summary.messages, summary.copies, summary.processes) == (209_508, 332_334, 986)
    assert (summary.rejects, summary.first_ns) == (0, 0)
    assert summary.last_ns is not None
    assert round(summary.last_ns / 86_400e9, 1) == 803.9
    assert summary.counts["mutual_at_one_time"] == 6, "three pairs wrote to each other at once"
    rows = read_workload(tmp_path / "workload")
    assert len(rows) == 209_508
    assert max(len(row.targets) for row in rows) <= 58
    assert len({row.sender for row in rows}) == 824
    assert len({target for row in rows for target in row.targets}) == 965
    assert len({(row.sender, target) for row in rows for target in row.targets}) == 24_929
    assert len(read_events(tmp_path / "events")) == 2 * 332_334


@pytest.mark.long
def test_media_on_spark_is_as_in_this_process(spark: SparkSession, tmp_path: Path) -> None:
    path = data("traceweaver-media/media_load25.tar.xz")
    large = ingest(spark, [path], str(tmp_path / "large"))

    assert ingested([path], tmp_path / "small") == large
    assert tables_at(tmp_path / "small") == tables_at(tmp_path / "large")


def test_media(tmp_path: Path) -> None:
    path = data("traceweaver-media/media_load25.tar.xz")
    summary = ingested([path], tmp_path)

    assert (summary.messages, summary.copies, summary.processes) == (26_000, 26_000, 10)
    assert (summary.rejects, summary.read[0].files, summary.read[0].records) == (0, 1_000, 27_000)
    assert set(summary.clock_offsets_ns) >= {"nginx", "compose-review-service"}
    names = dict(enumerate(summary.clock_offsets_ns))
    rows = read_workload(tmp_path / "workload")
    joins = Counter(len(row.causes) for row in rows if names[row.sender].startswith("compose"))
    assert joins[5] > 2_500, "the last of five uploads triggers three stores"
    assert simulate("none", Replay(rows)).leftovers.empty


@pytest.mark.parametrize("load", [25, 100, 150])
def test_media_spans(load: int) -> None:
    spans, rejects = read_spans(data(f"traceweaver-media/media_load{load}.tar.xz"))
    calls, tally = calls_of(spans)

    assert (len(spans), sum(rejects.values())) == (27_000, 0)
    assert len({span.trace for span in spans}) == 1_000
    assert len({span.process for span in spans}) == 10
    assert len(calls) == 26_000
    requests = [call for call in calls if call.answers is None]
    assert len({(call.sender, call.receiver) for call in requests}) == 13
    assert all(call.sent_latest_ns is not None for call in requests), "no client spans"
    assert not tally["duplicate_spans"]
    assert not tally["missing_parents"]


@pytest.mark.parametrize(
    ("name", "spans", "services", "instances", "shared", "untimed"),
    [
        ("smartthings-mobile-web-install", 1_041, 16, 136, 290, 84),
        ("smartthings-oauth-authorization", 175, 8, 41, 41, 0),
    ],
)
def test_zipkin(
    name: str, spans: int, services: int, instances: int, shared: int, untimed: int
) -> None:
    found, rejects = read_spans(data(f"extras/zipkin-production-traces/{name}.json.gz"))

    assert len(found) + untimed == spans
    assert rejects == ({"no timestamp": untimed} if untimed else {})
    assert len({span.process for span in found}) == instances
    assert len({span.process.partition("\x1f")[0] for span in found}) == services
    clients = {span.span for span in found if span.kind == "client"}
    servers = {span.span for span in found if span.kind == "server"}
    assert len(clients & servers) == shared
    calls, _ = calls_of(found)
    exact = {call.message.partition("@")[0] for call in calls if call.sent_latest_ns is None}
    assert len(exact & {f"{found[0].trace}/{span}" for span in clients & servers}) == shared


def test_kafka_over_zipkin(tmp_path: Path) -> None:
    path = data("extras/zipkin-production-traces/messaging-kafka.json.gz")
    summary = ingested([path], tmp_path)

    assert (summary.messages, summary.copies, summary.processes) == (3, 6, 2)
    assert summary.read[0].records == 28
    verdict = check_log(read_events(tmp_path / "events"))
    assert (verdict.messages, verdict.deliveries, verdict.self_causes) == (3, 6, [])


def test_what_is_no_trace_is_said_to_be_none() -> None:
    """A service graph without times, and logs of vector clocks."""
    _, graph = read_spans(data("extras/jaeger-dependency-topology"))
    [reason] = graph
    assert "graph of dependencies" in reason
    for log in sorted(Path(data("extras/vector-clock-logs")).glob("*.log")):
        assert read_spans(str(log))[1] == {"none of the formats that are understood": 1}
