"""Replicas and overlays: a grown message is a recorded one elsewhere, and waits for the same."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from antecede_audit.eventlog.workload import WorkloadRow, check_workload
from antecede_audit.spark.measure import causal_structure
from antecede_lab.grow.layers import grown, layered, replica_names
from antecede_lab.grow.target_size import (
    METHODS,
    OVERLAY,
    REPLICAS,
    GrowthPlan,
    GrowthRequest,
    Recorded,
    plan_growth,
)
from tests.antecede_audit.measure.profile import slowly
from tests.antecede_audit.measure.profile.workloads import REVIEW, frame, workloads


@pytest.fixture(scope="module")
def review(spark: SparkSession) -> Iterator[DataFrame]:
    """The structure of the review, worked out once."""
    structure = causal_structure(frame(spark, {"a": REVIEW})).persist()
    yield structure
    structure.unpersist()


def recorded_of(rows: list[WorkloadRow]) -> Recorded:
    times = [time_ns for _, time_ns in slowly.depths_and_times(rows).values()]
    return Recorded(
        run_id="a",
        processes=1 + max(process for row in rows for process in (row.sender, *row.targets)),
        messages=len(rows),
        span_ns=max(times) - min(times) + 1,
        first_ns=min(times),
        longest_ns=0,
    )


def growth(
    structure: DataFrame, rows: list[WorkloadRow], wanted: GrowthRequest
) -> tuple[GrowthPlan, list[Any]]:
    plan = plan_growth(recorded_of(rows), wanted)
    return plan, sorted(grown(layered(structure, plan), plan).collect())


def as_workload(rows: list[Any]) -> list[WorkloadRow]:
    return [
        WorkloadRow(
            message_id=one.message_id,
            sender=one.sender,
            targets=tuple(one.targets),
            causes=tuple(one.causes),
            delay_ns=one.delay_ns,
            payload_bytes=one.payload_bytes,
        )
        for one in rows
    ]


def check_like_recorded(plan: GrowthPlan, source: list[WorkloadRow], rows: list[Any]) -> None:
    """Every layer repeats the recording or its beginning, seen through its replicas."""
    by_id = {message.message_id: message for message in source}
    original = {one.message_id: (one.layer, one.source_message_id) for one in rows}
    size = plan.recorded.processes
    for one in rows:
        message = by_id[one.source_message_id]
        assert one.sender % size == message.sender
        assert [target % size for target in one.targets] == list(message.targets)
        assert sorted(original[cause] for cause in one.causes) == sorted(
            {(one.layer, cause) for cause in message.causes}
        )
        assert one.payload_bytes == message.payload_bytes
        if message.causes:
            assert one.delay_ns == message.delay_ns
    counts = Counter(one.layer for one in rows)
    expected = [plan.recorded.messages] * (plan.layers - 1) + [plan.last_layer]
    assert [counts[layer] for layer in range(plan.layers)] == expected


def check_errands(source: list[WorkloadRow], rows: list[Any], size: int) -> None:
    """In every layer an errand has one place; different processes have different ones."""
    places: dict[object, int] = {}
    for one in rows:
        places[one.layer, "sent", one.source_message_id] = one.sender
        for target in one.targets:
            places[one.layer, "copy", one.source_message_id, target % size] = target
    for layer in {one.layer for one in rows}:
        for errand in slowly.errands(source):
            members = [(layer, *member) for member in errand if isinstance(member, tuple)]
            assert len({places[member] for member in members if member in places}) <= 1


@settings(max_examples=4)
@given(
    source=workloads(min_size=3),
    method=st.sampled_from([REPLICAS, OVERLAY]),
    processes=st.integers(5, 40),
    share=st.sampled_from([None, 0.4, 2.5]),
    seed=st.integers(0, 1000),
)
def test_what_is_grown_repeats_the_recording(
    spark: SparkSession,
    source: list[WorkloadRow],
    method: str,
    processes: int,
    share: float | None,
    seed: int,
) -> None:
    messages = None if share is None else max(1, round(share * len(source)))
    wanted = GrowthRequest(processes=processes, method=method, messages=messages, seed=seed)
    plan, rows = growth(causal_structure(frame(spark, {"a": source})), source, wanted)
    check_workload(as_workload(rows))
    check_like_recorded(plan, source, rows)
    check_errands(source, rows, plan.recorded.processes)
    assert {process for one in rows for process in (one.sender, *one.targets)} <= set(
        range(processes)
    )


def test_times_of_a_conversation_move_together_into_the_period(review: DataFrame) -> None:
    plan, rows = growth(review, REVIEW, GrowthRequest(processes=70, messages=33, seed=5))
    nominal = slowly.depths_and_times(as_workload(rows))
    recorded_ns = slowly.depths_and_times(REVIEW)
    shifts = defaultdict(set)
    for one in rows:
        assert nominal[one.message_id][1] == one.ready_ns
        shifts[one.layer].add(one.ready_ns - recorded_ns[one.source_message_id][1])
    assert [len(shifts[layer]) for layer in range(3)] == [1, 1, 1], "they move as one"
    starts = [min(one.ready_ns for one in rows if one.layer == layer) for layer in range(3)]
    assert starts[0] == 0
    assert all(0 <= start < plan.period_ns for start in starts)
    assert len(set(starts)) == 3


def test_the_first_layer_of_an_overlay_is_the_recording_itself(review: DataFrame) -> None:
    _, rows = growth(review, REVIEW, GrowthRequest(processes=21, method=OVERLAY))
    first = {one.source_message_id: one for one in rows if one.layer == 0}
    for message in REVIEW:
        one = first[message.message_id]
        assert (one.sender, tuple(one.targets)) == (message.sender, message.targets)
        begin = 0 if message.causes else 5_000_000
        assert one.delay_ns == message.delay_ns - begin, "its first message leaves at once"
    sets = {one.layer: {one.sender // 7, *(target // 7 for target in one.targets)} for one in rows}
    assert sets == {0: {0}, 1: {1}, 2: {2}}


@pytest.mark.parametrize("method", [REPLICAS, OVERLAY])
def test_the_same_seed_gives_the_same_however_it_is_partitioned(
    spark: SparkSession, method: str
) -> None:
    wanted = GrowthRequest(processes=30, method=method, messages=25, seed=3)
    growths = [
        growth(causal_structure(frame(spark, {"a": REVIEW}, parts)), REVIEW, wanted)[1]
        for parts in (1, 5)
    ]
    assert growths[0] == growths[1]


def test_another_seed_gives_another_growth(review: DataFrame) -> None:
    growths = [
        growth(review, REVIEW, GrowthRequest(processes=700, seed=seed))[1] for seed in (1, 2)
    ]
    assert growths[0] != growths[1]


def test_layers_share_the_replicas_evenly(review: DataFrame) -> None:
    """As many layers as replicas: every replica runs every errand once."""
    plan, rows = growth(review, REVIEW, GrowthRequest(processes=28, messages=44))
    assert (plan.replicas, plan.layers) == (4, 4)
    senders = Counter(one.sender for one in rows)
    once = Counter(message.sender for message in REVIEW)
    assert senders == {process: once[process % 7] for process in range(28)}


def test_speed_shortens_every_duration(review: DataFrame) -> None:
    slow = growth(review, REVIEW, GrowthRequest(processes=14))[1]
    fast = growth(review, REVIEW, GrowthRequest(processes=14, speed=10.0))[1]
    assert [one.delay_ns for one in fast] == [one.delay_ns // 10 for one in slow]
    assert [one.ready_ns for one in fast] == [one.ready_ns // 10 for one in slow]


def test_replicas_are_named_after_what_they_repeat(spark: SparkSession) -> None:
    names = spark.createDataFrame([(0, "front"), (6, "store")], "process int, name string")
    plan = plan_growth(recorded_of(REVIEW), GrowthRequest(processes=15))
    found = {one.process: one for one in replica_names(names, plan).collect()}
    assert sorted(found) == list(range(15))
    assert [found[process].name for process in (0, 7, 14, 6, 13, 1, 8)] == [
        "front",
        "front#1",
        "front#2",
        "store",
        "store#1",
        "process 1",
        "process 1#1",
    ]
    assert (found[13].source, found[13].replica) == ("store", 1)


def test_there_are_three_methods() -> None:
    assert METHODS == (REPLICAS, OVERLAY, "graph")
