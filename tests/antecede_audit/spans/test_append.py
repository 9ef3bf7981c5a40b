"""Traces that come in batches: all of them together are what they would have been at once."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog.ownership import NOTE
from antecede.eventlog.processes import read_processes
from antecede_audit.eventlog import read_events
from antecede_audit.jobs import ingest as steps_of_ingest
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.judging.oracle import check_log
from antecede_audit.spans.summary import IngestSummary
from antecede_audit.spark.ingest import ingest
from antecede_audit.spark.schemas import EVENTS, with_run_id
from antecede_audit.spark.table_formats import write_run
from antecede_cli.main import main
from tests.antecede_audit.spans.samples import as_gzip, as_json, as_lines, otlp, otlp_span
from tests.antecede_audit.spans.test_small_job import random_letters, random_requests, tables_at

SERVICES = 4


def crossing_requests(seed: int) -> list[str]:
    """A span on each line: a few services that call each other, one request overtaking the next."""
    chance = Random(seed)
    lines = []
    for number in range(12):
        trace = {"trace": f"ab{number % 3}"}
        caller, called = chance.sample(range(SERVICES), 2)
        name, start = f"{number:02}", 5 * number
        begins = start + chance.randint(-2, 60)
        call = otlp_span(f"{name}a", "", start, start + 90, kind=3, **trace)
        work = otlp_span(f"{name}b", f"{name}a", begins, begins + 8, kind=2, **trace)
        for service, span in ((caller, call), (called, work)):
            lines.append(json.dumps(otlp(**{f"s{service}": [span]})))
    chance.shuffle(lines)
    return lines


def findings(out: Path) -> tuple[Any, ...]:
    """What the oracle says of a log, with names instead of numbers."""
    names = read_processes(out / "events")
    log = read_events(out / "events")
    spans = {(one.process, one.sender, one.sequence): one.span_id for one in log}
    verdict = check_log(log)
    pairs = sorted(
        (names[one.process], spans[one.process, *one.early], spans[one.process, *one.late])
        for one in verdict.violations
    )
    return pairs, verdict.messages, verdict.deliveries, len(verdict.losses), verdict.self_causes


def batches_of(lines: Sequence[str], cuts: Sequence[int], folder: Path) -> list[Path]:
    """The lines as files, cut at these places."""
    edges = [0, *sorted({cut % (len(lines) + 1) for cut in cuts} - {0, len(lines)}), len(lines)]
    files = []
    for number, (start, end) in enumerate(pairwise(edges)):
        files.append(folder / f"{number}.jsonl")
        files[-1].write_bytes(as_lines(*lines[start:end]))
    return files


def added(files: Sequence[Path], out: Path) -> IngestSummary:
    """The files, one after the other."""
    found = [ingest_here([str(one)], str(out), append=True, run_id="run") for one in files]
    assert found[-1] is not None
    return found[-1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(1, 100), max_size=5))
def test_batches_are_judged_as_if_they_had_come_at_once(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("batches")
    files = batches_of(crossing_requests(seed), cuts, folder)
    whole = ingest_here([str(folder)], str(folder / "once"), run_id="run")
    last = added(files, folder / "batches")

    assert findings(folder / "batches") == findings(folder / "once")
    assert tables_at(folder / "batches") == tables_at(folder / "once")
    assert whole is not None
    assert last.as_object() == whole.as_object() | {"batches": len(files)}


def test_there_is_something_to_find_in_these_batches(tmp_path: Path) -> None:
    """Or the test above would show little."""
    found = set()
    for seed in range(10):
        (tmp_path / "a.jsonl").write_bytes(as_lines(*crossing_requests(seed)))
        ingest_here([str(tmp_path / "a.jsonl")], str(tmp_path / str(seed)))
        found.add(len(findings(tmp_path / str(seed))[0]))

    assert len(found - {0}) > 2


def test_batches_on_spark_are_those_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    """Spans and tables, in every way of mixing: Spark adds to what was small, and it to Spark's."""
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_bytes(random_requests(number))
        (tmp_path / f"{number}.csv").write_bytes(random_letters(number))
        batch = [str(tmp_path / f"{number}.{end}") for end in ("csv", "jsonl")]
        small = ingest_here(batch, str(tmp_path / "small"), append=True, run_id="r/1")
        out = str(tmp_path / "mixed")
        if number == 1:
            large = ingest(spark, batch, out, append=True, run_id=None)
        else:
            mixed = ingest_here(batch, out, append=True, run_id="r/1" if number == 0 else None)

    assert mixed is not None
    assert small == mixed
    assert (large.batches, large.run_id) == (2, "r/1")
    assert tables_at(tmp_path / "small") == tables_at(tmp_path / "mixed")
    known = ingest(spark, batch, out, append=True, run_id=None)
    assert known == IngestSummary.of_object(mixed.as_object() | {"skipped": sorted(batch)})


