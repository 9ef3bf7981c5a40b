"""Files that cannot be read, are damaged, or have changed: nobody is led to think all is there."""

import json
import os
import zlib
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede_audit.jobs.ingest import ingest_here
from antecede_audit.spans.reading import ReadOptions
from antecede_audit.spans.trace_files import find_files
from antecede_audit.spark.ingest import ingest
from antecede_audit.spark.readers import SpanReader
from antecede_cli.main import main
from tests.antecede_audit.spans.samples import (
    NEZHA_HEADER,
    as_gzip,
    as_lines,
    as_tar,
    as_zip,
    nezha_line,
)
from tests.antecede_audit.spans.test_small_job import tables_at

ERRORS_WHEN_READ: Final = Path("/proc/self/mem")
"""A file that anybody can open, and whose first byte nobody can read."""

GOOD: Final = as_lines("a,b,1", "b,a,2")

needs_proc = pytest.mark.skipif(
    not ERRORS_WHEN_READ.exists(), reason="this system has no file that errs when it is read"
)


def invoked(*arguments: str | Path) -> Result:
    """The command in this process, without Spark."""
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="antecede")


def many_lines(count: int) -> bytes:
    """Spans whose compressed form is long: client and server sides of calls."""
    lines = []
    for number in range(count):
        word = zlib.crc32(b"%d" % number)
        lines.append(nezha_line(f"{word:08x}a", "root", "web", 9 * number, 9 * number + 8))
        lines.append(
            nezha_line(f"{word:08x}b", f"{word:08x}a", "shop", 9 * number + 1, 9 * number + 2)
        )
    return as_lines(NEZHA_HEADER, *lines)


def flipped(data: bytes, place: int) -> bytes:
    """The data with one bit changed."""
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


