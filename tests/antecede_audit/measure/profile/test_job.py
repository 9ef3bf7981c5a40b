"""A profile from folder to folder, against plain Python; and what the command line shows of it."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede.eventlog.writers import write_events
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant
from antecede_audit.eventlog.workload import WorkloadRow
from antecede_audit.jobs.profile import profile_here
from antecede_audit.measure.distributions import Distribution
from antecede_audit.measure.profile import NOMINAL, RECORDED
from antecede_audit.measure.quantities import MEASURES
from antecede_audit.spark.measure import profile
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Replay
from tests.antecede_audit.measure.profile import slowly
from tests.antecede_audit.measure.profile.commands import run_command
from tests.antecede_audit.measure.profile.test_distributions import distribution
from tests.antecede_audit.measure.profile.workloads import MS, REVIEW, record, row, workloads


def expected(rows: list[WorkloadRow]) -> dict[str, Distribution]:
    """Every measure of a workload without an event log."""
    times = {message: time_ns for message, (_, time_ns) in slowly.depths_and_times(rows).items()}
    values = {
        "targets": [len(one.targets) for one in rows],
        "causes": [len(set(one.causes)) for one in rows],
        "effects": list(slowly.effects(rows).values()),
        "depth": [depth for depth, _ in slowly.depths_and_times(rows).values()],
        "think_ns": [one.delay_ns for one in rows if one.causes],
        "payload_bytes": [one.payload_bytes for one in rows],
        **degrees(rows),
        **conversations(rows, times),
        **gaps(rows, times),
        "errands_at_once": errands_at_once(rows, times),
    }
    return {name: distribution(found) for name, found in sorted(values.items()) if found}


def degrees(rows: list[WorkloadRow]) -> dict[str, list[int]]:
    channels = {(one.sender, target) for one in rows for target in one.targets}
    everybody = {process for channel in channels for process in channel}
    sent = Counter(one.sender for one in rows)
    return {
        "out_degree": [sum(a == p != b for a, b in channels) for p in everybody],
        "in_degree": [sum(b == p != a for a, b in channels) for p in everybody],
        "process_messages": [sent[process] for process in everybody],
    }


def conversations(rows: list[WorkloadRow], times: dict[int, int]) -> dict[str, list[int]]:
    by_id: dict[object, WorkloadRow] = {one.message_id: one for one in rows}
    found = [[by_id[message] for message in group] for group in slowly.conversations(rows)]
    moments = [[times[one.message_id] for one in group] for group in found]
    return {
        "conversation_messages": [len(group) for group in found],
        "conversation_processes": [
            len({process for one in group for process in (one.sender, *one.targets)})
            for group in found
        ],
        "conversation_ns": [max(group) - min(group) for group in moments],
    }


def gaps(rows: list[WorkloadRow], times: dict[int, int]) -> dict[str, list[int]]:
    lanes: dict[tuple[str, int], list[int]] = defaultdict(list)
    for one in rows:
        lanes["submission_gap_ns", -1].append(times[one.message_id])
        lanes["sender_gap_ns", one.sender].append(times[one.message_id])
        for target in one.targets:
            lanes["delivery_gap_ns", target].append(times[one.message_id])
    found: dict[str, list[int]] = defaultdict(list)
    for (name, _), moments in lanes.items():
        found[name] += [after - before for before, after in pairwise(sorted(moments))]
    return found


def errands_at_once(rows: list[WorkloadRow], times: dict[int, int]) -> list[int]:
    sender = {one.message_id: one.sender for one in rows}
    spans = []
    for errand in slowly.errands(rows):
        members: list[Any] = list(errand)
        moments = [times[member[1]] for member in members]
        [process] = {member[2] if len(member) == 3 else sender[member[1]] for member in members}
        spans.append((process, min(moments), max(moments)))
    return [
        sum(other == process and begin <= start <= end for other, begin, end in spans)
        for process, start, _ in spans
    ]


STUCK = [row(0, 0, [1], [9]), row(1, 1, [0], [0]), row(2, 0, [1])]
"""A message whose cause is missing, one that waits for it, and one that is all right."""


@settings(max_examples=1, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(runs=st.lists(workloads(min_size=2), min_size=8, max_size=8))
def test_every_distribution_is_that_of_plain_python(
    spark: SparkSession, runs: list[list[WorkloadRow]]
) -> None:
    """And in the last run, what can never leave is counted: one job profiles them all."""
    named = {f"r{n}": rows for n, rows in enumerate([REVIEW, *runs])} | {"stuck": STUCK}
    with TemporaryDirectory() as folder:
        source = record(Path(folder) / "in", named)
        found = profile(spark, source, f"{folder}/out")
        assert profile_here(source, f"{folder}/small") == found
        assert tables_in(Path(folder) / "small") == tables_in(Path(folder) / "out")
    assert [run.run_id for run in found] == sorted(named)
    *sound, stuck = found
    assert (stuck.messages, stuck.stuck, stuck.spontaneous) == (3, 2, 1)
    assert stuck.distributions["depth"] == distribution([0])
    for run in sound:
        rows = named[run.run_id]
        assert run.distributions == expected(rows)
        assert (run.messages, run.stuck, run.times) == (len(rows), 0, NOMINAL)
        assert run.copies == sum(len(one.targets) for one in rows)
        assert run.spontaneous == sum(not one.causes for one in rows)
        assert run.channels == len({(one.sender, t) for one in rows for t in one.targets})
        assert run.conversations == len(slowly.conversations(rows))
        assert sum(point.messages for point in run.timeline) == len(rows)


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The review with an event log, of a network that takes a millisecond, and with names."""
    folder = tmp_path_factory.mktemp("reviewed")
    record(folder, {"review": REVIEW})
    result = simulate("none", Replay(REVIEW), faults=Faults(latency=Constant(MS)), record=True)
    assert result.log is not None
    for name in ("events", "processes"):
        (folder / name / "run_id=review").mkdir(parents=True)
    write_events(folder / "events" / "run_id=review" / "part-0.parquet", result.log)
    names = pa.table({"process": pa.array(range(9), pa.int32()), "name": list("abcdefghi")})
    pq.write_table(names, folder / "processes" / "run_id=review" / "part-0.parquet")
    return str(folder)


