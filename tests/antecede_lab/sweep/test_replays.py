"""What is done to a recorded workload before it is replayed."""

from dataclasses import replace
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede_audit.eventlog.workload import WorkloadRow, check_workload, write_workload
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads.replay import Replay
from antecede_lab.sweep.run_plan import plan_replay, selected_rows, sending_times, unicasts, within
from tests.antecede_lab.sweep.grids import small_trace, trace_file


def ids(rows: list[WorkloadRow]) -> list[int]:
    return [row.message_id for row in rows]


def test_whole_table_is_replayed_as_it_is(tmp_path: Path) -> None:
    assert selected_rows(plan_replay(trace_file(tmp_path))) == small_trace()


def test_time_of_a_message_follows_from_its_causes() -> None:
    assert sending_times(small_trace()[::-1]) == {
        10: 1_000_000,
        11: 1_002_000,
        12: 1_004_000,
        13: 1_010_000,
        20: 5_000_000,
        21: 5_008_000,
        30: 9_000_000,
    }


def test_stretch_of_time_has_what_is_sent_in_it() -> None:
    rows = within(small_trace(), 1_000_000, 7_000_000)
    assert ids(rows) == [10, 11, 12, 13, 20, 21]
    assert [row.delay_ns for row in rows] == [0, 2_000, 4_000, 6_000, 4_000_000, 8_000]


def test_cause_from_before_the_stretch_counts_as_delivered() -> None:
    """12 no longer waits, and 13 waits for 12 alone, each until its own time."""
    rows = within(small_trace(), 1_003_000, 10_000)
    assert [(row.message_id, row.causes, row.delay_ns) for row in rows] == [
        (12, (), 1_000),
        (13, (12,), 6_000),
    ]
    whole = sending_times(small_trace())
    assert sending_times(rows) == {number: whole[number] - 1_003_000 for number in (12, 13)}


def test_stretch_without_an_end_lasts_to_the_end() -> None:
    assert ids(within(small_trace(), 2_000_000, 0)) == [20, 21, 30]


def test_empty_stretch_is_refused(tmp_path: Path) -> None:
    plan = replace(plan_replay(trace_file(tmp_path)), start_ns=1 << 50)
    with pytest.raises(LocalError, match=r"nothing in .* is sent in the stretch"):
        selected_rows(plan)


def test_unicasts_keep_every_copy_and_its_effects() -> None:
    rows = unicasts(small_trace())
    check_workload(rows)
    assert [(row.sender, row.targets) for row in rows[:3]] == [(0, (1,)), (0, (2,)), (1, (3,))]
    assert [row.causes for row in rows[2:5]] == [(0,), (1,), (2, 3)]
    assert sum(len(row.targets) for row in small_trace()) == len(rows)


def test_compressed_time_passes_faster(tmp_path: Path) -> None:
    plan = replace(plan_replay(trace_file(tmp_path)), compress=4.0)
    assert [row.delay_ns for row in selected_rows(plan)] == [
        round(row.delay_ns / 4) for row in small_trace()
    ]


def test_every_selection_can_be_performed(tmp_path: Path) -> None:
    plan = replace(
        plan_replay(trace_file(tmp_path)),
        compress=3.0,
        unicast=True,
        start_ns=500,
        span_ns=8_000_000,
    )
    result = simulate("mf", Replay(selected_rows(plan)))
    assert result.leftovers.empty
    assert result.deliveries == 7


def test_json_lines_can_be_replayed_too(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    write_workload(file, small_trace())
    plan = plan_replay(file)
    assert (plan.processes, plan.messages) == (5, 7)
    assert selected_rows(plan) == small_trace()


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    file = trace_file(tmp_path)
    before = plan_replay(file)
    assert len(selected_rows(before)) == 7
    write_workload(file, small_trace()[:4])
    after = plan_replay(file)
    assert after.content != before.content
    assert len(selected_rows(after)) == 4