@pytest.fixture(scope="module")
def flipped_gzip() -> bytes:
    """A compressed file of 6,000 spans with a bit flipped in its middle."""
    packed = as_gzip(many_lines(3_000))
    return flipped(packed, len(packed) // 2)


def write_unreadable(folder: Path, how: str) -> Path:
    """A file of which nothing can be used."""
    bad = folder / f"b.{'json' if how == 'refused' else 'json.gz'}"
    if how == "refused":
        bad.symlink_to(ERRORS_WHEN_READ)
    elif how == "header":
        bad.write_bytes(b"\x1f\x8b\x07" + as_gzip(GOOD)[3:])
    elif how == "gone":
        bad.symlink_to(folder / "nothing")
    elif how == "zip":
        bad.write_bytes(as_zip(a=GOOD)[:-30])
    else:
        pq.write_table(pa.table({"sender": ["a"], "receiver": ["b"], "time": [1]}), bad)
        bad.write_bytes(bad.read_bytes()[:-20])
    return bad


@needs_proc
@pytest.mark.parametrize("how", ["refused", "header", "gone", "zip", "parquet"])
def test_a_file_of_which_nothing_can_be_read_fails_an_ingest_of_many(
    tmp_path: Path, how: str
) -> None:
    traces, out = tmp_path / "traces", tmp_path / "out"
    traces.mkdir()
    (traces / "a.csv").write_bytes(GOOD)
    assert invoked("ingest", traces, "--out", out).exit_code == 0
    before = tables_at(out)
    bad = write_unreadable(traces, how)

    for paths in ([traces], [traces / "a.csv", bad]):
        done = invoked("ingest", *paths, "--out", out)
        assert done.exit_code == 2, done.output
        assert "cannot read" in done.stderr
        assert str(bad) in done.stderr
        assert "Traceback" not in done.output
    assert tables_at(out) == before
    assert invoked("ingest", "--check", traces).exit_code == 2


@needs_proc
def test_spark_fails_with_the_names_of_files_that_cannot_be_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    traces, out = tmp_path / "traces", tmp_path / "out"
    traces.mkdir()
    (traces / "a.csv").write_bytes(GOOD)
    refused, header = (write_unreadable(traces, how) for how in ("refused", "header"))

    with pytest.raises(LocalError) as failed:
        ingest(spark, [str(traces)], str(out))
    said = str(failed.value)
    assert f"{refused} (cannot be read: Input/output error)" in said
    assert f"{header} (damaged file (BadGzipFile))" in said
    assert not (out / "summary.json").exists()

    reader = SpanReader([str(refused)], ReadOptions(format_name="otlp"))
    with pytest.raises(LocalError, match=f"cannot read {refused}"):
        list(reader.read(reader.partitions()[0]))


def test_what_is_no_file_and_what_cannot_be_listed_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(LocalError, match=r"pipe: it is no file\. Save what a pipe has to one"):
        find_files([str(tmp_path / "pipe")])
    if os.geteuid() != 0:
        (tmp_path / "traces" / "closed").mkdir(parents=True)
        (tmp_path / "traces" / "a.csv").write_bytes(GOOD)
        (tmp_path / "traces" / "closed").chmod(0)
        with pytest.raises(LocalError, match="closed: Permission denied"):
            find_files([str(tmp_path / "traces")])


def test_a_flipped_bit_is_said_in_the_summary_and_by_the_exit_status(
    tmp_path: Path, flipped_gzip: bytes
) -> None:
    file, out = tmp_path / "a.csv.gz", tmp_path / "out"
    file.write_bytes(flipped_gzip)
    done = invoked("ingest", file, "--out", out)

    summary = json.loads((out / "summary.json").read_text())
    [damaged] = summary["damaged"]
    assert 0 < damaged["records"] < 6_000
    used = pq.read_table(out / "spans").num_rows
    assert (damaged["source"], damaged["records"]) == (str(file), used)
    assert damaged["reason"].startswith("damaged file (")
    assert summary["rejects_by_reason"][damaged["reason"]] == 1
    assert done.exit_code == 1
    assert f"{file}: {damaged['reason']}, {used:,} records before." in done.stderr
    assert "Truncated or damaged: used up to there" in done.stdout


def test_a_wrong_checksum_at_the_end_is_damage_too(tmp_path: Path) -> None:
    packed = as_gzip(GOOD)
    (tmp_path / "a.csv.gz").write_bytes(flipped(packed, len(packed) - 6))
    summary = ingest_here([str(tmp_path / "a.csv.gz")], str(tmp_path / "out"))

    assert summary is not None
    assert [(one.reason, one.records) for one in summary.damaged] == [
        ("damaged file (BadGzipFile)", 2)
    ]


def test_damaged_files_are_the_same_on_spark_and_after_more_batches(
    spark: SparkSession, tmp_path: Path, flipped_gzip: bytes
) -> None:
    """One of each sort: a bit, an archive that is cut, and a file that is whole."""
    tar = as_tar(**{"a.csv": GOOD, "b.csv": many_lines(3_000)})
    (tmp_path / "1.csv.gz").write_bytes(flipped_gzip)
    (tmp_path / "2.tgz").write_bytes(tar[: len(tar) // 2])
    (tmp_path / "3.csv").write_bytes(GOOD)
    paths = [str(tmp_path / name) for name in ("1.csv.gz", "2.tgz", "3.csv")]
    small = ingest_here(paths, str(tmp_path / "small"))
    large = ingest(spark, paths, str(tmp_path / "large"))
    for path in paths:
        added = ingest_here([path], str(tmp_path / "added"), append=True)

    assert small is not None
    assert small == large
    assert [one.source for one in small.damaged] == paths[:2]
    assert added is not None
    assert added.damaged == small.damaged
    assert tables_at(tmp_path / "small") == tables_at(tmp_path / "large")


def test_a_corrected_file_is_no_known_file(spark: SparkSession, tmp_path: Path) -> None:
    """Its size, its first and its last 64 KiB are what they were: one letter amid it is not."""
    file, out = tmp_path / "a.csv", str(tmp_path / "out")
    lines = [f"a,b,{number:06}" for number in range(30_000)]
    file.write_bytes(as_lines(*lines))
    ingest_here([str(file)], out)
    file.write_bytes(as_lines(*lines).replace(b"a,b,015000\n", b"a,c,015000\n"))
    (tmp_path / "copy.csv").write_bytes(as_lines(*lines))

    both = [str(file), str(tmp_path / "copy.csv")]
    summary = ingest(spark, both, out, append=True, run_id=None)
    assert (summary.skipped, summary.changed) == ([both[1]], [both[0]])
    assert summary.processes == 3
    again = invoked("ingest", *both, "--append", "--out", out)
    assert again.exit_code == 0, again.output
    assert "2 files were there already, and skipped." in again.stdout


def test_the_command_says_that_a_file_has_changed(tmp_path: Path) -> None:
    file, out = tmp_path / "a.csv", tmp_path / "out"
    file.write_bytes(GOOD)
    assert invoked("ingest", file, "--out", out).exit_code == 0
    file.write_bytes(GOOD.replace(b"2", b"3"))
    done = invoked("ingest", file, "--append", "--out", out)

    assert done.exit_code == 0, done.output
    assert "1 file was read before with other content" in " ".join(done.stdout.split())


def test_results_that_know_files_by_their_ends_are_not_added_to(tmp_path: Path) -> None:
    file, out = tmp_path / "a.csv", tmp_path / "out"
    file.write_bytes(GOOD)
    ingest_here([str(file)], str(out))
    [part] = (out / "files").iterdir()
    rows = pq.read_table(part)
    old = pa.array(["0123456789abcdef" * 2] * rows.num_rows)
    place = rows.schema.get_field_index("fingerprint")
    pq.write_table(rows.set_column(place, "fingerprint", old), part)

    with pytest.raises(LocalError, match=r"Ingest all files again, without --append"):
        ingest_here([str(file)], str(out), append=True)


def test_every_line_of_a_table_with_bad_times_is_accounted_for(tmp_path: Path) -> None:
    """Seconds since the year 0: the summary has them all, and says what to try."""
    file, out = tmp_path / "mail.txt", tmp_path / "out"
    file.write_bytes(as_lines(*[f"a{n % 9} b{n % 7} {63_800_000_000 + n}" for n in range(5_000)]))
    done = invoked("ingest", file, "--out", out)

    assert done.exit_code == 1, done.output
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["read"][0]["records"], summary["rejects"]) == (5_000, 5_000)
    rejects = pq.read_table(out / "rejects").sort_by("position")
    assert set(rejects["position"].to_pylist()) == {
        f"line {number}, column 3" for number in range(1, 5_001)
    }
    assert "--time-unit ms" in " ".join(done.stdout.split())
    fixed = invoked("ingest", file, "--time-unit", "ms", "--out", out)
    assert fixed.exit_code == 0, fixed.output
    assert json.loads((out / "summary.json").read_text())["copies"] == 5_000
