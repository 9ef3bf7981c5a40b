"""One run of a sweep as a worker carries it out, without Spark."""

import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from antecede_audit.eventlog.reader import read_events
from antecede_audit.eventlog.workload import WorkloadRow, write_workload
from antecede_audit.measure.distributions import bounds, gathered
from antecede_lab.sweep.run_one import Deadline, run_one
from antecede_lab.sweep.run_plan import RunPlan, parse_plan
from antecede_lab.sweep.run_store import REQUESTS, RUNS
from antecede_lab.sweep.sweep import planned_row
from tests.antecede_lab.sweep.grids import grid_of

TEXT = """
protocols = ["{protocol}"]
networks = ["{network}"]
[scenario.x]
workload = "{workload}"
messages = 200
interval = "1ms"
until = "{until}"
"""


def plan_of(
    folder: Path,
    protocol: str = "hybrid",
    network: str = "lossy",
    workload: str = "poisson",
    until: str = "1h",
) -> RunPlan:
    text = TEXT.format(protocol=protocol, network=network, workload=workload, until=until)
    (plan,) = grid_of(folder, text).plans()
    return plan


def run(plan: RunPlan, events: str | None = None, time_limit_ns: int = 0) -> dict[str, Any]:
    return run_one(planned_row(plan), events, time_limit_ns)


def test_run_fills_every_column(tmp_path: Path) -> None:
    row = run(plan_of(tmp_path))
    assert sorted(row) == sorted(RUNS.names)
    assert (row["status"], row["reason"]) == ("finished", None)
    assert row["messages"] == row["copies"] == row["delivered"] == 200
    empty = [name for name, value in row.items() if value is None]
    assert empty == ["reason", *REQUESTS.names], "what is made up has no requests"


def test_replay_tells_how_long_requests_took(tmp_path: Path) -> None:
    """Two requests of three hops each, 1 to 2 ms apart over the network `reliable`."""
    rows = [
        WorkloadRow(message_id=3 * number + hop, sender=hop, targets=(hop + 1,),
                    causes=(3 * number + hop - 1,) if hop else (), delay_ns=0)
        for number in range(2)
        for hop in range(3)
    ]  # fmt: skip
    write_workload(tmp_path / "trace.jsonl", rows)
    (plan,) = grid_of(tmp_path, '[scenario.x]\nreplay = "trace.jsonl"').plans()
    row = run(plan)
    assert row["requests"] == 2
    assert 1_500_000 <= row["request_mean_ns"] <= 4_500_000
    assert row["latency_mean_ns"] < row["request_p50_ns"] <= row["request_p99_ns"]


def test_variant_is_the_protocol_with_its_options(tmp_path: Path) -> None:
    """A buffer for one message makes submissions wait for room."""
    text = """
    protocols = ["narrow", "hybrid"]
    networks = ["reliable"]
    [protocol.narrow]
    of = "hybrid"
    set.send_limit = 1
    [scenario.x]
    messages = 100
    interval = "1ms"
    """
    narrow, usual = (run(plan) for plan in grid_of(tmp_path, text).plans())
    assert (narrow["protocol"], narrow["carried_by"]) == ("narrow", "hybrid")
    assert narrow["blocked"] > 0 == usual["blocked"]
    assert narrow["digest"] != usual["digest"]


def test_a_variant_may_run_on_whole_nodes(tmp_path: Path) -> None:
    text = """
    protocols = ["nodes", "hybrid"]
    networks = ["lossy"]
    [protocol.nodes]
    of = "hybrid"
    host = "node"
    [scenario.x]
    messages = 100
    interval = "1ms"
    """
    nodes, core = grid_of(tmp_path, text).plans()
    assert parse_plan(nodes.text()) == nodes
    on_nodes, alone = run(nodes), run(core)
    assert (on_nodes["protocol"], on_nodes["carried_by"]) == ("nodes", "hybrid on nodes")
    assert on_nodes["delivered"] == alone["delivered"]
    assert on_nodes["digest"] != alone["digest"]


def test_network_that_recovers_needs_no_link(tmp_path: Path) -> None:
    text = """
    protocols = ["rst"]
    networks = ["mended"]
    [network.mended]
    like = "lossy"
    duplicate = 0
    recovery = 1.5
    [scenario.x]
    messages = 100
    """
    (plan,) = grid_of(tmp_path, text).plans()
    row = run(plan)
    assert (row["carried_by"], row["status"], row["delivered"]) == ("rst", "finished", 100)
    assert row["channel_max_ns"] > 2_500_000, "something was lost, and came later"


