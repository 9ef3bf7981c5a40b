"""The audit catches every broken protocol that the oracle catches, with the same rows."""

from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from antecede.core.catalogue import ProtocolInfo
from antecede.eventlog import EventLog
from antecede_audit.spark.audit import audit
from tests.antecede_audit.spark.logs_on_disk import oracle_of, verdicts_of, write_runs
from tests.broken.mutants import Mutant, load
from tests.broken.test_every_mutant_is_caught import MUTANTS
from tests.properties.schedule import CALM, ROUGH, EndlessError, Schedule, run_randomly

SCHEDULES = 40

TELLING = {"order": "violations", "once": "duplicates"}
"""What the oracle's judges look for, and the table that must show it."""


def logs_of(info: ProtocolInfo) -> dict[str, EventLog]:
    """Random schedules over a protocol, as far as they get."""
    logs: dict[str, EventLog] = {}
    for seed in range(SCHEDULES):
        random = Random(seed)
        options: dict[str, object] = {"receive_limit": 1} if seed % 4 == 3 else {}
        try:
            schedule = Schedule(info, random.randint(3, 5), **options)
            run_randomly(
                schedule,
                random,
                messages=random.randint(10, 40),
                eagerness=random.choice([0.1, 0.3, 0.6]),
                trouble=CALM if seed % 2 else ROUGH,
            )
        except (EndlessError, AssertionError, LookupError, UnboundLocalError):
            continue  # caught already, without a log
        if len(schedule.log):
            logs[f"{info.name}-{seed}"] = schedule.log
    return logs


def test_every_broken_protocol_is_caught(spark: SparkSession, tmp_path: Path) -> None:
    mutants: dict[str, Mutant] = {}
    runs: dict[str, EventLog] = {}
    for mutant in MUTANTS:
        info = load(mutant)
        mutants[info.name] = mutant
        runs |= logs_of(info)
    logs = {run_id: list(log) for run_id, log in runs.items()}
    events = spark.read.parquet(write_runs(tmp_path / "logs.parquet", logs))

    with audit(events, slice_copies=2_000) as judged:
        found = verdicts_of(judged)

    assert found == oracle_of(logs)
    for name, mutant in mutants.items():
        tables = {
            table
            for run_id, rows in found.items()
            if run_id.startswith(f"{name}-")
            for table in rows
        }
        for judge, table in TELLING.items():
            assert (table in tables) == (judge in mutant.caught_by), f"{name}: {table}"
