"""What fits into this process is ingested without Spark, to the very same tables."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from xxhash import xxh64_intdigest

from antecede.core.errors import LocalError
from antecede.eventlog.ownership import NOTE
from antecede_audit import shuffle
from antecede_audit.columns.hashing import SEED, hash_texts
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.spans.formats.records import MessageRecord, SpanRecord
from antecede_audit.spans.reading import ReadOptions, read_part
from antecede_audit.spans.trace_files import find_files, parts_of
from antecede_audit.spark.ingest import ingest
from antecede_cli.main import main
from tests.antecede_audit.spans.row_oracle import (
    copies_of,
    event_rows,
    happened,
    messages_among,
    work_rows,
)
from tests.antecede_audit.spans.samples import as_gzip, as_json, as_lines, otlp, otlp_span
from tests.antecede_audit.spans.test_job import write_samples

KINDS = (1, 2, 3, 4, 5)


def tables_at(out: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in the tables of an ingest; the order of rows says nothing."""
    found = {}
    for name in ("events", "workload", "processes", "spans", "lines", "rejects", "files"):
        if (out / name).is_dir():
            table = pq.read_table(out / name)
            columns = sorted(table.column_names)
            rows = [tuple(row[column] for column in columns) for row in table.to_pylist()]
            found[name] = sorted(rows, key=repr)
    return found


def random_requests(seed: int) -> bytes:
    """Traces with few times, many services, links and roots that are missing: all sorts of ties."""
    chance = random.Random(seed)
    lines = []
    for number in range(12):
        spans: dict[str, list[dict[str, Any]]] = {}
        names: list[str] = []
        for place in range(chance.randint(1, 9)):
            start = 10 * chance.randint(0, 5)
            parent = chance.choice([*names, "", "dead"]) if names else ""
            span = otlp_span(
                f"{number:02}{place}",
                parent,
                start,
                start + 10 * chance.randint(0, 4),
                kind=chance.choice(KINDS),
                trace=f"ab{number}",
            )
            if names and chance.random() < 0.3:
                span["links"] = [{"traceId": f"ab{number}", "spanId": chance.choice(names)}]
            names.append(f"{number:02}{place}")
            spans.setdefault(f"s{chance.randint(0, 3)}", []).append(span)
        lines.append(json.dumps(otlp(**spans)))
    return as_lines(*lines)


def random_letters(seed: int) -> bytes:
    """A message table with many equal times, some causes and lines that stand twice."""
    chance = random.Random(seed)
    lines = ["sender,receivers,time_ns,received_ns,cause"]
    for _ in range(120):
        time = 10 * chance.randint(1, 9)
        received = str(time + 5 * chance.randint(-1, 3)) if chance.random() < 0.7 else ""
        to = ";".join(chance.sample("abcd", chance.randint(1, 3)))
        cause = str(chance.randint(1, 100)) if chance.random() < 0.2 else ""
        lines.append(f"{chance.choice('abcd')},{to},{time},{received},{cause}")
    return as_lines(*lines)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    write_samples(folder)
    for seed in range(3):
        (folder / f"requests-{seed}.jsonl").write_bytes(random_requests(seed))
        (folder / f"letters-{seed}.csv").write_bytes(random_letters(seed))
    return folder


