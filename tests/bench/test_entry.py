"""`python -m bench`: lists every benchmark and runs one; `antecede bench` is its alias."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

import antecede
from antecede_cli.lab import bench as alias
from antecede_cli.main import main
from bench.__main__ import BENCHMARKS

ROOT = Path(__file__).parents[2]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_benchmark_in_the_list_is_a_module() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert find_spec(benchmark.module) is not None, name


def test_without_a_name_every_benchmark_is_listed() -> None:
    listed = run().stdout
    assert [name for name in BENCHMARKS if f"    {name} " not in listed] == []


def test_an_unknown_name_is_refused() -> None:
    refused = run("lives")
    assert refused.returncode == 1
    assert "no benchmark is called lives; there are live, study" in refused.stderr


def test_options_go_to_the_benchmark() -> None:
    assert "antecede-handler" in run("live", "--list").stdout


def test_a_benchmark_is_called_what_one_types() -> None:
    assert run("live", "--help").stdout.startswith("Usage: python -m bench live [OPTIONS]")


def test_a_benchmark_without_options_says_what_it_measures() -> None:
    helped = run("carriers", "--help")
    assert helped.returncode == 0
    assert helped.stdout.startswith("What a carrier costs")


def test_antecede_bench_runs_the_benchmarks_of_the_repository(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert CliRunner().invoke(main, ["bench", "live", "--list"]).exit_code == 0
    assert "antecede-handler" in capfd.readouterr().out


def test_antecede_bench_says_where_benchmarks_are_if_they_are_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(antecede, "__file__", str(tmp_path / "lib" / "antecede" / "__init__.py"))
    refused = CliRunner().invoke(main, ["bench", "live"])
    assert refused.exit_code == 2
    assert alias.WHERE in " ".join(refused.output.split())
