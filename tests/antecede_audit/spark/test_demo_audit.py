"""The demonstration's audit on Spark says what its oracle says."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antecede.eventlog.writers import write_events
from antecede_cli.lab.demo import (
    RUNS,
    WITH,
    WITHOUT,
    DemoFolders,
    judged_by_oracle,
    judged_by_spark,
    why_no_spark,
)
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.networks import build_network
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads.open_loop import Poisson


def test_spark_and_the_oracle_agree(spark: SparkSession, tmp_path: Path) -> None:
    places = DemoFolders(tmp_path)
    for run in RUNS:
        workload = Poisson(5, messages=150, interval_ns=1_000_000, seed=3)
        faults = build_network("lossy", reordering=0.3)
        result = simulate(find_protocol(run), workload, faults=faults, record=True)
        assert result.log is not None
        write_events(places.events, result.log, run)
    told: list[str] = []
    watched: list[SparkSession] = []

    by_spark = judged_by_spark(places, told.append, watched.append)
    assert (places.audit / "summary.json").is_file()
    by_oracle = judged_by_oracle(places, told.append)

    assert by_spark == by_oracle
    assert by_spark[WITH].early == 0 < by_spark[WITHOUT].early
    assert watched == [spark]
    assert "judging slices" in told


def test_java_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_no_spark() is None
    monkeypatch.setenv("ANTECEDE_JAVA", "none")
    reason = why_no_spark()
    assert reason is not None
    assert reason.endswith("pip install '.[lab]' and leave ANTECEDE_JAVA unset")
