"""One run of a sweep, inside a Python worker: from a row to a row.

Nothing that goes wrong in a run may end the sweep, so whatever is raised becomes the reason in a
row with the status `failed`; or `lost`, where what was raised is the machine's and not the run's.
What was measured is what the simulator's own meter saw: the columns of `MEASURED`.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede.eventlog.log import EventLog
from antecede.eventlog.parquet import ArrowBatch, event_table
from antecede.eventlog.writers import record_events, write_events
from antecede_audit.measure.distributions import Distribution, bucket_number, gathered
from antecede_audit.measure.figures import (
    DELAYS,
    PACKET_TOTALS,
    Figures,
    bucket_rows,
    delay_figures,
)
from antecede_audit.measure.instants import instants_of
from antecede_audit.measure.non_causal import lateness_of_run
from antecede_lab.simulator.engine import Progress
from antecede_lab.simulator.histogram import Histogram
from antecede_lab.simulator.meter import Occupancy, RunMeasures
from antecede_lab.simulator.run import RunLeftovers, RunResult, fitted, simulate
from antecede_lab.simulator.workloads.replay import Replay
from antecede_lab.simulator.workloads.workload import Workload
from antecede_lab.sweep.run_plan import RunPlan, parse_plan
from antecede_lab.sweep.run_store import FAILED, FINISHED, LOST, RUNS, UNFINISHED, UNSUITED

INSTANTS_FROM: Final = ["process", "kind", "sender", "sequence", "target", "time_ns"]
"""The columns of a log that `instants_of` needs."""

REASON_CHARACTERS: Final = 500


def performed_batches(
    batches: Iterable[ArrowBatch], events_folder: str | None, time_limit_ns: int
) -> Iterator[ArrowBatch]:
    """What `mapInArrow` calls: planned runs in, and out a batch for each as soon as it is over."""
    schema = to_arrow_schema(RUNS)
    for batch in batches:
        for row in batch.to_pylist():
            done = run_one(row, events_folder, time_limit_ns)
            yield pa.RecordBatch.from_pylist([done], schema=schema)


def run_one(row: Figures, events_folder: str | None, time_limit_ns: int) -> Figures:
    """The row of a planned run, with what came of it."""
    begin = time.perf_counter()
    try:
        outcome = outcome_of(parse_plan(row["plan"]), row["run_id"], events_folder, time_limit_ns)
    except Exception as error:
        outcome = failure(error)
    return {**row, **outcome, "seconds": time.perf_counter() - begin}


def failure(error: BaseException) -> Figures:
    """What is recorded of a run that broke down."""
    name = "" if isinstance(error, LocalError) else f"{type(error).__name__}: "
    status = LOST if is_the_machines(error) else FAILED
    return {"status": status, "reason": f"{name}{error}"[:REASON_CHARACTERS]}


def is_the_machines(error: BaseException) -> bool:
    """Whether this came of files or memory, which are no part of what decides a run."""
    return any(isinstance(one, OSError | MemoryError) for one in (error, error.__cause__))


def outcome_of(
    plan: RunPlan, run_id: str, events_folder: str | None, time_limit_ns: int
) -> Figures:
    """Run the plan and measure it."""
    faults = plan.network.faults()
    workload = plan.workload()
    try:
        info = fitted(plan.carrier, workload, faults, link=True)
    except LocalError as error:
        return {"status": UNSUITED, "reason": str(error)}
    deadline = Deadline(time_limit_ns) if time_limit_ns > 0 else None
    result = recorded(plan, info, workload, run_id, events_folder, deadline)
    status = FINISHED if result.leftovers.empty else UNFINISHED
    return {
        "status": status,
        "reason": None if result.leftovers.empty else left_text(result.leftovers),
        "carried_by": result.protocol,
        "events": result.events,
        "refused": result.refused,
        "blocked": result.blocked,
        **measured_fields(result, plan.non_causal),
        **request_fields(workload),
    }


def recorded(
    plan: RunPlan,
    info: ProtocolInfo,
    workload: Workload,
    run_id: str,
    events_folder: str | None,
    deadline: "Deadline | None",
) -> RunResult:
    """The result of the run, with its log in memory if that is needed; events go to their folder.

    A log that is only written leaves memory block by block.
    """
    if events_folder is None:
        return simulated(plan, info, workload, plan.non_causal, deadline)
    if not plan.non_causal:
        with record_events(events_folder, run_id) as log:
            return simulated(plan, info, workload, log, deadline)
    result = simulated(plan, info, workload, True, deadline)
    assert result.log is not None, "it was asked for"
    write_events(Path(events_folder), result.log, run_id)
    return result


def simulated(
    plan: RunPlan,
    info: ProtocolInfo,
    workload: Workload,
    record: bool | EventLog,
    progress: Progress | None,
) -> RunResult:
    """Run the simulator as the plan says."""
    return simulate(
        info,
        workload,
        faults=plan.network.faults(),
        seed=plan.seed,
        record=record,
        handling_ns=plan.handling_ns,
        options=dict(plan.options),
        host=plan.host,
        patience_ns=plan.network.patience_ns,
        until_ns=plan.until_ns,
        progress=progress,
    )


class Deadline:
    """Ends a run that takes too long, in processor time: others on the machine do not hurry it."""

    def __init__(self, limit_ns: int) -> None:
        self._limit_ns: Final = limit_ns
        self._end_ns: Final = time.process_time_ns() + limit_ns

    def __call__(self, events: int, submissions: int) -> None:
        """Is called from time to time while the run goes on."""
        if time.process_time_ns() > self._end_ns:
            raise LocalError(
                f"it took longer than {self._limit_ns / 1e9:g} s of processor time, "
                f"with {submissions:,} messages submitted and {events:,} events"
            )


def left_text(leftovers: RunLeftovers) -> str:
    """What a run left undone."""
    counts = {
        "messages not sent": leftovers.unsent,
        "submissions without room": leftovers.blocked,
        "copies not delivered": leftovers.undelivered,
        "not handled": leftovers.unhandled,
        "processes still waiting for an answer": leftovers.timers,
        "events cut off by the end": leftovers.pending,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


# What is measured.


def measured_fields(result: RunResult, non_causal: bool) -> Figures:
    """Every column of `MEASURED`; the run was measured, and recorded if `non_causal` is wanted."""
    measures = result.measures
    assert measures is not None, "runs of a sweep are measured"
    meters = {name: getattr(measures.delays, name) for name in DELAYS if name != "non_causal"}
    delays = {name: counted(meter) for name, meter in meters.items() if meter.count}
    late_ns: list[int] = []
    if non_causal:
        assert result.log is not None, "the run was recorded"
        late_ns = non_causal_ns(result.log)
        if late_ns:
            delays["non_causal"] = gathered(Counter(late_ns))
    return {
        **totals(measures),
        "non_causal_copies": len(late_ns) or None,
        **occupancy_figures(measures.occupancy),
        **delay_figures(delays),
        "packet_totals": packet_rows(measures),
        "buckets": bucket_rows(delays),
    }


def request_fields(workload: Workload) -> Figures:
    """The columns of `REQUESTS`, after a run; null unless it was a replay."""
    times_ns = workload.conversation_times_ns() if isinstance(workload, Replay) else []
    found = gathered(Counter(times_ns)) if times_ns else None
    return {
        "requests": len(times_ns) or None,
        "request_mean_ns": None if found is None else found.mean,
        "request_p50_ns": None if found is None else found.quantile(0.5),
        "request_p99_ns": None if found is None else found.quantile(0.99),
    }


def totals(measures: RunMeasures) -> Figures:
    """Counts and ratios."""
    carrying = sum(kind.carrying for kind in measures.packets)
    return {
        "messages": measures.messages,
        "copies": measures.copies,
        "delivered": measures.delivered,
        "packets": measures.packets_total,
        "control_packets": measures.packets_total - carrying,
        "payload_bytes": sum(kind.payload_bytes for kind in measures.packets),
        "metadata_bytes": sum(kind.metadata_bytes for kind in measures.packets),
        "makespan_ns": measures.makespan_ns,
        "throughput": measures.throughput,
        "packets_per_message": measures.packets_per_message,
        "control_per_message": measures.control_per_message,
        "metadata_bytes_per_message": measures.metadata_bytes_per_message,
    }


def occupancy_figures(occupancy: Occupancy) -> Figures:
    """The fullest buffers, and what a sender had under way."""
    under_way = [mean for mean in occupancy.in_transit_mean if mean > 0]
    return {
        "sender_buffer_max": max(occupancy.sender_buffer_max),
        "receiver_buffer_max": max(occupancy.receiver_buffer_max),
        "in_transit_max": max(occupancy.in_transit_max),
        "in_transit_mean": sum(under_way) / len(under_way) if under_way else 0.0,
    }


def packet_rows(measures: RunMeasures) -> list[Figures]:
    """What was transmitted of every kind of packet."""
    names = ("kind", *PACKET_TOTALS.names[1:])
    return [
        dict(zip(PACKET_TOTALS.names, (getattr(kind, name) for name in names), strict=True))
        for kind in measures.packets
    ]


def counted(histogram: Histogram) -> Distribution:
    """What a histogram of the simulator says."""
    # It tells its mean and not its sum: this is that sum, or one with the same mean.
    total = round(Fraction(histogram.mean()) * int(histogram.count))
    return Distribution(
        least=int(histogram.least),
        greatest=int(histogram.greatest),
        total=total,
        buckets=tuple((bucket_number(low), count) for low, _, count in histogram.buckets()),
    )


def non_causal_ns(log: EventLog) -> list[int]:
    """How much later than causal order demands each copy of a run was delivered."""
    blocks = [event_table(block, log.packet_kinds).select(INSTANTS_FROM) for block in log.blocks()]
    return lateness_of_run(instants_of(pa.concat_tables(blocks)))
