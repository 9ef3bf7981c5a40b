"""Files that other programs wrote, in their own types, and in folders that look like patterns."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]  # its types are a package of their own
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.eventlog import NULL, TRANSMITTED, Event, EventLog
from antecede.eventlog.rules import INTEGERS, JUDGED
from antecede.eventlog.schema import ALL_COLUMNS
from antecede_audit.eventlog import read_events
from antecede_audit.eventlog.reader import log_of
from antecede_audit.jobs.audit import audit_here
from antecede_audit.jobs.measure import measure_here
from antecede_audit.judging.oracle import check_log
from antecede_audit.report.spacetime.recording import rows_of_files
from antecede_audit.spark import audit as library
from antecede_audit.spark.audit import audit_logs
from antecede_audit.spark.measure import measure_logs
from antecede_audit.spark.watch.state import WatchSettings
from antecede_audit.spark.watch.watch import Format, watch
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, Story

ODD = "logs [a] {b,c} d* e? \\f"
"""A folder that Spark would take for a pattern."""


def told() -> list[Event]:
    """Bob's answer overtakes at Carol; and an ack, a packet without a message."""
    story = Story()
    slow = story.send(ALICE, CAROL)
    story.deliver(BOB, story.send(ALICE, BOB))
    story.deliver(CAROL, story.send(BOB, CAROL), slow)
    log: EventLog = story.log
    ack = log.intern("ack")
    log.append(CAROL, TRANSMITTED, NULL, NULL, ALICE, 1, ack, 10_000_000, 0, 2)
    return list(log)


def rows() -> list[dict[str, object]]:
    return [asdict(event) for event in told()]


def with_pandas(path: Path) -> None:
    """Integers of 64 bits, floats where something is null, and columns of nothing."""
    pd.DataFrame(rows()).to_parquet(path)


def with_nullable_pandas(path: Path) -> None:
    frame = pd.DataFrame(rows()).convert_dtypes()
    frame["kind"] = frame["kind"].astype("category")
    frame.to_parquet(path)


def with_polars(path: Path) -> None:
    """Unsigned integers, and texts in dictionaries."""
    frame = pl.DataFrame(rows(), infer_schema_length=None).with_columns(
        *(pl.col(name).cast(pl.UInt64) for name in INTEGERS if name not in ("time_ns", "process")),
        pl.col("process").cast(pl.UInt16),
        pl.col("kind").cast(pl.Categorical()),
    )
    frame.write_parquet(path)


DUCKDB = """
import json, sys
import duckdb

types, rows, path = json.load(sys.stdin)
with duckdb.connect() as database:
    database.execute(f"CREATE TABLE log ({', '.join(map(' '.join, types.items()))})")
    marks = ", ".join("?" for _ in types)
    database.executemany(f"INSERT INTO log VALUES ({marks})", [[*row.values()] for row in rows])
    database.execute(f"COPY log TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
"""


def with_duckdb(path: Path) -> None:
    """In a process of its own: at the end of one that has Java in it, it reports leaks."""
    types = dict.fromkeys(ALL_COLUMNS, "VARCHAR") | dict.fromkeys(INTEGERS, "UBIGINT")
    types |= {"time_ns": "BIGINT", "target": "UTINYINT"}
    told = json.dumps([types, rows(), str(path)])
    subprocess.run([sys.executable, "-c", DUCKDB], input=told, text=True, check=True)


def with_large_texts(path: Path) -> None:
    table = pa.Table.from_pylist(rows())
    for name in ("kind", "packet_kind"):
        place = table.schema.get_field_index(name)
        coded = table[name].cast(pa.large_string()).dictionary_encode()
        table = table.set_column(place, name, coded)
    pq.write_table(table, path)


WRITERS: dict[str, Callable[[Path], None]] = {
    "pandas": with_pandas,
    "nullable": with_nullable_pandas,
    "polars": with_polars,
    "duckdb": with_duckdb,
    "large": with_large_texts,
}


