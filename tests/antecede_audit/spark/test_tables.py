"""Tables of a catalogue in and out, and formats other than Parquet."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.orc as orc
import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from antecede_audit.jobs.ingest import ingest_here
from antecede_cli.main import main
from tests.antecede_audit.spans.samples import as_lines


@pytest.fixture
def database(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A database of the session's catalogue, in a folder of this test."""
    name = f"lake_{abs(hash(str(tmp_path)))}"
    spark.sql(f"create database {name} location '{tmp_path / 'lake'}'")
    yield f"spark_catalog.{name}"
    spark.sql(f"drop database {name} cascade")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--master", "local[2]"], prog_name="antecede")


def test_events_go_into_a_table_and_are_audited_from_there(database: str, tmp_path: Path) -> None:
    crossing = "sender,receiver,time_ms,received_ms"
    for run in ("one", "two"):
        letters = as_lines(crossing, "a,b,1,9", "a,c,2,3", "c,b,4,5", "a,b,20,21")
        (tmp_path / f"{run}.csv").write_bytes(letters)
        table = ("--to-table", f"{database}.events", "--table-format", "orc")
        out = str(tmp_path / "trace")
        assert invoke("ingest", str(tmp_path / f"{run}.csv"), "--out", out, *table).exit_code == 0
    again = invoke("ingest", str(tmp_path / "one.csv"), "--out", str(tmp_path / "again"), *table)
    assert again.exit_code == 2
    assert "has a run 'one' already" in again.output
    assert not (tmp_path / "again" / "summary.json").exists(), "all of it, or nothing"

    found = tmp_path / "found"
    done = invoke(
        *("audit", "--from-table", f"{database}.events", "--out", str(found)),
        *("--table-format", "orc"),
    )
    assert done.exit_code == 0, done.output
    summary = json.loads((found / "summary.json").read_text())
    assert (summary["runs"], sum(summary["violations"].values())) == (2, 2)
    files = [*(found / "violations").glob("*.orc")]
    rows = [row for file in files for row in orc.read_table(file).to_pylist()]
    assert sorted(row["run_id"] for row in rows) == ["one", "two"]


@pytest.mark.parametrize("format_name", ["delta", "iceberg"])
def test_a_format_that_spark_lacks_is_one_sentence(
    spark: SparkSession, tmp_path: Path, format_name: str
) -> None:
    assert spark.sparkContext.master == "local[2]"
    (tmp_path / "a.csv").write_bytes(as_lines("a,b,1"))
    assert ingest_here([str(tmp_path / "a.csv")], str(tmp_path / "t")) is not None
    done = invoke(
        "audit", str(tmp_path / "t"), "--out", str(tmp_path / "o"), "--table-format", format_name
    )

    assert done.exit_code == 2
    assert f"this Spark does not know the format {format_name}: it needs a package" in done.output


def test_a_table_that_is_not_there_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.sparkContext.master == "local[2]"
    done = invoke("audit", "--from-table", "nowhere.events", "--out", str(tmp_path / "o"))

    assert done.exit_code == 2
    assert "cannot read the table nowhere.events" in done.output
    assert not (tmp_path / "o").exists()
