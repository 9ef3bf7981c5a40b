"""Growing from folder to folder, replaying the result, and what the command line says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede_audit.eventlog.workload import WorkloadRow, read_workload
from antecede_lab.grow.grow import grow
from antecede_lab.grow.target_size import GRAPH, OVERLAY, GrowthRequest
from tests.antecede_audit.measure.profile.commands import run_command
from tests.antecede_audit.measure.profile.workloads import REVIEW, record, row
from tests.antecede_lab.grow.replaying import check_replay
from tests.antecede_lab.grow.test_service_graph import SHOP, entries

REVIEWS = [
    replace(
        one,
        message_id=one.message_id + 100 * n,
        causes=tuple(cause + 100 * n for cause in one.causes),
        delay_ns=one.delay_ns + (0 if one.causes else 3_000_000 * n),
    )
    for n in range(60)
    for one in REVIEW
]
"""Sixty reviews, one after the other."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder as ingest leaves it, without event log and names."""
    return record(tmp_path_factory.mktemp("recorded"), {"reviews": REVIEWS})


def processes_of(out: Path, run_id: str) -> dict[int, Any]:
    files = sorted((out / "processes" / f"run_id={run_id}").glob("*.parquet"))
    return {
        one["process"]: one for file in files for one in pq.ParquetFile(file).read().to_pylist()
    }


def test_thousands_of_replicas_replay_in_causal_order(
    spark: SparkSession, source: str, tmp_path: Path
) -> None:
    out = tmp_path / "grown"
    summary = grow(spark, source, str(out), GrowthRequest(processes=3000, messages=1500, seed=7))
    rows = read_workload(out / "workload")
    assert len(rows) == summary["messages"] == 1500
    assert [one.message_id for one in rows] == sorted(one.message_id for one in rows)
    assert summary["real_messages"] == len(REVIEWS)
    assert summary["layers"] == 3
    assert "less than asked for" in str(summary["grown"]), "the period would be a millisecond"
    everybody = {process for one in rows for process in (one.sender, *one.targets)}
    assert len(everybody) == summary["active_processes"]
    assert len(everybody) > 1000
    assert sum(len(one.causes) == 3 for one in rows) > 200, "the joins are still there"
    check_replay(rows, 3000)
    names = processes_of(out, "reviews-replicas-3000")
    assert sorted(names) == list(range(3000))
    assert names[7]["name"] == "process 0#1"
    assert json.loads((out / "summary.json").read_text(encoding="utf-8")) == summary
    assert summary["grown_from"] == {
        "folder": source,
        "run_id": "reviews",
        "processes": 7,
        "messages": 660,
        "span_ns": 188_000_001,
        "first_ns": 5_000_000,
        "longest_ns": 11_000_000,
        "sampled_from": None,
    }


def test_an_overlay_and_a_graph_replay_in_causal_order(
    spark: SparkSession, source: str, tmp_path: Path
) -> None:
    overlay = tmp_path / "overlay"
    grow(spark, source, str(overlay), GrowthRequest(processes=16, method=OVERLAY, messages=1000))
    check_replay(read_workload(overlay / "workload"), 16)

    shop = tmp_path / "shop.json"
    shop.write_text(entries(SHOP), encoding="utf-8")
    by_rates = tmp_path / "graph"
    wanted = GrowthRequest(processes=2000, method=GRAPH, messages=2000, seed=3)
    summary = grow(spark, source, str(by_rates), wanted, graph=shop, name="shop")
    rows = read_workload(by_rates / "workload")
    assert len(rows) == pytest.approx(2000, rel=0.25)
    check_replay(rows, 2000)
    names = processes_of(by_rates, "shop")
    assert len(names) == 2000
    assert {one["source"] for one in names.values()} == {"web", "cart", "search", "store"}
    assert (summary["services"], summary["edges"], summary["real_messages"]) == (4, 4, 0)
    again = grow(spark, source, str(tmp_path / "again"), wanted, graph=shop, name="shop")
    assert again == summary
    assert read_workload(tmp_path / "again" / "workload") == rows


@pytest.mark.parametrize(
    ("rows", "wanted", "complaint"),
    [
        (REVIEW, GrowthRequest(processes=3), "cannot grow to 3"),
        ([row(0, 0, [1], [5])], GrowthRequest(processes=4), "1 messages of a can never leave"),
        (REVIEW, GrowthRequest(processes=9, method=GRAPH), "needs a graph"),
    ],
)
def test_what_cannot_grow_is_refused_and_nothing_is_written(
    spark: SparkSession,
    tmp_path: Path,
    rows: list[WorkloadRow],
    wanted: GrowthRequest,
    complaint: str,
) -> None:
    source = record(tmp_path / "in", {"a": rows})
    with pytest.raises(LocalError, match=complaint):
        grow(spark, source, str(tmp_path / "out"), wanted)
    assert not (tmp_path / "out").exists()


def test_one_run_of_several_must_be_named(spark: SparkSession, tmp_path: Path) -> None:
    source = record(tmp_path / "two", {"a": REVIEW, "b": REVIEWS})
    out = str(tmp_path / "out")
    with pytest.raises(LocalError, match="2 runs, such as 'a': say which"):
        grow(spark, source, out, GrowthRequest(processes=10))
    with pytest.raises(LocalError, match="no messages of run 'c'"):
        grow(spark, source, out, GrowthRequest(processes=10), run_id="c")
    assert grow(spark, source, out, GrowthRequest(processes=10), run_id="a")["messages"] == len(
        REVIEW
    )


def test_the_recording_is_not_overwritten(spark: SparkSession, source: str) -> None:
    with pytest.raises(LocalError, match="holds the recording"):
        grow(spark, source, f"{source}/", GrowthRequest(processes=10))


def test_the_command_line_grows_and_says_what_is_real(
    spark: SparkSession, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["lab", "grow", source, "-n", "70", "-m", "1k", "--out", str(tmp_path / "grown")]
    result = run_command(monkeypatch, spark, *arguments, "--seed", "4", "--name", "more")
    assert result.exit_code == 0, result.output
    assert "more: 1,000 messages (1,000 copies) among 70 processes" in result.output
    assert "from reviews: 660 messages among 7 processes" in result.output
    assert "real:  messages with layer 0 are the recorded ones" in result.output
    assert "grown: layers 1 to 1" in result.output
    assert "grown: when conversations begin: as recorded, modulo 0.0284848 s" in result.output
    assert len(read_workload(tmp_path / "grown" / "workload", "more")) == 1000


def test_the_command_line_refuses_a_graph_for_another_method(
    spark: SparkSession, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop.json"
    shop.write_text(entries(SHOP), encoding="utf-8")
    arguments = [
        "lab",
        "grow",
        source,
        "-n",
        "70",
        "--out",
        str(tmp_path / "grown"),
        "--graph",
        str(shop),
    ]
    result = run_command(monkeypatch, spark, *arguments, "--method", "overlay")
    assert result.exit_code == 2
    assert "no other method takes one" in result.output
