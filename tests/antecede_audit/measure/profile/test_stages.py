"""Gaps and levels, slice by slice, against one pass over everything in order."""

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from antecede.eventlog.schema import ALL_COLUMNS, Event
from antecede_audit.spark import profile_stages as stages
from antecede_audit.spark.schemas import EVENTS, with_run_id

Copy = tuple[str, int, int, int, int, int | None]
COPIES = (
    "run_id string, sender int, sequence long, target int, submitted_ns long, delivered_ns long"
)


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


def counted(values: DataFrame) -> Counter[tuple[str, str, int]]:
    counts: Counter[tuple[str, str, int]] = Counter()
    for one in values.collect():
        counts[one.run_id, one.measure, one.value] += one["count"]
    return counts


few_examples = settings(
    max_examples=2, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@few_examples
@given(rows=copies())
def test_gaps_and_levels_are_those_of_the_whole_in_order(
    spark: SparkSession, rows: list[Copy]
) -> None:
    table = spark.createDataFrame(rows, COPIES).repartition(3)
    runs = stages.run_times(table)
    sent = stages.submissions(table)
    heard = stages.in_own_lane(stages.deliveries(table), "heard")
    gaps = stages.gaps(
        stages.in_system_lane(sent, "all", runs)
        .select(heard.columns)
        .unionByName(stages.in_own_lane(sent, "own"))
        .unionByName(heard)
    )
    marks = stages.marks(stages.flights(table))
    levels = stages.levels(stages.in_system_lane(marks, "in_flight", runs))
    values = gaps.unionByName(stages.level_values(levels))
    assert counted(values) == gap_counts(lanes_of(rows)) + level_counts(rows)


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


def test_the_first_submission_and_delivery_of_a_copy_count(spark: SparkSession) -> None:
    rows = [
        event(0, 0, "submitted", target=1, time_ns=10),
        event(0, 1, "submitted", target=2, time_ns=10),
        event(1, 0, "delivered", target=1, time_ns=30),
        event(1, 1, "delivered", target=1, time_ns=20),
        event(3, 0, "delivered", target=3, time_ns=5),
        event(0, 2, "transmitted", target=1, time_ns=1),
    ]
    found = stages.copy_times(events_frame(spark, rows)).collect()
    assert sorted(tuple(one) for one in found if one.delivered_ns is not None) == [
        ("a", 0, 1, 1, 10, 20)
    ]
    assert [tuple(one) for one in found if one.delivered_ns is None] == [("a", 0, 1, 2, 10, None)]


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


def events_frame(spark: SparkSession, rows: list[Event]) -> DataFrame:
    records: list[Any] = [(*(getattr(one, name) for name in ALL_COLUMNS), "a") for one in rows]
    return spark.createDataFrame(records, with_run_id(EVENTS))
