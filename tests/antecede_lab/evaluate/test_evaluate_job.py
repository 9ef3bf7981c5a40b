"""The whole chain on a trace of a few hundred messages."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede_lab.evaluate import evaluate as evaluate_job
from antecede_lab.evaluate.config import read_evaluation
from antecede_lab.evaluate.evaluate import EvaluationOutcome, evaluate

CONFIG = """
title = "A small evaluation"
protocols = ["hybrid", "rst", "none"]
networks = ["reliable"]
seeds = 2
audited = ["hybrid", "none"]

[trace.shop]
path = "shop.csv"
format = "messages"
time_unit = "us"

[cut.rush]
trace = "shop"
span = "30ms"

[grown.mall]
trace = "rush"
processes = 12
method = "overlay"

[scenario.shop]
of = "shop"

[scenario.mall]
of = "mall"
protocols = ["hybrid", "mf"]
seeds = 1
"""


def write_trace(file: Path) -> None:
    """Four processes, each of them writing to two others in turn; some copies come late."""
    lines = ["sender,receiver,time,receive_time"]
    for number in range(240):
        sender = number % 4
        late = 4_000 if number % 7 == 0 else 100
        receiver = (sender + 1 + number // 4 % 2) % 4
        lines.append(f"p{sender},p{receiver},{500 * number},{500 * number + late}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    write_trace(folder / "shop.csv")
    (folder / "evaluation.toml").write_text(CONFIG, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, place: Path) -> EvaluationOutcome:
    evaluation = read_evaluation(place / "evaluation.toml", data=place)
    return evaluate(spark, evaluation, place / "out", command="antecede lab evaluate")


def rows(place: Path, name: str) -> list[dict[str, Any]]:
    """A table as a report reads it, without Spark."""
    found: list[dict[str, Any]] = pq.read_table(
        place / "out" / "tables" / f"{name}.parquet"
    ).to_pylist()
    return found


def test_every_run_took_place(outcome: EvaluationOutcome, place: Path) -> None:
    assert outcome.by_status == {"finished": 8}
    table = rows(place, "runs")
    assert sorted((row["scenario"], row["protocol"], row["seed"]) for row in table) == sorted(
        [("shop", protocol, seed) for protocol in ("hybrid", "rst", "none") for seed in (1, 2)]
        + [("mall", "hybrid", 1), ("mall", "mf", 1)]
    )
    assert {row["processes"] for row in table} == {4, 12}


def test_answer_says_what_order_costs(outcome: EvaluationOutcome) -> None:
    by_protocol = {one.protocol: one for one in outcome.answers if one.setting.scenario == "shop"}
    added = {
        name: one.added_ns.mean for name, one in by_protocol.items() if one.added_ns is not None
    }
    assert added["none"] <= added["rst"] == 0 < added["hybrid"]
    rst = by_protocol["rst"].metadata_times
    assert rst is not None
    assert rst.mean > 1


def test_logs_and_simulator_agree(outcome: EvaluationOutcome, place: Path) -> None:
    assert outcome.difference < 1e-12
    assert len(rows(place, "logs")) == 4, "the trace, and a run of each audited protocol"


def test_audit_judges_the_trace_and_the_recorded_runs(outcome: EvaluationOutcome) -> None:
    found = {one.run_id.rpartition("-n")[0] or one.run_id: one for one in outcome.judged}
    assert found["shop"].fifo + found["shop"].transitive > 0
    assert asdict(found["shop-hybrid-reliable"]) == {
        **asdict(found["shop-hybrid-reliable"]),
        "fifo": 0,
        "transitive": 0,
        "losses": 0,
        "duplicates": 0,
    }
    assert len(found) == 4


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("answers", {"scenario", "protocol", "added_ns", "added_ns_half_width", "metadata_bytes"}),
        ("figures", {"figure", "mean", "half_width", "seeds"}),
        ("delays", {"delay", "low_ns", "high_ns", "copies"}),
        ("packets", {"packet_kind", "packets_per_message"}),
        ("traces", {"name", "origin", "processes", "messages", "real", "grown"}),
        ("audit", {"run_id", "fifo", "transitive"}),
    ],
)
@pytest.mark.usefixtures("outcome")
def test_tables_can_be_read_without_spark(place: Path, name: str, columns: set[str]) -> None:
    table = rows(place, name)
    assert table
    assert columns <= set(table[0])


def test_documents_and_plots_are_there(outcome: EvaluationOutcome, place: Path) -> None:
    text = (place / "out" / "EVALUATION.md").read_text(encoding="utf-8")
    assert text.startswith("# A small evaluation\n\nMade by `antecede lab evaluate`, ")
    assert "## mall, reliable, 12 processes" in text
    names = {plot.name for plot in outcome.plots}
    assert {"added.svg", "metadata.svg", "latency-reliable.svg"} <= names
    assert all(plot.stat().st_size > 1000 for plot in outcome.plots)
    content = json.loads((place / "out" / "evaluation.json").read_text(encoding="utf-8"))
    assert content["by_status"] == {"finished": 8}


@pytest.mark.usefixtures("outcome")
def test_second_evaluation_does_nothing_twice(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judging and measuring are left out here: they start over, from logs that are there."""
    monkeypatch.setattr(evaluate_job, "judge_logs", lambda *_: [])
    monkeypatch.setattr(evaluate_job, "logs_of", lambda *_: [])
    kept = {
        file: file.stat().st_mtime_ns
        for part in ("traces", "profiles", "cut", "grown", "sweep/runs", "sweep/events")
        for file in (place / "out" / part).rglob("*")
        if file.is_file()
    }
    assert len(kept) > 20
    again = evaluate(spark, read_evaluation(place / "evaluation.toml", data=place), place / "out")
    assert again.by_status == {"finished": 8}
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
