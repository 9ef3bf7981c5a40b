"""`antecede lab sweep` and `antecede measure` as people use them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from antecede_audit.spark import session as session_module
from antecede_cli.main import main
from tests.antecede_lab.sweep.grids import grid_file

GRID = """
protocols = ["hybrid", "none", "mf"]
networks = ["reliable"]
[scenario.chatter]
messages = 40
set.multicast = "50%"
"""


@pytest.fixture
def one_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands use the session of all tests: there cannot be two in one process."""

    @contextmanager
    def opened(_name: str, **_options: object) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(session_module, "open_session", opened)


def test_mistake_in_a_grid_is_one_sentence_and_starts_nothing(tmp_path: Path) -> None:
    file = grid_file(tmp_path, "[scenario.a]\nmessage = 5")
    result = CliRunner().invoke(main, ["lab", "sweep", str(file), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert "scenario 'a': there is no 'message'" in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("one_session")
def test_sweep_shows_what_came_of_it_and_its_logs_can_be_measured(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = grid_file(tmp_path, GRID)
    result = CliRunner().invoke(main, ["lab", "sweep", str(file), "--out", str(out), "--events"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split()[:5] == ["scenario", "network", "n", "protocol", "runs"]
    assert [line.split()[3] for line in lines[1:3]] == ["hybrid", "none"]
    assert "2 finished, 1 unsuited; 0 of them were there before." in result.output
    assert "mf sends to one process at a time" in result.output

    measured = CliRunner().invoke(
        main, ["measure", str(out / "events"), "--json", "--out", str(tmp_path / "figures")]
    )
    assert measured.exit_code == 0, measured.output
    runs = json.loads(measured.stdout)
    assert [run["messages"] for run in runs] == [40, 40]
    assert runs[1]["run_id"].startswith("chatter-none-reliable-n8-s1-")
    files = sorted(file.name for file in (tmp_path / "figures").iterdir() if file.name[0] != ".")
    assert files == ["metrics.csv", "metrics.json", "metrics.parquet"]
