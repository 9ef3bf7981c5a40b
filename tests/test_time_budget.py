"""The time budget warns of a folder that takes far too much, and of nothing else."""

import os
import subprocess
import sys
from pathlib import Path

from tests.time_budget import BUDGET_FILE, folder_of, overruns, read_budget, table

BUDGET = {"tests/antecede/core": 10.0, "tests/antecede/runtime": 60.0}


def test_tests_are_counted_for_the_folder_below_tests() -> None:
    assert (
        folder_of("tests/antecede/runtime/processes/test_lives.py::test_x[a::b]")
        == "tests/antecede/runtime"
    )
    assert folder_of("tests/test_tidy.py::test_x") == "tests/test_tidy.py"


def test_three_times_a_share_is_too_much_and_less_is_not() -> None:
    assert overruns({"tests/antecede/core": 29.0, "tests/antecede/runtime": 71.0}, BUDGET) == []
    said = overruns({"tests/antecede/core": 31.0, "tests/antecede/runtime": 69.0}, BUDGET)
    assert len(said) == 1
    assert said[0].startswith("tests/antecede/core took 31 of 100 s, 31 %: far more than its 10 %.")


def test_a_folder_without_a_budget_may_take_a_little() -> None:
    assert overruns({"tests/new": 29.0, "tests/antecede/runtime": 971.0}, BUDGET) == []
    assert len(overruns({"tests/new": 31.0, "tests/antecede/runtime": 969.0}, BUDGET)) == 1


def test_seconds_that_nobody_notices_are_never_too_much() -> None:
    assert overruns({"tests/antecede/core": 19.0}, BUDGET) == []


def test_the_table_shows_most_first() -> None:
    assert table({"tests/antecede/core": 1.0, "tests/antecede/runtime": 3.0}, BUDGET) == [
        "      3 s  75.0 %  (budget 60.0 %)  tests/antecede/runtime",
        "      1 s  25.0 %  (budget 10.0 %)  tests/antecede/core",
    ]


def test_the_budget_is_of_folders_that_exist_and_adds_up() -> None:
    for name in ("compiled", "interpreted"):
        budget = read_budget(name)
        assert [folder for folder in budget if not (BUDGET_FILE.parents[1] / folder).exists()] == []
        assert 95 <= sum(budget.values()) <= 105


SLOW = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    report.duration = 500.0
"""


def test_a_folder_that_takes_far_too_much_is_a_warning_and_fails_nobody(tmp_path: Path) -> None:
    """Times, and shares of time, differ between machines: `make test` passes all the same."""
    (tmp_path / "slow_reports.py").write_text(SLOW)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    test = f"{__file__}::{test_tests_are_counted_for_the_folder_below_tests.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "slow_reports", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, test],
        cwd=BUDGET_FILE.parents[1],
        env={**os.environ, "PYTHONPATH": path, "ANTECEDE_BUDGET": "compiled"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "OVER BUDGET: tests/test_time_budget.py took 1500 of 1500 s" in ran.stdout
    assert ran.returncode == 0, ran.stdout
