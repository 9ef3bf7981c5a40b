"""Small workloads for the tests of profile and grow: random ones, and two that tell a story."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from antecede_audit.eventlog.workload import WorkloadRow, as_fields, workload_schema
from antecede_audit.spark.schemas import WORKLOAD, with_run_id

PROCESSES = 5
MS = 1_000_000


@st.composite
def workloads(draw: st.DrawFn, min_size: int = 1) -> list[WorkloadRow]:
    """Any workload that can be performed; its ids say nothing about the order of its messages."""
    ids = draw(st.lists(st.integers(0, 10**12), min_size=min_size, max_size=14, unique=True))
    rows: list[WorkloadRow] = []
    for message_id in ids:
        sender = draw(st.integers(0, PROCESSES - 1))
        heard = [row.message_id for row in rows if sender in row.targets]
        causes = draw(st.lists(st.sampled_from(heard), max_size=4)) if heard else []
        rows.append(
            WorkloadRow(
                message_id=message_id,
                sender=sender,
                targets=tuple(
                    draw(
                        st.lists(st.integers(0, PROCESSES - 1), min_size=1, max_size=3, unique=True)
                    )
                ),
                causes=tuple(causes),
                delay_ns=draw(st.sampled_from([0, 0, 1, 7, 1000])),
                payload_bytes=draw(st.integers(0, 300)),
            )
        )
    return draw(st.permutations(rows))


@st.composite
def damaged_workloads(draw: st.DrawFn) -> list[WorkloadRow]:
    """The same with causes that are anything: missing, delivered elsewhere, or in a circle."""
    rows = draw(workloads(min_size=3))
    ids = [row.message_id for row in rows] + [10**12 + 1]
    spoilt = draw(st.sets(st.integers(0, len(rows) - 1), max_size=3))
    return [
        with_causes(row, draw(st.lists(st.sampled_from(ids), max_size=2))) if n in spoilt else row
        for n, row in enumerate(rows)
    ]


def with_causes(row: WorkloadRow, causes: Sequence[int]) -> WorkloadRow:
    return WorkloadRow(**{**as_fields(row), "targets": row.targets, "causes": tuple(causes)})  # type: ignore[arg-type]  # the fields are those of a row


def row(
    message_id: int,
    sender: int,
    targets: Sequence[int],
    causes: Sequence[int] = (),
    delay_ns: int = 0,
    payload_bytes: int = 0,
) -> WorkloadRow:
    return WorkloadRow(
        message_id=message_id,
        sender=sender,
        targets=tuple(targets),
        causes=tuple(causes),
        delay_ns=delay_ns,
        payload_bytes=payload_bytes,
    )


REVIEW = [
    row(0, 0, [1], delay_ns=5 * MS, payload_bytes=10),
    row(1, 0, [2], delay_ns=6 * MS, payload_bytes=11),
    row(2, 0, [3], delay_ns=7 * MS, payload_bytes=12),
    row(10, 1, [4], [0], 2 * MS, 20),
    row(11, 2, [4], [1], 3 * MS, 21),
    row(12, 3, [4], [2], 1 * MS, 22),
    row(20, 4, [5], [10, 11, 12], 1 * MS, 30),
    row(21, 4, [6], [10, 11, 12], 1 * MS, 31),
    row(30, 5, [4], [20], 4 * MS, 40),
    row(31, 6, [4], [21], 5 * MS, 41),
    row(40, 4, [0], [30, 31], 1 * MS, 50),
]
"""A front end asks three services, each uploads to a fourth, which joins the three, stores in two
places, and tells the front end when both have answered."""


def frame(
    spark: SparkSession, runs: dict[str, list[WorkloadRow]], partitions: int = 2
) -> DataFrame:
    """Workloads as the table that ingest writes."""
    records: list[Any] = [
        (*as_fields(row).values(), run_id) for run_id, rows in runs.items() for row in rows
    ]
    return spark.createDataFrame(records, with_run_id(WORKLOAD)).repartition(partitions)


def record(folder: Path, runs: dict[str, list[WorkloadRow]]) -> str:
    """Write workloads as ingest leaves them, whether or not they can be performed."""
    for run_id, rows in runs.items():
        part = folder / "workload" / f"run_id={run_id}" / "part-0.parquet"
        part.parent.mkdir(parents=True)
        table = pa.Table.from_pylist([as_fields(row) for row in rows], workload_schema())
        pq.write_table(table, part)
    return str(folder)
