"""What Spark finds in the log of a run, against what the simulator's own meter saw of it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from antecede.eventlog.schema import Event
from antecede.eventlog.writers import write_events
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Exponential, Lognormal, Uniform
from antecede_audit.eventlog.reader import log_of
from antecede_audit.jobs.measure import measure_here
from antecede_audit.measure.figures import MEASURED
from antecede_audit.spark.measure import measure_logs
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads import Groups, Poisson, ServiceDag, Workload
from antecede_lab.simulator.workloads.service_dag import layered_services
from antecede_lab.sweep.run_one import measured_fields
from tests.antecede_lab.simulator.scripted import Line, Scripted

MS = 1_000_000

ROUGH = Faults(
    latency=Lognormal(MS, 1.0), loss=0.1, duplication=0.1, reordering=0.1, reordering_ns=5 * MS
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run to measure."""

    protocol: str
    workload: Callable[[], Workload]
    faults: Faults
    until_ns: int = 1 << 60


def poisson() -> Workload:
    return Poisson(6, messages=250, interval_ns=MS, seed=4, multicast=0.3)


def unicast() -> Workload:
    return Poisson(6, messages=250, interval_ns=MS, seed=4)


def to_themselves() -> Workload:
    """Some only to themselves, some also."""
    return Scripted(
        3,
        [
            Line(time_ns=n * MS, sender=n % 3, targets=[n % 3, (n + 1) % 3][: 1 + n % 2])
            for n in range(20)
        ],
    )


CASES = {
    "hybrid": Case(protocol="hybrid", workload=poisson, faults=ROUGH),
    "hybrid-cut-short": Case(protocol="hybrid", workload=poisson, faults=ROUGH, until_ns=30 * MS),
    "rst-over-link": Case(protocol="rst", workload=poisson, faults=ROUGH),
    "ks": Case(
        protocol="ks",
        workload=lambda: Groups(6, posts=60, interval_ns=MS, seed=1, groups=3),
        faults=Faults(latency=Uniform(0, 4 * MS)),
    ),
    "none": Case(protocol="none", workload=poisson, faults=ROUGH),
    "tree": Case(protocol="tree", workload=unicast, faults=Faults(fifo=True)),
    "mf": Case(protocol="mf", workload=unicast, faults=Faults(latency=Exponential(2 * MS))),
    "services": Case(
        protocol="hybrid",
        workload=lambda: ServiceDag(layered_services(7, 2, 2), requests=40, interval_ns=MS, seed=1),
        faults=Faults(latency=Exponential(MS)),
    ),
    "to-themselves": Case(protocol="hybrid", workload=to_themselves, faults=Faults()),
}


INGESTED = [
    Event(process=0, position=0, kind="submitted", sender=0, sequence=1, target=2, time_ns=0),
    Event(process=0, position=1, kind="submitted", sender=0, sequence=2, target=1, time_ns=10),
    Event(process=1, position=0, kind="delivered", sender=0, sequence=2, target=1, time_ns=15),
    Event(process=1, position=1, kind="submitted", sender=1, sequence=1, target=2, time_ns=20),
    Event(process=2, position=0, kind="delivered", sender=1, sequence=1, target=2, time_ns=25),
    Event(process=2, position=1, kind="delivered", sender=0, sequence=1, target=2, time_ns=100),
]
"""A trace that knows of sending and receiving only: P2 hears the answer before the question."""


def run_of(case: Case) -> RunResult:
    return simulate(
        case.protocol,
        case.workload(),
        faults=case.faults,
        seed=3,
        record=True,
        until_ns=case.until_ns,
        link=True,
    )


@pytest.fixture(scope="module")
def results() -> dict[str, RunResult]:
    return {name: run_of(case) for name, case in CASES.items()}


@pytest.fixture(scope="module")
def dataset(results: dict[str, RunResult], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of all cases."""
    dataset = tmp_path_factory.mktemp("meter") / "events"
    for name, result in results.items():
        assert result.log is not None
        write_events(dataset, result.log, name)
    write_events(dataset, log_of(INGESTED), "ingested")
    return dataset


@pytest.fixture(scope="module")
def rows(spark: SparkSession, dataset: Path) -> dict[str, dict[str, Any]]:
    """What Spark finds, by the name of the case."""
    return measured(spark, dataset)


def measured(spark: SparkSession, dataset: Path) -> dict[str, dict[str, Any]]:
    return {row.pop("run_id"): row for row in measure_logs(spark, [str(dataset)])}


def test_every_run_is_measured(rows: dict[str, dict[str, Any]]) -> None:
    assert sorted(rows) == sorted([*CASES, "ingested"])
    assert all(list(row) == MEASURED.names for row in rows.values())


@pytest.mark.parametrize("name", CASES)
def test_log_and_meter_agree(
    rows: dict[str, dict[str, Any]], results: dict[str, RunResult], name: str
) -> None:
    found = rows[name]
    expected = measured_fields(results[name], non_causal=True)
    assert sorted(found) == sorted(expected)
    different = {
        column: (found[column], value)
        for column, value in expected.items()
        if not alike(found[column], value)
    }
    assert different == {}


@pytest.mark.parametrize("name", [*CASES, "ingested"])
def test_what_is_measured_without_spark_is_the_same(
    rows: dict[str, dict[str, Any]], dataset: Path, name: str
) -> None:
    small = measure_here([str(dataset / f"run_id={name}")])
    assert small is not None
    [found] = small
    different = {
        column: (found[column], value)
        for column, value in rows[name].items()
        if not alike(found[column], value)
    }
    assert different == {}
    assert list(found) == ["run_id", *rows[name]]


def alike(found: object, expected: object) -> bool:
    """Equal; sums of products of floats only nearly so."""
    if isinstance(found, float) and isinstance(expected, float):
        return isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)
    return found == expected


def test_cases_have_something_to_measure(results: dict[str, RunResult]) -> None:
    """Waits at both ends, early deliveries, unfinished runs: agreement about zeros says little."""
    fields = {name: measured_fields(result, True) for name, result in results.items()}
    assert fields["hybrid"]["sender_wait_p99_ns"] > 0
    assert fields["hybrid"]["receiver_wait_p99_ns"] > 0
    assert fields["hybrid"]["non_causal_p99_ns"] > 0
    assert fields["hybrid-cut-short"]["delivered"] < fields["hybrid-cut-short"]["copies"]
    assert fields["none"]["non_causal_mean_ns"] < 0
    assert fields["mf"]["sender_buffer_max"] > 1
    assert fields["ks"]["receiver_buffer_max"] > 0
    assert fields["ks"]["non_causal_max_ns"] == 0


def test_log_without_packets_has_latencies_only(rows: dict[str, dict[str, Any]]) -> None:
    row = rows["ingested"]
    assert row["latency_max_ns"] == 100
    assert row["latency_mean_ns"] == (100 + 5 + 5) / 3
    assert row["non_causal_mean_ns"] == -75 / 3
    assert row["sender_wait_mean_ns"] is None
    assert row["channel_p99_ns"] is None
    assert (row["messages"], row["copies"], row["delivered"]) == (3, 3, 3)
    assert (row["packets"], row["packet_totals"]) == (None, None)
    assert row["makespan_ns"] == 100