@pytest.mark.parametrize("repair", [True, False])
def test_the_tables_are_those_that_spark_makes(
    spark: SparkSession,
    tmp_path: Path,
    traces: Path,
    repair: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once with Spark's own ideas about partitions, as commands have it, and once in many tasks."""
    monkeypatch.setattr(shuffle, "PARTITION_ROWS", 1 << 19 if repair else 100)
    adapting = "spark.sql.adaptive.enabled"
    spark.conf.set(adapting, str(repair).lower())
    try:
        large = ingest(spark, [str(traces)], str(tmp_path / "large"), repair=repair, run_id="r/1")
    finally:
        spark.conf.set(adapting, "false")
    small = ingest_here([str(traces)], str(tmp_path / "small"), repair=repair, run_id="r/1")

    assert small == large
    assert tables_at(tmp_path / "small") == tables_at(tmp_path / "large")
    assert json.loads((tmp_path / "small" / "summary.json").read_text()) == large.as_object()


@pytest.mark.parametrize("repair", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_tables_are_those_of_the_oracle(tmp_path: Path, seed: int, repair: bool) -> None:
    """Spans and letters full of ties, links and circles; for the first of them, in all formats."""
    traces = tmp_path / "traces"
    traces.mkdir()
    if seed == 0:
        write_samples(traces)
    (traces / "requests.jsonl").write_bytes(random_requests(seed))
    (traces / "letters.csv").write_bytes(random_letters(seed))
    summary = ingest_here([str(traces)], str(tmp_path / "out"), repair=repair)
    assert summary is not None
    parts = parts_of(find_files([str(traces)]).files)
    records = [one for part in parts for one in read_part(part, ReadOptions())]
    spans = [record for *_, record in records if isinstance(record, SpanRecord)]
    copies = [
        (source, record) for *_, source, record in records if isinstance(record, MessageRecord)
    ]
    offsets = summary.clock_offsets_ns
    numbers = {name: number for number, name in enumerate(offsets)}
    events = happened(copies_of(messages_among(spans, copies, numbers), numbers, offsets))

    for name, rows in (("events", event_rows(events)), ("workload", work_rows(events))):
        found = pq.read_table(tmp_path / "out" / name).drop_columns("run_id").to_pylist()
        assert sorted(found, key=repr) == sorted(rows, key=repr), name


def test_the_hash_is_the_one_of_spark(spark: SparkSession) -> None:
    texts = ["", *("x" * length for length in range(1, 70)), "trace/span", "Grüße/42", "\U0001f600"]
    rows = [(place, text) for place, text in enumerate(texts)]
    hashed = spark.createDataFrame(rows, "place int, text string").select(
        "place", F.xxhash64("text").alias("hash")
    )

    found = [row["hash"] for row in hashed.orderBy("place").collect()]
    assert hash_texts(pa.array(texts)).tolist() == found


def test_spark_hashes_several_columns_each_with_the_one_before_as_its_seed(
    spark: SparkSession,
) -> None:
    row = spark.sql("select xxhash64('trace', cast(null as string), 'span') as hash").first()
    first = xxh64_intdigest(b"trace", SEED)
    second = xxh64_intdigest(b"span", first)

    assert row is not None
    assert row["hash"] % (1 << 64) == second


def test_what_is_too_much_or_elsewhere_is_left_to_spark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(as_lines("a,b,1", "a,b,2", "a,b,3"))
    path = str(tmp_path / "a.csv")

    assert ingest_here([path], str(tmp_path / "out"), rows_max=2) is None
    assert ingest_here([path], "s3://bucket/out") is None
    assert not (tmp_path / "out" / "events").exists()


def test_a_failed_ingest_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_bytes(as_lines("a,b,1"))
    (tmp_path / "b.csv").write_bytes(as_lines("a,c,2", "c,a,3"))
    out = tmp_path / "out"
    ingest_here([str(tmp_path / "a.csv")], str(out), run_id="first")
    before = tables_at(out)
    real = os.replace
    moves: list[object] = []

    def full_disk(source: str, target: str) -> None:
        if Path(target).parent == out:
            moves.append(target)
        if len(moves) == 4:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(LocalError, match="No space left"):
        ingest_here([str(tmp_path / "b.csv")], str(out), run_id="second")

    assert tables_at(out) == before
    assert json.loads((out / "summary.json").read_text())["run_id"] == "first"
    assert sorted(one.name for one in out.iterdir() if one.name.startswith(".")) == [NOTE]


def test_the_command_needs_no_java_for_a_few_spans(tmp_path: Path) -> None:
    (tmp_path / "seven.json.gz").write_bytes(
        as_gzip(as_json(otlp(a=[otlp_span(f"{n}", "", n, n + 1) for n in range(7)])))
    )
    command = [sys.executable, "-m", "antecede", "ingest", "seven.json.gz", "--out", "out"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"ANTECEDE_JAVA": "none"},
    )

    assert done.returncode == 1, done.stderr
    assert "7 │ records in 1 file: otlp" in done.stdout
    assert "No message was found." in done.stderr


def test_rejects_are_printed_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(as_lines("a,b,1", "a,b,soon", "a", "b,a,2"))
    ingest_here([str(tmp_path / "t.csv")], str(tmp_path / "out"))

    shown = CliRunner().invoke(
        main, ["ingest", "--show-rejects", str(tmp_path / "out")], env={"COLUMNS": "120"}
    )
    assert shown.exit_code == 0, shown.output
    for text in ("line 2, column 3", "time is not a time", "a,b,soon", "2 rejected."):
        assert text in shown.output, text
    lines = CliRunner().invoke(
        main, ["ingest", "--show-rejects", str(tmp_path / "out"), "--json", "--reason", "fewer"]
    )
    assert [json.loads(line)["position"] for line in lines.output.splitlines()] == ["line 3"]
    nothing = CliRunner().invoke(main, ["ingest", "--show-rejects", str(tmp_path)])
    assert nothing.exit_code == 2
    assert "not what an ingest left" in nothing.output
