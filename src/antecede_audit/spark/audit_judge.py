"""Has logs of any size judged: in slices, and what slices cannot judge, in other ways.

1. One look at the log tells what runs there are, and a few flights of the large ones.
2. Rows are cut into overlapping slices and judged, each slice on its own. Runs whose clocks turn
   out to contradict the order of their events are judged once more, by repaired clocks.
3. Copies that reach beyond their slices are put together; flights among them that are longer than
   the overlap are judged apart.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Final, TypeAlias

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.pandas.types import from_arrow_schema

from antecede_audit.judging.definition import ORDERS, PROCESS, TRACE, Order
from antecede_audit.judging.event_columns import RunSize
from antecede_audit.judging.long_flights import judge_long_flights
from antecede_audit.judging.raw_findings import BEFORE_SUBMISSION, MIXED, PACKED, REASONS, SCATTERED
from antecede_audit.judging.slice_plan import SLICE_COPIES, RunExtent, SlicePlan, plan_slices
from antecede_audit.judging.slices import judge_slices
from antecede_audit.spark.audit_stages import counted_rows, spread
from antecede_audit.spark.clocks import find_blurs, find_offsets, with_clock
from antecede_audit.spark.cutting import into_slices
from antecede_audit.spark.finding_tables import clock_contradictions, scattered_runs
from antecede_audit.spark.job_names import named, silent
from antecede_audit.spark.long_flights import (
    BY_START,
    during,
    find_windows,
    pack_ends,
    pack_slices,
    with_windows,
)
from antecede_audit.spark.open_copies import count_open, join_ends, lost_copies, resolve_from_log
from antecede_audit.spark.pieces import LogReader
from antecede_audit.spark.settings import BATCH_BY_ROWS, persist_packed, spark_conf
from antecede_audit.spark.survey import Flights, LogSurvey, extent_of, with_run_numbers

Tell: TypeAlias = Callable[[str], None]

PARTITION_COPIES: Final = SLICE_COPIES // 2
"""A task is worth it for 200,000 copies."""

SETTINGS: Final = {
    # A task reads a part of a file of this size; smaller ones would cost more than they spread.
    "spark.sql.files.maxPartitionBytes": "32m",
    # Rows go to Python by the hundred thousand; small batches would cost more than their rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    **BATCH_BY_ROWS,
}

SMALL_BATCHES: Final = {
    # A group of long flights may have packed batches of half a log: Python gets a few at a time.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
}

PLANNED_ONCE: Final = {
    # To see after each stage whether its result is small, and to plan anew, costs more than it
    # saves where few tasks are planned anyway.
    "spark.sql.adaptive.enabled": "false",
}

FEW_TASKS: Final = 16


def settings_for(session: SparkSession) -> dict[str, str]:
    """What an audit asks of this session while it runs."""
    tasks = int(session.conf.get("spark.sql.shuffle.partitions", None) or FEW_TASKS + 1)
    return SETTINGS | (PLANNED_ONCE if tasks <= FEW_TASKS else {})


@dataclass(slots=True, kw_only=True)
class JudgingState:
    """How runs were judged."""

    plan: SlicePlan
    reasons: dict[int, list[str]] = field(default_factory=dict)
    """By run: why its clock was not followed everywhere."""
    offsets: dict[int, dict[int, int]] = field(default_factory=dict)
    """By run and process: what was added to its clock."""
    blurred: dict[int, float] = field(default_factory=dict)
    """By run: for which part of its time the clock was not looked at."""
    long_flights: int = 0
    buckets: int
    """The number of buckets that violations are put into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLog:
    """What came of judging some logs."""

    runs: list[RunSize]
    events: DataFrame
    """The log, and run."""
    findings: DataFrame
    """`PACKED`."""
    orders: tuple[Order, ...]
    """Those that were looked at: both, if there are traces."""
    method: JudgingState


