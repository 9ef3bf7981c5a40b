"""The whole job: a folder of small traces in every format, and what is left of it."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog.processes import read_processes
from antecede_audit.eventlog import read_events, read_workload
from antecede_audit.eventlog.workload import WorkloadRow
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.judging.oracle import check_log
from antecede_audit.spans.summary import FormatCount, IngestSummary
from antecede_audit.spark.ingest import ingest
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Replay
from tests.antecede_audit.spans.samples import (
    NEZHA_HEADER,
    START_NS,
    as_gzip,
    as_json,
    as_lines,
    as_tar,
    as_zip,
    jaeger,
    jaeger_span,
    nezha_line,
    otlp,
    otlp_span,
    zipkin_span,
)

COMPOSE = jaeger(
    jaeger_span("0", None, "p0", 0, 5_000),
    *[jaeger_span(f"{i}", "0", "p1", 100 * i, 90 if i != 2 else 4_000) for i in range(1, 6)],
    jaeger_span("6", "2", "p2", 2_000, 500),
    p0="web",
    p1="compose",
    p2="store",
)

SHARED = [
    zipkin_span("1", None, "alpha", 0, kind="CLIENT", duration=100),
    zipkin_span("1", None, "beta", 20, kind="SERVER", duration=60, shared=True),
    zipkin_span("2", None, "alpha", 300),
    zipkin_span("3", "2", "beta", 310, kind="SERVER", timestamp=None),
]

QUEUED = [
    otlp(shop=[otlp_span("a1", "", 0, 50, kind=4), otlp_span("a2", "", 60, 70, kind=4)]),
    otlp(
        billing=[otlp_span("b1", "a1", 80, 90, kind=5)],
        mail=[
            otlp_span("c1", "", 95, 99, kind=5, trace="0ther")
            | {"links": [{"traceId": "5b8efff798038103", "spanId": "a1"}]}
        ],
    ),
]


def write_samples(folder: Path) -> None:
    nezha = [
        NEZHA_HEADER,
        nezha_line("1", "root", "pod-a", 0, 100),
        nezha_line("2", "1", "pod-a", 10, 90),
        nezha_line("3", "2", "pod-b", 20, 80),
    ]
    samples = {
        "compose.tgz": as_tar(trace=as_json(COMPOSE)),
        "shared.json.gz": as_gzip(as_json(SHARED)),
        "queued.jsonl": as_lines(*[json.dumps(request) for request in QUEUED], "{oops"),
        "one.csv": as_lines(*nezha),
        "two.csv": as_lines(*nezha, nezha_line("4", "9", "pod-b", 5, 6), "t,5,root,pod-b"),
        "mail.zip": as_zip(table=as_lines("x,y;z,1700000001", "y,x,1700000002", "y,x,soon")),
        "notes.txt": b"these are no messages\n",
        "cut.json.gz": as_gzip(as_json(COMPOSE))[:-4],
        "README.md": b"about these files",
    }
    for name, data in samples.items():
        (folder / name).write_bytes(data)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace in every format."""
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
    return folder


