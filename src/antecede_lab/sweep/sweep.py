"""Runs a sweep: plans in, runs out, one simulation a Spark task.

Runs go to Spark in small jobs, the long ones first and each run a task of its own, and a few jobs
are under way at once: while the last task of one is still busy, the tasks of the next fill the
other cores. What a job brings back is kept at once, so an interrupted sweep loses little. If a job
fails as a whole, because a worker died, its runs are tried one by one, and only the one whose
worker died again is recorded as lost. If Spark itself is gone, the sweep ends and records nothing.
A sweep that goes on tries again what was lost.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import claim, write_whole
from antecede.eventlog.layout import partition_folder
from antecede.eventlog.parquet import ArrowTable, load_pyarrow
from antecede.units import counted
from antecede.version import __version__
from antecede_audit.jobs.worker_files import SHARED
from antecede_audit.spark.job_names import named, named_jobs
from antecede_audit.spark.session import SPARK_ERRORS, first_line
from antecede_lab.catalogue import find_protocol
from antecede_lab.sweep.grid import Grid
from antecede_lab.sweep.run_one import performed_batches
from antecede_lab.sweep.run_plan import RunPlan
from antecede_lab.sweep.run_store import (
    FAILED,
    LEFT_OUT,
    LOST,
    PLANNED,
    RUNS,
    STATES,
    WITH_EVENTS,
    RunStore,
)

WRITTEN: Final = ("runs", "summary.json", "events")
PART: Final = re.compile(r"part-\d{5}-(all-\d+-)?[0-9a-f]{16,}\.parquet")
JOBS_AT_ONCE: Final = 2
RUNS_PER_CORE: Final = 32
COST_PER_CORE: Final = 100_000.0
"""A job has at most 32 runs, and a cost of about 100,000, for each core. With more, a sweep that is
interrupted would lose more; with less, starting the job would take longer than its runs.
"""

CORES: Final = 8
"""How many there are taken to be where Spark does not say: only the size of jobs depends on it."""

MEMBERS_WEIGHT: Final = 50
"""50 members double the cost of a message of a protocol that has to know them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepProgress:
    """How far a sweep has come; costs are guesses, in messages of a cheap protocol."""

    runs: int
    runs_done: int
    failed: int
    cost: float
    cost_done: float


