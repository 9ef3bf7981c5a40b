"""A mistake in the arguments is told at once, and not after Spark has started.

There is no Java for these commands: whoever starts Spark says so, instead of naming the mistake.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from antecede_cli.main import main

pytest.importorskip("pyspark", reason="Spark comes with the extra `lab`")

from pyspark import SparkContext


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that other tests have opened in this process would be lent to the commands."""
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["measure", "--workload", "nothere"], "nothere does not exist"),
        (["measure", "nothere"], "nothere does not exist"),
        (["measure", "x", "--run", "y"], "--run, --sample-above and --plots need --workload"),
        (["measure", "--workload", "x", "y"], "--workload takes one PATH"),
        (["measure", "--workload", "x", "--no-non-causal"], "has no meaning with --workload"),
        (["lab", "grow", "nothere", "-n", "5", "--out", "grown"], "nothere does not exist"),
        (["lab", "grow", ".", "-n", "0", "--out", "grown"], "0 processes are outside 1 to"),
        (["lab", "grow", ".", "-n", "5", "-m", "0", "--out", "grown"], "at least one message"),
        (
            ["lab", "grow", ".", "-n", "5", "--load", "0", "--out", "grown"],
            "load and speed must be more",
        ),
        (["lab", "grow", ".", "-n", "5", "--out", "/proc/x"], "cannot write /proc/x"),
        (["measure", "--workload", ".", "--out", "/proc/x"], "cannot write /proc/x"),
        (["measure", ".", "--out", "/proc/x"], "cannot write /proc/x"),
        (["ingest", "a.csv", "--out", "/proc/x"], "cannot write /proc/x"),
        (["ingest", "nothere", "--out", "out"], "nothere"),
    ],
)
def test_a_mistake_need_not_wait_for_spark(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTECEDE_JAVA", "none")
    (tmp_path / "a.csv").write_text("sender,receiver,time\na,b,1\n")

    result = CliRunner().invoke(main, arguments, prog_name="antecede")

    assert result.exit_code == 2
    assert complaint in result.output
    assert "Java" not in result.output


def test_what_is_right_gets_as_far_as_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above would see it if Spark were started first."""
    monkeypatch.setenv("ANTECEDE_JAVA", "none")
    result = CliRunner().invoke(
        main, ["measure", "--workload", str(tmp_path)], prog_name="antecede"
    )
    assert result.exit_code == 2
    assert "Java" in result.output


def test_what_is_small_needs_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a table of messages to its profile, its figures and its verdict."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTECEDE_JAVA", "none")
    lines = ["sender,receiver,time,received", "a,b,1,5", "b,c,6,7", "a,c,2,9"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    for arguments in (
        ["ingest", "a.csv", "--time-unit", "ms", "--out", "in"],
        ["measure", "--workload", "in", "--no-plots"],
        ["measure", "in", "--out", "figures"],
        ["audit", "in", "--out", "found"],
    ):
        result = CliRunner().invoke(main, arguments, prog_name="antecede")
        assert result.exit_code == 0, result.output
    assert (tmp_path / "in" / "profile" / "summary.json").is_file()
    assert (tmp_path / "figures" / "metrics.csv").is_file()
    assert (tmp_path / "found" / "summary.json").is_file()