def test_with_an_event_log_times_are_the_recorded_ones(
    spark: SparkSession, reviewed: str, tmp_path: Path
) -> None:
    [run] = profile(spark, reviewed, str(tmp_path / "out"))
    assert profile_here(reviewed, str(tmp_path / "small")) == [run]
    assert tables_in(tmp_path / "small") == tables_in(tmp_path / "out")
    assert (run.times, run.processes, run.channels) == (RECORDED, 9, 11)
    assert (run.first_ns, run.last_ns) == (5 * MS, 21 * MS)
    assert run.distributions["flight_ns"] == distribution([MS] * 11)
    assert run.distributions["in_flight"] == distribution([1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1])
    assert run.distributions["sender_gap_ns"] == distribution([MS, MS, 0, 8 * MS])
    assert max(point.in_flight_max for point in run.timeline) == 2
    table = pq.read_table(tmp_path / "out" / "processes")
    rows = {one["process"]: one for one in table.to_pylist()}
    assert rows[4]["name"] == "e"
    assert {name: rows[4][name] for name in ("messages", "out_degree", "in_degree")} == {
        "messages": 3,
        "out_degree": 3,
        "in_degree": 5,
    }
    assert (rows[8]["messages"], rows[8]["copies_received"]) == (0, 0)


def test_the_command_line_shows_tables_and_draws_plots(
    spark: SparkSession, reviewed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "told"
    result = run_command(monkeypatch, spark, "measure", "--workload", reviewed, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "review: 11 messages (11 copies) among 9 processes" in result.output
    assert "effects of a delivery" in result.output
    plots = {file.name for file in (out / "plots").iterdir()}
    names = ("activity", "conversations", "degrees", "depth", "fan-out", "sizes", "times")
    assert plots == {f"{name}.svg" for name in names}
    assert "<title>Half of the effects leave within 1.0" in (out / "plots" / "times.svg").read_text(
        encoding="utf-8"
    )
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    review = summary["runs"]["review"]
    assert (review["messages"], review["measures"]["depth"]["max"]) == (11, 4)
    assert set(review["measures"]) <= set(MEASURES) == set(summary["meaning"])


def test_a_folder_without_a_workload_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="has no workload: `antecede ingest` makes one"):
        profile(spark, str(tmp_path), str(tmp_path / "out"))
    record(tmp_path, {"a": REVIEW})
    with pytest.raises(LocalError, match="has no messages of run 'b'"):
        profile(spark, str(tmp_path), str(tmp_path / "out"), run_id="b")
    with pytest.raises(LocalError, match="has no messages of run 'b'"):
        profile_here(str(tmp_path), str(tmp_path / "out"), run_id="b")


def test_what_is_large_or_elsewhere_is_left_to_spark(tmp_path: Path) -> None:
    record(tmp_path, {"a": REVIEW})
    out = str(tmp_path / "out")
    assert profile_here(str(tmp_path), out, rows_max=len(REVIEW) - 1) is None
    assert profile_here(f"hdfs://{tmp_path}", out) is None
    assert profile_here(str(tmp_path / "nothing"), out) is None
    assert not Path(out).exists()


def tables_in(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The tables that a profile leaves, in an order of their own."""
    return {
        name: sorted(pq.read_table(folder / name).to_pylist(), key=str)
        for name in ("processes", "channels", "distributions", "timeline")
    }
