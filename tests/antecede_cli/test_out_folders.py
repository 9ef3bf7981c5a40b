"""No command replaces or removes a file that antecede did not write, wherever `--out` points.

There is no Java for these commands, so every refusal comes before Spark starts.
"""

from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner, Result

from antecede_cli.main import main

pytest.importorskip("pyspark", reason="Spark comes with the extra `lab`")

from pyspark import SparkContext

TRACE = "sender,receiver,time,received\na,b,1,5\nb,c,6,7\na,c,2,9\n"
GRID = """
protocols = ["rst"]
networks = ["reliable"]
processes = [2]
seeds = 1

[scenario.chatter]
workload = "poisson"
messages = 3
"""


EVALUATION = """
title = "Small"
protocols = ["rst"]
networks = ["reliable"]
seeds = 1

[trace.shop]
path = "a.csv"
format = "messages"
time_unit = "ms"

[scenario.shop]
of = "shop"
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs of all commands."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "a.csv").write_text(TRACE)
    (folder / "grid.toml").write_text(GRID)
    (folder / "evaluation.toml").write_text(EVALUATION)
    ran("ingest", str(folder / "a.csv"), "--time-unit", "ms", "--out", str(folder / "trace"))
    return folder


@pytest.fixture(autouse=True)
def folder(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, without Java; a session that other tests have opened is not lent."""
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTECEDE_JAVA", "none")
    copytree(trace, tmp_path, dirs_exist_ok=True)
    return tmp_path


def invoked(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), prog_name="antecede")


def ran(*arguments: str) -> None:
    result = invoked(*arguments)
    assert result.exit_code == 0, result.output


def files_in(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


COMMANDS = {
    "ingest": ["ingest", "a.csv", "--time-unit", "ms", "--out", "p"],
    "audit": ["audit", "trace", "--out", "p"],
    "profile": ["measure", "--workload", "trace", "--no-plots", "--out", "p"],
    "metrics": ["measure", "trace", "--out", "p"],
    "grow": ["lab", "grow", "trace", "-n", "5", "--out", "p"],
    "sweep": ["lab", "sweep", "grid.toml", "--events", "--out", "p"],
    "evaluate": ["lab", "evaluate", "evaluation.toml", "--data", ".", "--out", "p"],
    "watch": ["watch", "trace/events", "--once", "--out", "p"],
    "compare": ["lab", "compare", "--quick", "--ks", "--out", "p"],
    "demo": ["demo", "--quick", "--out", "p"],
}


@pytest.mark.parametrize(
    ("command", "theirs"),
    [
        ("ingest", "files/a.txt"),
        ("ingest", "spans/part-00000.parquet"),
        ("ingest", "summary.json"),
        ("audit", "losses/a.txt"),
        ("audit", "summary.json"),
        ("profile", "channels/a.txt"),
        ("profile", "plots/a.png"),
        ("profile", "summary.json"),
        ("metrics", "metrics.csv"),
        ("grow", "workload/a.txt"),
        ("sweep", "runs/a.parquet"),
        ("sweep", "events/a.txt"),
        ("sweep", "summary.json"),
        ("evaluate", "sweep/events/run_id=a/a.txt"),
        ("evaluate", "tables/answers.csv"),
        ("watch", "violations/a.txt"),
        ("watch", "state/0/a.txt"),
        ("watch", "index.html"),
        ("compare", "ks.md"),
        ("demo", "events/a.txt"),
        ("demo", "demo.json"),
    ],
)
def test_a_file_of_others_is_refused_and_stays(command: str, theirs: str, folder: Path) -> None:
    place = folder / "p" / theirs
    place.parent.mkdir(parents=True)
    place.write_text("theirs")

    result = invoked(*COMMANDS[command])

    assert result.exit_code == 2, result.output
    assert "would be lost" in result.output or "not from an earlier demo" in result.output
    assert files_in(folder / "p") == {theirs: b"theirs"}


@pytest.mark.parametrize("command", ["ingest", "audit", "profile", "metrics"])
def test_own_results_are_replaced_and_others_beside_them_stay(command: str, folder: Path) -> None:
    (folder / "p").mkdir()
    (folder / "p" / "notes.txt").write_text("theirs")
    for _ in range(2):
        ran(*COMMANDS[command])

    assert (folder / "p" / "notes.txt").read_text() == "theirs"


def test_what_others_add_to_our_tables_is_refused_and_stays(folder: Path) -> None:
    mine = folder / "trace" / "events" / "mine.txt"
    mine.write_text("theirs")

    result = invoked("ingest", "a.csv", "--time-unit", "ms", "--out", "trace")

    assert result.exit_code == 2
    assert "events/mine.txt would be lost" in result.output
    assert mine.read_text() == "theirs"


def test_more_is_added_to_an_ingest_of_a_version_without_notes(folder: Path) -> None:
    (folder / "trace" / ".antecede.json").unlink()
    (folder / "b.csv").write_text(TRACE.replace("a,", "d,"))
    added = ["ingest", "b.csv", "--time-unit", "ms", "--append", "--out", "trace"]
    (folder / "trace" / "lines" / "mine.txt").write_text("theirs")

    assert "lines/mine.txt would be lost" in invoked(*added).output
    (folder / "trace" / "lines" / "mine.txt").unlink()
    ran(*added)
    assert invoked("ingest", "a.csv", "--time-unit", "ms", "--out", "trace").exit_code == 0


def test_a_profile_does_not_replace_what_it_is_made_from(folder: Path) -> None:
    before = files_in(folder / "trace")
    result = invoked("measure", "--workload", "trace", "--out", "trace")
    assert result.exit_code == 2
    assert "a folder of its own" in result.output
    assert files_in(folder / "trace") == before
