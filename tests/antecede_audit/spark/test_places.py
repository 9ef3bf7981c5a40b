"""Paths that only Hadoop knows: the whole chain on a mount of `viewfs`, which needs no server."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede_audit.jobs.audit import audit_here
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.paths import scheme_of
from antecede_audit.spark.session import open_session
from antecede_audit.spark.storage import Storage, is_local_path
from antecede_cli.main import main
from tests.antecede_audit.spans.samples import as_gzip, as_lines


def crossing_letters(count: int) -> bytes:
    """A table in which letters overtake each other."""
    chance = Random(1)
    lines = ["sender,receivers,time_ms,received_ms"]
    for time in range(count):
        sender, target = chance.sample("abcd", 2)
        lines.append(f"{sender},{target},{time},{time + chance.randint(1, 40)}")
    return as_gzip(as_lines(*lines, "a,b,soon,"))


def mount(spark: SparkSession, name: str, folder: Path) -> str:
    """A folder as a place that only Hadoop knows."""
    settings = spark._jsc.hadoopConfiguration()
    settings.set(f"fs.viewfs.mounttable.{name}.link./data", folder.as_uri())
    return f"viewfs://{name}/data"


@pytest.fixture
def default_elsewhere(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A folder of the file system that scheme-less paths mean meanwhile."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount(spark, f"default-{tmp_path.name}", folder)
    settings = spark._jsc.hadoopConfiguration()
    before = settings.get("fs.defaultFS")
    settings.set("fs.defaultFS", f"viewfs://default-{tmp_path.name}/")
    yield "/data"
    settings.set("fs.defaultFS", before)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(main, list(arguments), prog_name="antecede")
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.stdout


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the chain comes to on this machine."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "letters.csv.gz").write_bytes(crossing_letters(60))
    ingest_here([str(folder / "letters.csv.gz")], str(folder / "trace"), run_id="r")
    audit_here([str(folder / "trace")], str(folder / "found"))
    return folder


def check_chain(spark: SparkSession, top: str, disk: Path, here: Path) -> None:
    """Ingest, audit, metrics, report below `top`, which is `disk`; all as on this machine."""
    master = spark.sparkContext.master
    assert master == "local[2]"
    (disk / "in").mkdir()
    (disk / "in" / "letters.csv.gz").write_bytes(crossing_letters(60))
    run("ingest", f"{top}/in", "--run-id", "r", "--out", f"{top}/trace", "--master", master)
    run("audit", f"{top}/trace", "--out", f"{top}/found", "--master", master, "--explain", "1")
    run("measure", f"{top}/trace", "--out", f"{top}/figures", "--master", master)
    page = disk.parent / "report.html"
    run("report", f"{top}/trace", f"{top}/found", "--out", str(page), "--master", master)

    assert sorted(one.name for one in (disk / "trace").iterdir() if one.name[0] != ".") == [
        *("events", "files", "lines", "processes", "rejects", "summary.json", "workload")
    ]
    assert not [one for one in disk.rglob("*") if one.name.endswith((".unfinished", ".replaced"))]
    said = [json.loads((top / "found" / "summary.json").read_text()) for top in (here, disk)]
    assert {**said[0], "method": {}} == {**said[1], "method": {}}
    assert sum(said[0]["violations"].values()) > 0, "or this would show nothing"
    for table in ("trace/events", "trace/workload", "trace/processes", "found/violations"):
        assert rows_at(here / table) == rows_at(disk / table), table
    [reject] = pq.read_table(disk / "trace" / "rejects").to_pylist()
    assert (reject["position"], reject["reason"]) == ("line 62, column 3", "time is not a time")
    figures = json.loads((disk / "figures" / "metrics.json").read_text())
    assert [run["messages"] for run in figures] == [60]
    assert "too early" in page.read_text()


def rows_at(folder: Path) -> list[str]:
    """The rows of a table; their order says nothing."""
    return sorted(map(repr, pq.read_table(folder).to_pylist()))


def test_the_whole_chain_where_only_hadoop_reads(
    here: Path, spark: SparkSession, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()

    check_chain(spark, mount(spark, f"chain-{tmp_path.name}", disk), disk, here)


@pytest.mark.long
def test_the_whole_chain_where_the_default_is_elsewhere(
    here: Path, spark: SparkSession, default_elsewhere: str, tmp_path: Path
) -> None:
    assert not Path(default_elsewhere).exists(), "on this machine there is no such folder"

    check_chain(spark, default_elsewhere, tmp_path / "disk", here)
    assert not Path(default_elsewhere).exists()


def test_a_path_without_a_scheme_is_where_spark_has_it(
    spark: SparkSession, default_elsewhere: str, tmp_path: Path
) -> None:
    places = Storage(spark)
    with places.replacing(f"{default_elsewhere}/out", ["summary.json"]) as stage:
        places.write(f"{stage}/summary.json", b"done")

    assert (tmp_path / "disk" / "out" / "summary.json").read_bytes() == b"done"
    assert places.exists(f"{default_elsewhere}/out/summary.json")
    assert places.local(default_elsewhere) is None
    assert places.local(f"file://{tmp_path}") == tmp_path
    assert not is_local_path(default_elsewhere)


def test_files_of_others_elsewhere_are_refused_and_stay(
    spark: SparkSession, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    (disk / "out" / "table").mkdir(parents=True)
    mine = disk / "out" / "table" / "mine.txt"
    mine.write_text("theirs")
    top = mount(spark, f"theirs-{tmp_path.name}", disk)
    places = Storage(spark)
    names = ["table", "summary.json"]

    def write() -> None:
        with places.replacing(f"{top}/out/", names) as stage:
            spark.range(3).write.parquet(f"{stage}/table")
            places.write(f"{stage}/summary.json", b"done")

    for attempt in (write, lambda: places.claim(f"{top}/out", names)):
        with pytest.raises(LocalError, match=r"table/mine\.txt would be lost"):
            attempt()
    assert mine.read_text() == "theirs"
    mine.unlink()
    write()
    write()
    mine.write_text("theirs")
    with pytest.raises(LocalError, match=r"table/mine\.txt would be lost"):
        write()
    assert mine.read_text() == "theirs"
    mine.unlink()
    assert pq.read_table(disk / "out" / "table").num_rows == 3


def test_a_failed_job_leaves_the_old_results_elsewhere_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    top = mount(spark, f"failed-{tmp_path.name}", disk)
    places = Storage(spark)
    for attempt in ("old", "new"):
        with places.replacing(f"{top}/out", ["table", "gone", "summary.json"]) as stage:
            spark.range(3 if attempt == "old" else 4).write.parquet(f"{stage}/table")
            if attempt == "old":
                places.write(f"{stage}/gone", b"only the first has it")
            places.write(f"{stage}/summary.json", attempt.encode())

    def fail() -> None:
        with places.replacing(f"{top}/out", ["table", "summary.json"]) as stage:
            spark.range(9).write.parquet(f"{stage}/table")
            spark.range(9).selectExpr("raise_error('no')").write.parquet(f"{stage}/other")

    with pytest.raises(PySparkException):
        fail()

    assert spark.read.parquet(f"{top}/out/table").count() == 4
    assert places.contents(f"{top}/out/summary.json").popitem()[1] == b"new"
    assert sorted(one.name for one in (disk / "out").iterdir() if one.name[0] != ".") == [
        "summary.json",
        "table",
    ]


def test_a_rename_that_fails_puts_everything_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    top = mount(spark, f"rename-{tmp_path.name}", disk)
    places = Storage(spark)
    with places.replacing(f"{top}/out", ["a", "b"]) as stage:
        places.write(f"{stage}/a", b"old a")
        places.write(f"{stage}/b", b"old b")
    real = Storage._rename

    def refused(self: Storage, source: str, target: str) -> None:
        if target.endswith("/out/b"):
            monkeypatch.setattr(Storage, "_rename", real)
            raise LocalError("refused")
        real(self, source, target)

    def replace() -> None:
        with places.replacing(f"{top}/out", ["a", "b"]) as stage:
            places.write(f"{stage}/a", b"new a")
            places.write(f"{stage}/b", b"new b")

    monkeypatch.setattr(Storage, "_rename", refused)
    with pytest.raises(LocalError, match="refused"):
        replace()

    assert [one.read_text() for one in (disk / "out" / "a", disk / "out" / "b")] == [
        "old a",
        "old b",
    ]


def test_what_is_not_there_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    top = mount(spark, f"empty-{tmp_path.name}", tmp_path)
    for command in (["audit", f"{top}/no"], ["ingest", f"{top}/no"]):
        done = CliRunner().invoke(main, [*command, "--out", f"{top}/out", "--master", "local[2]"])
        assert done.exit_code == 2
        assert f"cannot read {top}/no" in done.output


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        ("s3a://b/x", "s3a"),
        ("file:/x", "file"),
        ("/x:/y", ""),
        ("x", ""),
        ("a/b:/c", ""),
        ("viewfs://t/x", "viewfs"),
    ],
)
def test_a_scheme_stands_before_everything(path: str, scheme: str) -> None:
    assert scheme_of(path) == scheme


def test_paths_here_are_known_before_spark_starts(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_session("lent") as lent:
        assert lent is spark
    assert is_local_path("traces")
    assert not is_local_path("s3a://bucket/traces")
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    assert is_local_path("traces")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert not is_local_path("traces")
