"""What a demonstration does: record the shop twice, compare protocols, measure what it cost."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import final

from antecede.cli.demonstration.plan import RUNS, WITH, Places, Plan
from antecede.lab.comparison import readings as measured
from antecede.lab.comparison.campaign import Campaign, Show
from antecede.lab.comparison.documents import write_comparison
from antecede.lab.comparison.plan import entrants_of
from antecede.lab.comparison.traffic import UNIFORM
from antecede.report.readers.recordings import logged_runs
from antecede.report.readers.sources import find_sources
from antecede.report.spacetime.run import MISSING, Run, build_run, rows_of_files
from antecede.report.spacetime.times import latencies_ns
from antecede.tools.shop import Outcome, perform

Doing = Callable[[str], None]
Done = Callable[[int, int], None]


def record(plan: Plan, places: Places, doing: Doing, done: Done) -> dict[str, Outcome]:
    """The shop on a bad network, without order and in causal order; the dataset has both logs."""
    trace_format = "jsonl" if find_spec("pyarrow") is None else "parquet"
    outcomes: dict[str, Outcome] = {}
    for run in RUNS:
        doing("in causal order (hybrid)" if run == WITH else "without order (none)")
        outcomes[run] = perform(
            run,
            places.events,
            orders=plan.orders,
            per_second=plan.per_second,
            settings={"trace_format": trace_format},
            progress=done,
        )
    return outcomes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The one figure that the summary has room for."""

    processes: int
    metadata_bytes: dict[str, float]
    """By protocol: on one message, everybody talking to everybody."""


def compare(plan: Plan, places: Places, show: Show | None) -> Compared:
    """Run it, and write what the report reads."""
    campaign = Campaign(entrants_of(list(plan.protocols)), plan.effort, plan.families)
    campaign.run(show)
    options = f"--protocols {','.join(plan.protocols)} --only {','.join(plan.families)}"
    write_comparison(places.comparison, campaign, f"antecede compare {options}{plan.effort.option}")
    points = {
        protocol: campaign.readings.series(protocol, measured.BYTES, UNIFORM)
        for protocol in plan.protocols
    }
    largest = max(int(size) for series in points.values() for size, _ in series)
    return Compared(
        processes=largest,
        metadata_bytes={
            protocol: figure
            for protocol, series in points.items()
            for size, figure in series
            if size == largest
        },
    )


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
