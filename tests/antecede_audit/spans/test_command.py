"""`antecede ingest` as an operator meets it."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from antecede_audit.spans.summary import Contradiction, FormatCount, IngestSummary, run_named
from antecede_cli.audit.ingest_tables import period_text, print_summary
from antecede_cli.console import Console
from antecede_cli.main import main
from tests.antecede_audit.spans.samples import as_gzip, as_lines

SUMMARY = IngestSummary(
    run_id="shop",
    messages=1_200,
    copies=3_400,
    processes=5,
    rejects=7,
    first_ns=1_000_000_000,
    last_ns=4_000_000_000,
    read=[FormatCount(format="otlp", files=2, records=9_000)],
    rejects_by_reason={"no spanId": 6, "not JSON [at all]": 1},
    counts={"duplicate_spans": 12, "received_before_sent": 80, "clamped": 3, "causes_cut": 0},
    repaired=True,
    clock_offsets_ns={"web@a": -1_500_000, "web@b": 0, "db": 20_000_000},
    contradictions=[
        Contradiction(
            sender="web@a",
            receiver="db",
            copies=50,
            backwards=3,
            smallest_ns=-7_000,
            median_ns=4_000_000,
            basis="median",
        )
    ],
    passed_over=["/x/README.md"],
)


def page(summary: IngestSummary) -> str:
    """What is printed, without the lines of tables and with single spaces."""
    console = Console(file=io.StringIO(), width=110, highlight=False)
    print_summary(console, summary, "out/dir")
    assert isinstance(console.file, io.StringIO)
    plain = "".join(" " if letter in "│┃┏┓└┘┌┐" else letter for letter in console.file.getvalue())
    return "\n".join(" ".join(line.split()) for line in plain.splitlines())


def test_an_operator_reads_what_was_read_and_what_was_not() -> None:
    text = page(SUMMARY)

    for line in (
        "9,000 records in 2 files: otlp",
        "1,200 messages",
        "3,400 copies (messages x destinations)",
        "5 processes",
        "3.00 s from first to last event",
        "7 rejected",
        "6 no spanId",
        "1 not JSON [at all]",
        "Each with its place and an excerpt: antecede ingest --show-rejects out/dir",
        "12 spans were recorded twice: the first record counts",
        "80 copies were received before they were sent, by the recorded clocks",
        "1 other file was passed over in the folders.",
        "The tables are in out/dir.",
    ):
        assert line in text.splitlines(), line
    assert "causes" not in text, "what did not happen is not mentioned"


def test_an_operator_reads_which_clocks_were_moved_and_where_that_is_no_use() -> None:
    text = page(SUMMARY)

    assert text.index("db +20.0 ms") < text.index("web@a -1.50 ms"), "the furthest first"
    assert "web@b" not in text
    assert "web@a db 50 3 -7.00 µs +4.00 ms" in text


def test_clocks_that_were_left_alone_are_said_to_be() -> None:
    text = page(replace(SUMMARY, repaired=False, clock_offsets_ns={"a": 0}, contradictions=[]))

    assert "Clocks were not repaired (--no-repair)." in text


def test_long_lists_are_cut() -> None:
    offsets = {f"p{number}": number + 1 for number in range(40)}
    reasons = {f"reason {number}": 2 for number in range(20)}
    text = page(replace(SUMMARY, clock_offsets_ns=offsets, rejects_by_reason=reasons))

    assert "and 28 more, less far" in text
    assert "16 other reasons" in text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b/media_load25.tar.xz", "media_load25"),
        ("traces/", "traces"),
        ("s3://bucket/x.json", "x"),
        ("/", "ingested"),
        ("..", "ingested"),
    ],
)
def test_a_run_is_called_after_its_file(path: str, name: str) -> None:
    assert run_named(path) == name


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [(5_000_000, "5.00 ms"), (9 * 3_600 * 10**9, "9.0 hours"), (3 * 86_400 * 10**9, "3.0 days")],
)
def test_long_periods_are_told_in_hours_and_days(duration_ns: int, text: str) -> None:
    assert period_text(duration_ns) == text


def test_help_shows_formats_and_examples() -> None:
    result = CliRunner().invoke(main, ["ingest", "--help"], prog_name="antecede")

    assert result.exit_code == 0
    assert "antecede ingest spans/ --no-repair --out raw" in result.output
    assert "zipkin" in result.output


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own: there can be only one Spark in this one."""
    command = [sys.executable, "-m", "antecede", "ingest", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def check_letters(tmp_path: Path, invoke: Callable[[list[str]], tuple[int, str, str]]) -> None:
    """Ingest a small table, and look at what was said and left."""
    table = tmp_path / "letters.csv.gz"
    table.write_bytes(as_gzip(as_lines("a,b;c,1", "b,a,2", "b,a,3,2", "oops")))
    out = tmp_path / "out"
    status, said, whispered = invoke([str(table), "--out", str(out)])

    assert status == 0, whispered
    assert "3 │ messages" in said
    assert "fewer than three columns" in said
    assert "WARN" not in whispered
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["messages"], summary["copies"], summary["processes"]) == (3, 4, 3)
    assert summary["rejects"] == 1
    assert summary["run_id"] == "letters"
    assert summary["clock_offsets_ns"].keys() == {"a", "b", "c"}
    assert (out / "events" / "run_id=letters").is_dir()


@pytest.mark.parametrize("master", [["--master", "local[2]"], []], ids=["on Spark", "small"])
def test_the_command_reads_writes_and_tells(
    spark: SparkSession, tmp_path: Path, master: list[str]
) -> None:
    """On the session of all tests, if on any."""
    assert spark.sparkContext.master == "local[2]"

    def invoke(arguments: list[str]) -> tuple[int, str, str]:
        done = CliRunner().invoke(main, ["ingest", *arguments, *master], prog_name="antecede")
        return done.exit_code, done.stdout, done.stderr

    check_letters(tmp_path, invoke)


@pytest.mark.long
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_the_command_starts_spark_and_real_executors(tmp_path: Path, master: str) -> None:
    def invoke(arguments: list[str]) -> tuple[int, str, str]:
        done = run(*arguments, "--master", master)
        return done.returncode, done.stdout, done.stderr

    check_letters(tmp_path, invoke)


def test_a_missing_file_is_one_clear_sentence(tmp_path: Path) -> None:
    done = run(str(tmp_path / "nothing.json"), "--out", str(tmp_path / "out"))

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: cannot read ")
    assert not (tmp_path / "out").exists()
