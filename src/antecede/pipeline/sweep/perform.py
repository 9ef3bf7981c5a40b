"""One run of a sweep, inside a Python worker: from a row to a row.

Nothing that goes wrong in a run may end the sweep, so whatever is raised becomes the reason in a
row with the status `failed`; or `lost`, where what was raised is the machine's and not the run's.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede.pipeline.sweep import tables
from antecede.pipeline.sweep.measured import measured_fields, request_fields
from antecede.pipeline.sweep.plans import RunPlan, parse_plan
from antecede.sim.engine import Progress
from antecede.sim.run import Leftovers, RunResult, fitted, simulate
from antecede.sim.workloads.workload import Workload
from antecede.trace.files import record_events, write_events
from antecede.trace.log import EventLog

Row: TypeAlias = dict[str, Any]
Batch: TypeAlias = Any
"""A record batch of pyarrow, which has no type stubs."""

REASON_CHARACTERS: Final = 500


def performed_batches(
    batches: Iterable[Batch], events_folder: str | None, time_limit_ns: int
) -> Iterator[Batch]:
    """What `mapInArrow` calls: planned runs in, and out a batch for each as soon as it is over."""
    # Late: the driver loads this module too, and only a worker makes Arrow batches.
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(tables.RUNS)
    for batch in batches:
        for row in batch.to_pylist():
            done = performed(row, events_folder, time_limit_ns)
            yield pa.RecordBatch.from_pylist([done], schema=schema)


def performed(row: Row, events_folder: str | None, time_limit_ns: int) -> Row:
    """The row of a planned run, with what came of it."""
    begin = time.perf_counter()
    try:
        outcome = outcome_of(parse_plan(row["plan"]), row["run_id"], events_folder, time_limit_ns)
    except Exception as error:
        outcome = failure(error)
    return {**row, **outcome, "seconds": time.perf_counter() - begin}


def failure(error: BaseException) -> Row:
    """What is recorded of a run that broke down."""
    name = "" if isinstance(error, LocalError) else f"{type(error).__name__}: "
    status = tables.LOST if is_the_machines(error) else tables.FAILED
    return {"status": status, "reason": f"{name}{error}"[:REASON_CHARACTERS]}


def is_the_machines(error: BaseException) -> bool:
    """Whether this came of files or memory, which are no part of what decides a run."""
    return any(isinstance(one, OSError | MemoryError) for one in (error, error.__cause__))


def outcome_of(plan: RunPlan, run_id: str, events_folder: str | None, time_limit_ns: int) -> Row:
    """Run the plan and measure it."""
    faults = plan.network.faults()
    workload = plan.workload()
    try:
        info = fitted(plan.carrier, workload, faults, link=True)
    except LocalError as error:
        return {"status": tables.UNSUITED, "reason": str(error)}
    deadline = Deadline(time_limit_ns) if time_limit_ns > 0 else None
    result = recorded(plan, info, workload, run_id, events_folder, deadline)
    status = tables.FINISHED if result.leftovers.empty else tables.UNFINISHED
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


def left_text(leftovers: Leftovers) -> str:
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
