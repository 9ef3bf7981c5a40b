"""The stage against plain Python, many random workloads at a time as runs of one table."""

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from antecede_audit.eventlog.workload import WorkloadRow, as_fields
from antecede_audit.measure import structure
from antecede_audit.measure.structure import STRUCTURE
from antecede_audit.spark.measure import causal_structure
from tests.antecede_audit.measure.profile import slowly
from tests.antecede_audit.measure.profile.workloads import REVIEW, damaged_workloads, frame

many_runs = st.lists(damaged_workloads(), min_size=12, max_size=12)
few_examples = settings(
    max_examples=3, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def by_run(table: DataFrame) -> dict[str, dict[int, Any]]:
    found: dict[str, dict[int, Any]] = defaultdict(dict)
    for one in table.collect():
        found[one.run_id][one.message_id] = one
    return found


def check(rows: list[WorkloadRow], found: dict[int, Any]) -> None:
    known = slowly.known_causes(rows)
    placed = slowly.depths_and_times(rows)
    effects = slowly.effects(rows)
    errands, answers = slowly.errands_and_answers(rows)
    rank = {message: one.rank for message, one in found.items()}
    assert sorted(rank.values()) == list(range(len(rows)))
    conversations = {frozenset(group) for group in slowly.conversations(rows)}
    assert {
        frozenset(message for message in found if found[message].conversation == label)
        for label in {one.conversation for one in found.values()}
    } == conversations
    for message in rows:
        one = found[message.message_id]
        depth, ready_ns = placed.get(message.message_id, (None, None))
        assert (one.sender, tuple(one.targets)) == (message.sender, message.targets)
        assert (one.delay_ns, one.payload_bytes) == (message.delay_ns, message.payload_bytes)
        assert one.cause_ranks == sorted(rank[cause] for cause in known[message.message_id])
        assert (one.depth, one.ready_ns) == (depth, ready_ns)
        assert one.target_effects == [
            effects[message.message_id, target] for target in message.targets
        ]
        assert one.target_answers == [
            rank.get(answers.get((message.message_id, target), -1)) for target in message.targets
        ]
    assert errands_of(found) == errands


def errands_of(found: dict[int, Any]) -> set[frozenset[object]]:
    members: dict[int, set[object]] = defaultdict(set)
    for message, one in found.items():
        members[one.errand].add(("sent", message))
        for target, errand in zip(one.targets, one.target_errands, strict=True):
            members[errand].add(("copy", message, target))
    return {frozenset(group) for group in members.values()}


@few_examples
@given(runs=many_runs)
def test_every_run_has_the_structure_that_plain_python_finds(
    spark: SparkSession, runs: list[list[WorkloadRow]]
) -> None:
    named = {f"run {n}": rows for n, rows in enumerate(runs)}
    found = by_run(causal_structure(frame(spark, named)))
    assert found.keys() == named.keys()
    for run_id, rows in named.items():
        check(rows, found[run_id])


def test_partitioning_changes_nothing(spark: SparkSession) -> None:
    tables = [
        sorted(causal_structure(frame(spark, {"a": REVIEW, "b": REVIEW[:5]}, parts)).collect())
        for parts in (1, 5)
    ]
    assert tables[0] == tables[1]
    assert len(tables[0]) == len(REVIEW) + 5


def test_runs_that_share_a_partition_are_kept_apart() -> None:
    """One partition, batches of three rows, run ids that change inside a batch."""
    rows = [
        {"run_id": run_id, **fields}
        for run_id, size in (("a", 11), ("b", 4), ("c", 11))
        for fields in table_of(REVIEW[:size])
    ]
    table = pa.Table.from_pylist(rows)
    batches = structure.structured_batches(table.to_batches(max_chunksize=3))
    whole = pa.Table.from_batches(list(batches)).to_pylist()

    alone = structure.structured("a", pa.Table.from_pylist(table_of(REVIEW))).to_pylist()
    assert [one for one in whole if one["run_id"] == "a"] == alone
    assert [one for one in whole if one["run_id"] == "c"] == [
        one | {"run_id": "c"} for one in alone
    ]
    assert len(whole) == 26


def table_of(rows: list[WorkloadRow]) -> list[dict[str, object]]:
    return [as_fields(row) for row in rows]


def test_the_stage_says_what_it_gives(spark: SparkSession) -> None:
    found = causal_structure(frame(spark, {"a": REVIEW}))
    assert found.schema == from_arrow_schema(STRUCTURE)


def test_an_empty_workload_has_no_structure(spark: SparkSession) -> None:
    assert causal_structure(frame(spark, {})).count() == 0


@pytest.mark.parametrize("partitions", [1, 3])
def test_run_ids_are_texts_even_if_they_look_like_numbers(
    spark: SparkSession, partitions: int
) -> None:
    found = by_run(causal_structure(frame(spark, {"007": REVIEW}, partitions)))
    assert list(found) == ["007"]
