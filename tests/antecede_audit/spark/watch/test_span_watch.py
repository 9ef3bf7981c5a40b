"""Spans judged while they come: what came too early is what an audit of all of them finds."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row, SparkSession

from antecede.eventlog.atomic_files import claim
from antecede.eventlog.processes import read_processes
from antecede_audit.eventlog import read_events
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.judging import check_log
from antecede_audit.spark.watch.history import read_progress
from antecede_audit.spark.watch.spans import SpanWatch, numbered
from antecede_audit.spark.watch.state import WatchSettings
from antecede_audit.spark.watch.watch import finish, watch
from tests.antecede_audit.spans.requests import in_frames, request
from tests.antecede_audit.spans.samples import as_lines, otlp, otlp_span

MS = 1_000_000
Pair = tuple[str, str, str]


def calls(seed: int) -> list[tuple[int, dict[str, Any]]]:
    """Requests with one span each, with the time at which it ends: that is when it is told."""
    chance = Random(seed)
    found = []
    for number in range(40):
        caller, called = chance.sample(range(3), 2)
        start = 10 * MS * number
        begins = start + chance.randint(0, 60) * MS
        ends = begins + chance.randint(1, 30) * MS
        trace = f"{1 + number % 4:032x}"
        spans = (
            (caller, f"{2 * number + 1:016x}", "", start, ends + MS, 3),
            (called, f"{2 * number + 2:016x}", f"{2 * number + 1:016x}", begins, ends, 2),
        )
        for service, name, parent, first, last, kind in spans:
            span = otlp_span(name, parent, first, last, kind=kind, trace=trace)
            found.append((last, otlp(**{f"s{service}": [span]})))
    return sorted(found, key=lambda one: one[0])


def pairs_of(rows: list[dict[str, Any]], names: dict[int, str]) -> set[Pair]:
    """Of each message that came too early, the latest finding, by spans."""
    latest: dict[tuple[str, int], tuple[int, Pair]] = {}
    for row in rows:
        place = names[row["process"]]
        pair = (place, row["early_span_id"], row["late_span_id"])
        key = (place, row["early_sequence"])
        found = (row["late_delivered_ns"], pair)
        latest[key] = max(latest.get(key, found), found)
    return {pair for _, pair in latest.values()}


def audited(folder: Path, out: Path) -> set[Pair]:
    """What the oracle finds in all of them."""
    summary = ingest_here([str(folder)], str(out), repair=False)
    assert summary is not None
    names = read_processes(out / "events")
    log = read_events(out / "events")
    spans = {
        (one.process, one.sender, one.sequence): one.span_id or ""
        for one in log
        if one.kind == "delivered"
    }
    return {
        (names[one.process], spans[one.process, *one.early], spans[one.process, *one.late])
        for one in check_log(log, order="trace").violations
    }


def test_the_mark_is_the_least_of_the_last_ends_less_the_longest_span() -> None:
    last = [
        Row(run_id="r", process="a", last_ns=900),
        Row(run_id="r", process="b", last_ns=700),
        Row(run_id="r", process="silent", last_ns=100),
    ]
    patient = WatchSettings(longest_ns=50, patience_ns=10_000)
    hasty = replace(patient, patience_ns=300)
    marks = {
        "patient": SpanWatch("out", patient)._marks(last, finished=False),
        "hasty": SpanWatch("out", hasty)._marks(last, finished=False),
        "finished": SpanWatch("out", patient)._marks(last, finished=True),
    }

    assert marks == {"patient": {"r": 50}, "hasty": {"r": 650}, "finished": {"r": 900}}


def test_processes_are_numbered_as_they_turn_up() -> None:
    last = [Row(run_id="r", process=name, last_ns=1) for name in ("c", "a", "b")]

    assert numbered({"b": 0}, last) == {"b": 0, "a": 1, "c": 2}


@pytest.mark.long
def test_spans_in_pieces_are_judged_as_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """JSON and Protocol Buffers; a file that is no trace is set aside.

    A run in which nothing came too early is judged first; the first piece is judged twice.
    """
    told = calls(1)
    most = len(told) * 3 // 4
    (tmp_path / "traces" / "run_id=a").mkdir(parents=True)
    calm = [json.dumps(document) for _, document in told[:1]]
    (tmp_path / "traces" / "run_id=a" / "0.jsonl").write_bytes(as_lines(*calm))
    out = tmp_path / "out"
    settings = WatchSettings(longest_ns=100 * MS, patience_ns=10**12, horizon_ns=10**12)

    def judge() -> None:
        traces = str(tmp_path / "traces")
        watch(spark, traces, str(out), settings, format_name="otlp", once=True).awaitTermination()

    for number, piece in enumerate((told[:most], told[most:])):
        documents = [document for _, document in piece]
        if number == 0:
            (tmp_path / "traces" / "1.jsonl").write_bytes(as_lines(*map(json.dumps, documents)))
            (tmp_path / "traces" / "odd.json").write_text("{oops\n")
        else:
            (tmp_path / "traces" / "2.pb").write_bytes(in_frames(map(request, documents)))
        if number == 0:  # It fails where it leaves its state; after that it goes on.
            out.mkdir()
            (out / "state").write_text("in the way")
            claim(out, ["state"], known=True)
            with pytest.raises(StreamingQueryException):
                judge()
            (out / "state").unlink()
        judge()
    finish(spark, str(out), settings, "otlp")

    rmtree(tmp_path / "traces" / "run_id=a")
    expected = audited(tmp_path / "traces", tmp_path / "whole")
    progress = read_progress(spark, str(out))
    rows = [row.asDict() for row in spark.read.parquet(str(out / "violations")).collect()]
    assert len(expected) > 3
    assert pairs_of(rows, read_processes(out)) == expected
    assert progress[0].violations > 0, "not all of it had to wait for the end"
    events = read_events(tmp_path / "whole" / "events")
    assert sum(one.events for one in progress) == len(events)
    rejects = spark.read.parquet(str(out / "rejects")).collect()
    assert [(row["source"].rpartition("/")[2], row["reason"]) for row in rejects] == [
        ("odd.json", "not JSON")
    ]