def judged_events(
    events: DataFrame,
    pieces: LogReader,
    looked: LogSurvey,
    stack: ExitStack,
    *,
    slice_copies: int = SLICE_COPIES,
    tell: Tell = silent,
) -> JudgedLog:
    """Judge these runs; what comes of it is valid until the stack is closed.

    In: the event log, source and run_id; the same in pieces, and what a look at them has shown.
    """
    runs = looked.runs
    orders = ORDERS if any(run.traced for run in runs) else (PROCESS,)
    numbered = with_run_numbers(events, runs)
    rows = counted_rows(numbered, traced=TRACE in orders)
    judge = AuditJob(rows, pieces, looked, orders, stack)
    findings = judge.findings(slice_copies, tell)
    return JudgedLog(
        runs=list(runs), events=numbered, findings=findings, orders=orders, method=judge.method
    )


class AuditJob:
    """Judges the rows of a log; keeps results as long as the stack is open."""

    def __init__(
        self,
        rows: DataFrame,
        pieces: LogReader,
        looked: LogSurvey,
        orders: Sequence[Order],
        stack: ExitStack,
    ) -> None:
        self._rows = rows
        self._pieces = pieces
        self._looked = looked
        self._runs = looked.runs
        self._orders = orders
        self._stack = stack
        self._samples: dict[int, Flights] = {}
        self._plans: list[SlicePlan] = []
        """How runs that are cut were cut at last."""
        copies = sum(run.copies for run in self._runs)
        self.method = JudgingState(plan=SlicePlan(), buckets=1 + copies // PARTITION_COPIES)

    def findings(self, slice_copies: int, tell: Tell) -> DataFrame:
        """Everything there is to say."""
        extents = self._extents(slice_copies, tell)
        self.method.plan = plan = plan_slices(extents, slice_copies)
        tell("judging slices")
        sliced = self._kept(self._judged_slices(plan))
        wrong = self._overview(sliced)
        self._plans = [plan.without(wrong)]
        if wrong:
            tell("judging stretches without a clock")
            blurred = self._with_blurs(wrong, slice_copies)
            self._plans.append(blurred)
            again = self._kept(self._judged_slices(blurred))
            sliced = sliced.where(~F.col("run").isin(wrong)).unionByName(again)
        parts = [sliced]
        if plan.slices:
            parts += self._judged_opens(sliced, tell)
        return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), parts)

    def _extents(self, slice_copies: int, tell: Tell) -> dict[int, RunExtent]:
        """How large runs are; where a sample shows that clocks disagree, they are repaired."""
        large = [number for number, run in enumerate(self._runs) if run.copies > slice_copies]
        self._samples = self._looked.flights(large)
        skewed = [run for run, sample in self._samples.items() if goes_back(sample)]
        if skewed:
            tell("repairing clocks")
            self._repair(skewed)
        return {number: self._extent(number) for number in range(len(self._runs))}

    def _extent(self, run: int) -> RunExtent:
        """How large a run is, by the clocks that it is judged by."""
        offsets = self.method.offsets.get(run, {})
        return extent_of(self._runs[run], self._samples.get(run), offsets)

    def _repair(self, runs: Sequence[int]) -> None:
        """Judge these runs by clocks that are moved, if that does any good."""
        with self._many_tasks():
            offsets = {run: of for run, of in find_offsets(self._rows, runs).items() if of}
        self.method.offsets |= offsets
        if offsets:
            columns = [name for name in self._rows.columns if name != "clock_ns"]
            self._rows = with_clock(self._rows.select(*columns), self.method.offsets)
        for run in offsets:
            self.method.reasons.setdefault(run, []).append(REASONS[BEFORE_SUBMISSION])

    def _overview(self, sliced: DataFrame) -> list[int]:
        """The large runs that slices cannot judge by the clock; why, goes down with all others."""
        told = {(row["run"], row["number"]) for row in clock_contradictions(sliced).collect()}
        suspects = sorted(run for run, number in told if number == MIXED)
        told = {(run, number) for run, number in told if number != MIXED}
        if suspects:
            rows = scattered_runs(self._rows.where(F.col("run").isin(suspects)))
            told |= {(row["run"], SCATTERED) for row in rows.collect()}
        for run, number in sorted(told):
            reasons = self.method.reasons.setdefault(run, [])
            if REASONS[number] not in reasons:
                reasons.append(REASONS[number])
        cut = set(self.method.plan.cut)
        return sorted({run for run, _ in told} & cut)

    def _with_blurs(self, runs: Sequence[int], slice_copies: int) -> SlicePlan:
        """How to cut these runs so that no slice begins or ends where the clock is wrong."""
        unrepaired = [run for run in runs if run not in self.method.offsets]
        if unrepaired:
            self._repair(unrepaired)
        extents = {run: self._extent(run) for run in runs}
        times = {run: (extent.first_ns, extent.last_ns) for run, extent in extents.items()}
        with self._many_tasks():
            blurs = find_blurs(self._rows, times)
        for run, extent in extents.items():
            extents[run] = replace(extent, blurs=blurs[run])
        plan = plan_slices(extents, slice_copies)
        for run, found in plan.blurs.items():
            length = times[run][1] - times[run][0] + 1
            self.method.blurred[run] = float((found.end_ns - found.start_ns).sum()) / length
        self.method.plan = self.method.plan.counting(plan)
        return plan

    def _many_tasks(self) -> AbstractContextManager[None]:
        """For queries that group rows by copies: a task has room for its groups, or has to sort."""
        copies = sum(run.copies for run in self._runs)
        tasks = {"spark.sql.shuffle.partitions": str(self._parts(copies))}
        return spark_conf(self._rows.sparkSession, tasks)

    def _kept(self, table: DataFrame) -> DataFrame:
        return persist_packed(table, self._stack)

    def _sliced(self, plan: SlicePlan) -> DataFrame:
        """The rows of the log in slices."""
        numbers = {(run.source, run.run_id): number for number, run in enumerate(self._runs)}
        parts = self._parts(plan.count)
        return into_slices(self._pieces, numbers, self.method.offsets, plan, parts)

    def _judged_slices(self, plan: SlicePlan) -> DataFrame:
        """The findings of all slices."""
        judge = partial(
            judge_slices,
            slices=plan.slices,
            orders=tuple(self._orders),
            blurs=plan.blurs,
            buckets=self.method.buckets,
        )
        return self._sliced(plan).mapInArrow(named(judge), from_arrow_schema(PACKED))

    def _parts(self, groups: int) -> int:
        """Over how many tasks to spread groups of rows: one each, unless they are tiny."""
        usual = self._rows.sparkSession.conf.get("spark.sql.shuffle.partitions", None)
        copies = sum(run.copies for run in self._runs)
        return max(1, min(groups, max(int(usual or 1), copies // PARTITION_COPIES)))

    def _judged_opens(self, sliced: DataFrame, tell: Tell) -> list[DataFrame]:
        """What comes of the copies that reach beyond their slices."""
        copies = self._kept(join_ends(sliced))
        self.method.long_flights, unclear = count_open(copies)
        parts = [lost_copies(copies)]
        if unclear:
            parts.append(self._kept(resolve_from_log(copies, self._rows, unclear)))
        if self.method.long_flights:
            tell("judging long flights")
            with spark_conf(self._rows.sparkSession, SMALL_BATCHES):
                found = self._kept(self._judged_long_flights(copies))
                found.count()  # Worked out now, while that holds.
            parts.append(found)
        return parts

    def _judged_long_flights(self, copies: DataFrame) -> DataFrame:
        """The violations in which a long flight is late. In: what `join_ends` returns."""
        blurs = self.method.plan.blurs
        ends = self._kept(with_windows(copies, max(1, self.method.plan.overlap_ns)))
        windows = find_windows(ends)
        pack = partial(pack_ends, windows=windows, blurs=blurs)
        packed = [ends.mapInArrow(named(pack), BY_START)]
        for plan in [during(plan, windows) for plan in self._plans]:
            if plan.wanted:
                cut = partial(pack_slices, slices=plan.slices, windows=windows, blurs=blurs)
                packed.append(self._sliced(plan).mapInArrow(named(cut), BY_START))
        together = reduce(DataFrame.unionByName, packed)
        around = spread(together, self._parts(windows.groups), "partition")
        judge = partial(judge_long_flights, orders=tuple(self._orders), buckets=self.method.buckets)
        return around.sortWithinPartitions("partition", "start_ns").mapInArrow(
            named(judge), from_arrow_schema(PACKED)
        )


def goes_back(sample: Flights) -> bool:
    """Whether some of these flights end before they begin."""
    return bool(np.any(sample[:, 1] < sample[:, 0]))