def test_what_was_read_is_skipped_whatever_it_is_called(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "monday.csv").write_bytes(as_lines("a,b,1", "b,a,2"))
    added([tmp_path / "monday.csv"], out)
    before = tables_at(out)
    (tmp_path / "copy.csv").write_bytes(as_lines("a,b,1", "b,a,2"))

    again = added([tmp_path / "copy.csv"], out)
    assert (again.messages, again.batches) == (2, 1)
    assert again.skipped == [str(tmp_path / "copy.csv")]
    assert tables_at(out) == before

    (tmp_path / "tuesday.csv").write_bytes(as_lines("a,b,3", "b,a,4"))
    both = ingest_here(
        [str(tmp_path / "copy.csv"), str(tmp_path / "tuesday.csv")],
        str(out),
        append=True,
        run_id=None,
    )
    assert both is not None
    assert (both.messages, both.batches, both.run_id) == (4, 2, "run")
    assert both.skipped == [str(tmp_path / "copy.csv")]


def test_a_parent_that_comes_later_makes_its_messages_later(tmp_path: Path) -> None:
    """Until then its child has a parent that is missing, and nothing is known to have caused it."""
    child = otlp(inner=[otlp_span("b", "a", 20, 30, kind=2)])
    parent = otlp(outer=[otlp_span("a", "", 0, 50, kind=2)])
    for name, document in (("1", child), ("2", parent)):
        (tmp_path / f"{name}.json.gz").write_bytes(as_gzip(as_json(document)))
    first = added([tmp_path / "1.json.gz"], tmp_path / "out")
    second = added([tmp_path / "2.json.gz"], tmp_path / "out")

    assert (first.messages, first.counts["missing_parents"]) == (0, 1)
    assert (second.messages, second.counts["missing_parents"]) == (2, 0)


def test_a_second_instance_gives_the_first_its_full_name(tmp_path: Path) -> None:
    for number, instance in enumerate("xy"):
        document = otlp(
            web=[otlp_span(f"{number}", "", 0, 9)],
            shop=[otlp_span(f"{number}a", f"{number}", 2, 3)],
        )
        document["resourceSpans"][0]["resource"]["attributes"].append(
            {"key": "host.name", "value": {"stringValue": instance}}
        )
        (tmp_path / f"{number}.json").write_bytes(as_json(document))
    names = []
    for number in range(2):
        added([tmp_path / f"{number}.json"], tmp_path / "out")
        names.append(sorted(read_processes(tmp_path / "out" / "events").values()))

    assert names == [["shop", "web"], ["shop", "web@x", "web@y"]]


def test_a_batch_that_fails_leaves_what_was_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for number in range(2):
        (tmp_path / f"{number}.csv").write_bytes(as_lines(f"a,b,{number + 1}"))
    added([tmp_path / "0.csv"], out)
    before, said = tables_at(out), (out / "summary.json").read_text()

    def full(*_: object) -> None:
        raise LocalError("no space left")

    monkeypatch.setattr(steps_of_ingest, "write_workload", full)
    with pytest.raises(LocalError, match="no space left"):
        ingest(spark, [str(tmp_path / "1.csv")], str(out), append=True, run_id="run")

    assert (tables_at(out), (out / "summary.json").read_text()) == (before, said)
    assert [one.name for one in out.iterdir() if one.name.startswith(".")] == [NOTE]


def test_only_a_run_of_its_own_can_be_added_to(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(as_lines("a,b,1"))
    (tmp_path / "b.csv").write_bytes(as_lines("a,b,2"))
    path, out = str(tmp_path / "b.csv"), tmp_path / "out"
    added([tmp_path / "a.csv"], out)

    with pytest.raises(LocalError, match="has the run 'run', and 'other' is another"):
        ingest_here([path], str(out), append=True, run_id="other")
    for file in (out / "files").iterdir():
        file.unlink()
    (out / "files").rmdir()
    with pytest.raises(LocalError, match="does not have the records it was made from"):
        ingest_here([path], str(out), append=True, run_id="run")


def test_the_command_adds_to_a_table_too(spark: SparkSession, tmp_path: Path) -> None:
    """The run in it is exchanged, and other runs stay."""
    name = f"append_{tmp_path.name.replace('-', '_')}"
    crossing = "sender,receiver,time_ms,received_ms"
    (tmp_path / "1.csv").write_bytes(as_lines(crossing, "a,b,1,9", "a,c,2,3"))
    (tmp_path / "2.csv").write_bytes(as_lines(crossing, "c,b,4,5", "a,b,20,21"))

    def run(file: str, *more: str) -> None:
        where = ("--out", str(tmp_path / "out"), "--to-table", name, "--master", "local[2]")
        done = CliRunner().invoke(main, ["ingest", str(tmp_path / file), *where, *more])
        assert done.exit_code == 0, done.output

    empty = (0, 0, "submitted", None, None, None, None, None, 1, 0, 0, None, None, "other")
    try:
        write_run(spark.createDataFrame([empty], with_run_id(EVENTS)), name, "other", "parquet")
        run("1.csv", "--run-id", "days")
        run("2.csv", "--append")
        rows = spark.table(name).collect()
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")

    assert sorted({row["run_id"] for row in rows}) == ["days", "other"]
    days = [row.asDict() for row in rows if row["run_id"] == "days"]
    written = pq.read_table(tmp_path / "out" / "events" / "run_id=days").to_pylist()
    assert sorted(map(repr, written)) == sorted(
        repr({key: row[key] for key in written[0]}) for row in days
    )
    assert len(findings(tmp_path / "out")[0]) == 1