@pytest.fixture(scope="module", params=["on Spark", "small"])
def mixed(
    request: pytest.FixtureRequest, samples: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[IngestSummary, Path]:
    """The samples, ingested once each way for the tests that only look."""
    out = tmp_path_factory.mktemp("mixed")
    if request.param == "small":
        small = ingest_here([str(samples)], str(out), run_id="mixed run")
        assert small is not None
        return small, out
    spark = request.getfixturevalue("spark")
    return ingest(spark, [str(samples)], str(out), run_id="mixed run"), out


def by_route(out: Path) -> dict[tuple[str, str], list[WorkloadRow]]:
    """The workload by the names of sender and first target, in the order of delays."""
    names = read_processes(out / "events")
    routes: dict[tuple[str, str], list[WorkloadRow]] = {}
    for row in sorted(read_workload(out / "workload"), key=lambda row: row.message_id):
        routes.setdefault((names[row.sender], names[row.targets[0]]), []).append(row)
    return routes


def test_the_summary_counts_what_was_read_and_what_was_not(
    mixed: tuple[IngestSummary, Path],
) -> None:
    summary, out = mixed

    assert summary.read == [
        FormatCount(format="jaeger", files=2, records=7 + 7),
        FormatCount(format="messages", files=1, records=4),
        FormatCount(format="nezha", files=2, records=3 + 5),
        FormatCount(format="otlp", files=1, records=5),
        FormatCount(format="unknown", files=1, records=1),
        FormatCount(format="zipkin", files=1, records=4),
    ]
    assert summary.rejects_by_reason == {
        "no timestamp": 1,
        "none of the formats that are understood": 1,
        "not 8 columns": 1,
        "not JSON": 1,
        "time is not a time": 1,
        "truncated file": 1,
    }
    assert summary.rejects == 6
    assert summary.counts["duplicate_spans"] == 3 + 7
    assert summary.counts["missing_parents"] == 1
    assert summary.counts["unreceived_calls"] == 1, "the second producer"
    assert [Path(path).name for path in summary.passed_over] == ["README.md"]
    assert json.loads((out / "summary.json").read_text()) == summary.as_object()


def test_copies_and_processes_are_those_of_all_formats(mixed: tuple[IngestSummary, Path]) -> None:
    summary, out = mixed

    assert summary.messages == 12 + 2 + 1 + 2 + 2
    assert summary.copies == 12 + 2 + 2 + 2 + 3
    assert sorted(read_processes(out / "events").values()) == [
        *("alpha", "beta", "billing", "compose", "mail", "pod-a", "pod-b", "shop", "store", "web"),
        *("x", "y", "z"),
    ]
    assert summary.processes == 13
    assert summary.first_ns == START_NS
    assert summary.last_ns == 1_700_000_002_000_000_000
    table = pq.read_table(out / "processes").to_pydict()
    assert dict(zip(table["process"], table["name"], strict=True)) == read_processes(out / "events")


def test_events_and_spans_lead_back_to_the_traces(mixed: tuple[IngestSummary, Path]) -> None:
    _, out = mixed
    names = read_processes(out / "events")
    found = {
        (names[event.process], event.kind, event.trace_id, event.span_id)
        for event in read_events(out / "events", "mixed run")
    }

    assert {("shop", "submitted", "5b8efff798038103", "a1")} <= found
    assert {("billing", "delivered", "5b8efff798038103", "b1")} <= found
    assert {("mail", "delivered", "0ther", "c1")} <= found
    assert {("x", "submitted", None, None), ("y", "delivered", None, None)} <= found
    spans = pq.read_table(out / "spans").to_pylist()
    assert {
        "trace_id": "0ther",
        "span_id": "c1",
        "operation": "something",
        "attributes": None,
    }.items() <= next(span for span in spans if span["span_id"] == "c1").items()
    assert {names[span["process"]] for span in spans} >= {"shop", "billing", "mail", "pod-a"}


def test_rejects_say_where_they_stood(mixed: tuple[IngestSummary, Path]) -> None:
    _, out = mixed
    rejects = pq.read_table(out / "rejects").to_pylist()

    assert sorted(
        (Path(row["source"]).name, row["position"], row["reason"], row["excerpt"][:20])
        for row in rejects
    ) == [
        ("cut.json.gz", "", "truncated file", ""),
        ("notes.txt", "", "none of the formats that are understood", "these are no message"),
        ("queued.jsonl", "line 3", "not JSON", "{oops\n"),
        ("shared.json.gz", "[3]", "no timestamp", '{"traceId": "ca11", '),
        ("table", "line 3, column 3", "time is not a time", "y,x,soon"),
        ("two.csv", "line 6", "not 8 columns", "t,5,root,pod-b"),
    ]
    assert [row["source"] for row in rejects if "!" in row["source"]] == [
        f"{Path(rejects_folder(rejects)) / 'mail.zip'}!folder/table"
    ]


def rejects_folder(rejects: list[dict[str, str]]) -> str:
    """The folder of the samples."""
    return str(Path(next(row["source"] for row in rejects if "!" not in row["source"])).parent)


def test_the_log_is_one_that_a_run_can_have_made(mixed: tuple[IngestSummary, Path]) -> None:
    summary, out = mixed
    log = read_events(out / "events", "mixed run")
    verdict = check_log(log)

    assert len(log) == 2 * summary.copies
    assert (verdict.messages, verdict.deliveries) == (summary.messages, summary.copies)
    wrong = [verdict.self_causes, verdict.losses, verdict.duplicates, verdict.inventions]
    assert wrong == [[], [], [], []]


def test_a_published_message_is_one_multicast_over_traces(
    mixed: tuple[IngestSummary, Path],
) -> None:
    _, out = mixed
    names = read_processes(out / "events")
    [published] = [row for row in read_workload(out / "workload") if names[row.sender] == "shop"]

    assert sorted(names[target] for target in published.targets) == ["billing", "mail"]


def test_a_send_waits_for_all_that_caused_it(mixed: tuple[IngestSummary, Path]) -> None:
    _, out = mixed
    routes = by_route(out)
    uploads = [row.message_id for row in routes["web", "compose"]]
    [store] = routes["compose", "store"]
    [stored] = routes["store", "compose"]
    replies = [row.causes for row in routes["compose", "web"]]

    assert routes["web", "compose"][0].causes == ()
    assert set(store.causes) == set(uploads)
    assert stored.causes == (store.message_id,)
    assert (stored.message_id,) in replies
    assert store.delay_ns == 1_500_000
    [answer] = routes["y", "x"]
    assert answer.causes == (routes["x", "y"][0].message_id,)
    assert answer.delay_ns == 1_000_000_000


def test_the_workload_can_be_replayed(mixed: tuple[IngestSummary, Path]) -> None:
    summary, out = mixed
    result = simulate("hybrid", Replay(read_workload(out / "workload", "mixed run")))

    assert (result.messages, result.deliveries) == (summary.messages, summary.copies)
    assert result.leftovers.empty


def skewed() -> bytes:
    """Three calls from a to b, whose clock is 1 ms behind: requests seem to go back in time."""
    calls = []
    server: dict[str, Any] = {"kind": "SERVER", "duration": 100, "shared": True}
    for number in range(3):
        start = 10_000 * number
        calls += [
            zipkin_span(f"{number}", None, "a", start, kind="CLIENT", duration=500),
            zipkin_span(f"{number}", None, "b", start - 900 + number, **server),
        ]
    return as_json(calls)


def test_clocks_are_repaired_or_left_alone(tmp_path: Path) -> None:
    """In this process; on Spark it is the same, as the tests of small jobs show."""
    (tmp_path / "skewed.json").write_bytes(skewed())
    out = tmp_path / "out"
    raw = ingest_here([str(tmp_path / "skewed.json")], str(out), repair=False, run_id="raw")

    assert raw is not None
    assert raw.clock_offsets_ns == {"a": 0, "b": 0}
    assert (raw.counts["received_before_sent"], raw.counts["clamped"]) == (3, 3)
    assert not raw.repaired

    repaired = ingest_here([str(tmp_path / "skewed.json")], str(out), run_id="repaired")

    assert repaired is not None
    offsets = repaired.clock_offsets_ns
    assert offsets["b"] - offsets["a"] == 900_000
    assert (repaired.counts["received_before_sent"], repaired.counts["clamped"]) == (3, 0)
    assert repaired.contradictions == []
    log = read_events(out / "events")
    sent = {(event.sender, event.sequence): event for event in log if event.kind == "submitted"}
    flights = [
        event.time_ns - sent[event.sender, event.sequence].time_ns
        for event in log
        if event.kind == "delivered"
    ]
    assert sorted(flights)[:3] == [0, 1_000, 2_000]
    assert [file.name for file in (out / "events").glob("run_id=*")] == ["run_id=repaired"]


def test_what_is_about_to_be_replaced_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "table.csv").write_bytes(b"a,b,1\n")

    with pytest.raises(LocalError, match="would be replaced"):
        ingest(spark, [str(tmp_path)], str(tmp_path))
    assert (tmp_path / "events" / "table.csv").exists()