Report: TypeAlias = Callable[[SweepProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """What came of a sweep: where it is, and how many of its runs ended how."""

    folder: Path
    by_status: dict[str, int]
    resumed: int
    """How many of them were there already."""
    retried: int
    """How many of the others had been lost or, if that was asked for, had failed before."""

    def read(self) -> ArrowTable:
        """The table of all runs of this folder."""
        return RunStore(self.folder / "runs").read()


def run_sweep(
    spark: SparkSession,
    grid: Grid,
    out: Path,
    *,
    events: bool = False,
    retry_failed: bool = False,
    report: Report | None = None,
) -> SweepResult:
    """Carry out whatever of the grid is not in `out` yet, and say what is there now.

    Writes `out/runs`, `out/summary.json` and, if asked for, `out/events`, which has to be a folder
    that the executors see under the same name.
    """
    claim(out, WRITTEN if events else WRITTEN[:-1], known=is_sweep(out))
    store = RunStore(out / "runs")
    store.create()
    plans = grid.plans()
    before = store.statuses()
    again = {LOST, FAILED} if retry_failed else {LOST}
    todo = unfinished(plans, before, {*again, LEFT_OUT}, out / "events" if events else None)
    beyond = {plan.digest: reason for plan in todo if (reason := grid.beyond(plan)) is not None}
    left = [left_out(plan, beyond[plan.digest]) for plan in todo if plan.digest in beyond]
    store.add(rows_table(left))
    folder = str((out / "events").resolve()) if events else None
    sweep = Sweep(spark, store, folder, grid.time_limit_ns, report)
    sweep.run([plan for plan in todo if plan.digest not in beyond])
    store.tidy()
    if events:
        check_events(out / "events", plans, store.statuses())
    result = SweepResult(
        folder=out,
        by_status=counts_of(store, plans),
        resumed=len(plans) - len(todo),
        retried=sum(before.get(plan.digest) in again for plan in todo),
    )
    write_summary(result)
    return result


def is_sweep(out: Path) -> bool:
    """Whether a folder is that of a sweep, by the names of all the files in its `runs`."""
    names = [file.name for file in (out / "runs").glob("*")]
    return bool(names) and all(PART.fullmatch(name) for name in names)


def unfinished(
    plans: Sequence[RunPlan], before: Mapping[str, str], again: Set[str], events: Path | None
) -> list[RunPlan]:
    """What is still to be done, where some ends count as none.

    A run whose events are wanted and not there is done again.
    """
    todo: list[RunPlan] = []
    for plan in plans:
        status = before.get(plan.digest)
        unseen = (
            events is not None
            and status in WITH_EVENTS
            and not partition_folder(events, plan.run_id).exists()
        )
        if status is None or status in again or unseen:
            todo.append(plan)
    return todo


def check_events(folder: Path, plans: Sequence[RunPlan], statuses: Mapping[str, str]) -> None:
    """`LocalError` if workers wrote logs that are not there."""
    done = [plan for plan in plans if statuses.get(plan.digest) in WITH_EVENTS]
    missing = [plan for plan in done if not partition_folder(folder, plan.run_id).exists()]
    if missing:
        raise LocalError(
            f"the event logs of {len(missing):,} of {len(done):,} runs were written, and are not "
            f"there: {folder} {SHARED}"
        )


class Sweep:
    """Runs that are under way."""

    def __init__(
        self,
        spark: SparkSession,
        store: RunStore,
        events_folder: str | None,
        time_limit_ns: int,
        report: Report | None,
    ) -> None:
        self._spark: Final = spark
        self._store: Final = store
        self._events_folder: Final = events_folder
        self._time_limit_ns: Final = time_limit_ns
        self._report: Final = report
        self._done: Final[list[RunPlan]] = []
        self._failed = 0
        self._stopped = False

    def run(self, plans: Sequence[RunPlan]) -> None:
        """Carry out all of them."""
        self._tell(plans)
        waiting = jobs_of(plans, cores_of(self._spark))
        with ThreadPoolExecutor(JOBS_AT_ONCE, thread_name_prefix="sweep") as pool:
            under_way: dict[Future[ArrowTable], list[RunPlan]] = {}
            try:
                while True:
                    while len(under_way) < JOBS_AT_ONCE and (job := next(waiting, None)):
                        under_way[pool.submit(self._attempt, job)] = job
                    if not under_way:
                        return
                    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                        self._keep(future.result(), under_way.pop(future))
                        self._tell(plans)
            except BaseException:
                # Results of what is under way would not be kept any more.
                self._stopped = True
                with suppress(Exception):  # Spark may be what failed.
                    self._spark.interruptAll()
                raise

    def _keep(self, runs: ArrowTable, plans: list[RunPlan]) -> None:
        self._store.add(runs)
        self._done.extend(plans)
        self._failed += sum(status in (FAILED, LOST) for status in runs["status"].to_pylist())

    def _attempt(self, plans: list[RunPlan]) -> ArrowTable:
        """What came of these runs; if they fail together, of each alone."""
        pa = load_pyarrow("pyarrow")
        try:
            with named_jobs(self._spark, "sweep") as describe:
                describe(f"{counted(len(plans), 'run')}, such as {plans[0].run_id}")
                return self._frame(plans).toArrow()
        except SPARK_ERRORS as error:
            if self._stopped or not is_alive(self._spark):
                raise
            if len(plans) > 1:
                return pa.concat_tables([self._attempt([plan]) for plan in plans])
            return rows_table([lost(plans[0], error)])

    def _frame(self, plans: list[RunPlan]) -> DataFrame:
        rows = self._spark.createDataFrame([planned_row(plan) for plan in plans], PLANNED)
        perform = partial(
            performed_batches,
            events_folder=self._events_folder,
            time_limit_ns=self._time_limit_ns,
        )
        # From one partition, rows are dealt out one to each.
        return rows.coalesce(1).repartition(len(plans)).mapInArrow(named(perform), RUNS)

    def _tell(self, plans: Sequence[RunPlan]) -> None:
        if self._report is not None:
            self._report(
                SweepProgress(
                    runs=len(plans),
                    runs_done=len(self._done),
                    failed=self._failed,
                    cost=sum(map(cost_of, plans)),
                    cost_done=sum(map(cost_of, self._done)),
                )
            )


def jobs_of(plans: Sequence[RunPlan], cores: int) -> Iterator[list[RunPlan]]:
    """The plans in jobs for `cores` cores, the most expensive first; equal ones in their order."""
    job: list[RunPlan] = []
    cost = 0.0
    for plan in sorted(plans, key=cost_of, reverse=True):
        job.append(plan)
        cost += cost_of(plan)
        # As many runs as cores at least, or some would have nothing to do.
        full = cost >= COST_PER_CORE * cores or len(job) >= RUNS_PER_CORE * cores
        if full and len(job) >= cores:
            yield job
            job = []
            cost = 0.0
    if job:
        yield job


def cost_of(plan: RunPlan) -> float:
    """A guess at how long a run takes, in messages of a cheap protocol."""
    members = plan.processes if find_protocol(plan.carrier).needs_membership else 0
    return plan.messages * (1.0 + members / MEMBERS_WEIGHT)


def cores_of(spark: SparkSession) -> int:
    """How many tasks run at once."""
    try:
        return spark.sparkContext.defaultParallelism
    except PySparkException:  # A remote session has no context.
        return CORES


def is_alive(spark: SparkSession) -> bool:
    """Whether Spark still does anything at all."""
    try:
        return spark.range(1).count() == 1
    except Exception:  # Spark's own errors, the bridge's, a socket's: none of them is an answer.
        return False


def planned_row(plan: RunPlan) -> dict[str, Any]:
    """The row that goes to a worker."""
    return {
        "digest": plan.digest,
        "run_id": plan.run_id,
        "protocol": plan.protocol,
        "scenario": plan.scenario,
        "network": plan.network.name,
        "processes": plan.processes,
        "seed": plan.seed,
        "plan": plan.text(),
    }


def left_out(plan: RunPlan, reason: str) -> dict[str, Any]:
    """The row of a run that does not take place."""
    return {**planned_row(plan), "status": LEFT_OUT, "reason": reason}


def lost(plan: RunPlan, error: Exception) -> dict[str, Any]:
    """The row of a run whose worker did not survive it."""
    causes = [line for line in str(error).splitlines() if line.startswith("Caused by: ")]
    said = causes[0].partition("Exception: ")[2] if causes else first_line(error)
    return {**planned_row(plan), "status": LOST, "reason": f"its worker died: {said}"}


def rows_table(rows: list[dict[str, Any]]) -> ArrowTable:
    """Rows of runs that did not take place, as a table."""
    return load_pyarrow("pyarrow").Table.from_pylist(rows, schema=to_arrow_schema(RUNS))


def counts_of(store: RunStore, plans: Sequence[RunPlan]) -> dict[str, int]:
    """How many runs of the grid ended how."""
    statuses = store.read_only(plan.digest for plan in plans)["status"].to_pylist()
    return {state: statuses.count(state) for state in STATES if state in statuses}


def write_summary(result: SweepResult) -> None:
    """Leave the counts as JSON."""
    content = {
        "antecede": __version__,
        "runs": sum(result.by_status.values()),
        "by_status": result.by_status,
        "resumed": result.resumed,
        "retried": result.retried,
    }
    write_whole(result.folder / "summary.json", f"{json.dumps(content, indent=2)}\n".encode())
