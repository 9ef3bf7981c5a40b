"""What a recorded run cost: how long messages took, and what they carried besides their payload."""

from dataclasses import dataclass
from typing import final

from antecede.cli.demonstration.plan import RUNS, Places
from antecede.report.readers.recordings import logged_runs
from antecede.report.readers.sources import find_sources
from antecede.report.spacetime.build import build_run
from antecede.report.spacetime.rows import rows_of_files
from antecede.report.spacetime.run import MISSING, Run
from antecede.report.spacetime.times import latencies_ns


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The figures of one run, as the report has them too."""

    latency_p50_ns: int
    latency_p99_ns: int
    metadata_bytes: float
    """For one message to all its targets: on it, and in the control packets it causes."""
    control_packets: float
    """For one message."""


def measure(places: Places) -> dict[str, Cost]:
    """By run."""
    logged = {run.run_id: run for run in logged_runs(find_sources([places.events]))}
    return {
        run: cost_of(build_run(rows_of_files(logged[run].files), run, names={})) for run in RUNS
    }


def cost_of(run: Run) -> Cost:
    """What a run cost."""
    latencies = latencies_ns(run)
    packets = run.packets
    return Cost(
        latency_p50_ns=latencies[len(latencies) // 2],
        latency_p99_ns=latencies[len(latencies) * 99 // 100],
        metadata_bytes=sum(packets.metadata_bytes) / run.messages,
        control_packets=sum(copy == MISSING for copy in packets.copy) / run.messages,
    )