def test_numbers_of_lines_mean_those_of_the_same_file(tmp_path: Path) -> None:
    header = "sender,receiver,time,cause\n"
    (tmp_path / "a.csv").write_text(header + "x,y,1,\ny,z,5,1\n")
    (tmp_path / "b.csv").write_text(header + "w,y,2,\ny,z,6,1\n")
    ingest_here([str(tmp_path)], str(tmp_path / "out"))

    answers = by_route(tmp_path / "out")
    waits = {row.message_id: row.causes for row in answers["y", "z"]}
    asked = [answers[route][0].message_id for route in (("x", "y"), ("w", "y"))]
    assert list(waits.values()) == [(asked[0],), (asked[1],)]


def test_nothing_is_read_in_vain(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(b"a,b,1\n")
    (tmp_path / "file").touch()
    told: list[str] = []

    with pytest.raises(LocalError, match="cannot write"):
        ingest(spark, [str(tmp_path / "table.csv")], str(tmp_path / "file"), tell=told.append)
    assert told == []


def test_a_file_without_messages_leaves_empty_tables(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"[]")
    summary = ingest(spark, [str(tmp_path / "a.json")], str(tmp_path / "out"))

    assert (summary.messages, summary.copies, summary.processes, summary.rejects) == (0, 0, 0, 0)
    assert (summary.first_ns, summary.last_ns) == (None, None)
    assert pq.read_table(tmp_path / "out" / "rejects").num_rows == 0


def test_what_is_kept_goes_when_the_next_step_has_what_it_needs(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Or the disk has to hold all that was ever made, at once."""
    kept: dict[str, int] = {}

    def tell(step: str) -> None:
        kept[step] = spark.sparkContext._jsc.getPersistentRDDs().size()

    (tmp_path / "traces.json").write_bytes(as_json(COMPOSE))
    ingest(spark, [str(tmp_path / "traces.json")], str(tmp_path / "out"), tell=tell)
    steps = [count - kept["reading 1 file"] for count in kept.values()]

    # Records; then messages too; these without records; and at last the copies in order.
    assert dict(zip(kept, steps, strict=True)) == {
        "reading 1 file": 0,
        "messages of traces": 1,
        "writing spans and rejects": 2,
        "events in order": 1,
        "writing events and workload": 1,
    }
