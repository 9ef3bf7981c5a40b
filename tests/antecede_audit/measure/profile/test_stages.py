"""Gaps and levels, batch by batch, against plain Python over everything at once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from antecede.eventlog.parquet import ArrowBatch, ArrowTable
from antecede.eventlog.schema import ALL_COLUMNS, Event
from antecede_audit.measure.instants import in_order, instants_of, walked
from antecede_audit.measure.profile import COPIES, gaps_of, moments_of_copies
from antecede_audit.spark.measure import lanes_in_order

Copy = tuple[str, int, int, int, int, int | None]


@st.composite
def copies(draw: st.DrawFn) -> list[Copy]:
    """Copies of one or two runs; some messages have several, some copies never come."""
    found: list[Copy] = []
    for sequence in range(draw(st.integers(1, 25))):
        submitted = draw(st.sampled_from([0, 3, 3, 4, 500, 501, 10_000, 7 * 10**9]))
        for target in draw(st.sets(st.integers(0, 3), min_size=1, max_size=3)):
            flight = draw(st.sampled_from([0, 1, 10, 5000, None]))
            found.append(
                (
                    "a" if sequence % 5 else "b",
                    sequence % 3,
                    sequence,
                    target,
                    submitted,
                    None if flight is None else submitted + flight,
                )
            )
    return found


def gap_counts(lanes: dict[Any, list[int]]) -> Counter[tuple[str, str, int]]:
    counts: Counter[tuple[str, str, int]] = Counter()
    for (run_id, measure, _), times in lanes.items():
        ordered = sorted(times)
        for before, after in pairwise(ordered):
            counts[run_id, measure, after - before] += 1
    return counts


few_examples = settings(
    max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
RENAMED = {"submission_gap_ns": "all", "sender_gap_ns": "own", "delivery_gap_ns": "heard"}


def table_of(rows: list[Copy]) -> ArrowTable:
    return pa.Table.from_pylist([dict(zip(COPIES.names, row, strict=True)) for row in rows], COPIES)


def values_of(rows: ArrowTable) -> Counter[tuple[str, str, int]]:
    """Gaps and levels with how often they occur."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for name, called in RENAMED.items():
        for one in gaps_of(rows.filter(pc.equal(rows["measure"], name))).to_pylist():
            counts[one["run_id"], called, one["value"]] += one["count"]
    for one in rows.filter(pc.equal(rows["measure"], "in_flight")).to_pylist():
        counts[one["run_id"], "in_flight", one["level"]] += one["opened"]
    return counts


@few_examples
@given(rows=copies(), size=st.integers(1, 40))
def test_gaps_and_levels_are_those_of_the_whole_in_order(rows: list[Copy], size: int) -> None:
    """In batches of any size: a moment, and a lane, may be cut anywhere."""
    table = pa.Table.from_pylist(
        [dict(zip(COPIES.names, row, strict=True)) for row in rows], COPIES
    )
    moments = in_order(moments_of_copies(table))
    found = pa.concat_tables(walked(moments.to_batches(max_chunksize=size)))
    assert values_of(found) == gap_counts(lanes_of(rows)) + level_counts(rows)


def test_spark_puts_moments_in_order(spark: SparkSession) -> None:
    rows: list[Copy] = [
        ("a" if number % 3 else "b", number % 2, number, number % 4, number * 7 % 40, number + 50)
        for number in range(60)
    ]
    table = pa.Table.from_pylist(
        [dict(zip(COPIES.names, row, strict=True)) for row in rows], COPIES
    )
    moments = spark.createDataFrame(moments_of_copies(table)).repartition(3)
    parts = lanes_in_order(moments, 4).mapInArrow(levels, LEVELS)
    found = parts.toArrow()
    assert values_of(found) == gap_counts(lanes_of(rows)) + level_counts(rows)


LEVELS = (
    "run_id string, measure string, lane int, time_ns long, opened long, level long, gap_ns long"
)


def levels(batches: Iterable[ArrowBatch]) -> Iterator[ArrowBatch]:
    for found in walked(batches):
        yield from found.to_batches()


def lanes_of(rows: list[Copy]) -> dict[Any, list[int]]:
    """The moments of the whole system, of each sender, and of each receiver."""
    lanes: dict[Any, list[int]] = defaultdict(list)
    for run_id, sender, _, submitted in {(row[0], row[1], row[2], row[4]) for row in rows}:
        lanes[run_id, "all", -1].append(submitted)
        lanes[run_id, "own", sender].append(submitted)
    for run_id, _, _, target, _, delivered in rows:
        if delivered is not None:
            lanes[run_id, "heard", target].append(delivered)
    return lanes


def level_counts(rows: list[Copy]) -> Counter[tuple[str, str, int]]:
    """For every copy, how many were under way once everything of that moment had happened."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for run_id, _, _, _, now, _ in rows:
        level = sum(
            other[0] == run_id and other[4] <= now and (other[5] is None or now < other[5])
            for other in rows
        )
        counts[run_id, "in_flight", level] += 1
    return counts


def test_the_first_submission_and_delivery_of_a_copy_count() -> None:
    rows = [
        event(0, 0, "submitted", target=1, time_ns=10),
        event(0, 1, "submitted", target=2, time_ns=10),
        event(1, 0, "delivered", target=1, time_ns=30),
        event(1, 1, "delivered", target=1, time_ns=20),
        event(3, 0, "delivered", target=3, time_ns=5),
        event(0, 2, "transmitted", target=1, time_ns=1),
    ]
    table = pa.Table.from_pylist(
        [{name: getattr(one, name) for name in ALL_COLUMNS} | {"run_id": "a"} for one in rows]
    )
    found = instants_of(table).select(COPIES.names).to_pylist()
    assert sorted(tuple(one.values()) for one in found if one["delivered_ns"] is not None) == [
        ("a", 0, 1, 1, 10, 20)
    ]
    assert [tuple(one.values()) for one in found if one["delivered_ns"] is None] == [
        ("a", 0, 1, 2, 10, None)
    ]


def event(process: int, position: int, kind: str, *, target: int, time_ns: int) -> Event:
    return Event(
        process=process,
        position=position,
        kind=kind,
        sender=0,
        sequence=1,
        target=target,
        time_ns=time_ns,
    )