def test_same_row_gives_the_same_run(tmp_path: Path) -> None:
    first, second = (run(plan_of(tmp_path, "ks")) for _ in range(2))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_protocol_that_needs_a_better_network_runs_over_the_link(tmp_path: Path) -> None:
    assert run(plan_of(tmp_path, "rst"))["carried_by"] == "rst+link"
    assert run(plan_of(tmp_path, "rst", "reliable"))["carried_by"] == "rst"


def test_latency_optimal_protocol_adds_nothing_on_a_lossless_network(tmp_path: Path) -> None:
    row = run(plan_of(tmp_path, "rst", "reliable"))
    assert row["receiver_wait_max_ns"] > 0
    assert (row["non_causal_mean_ns"], row["non_causal_max_ns"]) == (0, 0)


def test_unordered_delivery_is_too_early(tmp_path: Path) -> None:
    row = run(plan_of(tmp_path, "none", "reliable"))
    assert row["non_causal_mean_ns"] < 0
    assert row["non_causal_max_ns"] == 0


def test_protocol_that_cannot_carry_a_workload_is_unsuited(tmp_path: Path) -> None:
    row = run(plan_of(tmp_path, "mf", workload="groups"))
    assert row["status"] == "unsuited"
    assert row["reason"] == "mf sends to one process at a time; Groups multicasts"


def test_run_that_is_cut_short_says_what_was_left(tmp_path: Path) -> None:
    row = run(plan_of(tmp_path, until="20ms"))
    assert row["status"] == "unfinished"
    assert "copies not delivered" in row["reason"]
    assert 0 < row["messages"] < 200


def test_failure_is_recorded_with_its_reason_and_seed(tmp_path: Path) -> None:
    row = run(plan_of(tmp_path, "tests.antecede_lab.sweep.broken:RAISING"))
    assert (row["status"], row["seed"]) == ("failed", 1)
    assert row["reason"] == "ZeroDivisionError: on purpose"


def test_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    (plan,) = grid_of(tmp_path, "[scenario.x]\nmessages = 10000").plans()
    row = run(plan, time_limit_ns=1)
    assert row["status"] == "failed"
    assert row["reason"].startswith("it took longer than 1e-09 s of processor time, with ")


def test_time_that_others_take_does_not_end_a_run() -> None:
    """A run that shares its machine, or is stopped for a while, is no slower for it."""
    deadline = Deadline(200_000_000)
    time.sleep(0.5)
    deadline(0, 0)


def test_run_that_the_machine_fails_is_lost(tmp_path: Path) -> None:
    """The same run would end otherwise where there is room."""
    row = run(plan_of(tmp_path, "tests.antecede_lab.sweep.broken:WITHOUT_DISK"))
    assert row["status"] == "lost"
    assert row["reason"] == "OSError: [Errno 28] No space left on device"


@pytest.mark.parametrize("kept", [True, False])
def test_events_are_written_whether_or_not_the_log_is_needed(tmp_path: Path, kept: bool) -> None:
    (plan,) = grid_of(tmp_path, f"non_causal = {str(kept).lower()}\n[scenario.x]\n").plans()
    row = run(plan, str(tmp_path / "events"))
    log = read_events(tmp_path / "events", plan.run_id)
    assert len(log) > 4 * row["copies"] == 4 * 2000
    assert (row["non_causal_mean_ns"] is None) != kept


def test_distribution_of_signed_durations() -> None:
    found = gathered(Counter([-1000, -1, 0, 0, 5, 128, 129, 130, 131, 1000]))
    assert found.mean == 52.2
    assert found.greatest == 1000
    assert [found.quantile(share) for share in (0.5, 0.9, 0.99)] == [5, 130, 1000]
    assert [(*bounds(bucket), count) for bucket, count in found.buckets] == [
        (-1007, -1000, 1),
        (-1, -1, 1),
        (0, 0, 2),
        (5, 5, 1),
        (128, 129, 2),
        (130, 131, 2),
        (1000, 1007, 1),
    ]


def test_bucket_bounds_meet() -> None:
    edges = [bounds(bucket) for bucket in range(-300, 301)]
    assert all(high + 1 == low for (_, high), (low, _) in pairwise(edges))