def with_few_columns(path: Path) -> None:
    """What an audit reads, and nothing else."""
    pd.DataFrame(rows())[list(JUDGED)].to_parquet(path)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each program, and one of JSON lines."""
    folder = tmp_path_factory.mktemp("others") / ODD
    folder.mkdir()
    files = {name: folder / f"{name}.parquet" for name in (*WRITERS, "few")}
    for name, file in files.items():
        WRITERS.get(name, with_few_columns)(file)
    files["lines"] = folder / "lines.jsonl"
    files["lines"].write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return files


@pytest.mark.parametrize("name", [*WRITERS, "lines"])
def test_a_log_of_others_is_read_as_it_was_written(name: str, written: dict[str, Path]) -> None:
    assert list(read_events(written[name])) == told()
    drawn, ours = rows_of_files([written[name]]), rows_of_files([written["lines"]])
    assert (sorted(drawn.rows), drawn.packet_kinds) == (sorted(ours.rows), ours.packet_kinds)
    (measured,) = measure_here([str(written[name])]) or []
    (expected,) = measure_here([str(written["lines"])]) or []
    assert measured == {**expected, "run_id": name}


def test_every_audit_says_the_same_of_all_of_them(
    spark: SparkSession, written: dict[str, Path], tmp_path: Path
) -> None:
    """On Spark all at once: a folder of runs, each in other types, and files alone."""
    mixed = tmp_path / "[mixed]"
    for name, file in written.items():
        (mixed / f"run_id={name}").mkdir(parents=True)
        (mixed / f"run_id={name}" / file.name).write_bytes(file.read_bytes())
    paths = [str(mixed), str(written["pandas"]), str(written["lines"])]
    runs = len(written) + 2
    here = audit_here(paths, str(tmp_path / "here"), explain=runs)
    there = audit_logs(spark, paths, str(tmp_path / "there"), explain=runs)

    assert here is not None
    assert here == there
    assert here.summary.violation_count == runs
    assert here.summary.events == runs * len(told())
    (alone,) = {str(violation) for _, violation in here.worst}
    (expected,) = check_log(log_of(told())).violations
    assert alone == str(expected)


def test_rows_in_types_of_others_are_judged_and_measured(
    spark: SparkSession, written: dict[str, Path], tmp_path: Path
) -> None:
    """Of one who has read the file with Spark, where 64 bits without a sign are decimals."""
    (tmp_path / "log").mkdir()
    for name in ("polars", "pandas"):
        (tmp_path / "log" / f"{name}.parquet").write_bytes(written[name].read_bytes())
    frame = spark.read.parquet(str(tmp_path / "log" / "polars.parquet"))
    # Columns of their own are none of our business, whatever they are called.
    with library.audit(frame.withColumns({"reason": F.lit("mine"), "source": F.lit(7)})) as found:
        assert found.violations.count() == 1
    (measured,) = measure_logs(spark, [str(written["pandas"])])
    (expected,) = measure_here([str(written["lines"])]) or []
    assert measured["messages"] == expected["messages"]
    assert measured["metadata_bytes"] == expected["metadata_bytes"]


@pytest.mark.parametrize("name", ["pandas", "lines"])
def test_a_watch_reads_them_too(
    name: str, spark: SparkSession, written: dict[str, Path], tmp_path: Path
) -> None:
    """And finds its own state again, in a folder that looks like a pattern."""
    log, out = tmp_path / ODD / "log", tmp_path / ODD / "out"
    log.mkdir(parents=True)
    (log / written[name].name).write_bytes(written[name].read_bytes())
    format_name: Format = "json" if name == "lines" else "parquet"
    for _ in range(2):
        settings = WatchSettings(order="process", patience_ns=0)
        query = watch(spark, str(log), str(out), settings, format_name=format_name, once=True)
        query.awaitTermination()

    assert not (out / "rejects").exists()
    found = pq.read_table(str(out / "violations")).to_pylist()
    assert [(row["process"], row["early_sender"], row["late_sender"]) for row in found] == [
        (CAROL, BOB, ALICE)
    ]
