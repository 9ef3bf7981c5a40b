"""Where the time of a run went, in numbers."""

import pytest

from antecede_audit.report.spacetime.recording import build_run, rows_of_log
from antecede_audit.report.spacetime.times import (
    COLUMNS,
    cdf_of,
    fullest,
    latencies_ns,
    levels_of,
    parts_of,
)
from antecede_lab.simulator.networks import build_network
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads.catalogue import TrafficSettings, build_workload
from tests.antecede_audit.report.logs import Scribe, overtaken

MS = 1_000_000


def test_the_fullest_moment_of_each_stretch_is_shown() -> None:
    levels = fullest([(0, 10), (2, 4), (3, 8), (8, 9)], COLUMNS)

    assert levels[:11] == (1, 1, 2, 3, 3, 2, 2, 2, 2, 2, 1)
    assert set(levels[11:]) == {0}


def test_a_peak_shorter_than_a_stretch_is_not_overlooked() -> None:
    assert fullest([(1000, 1001), (1000, 1002)], COLUMNS * 1_000_000)[0] == 2


def test_nothing_has_no_level() -> None:
    assert set(fullest([], 1000)) == {0}


def test_levels_count_buffers_and_what_is_on_its_way() -> None:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1)
    scribe.transmit(40, 0, 1, 1, 0, 1)
    scribe.arrive(80, 1, 1, 0, 1)
    scribe.deliver(160, 1, 0, 1)
    levels = levels_of(scribe.run())

    def column(time_ms: int) -> int:
        return COLUMNS * time_ms // 160

    def present(level: tuple[int, ...]) -> list[bool]:
        return [bool(level[column(time_ms)]) for time_ms in (20, 60, 120)]

    assert present(levels.sending) == [True, False, False]
    assert present(levels.travelling) == [False, True, False]
    assert present(levels.receiving) == [False, False, True]


def test_parts_add_up_to_latencies() -> None:
    run = overtaken().run()
    parts = parts_of(run)

    assert parts is not None
    totals = [
        sum(column)
        for column in zip(
            parts.sender_wait_ns, parts.channel_ns, parts.receiver_wait_ns, strict=True
        )
    ]
    assert totals == latencies_ns(run) == [1 * MS, 1 * MS, 9 * MS]
    assert parts.shares == (0.0, 0.5, 1.0)


def test_a_log_that_knows_only_the_two_ends_has_latencies_without_parts() -> None:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1, 0)
    scribe.deliver(0, 0, 0, 1)
    scribe.deliver(4, 1, 0, 1)
    run = scribe.run()

    assert latencies_ns(run) == [4 * MS]
    assert parts_of(run) is None


def test_latencies_are_those_that_the_simulator_measured_itself() -> None:
    workload = build_workload("poisson", TrafficSettings(processes=5, messages=300), {})
    result = simulate(
        "hybrid", workload, faults=build_network("lossy"), seed=1, record=True, measure=True
    )
    assert result.log is not None
    assert result.measures is not None
    delays = result.measures.delays
    run = build_run(rows_of_log(result.log), "hybrid")
    parts = parts_of(run)
    assert parts is not None

    latencies = latencies_ns(run)
    assert sum(latencies) / len(latencies) == pytest.approx(delays.latency.mean())
    assert max(latencies) == delays.latency.greatest
    # Each of 50 steps has 6 of the 300 copies.
    steps = len(parts.shares)
    assert sum(parts.sender_wait_ns) / steps == pytest.approx(delays.sender_wait.mean())
    assert sum(parts.channel_ns) / steps == pytest.approx(delays.channel.mean())
    assert sum(parts.receiver_wait_ns) / steps == pytest.approx(delays.receiver_wait.mean())


def test_a_distribution_ends_with_everything() -> None:
    assert cdf_of([]) == ()
    assert cdf_of([5]) == ((5.0, 1.0),)
    assert cdf_of([1, 2, 3, 4]) == ((1.0, 0.25), (2.0, 0.5), (3.0, 0.75), (4.0, 1.0))
