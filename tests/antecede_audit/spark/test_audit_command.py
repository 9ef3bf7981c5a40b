"""`antecede audit`: what it prints, and its exit status."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from antecede.eventlog import EventLog, write_events
from antecede_cli.main import main
from tests.antecede_audit.judging.stories import ALICE, BOB, Story


def reversed_pair() -> EventLog:
    """Two messages of Alice, the second delivered first."""
    story = Story()
    first, second = story.send(ALICE, BOB), story.send(ALICE, BOB)
    story.deliver(BOB, second, first)
    return story.log


def invoke(*arguments: object) -> Result:
    words = ["audit", *(str(argument) for argument in arguments)]
    return CliRunner().invoke(main, words, prog_name="antecede")


def test_violations_are_told_and_fail_the_command_only_if_asked_to(tmp_path: Path) -> None:
    write_events(tmp_path / "log.parquet", reversed_pair())
    arguments = (tmp_path / "log.parquet", "--out", tmp_path / "out")

    result = invoke(*arguments, "--explain", 1)

    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "4 events: 2 messages, 2 deliveries, 2 processes" in said
    assert "1 message was delivered before one that caused it (50.00% of deliveries)" in said
    assert "P1 P0 themselves 1" in said
    assert "1. P1 delivered message 2 of P0 at 3 µs, but message 1 of P0" in said
    assert "P0 sent 1 to P1; then P0 sent 2 to P1." in said
    assert invoke(*arguments, "--fail-on-violation").exit_code == 1


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_log_without_deliveries_is_no_success(tmp_path: Path, more: list[str]) -> None:
    story = Story()
    story.send(ALICE, BOB)
    for log in (EventLog(), story.log):
        write_events(tmp_path / "log.parquet", log)
        arguments = (tmp_path / "log.parquet", "--out", tmp_path / "out", *more)

        assert invoke(*arguments).exit_code == 0
        result = invoke(*arguments, "--fail-on-violation")
        assert result.exit_code == 3
        assert result.stderr.startswith("Error: nothing was delivered in these logs")


@pytest.mark.usefixtures("spark")
def test_a_causal_log_passes_and_the_summary_can_be_json(tmp_path: Path) -> None:
    story = Story()
    story.deliver(BOB, story.send(ALICE, BOB))
    write_events(tmp_path / "log.jsonl", story.log)

    arguments = (tmp_path / "log.jsonl", "--out", tmp_path / "out", "--master", "local[2]")
    result = invoke(*arguments, "--json", "--fail-on-violation")

    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["held_back_ns"] is None


@pytest.mark.usefixtures("spark")
def test_runs_judged_without_a_clock_are_named(tmp_path: Path) -> None:
    story = Story()
    story.deliver(BOB, story.send(ALICE, BOB, at=5), at=1)
    write_events(tmp_path / "log.jsonl", story.log)

    result = invoke(tmp_path / "log.jsonl", "--out", tmp_path / "out", "--master", "local[2]")

    said = " ".join(result.stdout.split())
    assert "log: a message is delivered before it is submitted. It was judged by the order" in said
    assert "No message was delivered before one that caused it." in said


def test_times_that_clocks_got_wrong_are_readable(tmp_path: Path) -> None:
    story = Story()
    late, early = story.send(ALICE, BOB, at=0), story.send(ALICE, BOB, at=1)
    story.deliver(BOB, early, at=50_000)
    story.deliver(BOB, late, at=20_000)
    write_events(tmp_path / "log.jsonl", story.log)

    said = invoke(tmp_path / "log.jsonl", "--out", tmp_path / "out").stdout
    assert "-30.0 ms at most" in " ".join(said.split())


@pytest.mark.usefixtures("spark")
def test_a_damaged_log_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"process": 1\n')
    arguments = (tmp_path / "log.jsonl", "--out", tmp_path / "out")
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "log.jsonl, line 1: not JSON" in result.stderr

    result = invoke(*arguments, "--master", "local[2]")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: log: a line of it: not JSON")


def test_an_empty_log_is_not_praised(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").touch()
    result = invoke(tmp_path / "log.jsonl", "--out", tmp_path / "out")

    assert result.exit_code == 0
    assert "Nothing was delivered, so nothing was judged" in result.stdout
    assert "No message was delivered before" not in result.stdout


def test_a_missing_log_is_one_sentence_and_starts_nothing(tmp_path: Path) -> None:
    result = invoke(tmp_path / "log.jsonl", "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert "there is no such file" in result.stderr
    assert not (tmp_path / "out").exists()


def test_without_java_the_command_says_what_to_install(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert spark is not None
    write_events(tmp_path / "log.jsonl", reversed_pair())
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.setenv("ANTECEDE_JAVA", "none")

    result = invoke(tmp_path / "log.jsonl", "--out", tmp_path / "out", "--master", "local[2]")

    assert result.exit_code == 2
    assert "Spark needs Java 17 or newer" in result.stderr
