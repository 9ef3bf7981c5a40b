"""Of runs that no task could take, a part is looked at that is complete in itself."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antecede_audit.eventlog.workload import WorkloadRow, read_workload
from antecede_audit.measure.profile import run_object
from antecede_audit.spark.measure import profile
from antecede_audit.spark.sampling import Sampled, run_sizes, sampled
from antecede_cli.audit.measure import caption
from antecede_lab.grow.grow import grow
from antecede_lab.grow.target_size import GrowthRequest
from tests.antecede_audit.measure.profile.workloads import frame, record, row
from tests.antecede_lab.grow.replaying import check_replay
from tests.antecede_lab.grow.test_job import REVIEWS

FIRST = 10_000
"""Where the ids of the chain begin."""

CHAIN = [row(FIRST + n, n % 2, [1 - n % 2], [FIRST + n - 1] if n else [], 5) for n in range(60)]
"""Two processes that answer each other: one conversation, one chain."""

DAMAGED = [
    row(20_000, 0, [1], [20_001]),
    row(20_001, 1, [0], [20_000]),
    row(20_002, 0, [1], [99_999]),
    row(20_003, 1, [0], [20_002]),
]
"""A circle, a cause that is missing, and what waits for that."""

ALL = [*REVIEWS, *CHAIN, *DAMAGED]


def entries_of(rows: list[WorkloadRow]) -> int:
    return sum(1 + len(one.targets) + len(one.causes) for one in rows)


@pytest.fixture(scope="module")
def half(spark: SparkSession) -> dict[int, list[int]]:
    """About half of a run: which messages, and which of their causes."""
    workload = frame(spark, {"a": ALL})
    sizes = run_sizes(workload)
    assert (sizes["a"].entries, sizes["a"].highest) == (entries_of(ALL), 6)
    with ExitStack() as stack:
        assert sampled(workload, sizes, stack, entries_of(ALL)) == Sampled(
            workload=workload, sizes=sizes, messages={}
        ), "a run that fits is left alone"
        sample = sampled(workload, sizes, stack, entries_of(ALL) // 2)
        table = sample.workload.select("message_id", "causes").collect()
        assert sample.messages == {"a": len(table)}
    return {one.message_id: one.causes for one in table}


def test_about_as_much_is_taken_as_was_asked_for(half: dict[int, list[int]]) -> None:
    assert len(ALL) / 3 < len(half) < len(ALL) * 2 / 3


def test_whoever_has_causes_keeps_one_at_least(half: dict[int, list[int]]) -> None:
    causes = {one.message_id: set(one.causes) for one in REVIEWS}
    taken = half.keys() & causes
    for message in taken:
        assert set(half[message]) == causes[message] & taken
        assert bool(half[message]) == bool(causes[message])
    assert any(set(half[message]) != causes[message] for message in taken), "some were cut"


def test_of_one_long_chain_the_beginning_is_taken(half: dict[int, list[int]]) -> None:
    taken = sorted(one.message_id for one in CHAIN if one.message_id in half)
    assert taken == list(range(FIRST, FIRST + len(taken)))
    assert len(CHAIN) / 3 < len(taken) < len(CHAIN) * 2 / 3
    assert all(half[message] == [message - 1] for message in taken[1:])


def test_what_can_never_leave_still_cannot(half: dict[int, list[int]]) -> None:
    for one in DAMAGED:
        assert half.get(one.message_id, list(one.causes)) == list(one.causes)


@pytest.mark.long
def test_a_profile_says_what_it_is_estimated_from(spark: SparkSession, tmp_path: Path) -> None:
    """Next to a run that fits; counts of messages are exact, and gaps are not guessed at."""
    source = record(tmp_path, {"few": CHAIN, "many": REVIEWS})
    few, many = profile(spark, source, str(tmp_path / "out"), entries_max=entries_of(REVIEWS) - 1)
    assert few.sampled is None
    assert run_object(few)["estimated_from"] is None
    assert "submission_gap_ns" in few.distributions

    assert many.sampled is not None
    assert 0 < many.sampled <= len(REVIEWS) == many.messages
    assert run_object(many)["estimated_from"] == {"messages": many.sampled, "of": len(REVIEWS)}
    assert f"a sample of {many.sampled:,} of 660 messages" in caption(many)
    assert many.copies == sum(len(one.targets) for one in REVIEWS)
    assert many.distributions["process_messages"].total == len(REVIEWS)
    assert many.distributions["depth"].greatest == 4
    assert not {"submission_gap_ns", "errands_at_once"} & set(many.distributions)


@pytest.mark.long
def test_a_sample_is_grown_as_often_as_it_takes(spark: SparkSession, tmp_path: Path) -> None:
    source = record(tmp_path / "in", {"reviews": REVIEWS})
    limit = entries_of(REVIEWS) // 3
    out = tmp_path / "out"
    summary = grow(spark, source, str(out), GrowthRequest(processes=70), entries_max=limit)
    recorded = summary["grown_from"]
    assert isinstance(recorded, dict)
    assert recorded["sampled_from"] == len(REVIEWS) == summary["messages"]
    assert recorded["messages"] < len(REVIEWS) / 2
    assert f"{recorded['messages']} of 660 messages" in str(summary["real"])
    check_replay(read_workload(out / "workload"), 70)
