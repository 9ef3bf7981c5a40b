"""Of runs that no task could take, a part is looked at that is complete in itself."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antecede.cli.profile import caption
from antecede.pipeline.grow.job import grow
from antecede.pipeline.grow.plan import Wanted
from antecede.pipeline.profile.job import profile
from antecede.pipeline.profile.sampling import Sampled, run_sizes, sampled
from antecede.pipeline.profile.summary import run_object
from antecede.trace.workload import WorkloadRow, read_workload
from tests.pipeline.grow.replaying import check_replay
from tests.pipeline.grow.test_job import REVIEWS
from tests.pipeline.profile.workloads import frame, record, row

CHAIN = [row(n, n % 2, [1 - n % 2], [n - 1] if n else [], 5) for n in range(100)]
"""Two processes that answer each other: one conversation, one chain."""

DAMAGED = [
    row(0, 0, [1], [1]),
    row(1, 1, [0], [0]),
    row(2, 0, [1], [99]),
    row(3, 1, [0], [2]),
    *(row(n, 0, [1]) for n in range(4, 40)),
]
"""A circle, a cause that is missing, what waits for that, and messages that are all right."""


def entries_of(rows: list[WorkloadRow]) -> int:
    return sum(1 + len(one.targets) + len(one.causes) for one in rows)


@pytest.fixture(scope="module")
def half(spark: SparkSession) -> dict[str, dict[int, list[int]]]:
    """About half of some runs: which messages, and which of their causes."""
    found: dict[str, dict[int, list[int]]] = {}
    for name, rows in (("reviews", REVIEWS), ("chain", CHAIN), ("damaged", DAMAGED)):
        workload = frame(spark, {name: rows})
        with ExitStack() as stack:
            sizes = run_sizes(workload)
            assert sizes[name].entries == entries_of(rows)
            sample = sampled(workload, sizes, stack, entries_of(rows) // 2)
            table = sample.workload.select("message_id", "causes").collect()
            assert sample.messages == {name: len(table)}
        found[name] = {one.message_id: one.causes for one in table}
    return found


def test_a_run_that_fits_is_left_alone(spark: SparkSession) -> None:
    workload = frame(spark, {"a": CHAIN})
    sizes = run_sizes(workload)
    with ExitStack() as stack:
        same = sampled(workload, sizes, stack, entries_of(CHAIN))
    assert same == Sampled(workload=workload, sizes=sizes, messages={})


def test_about_as_much_is_taken_as_was_asked_for(half: dict[str, dict[int, list[int]]]) -> None:
    assert len(REVIEWS) / 3 < len(half["reviews"]) < len(REVIEWS) * 2 / 3
    assert len(CHAIN) / 3 < len(half["chain"]) < len(CHAIN) * 2 / 3


def test_whoever_has_causes_keeps_one_at_least(half: dict[str, dict[int, list[int]]]) -> None:
    causes = {one.message_id: set(one.causes) for one in REVIEWS}
    taken = half["reviews"]
    for message, known in taken.items():
        assert set(known) == causes[message] & taken.keys()
        assert bool(known) == bool(causes[message])
    assert any(set(known) != causes[message] for message, known in taken.items()), "some were cut"


def test_of_one_long_chain_the_beginning_is_taken(half: dict[str, dict[int, list[int]]]) -> None:
    taken = sorted(half["chain"])
    assert taken == list(range(len(taken)))
    assert all(half["chain"][n] == [n - 1] for n in taken[1:])


def test_what_can_never_leave_still_cannot(half: dict[str, dict[int, list[int]]]) -> None:
    assert {n: half["damaged"][n] for n in range(4) if n in half["damaged"]} == {
        n: list(DAMAGED[n].causes) for n in range(4) if n in half["damaged"]
    }


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


def test_a_sample_is_grown_as_often_as_it_takes(spark: SparkSession, tmp_path: Path) -> None:
    source = record(tmp_path / "in", {"reviews": REVIEWS})
    limit = entries_of(REVIEWS) // 3
    out = tmp_path / "out"
    summary = grow(spark, source, str(out), Wanted(processes=70), entries_max=limit)
    recorded = summary["grown_from"]
    assert isinstance(recorded, dict)
    assert recorded["sampled_from"] == len(REVIEWS) == summary["messages"]
    assert recorded["messages"] < len(REVIEWS) / 2
    assert f"{recorded['messages']} of 660 messages" in str(summary["real"])
    check_replay(read_workload(out / "workload"), 70)
