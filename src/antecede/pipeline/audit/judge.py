"""Has logs of any size judged: in slices, and what slices cannot judge, in other ways.

1. One pass finds out what runs there are; another looks at a few flights of the large ones.
2. Copies are put together, cut into overlapping slices, and judged, each slice on its own.
3. Flights longer than the overlap are judged apart, and runs whose clocks contradict the order of
   their events, as a whole.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import Final, TypeAlias

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.pipeline.audit import findings as f
from antecede.pipeline.audit.facts import (
    RunFacts,
    check_separate,
    extents,
    gather_facts,
    with_run_numbers,
)
from antecede.pipeline.audit.findings import FINDINGS, REASONS
from antecede.pipeline.audit.inputs import Source, names_beside, read_logs
from antecede.pipeline.audit.long_flights import judge_long_flights
from antecede.pipeline.audit.long_stages import (
    around_long_flights,
    during,
    group_long_flights,
    spans_of_groups,
    with_message_start,
)
from antecede.pipeline.audit.plan import SLICE_COPIES, SlicePlan, plan_slices
from antecede.pipeline.audit.sequential import judge_runs
from antecede.pipeline.audit.slices import judge_slices
from antecede.pipeline.audit.stages import counted_rows, find_copies, find_overtaken, into_slices
from antecede.pipeline.audit.verdict import (
    runs_going_back,
    runs_with_mixed_sequences,
    scattered_runs,
)

Tell: TypeAlias = Callable[[str], None]

PARTITION_COPIES: Final = 500_000
"""About so many copies are put together by one task: more would not fit its memory."""

SETTINGS: Final = {
    # A task looks for both ends of a copy in its part of a file; a small part fits the cache.
    "spark.sql.files.maxPartitionBytes": "16m",
    # Copies go to Python by the hundred thousand; small batches would cost more than their rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}


def silent(_doing: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of judging some logs."""

    runs: list[RunFacts]
    names: list[str]
    """What each run is called: its id; where two sources use the same, its source as well."""
    rows: DataFrame
    """What was judged: counted rows, and run_id."""
    findings: DataFrame
    """`FINDINGS`, and run_id."""
    plan: SlicePlan
    long_flights: int
    out_of_order: dict[int, list[str]]
    """The runs that were judged as a whole, and why."""
    sources: Sequence[Source]

    def process_names(self, run: str) -> dict[int, str]:
        """What the processes of a run are called, if that is written beside its log."""
        facts = self.runs[self.names.index(run)]
        return names_beside(self.sources[facts.source], facts.run_id)


@contextmanager
def judged_logs(
    session: SparkSession,
    sources: Sequence[Source],
    *,
    slice_copies: int = SLICE_COPIES,
    tell: Tell = silent,
) -> Iterator[Judged]:
    """Judge everything in these sources; what it yields is valid inside the context."""
    with ExitStack() as stack:
        tell("looking at the log")
        log = read_logs(session, sources)
        stack.enter_context(configured(session, SETTINGS))
        runs = gather_facts(log)
        check_separate(runs, sources)
        copies = sum(run.copies for run in runs)
        stack.enter_context(configured(session, shuffle_settings(session, copies)))
        events = with_run_numbers(log, runs)
        plan = plan_slices(extents(events, runs, slice_copies), slice_copies)
        names = names_of(runs, sources)
        judge = Judge(counted_rows(events), plan, stack)
        findings, long_flights, reasons = judge.findings(tell)
        yield Judged(
            runs=runs,
            names=names,
            rows=with_run_ids(counted_rows(events), names),
            findings=with_run_ids(findings, names),
            plan=plan,
            long_flights=long_flights,
            out_of_order=reasons,
            sources=sources,
        )


class Judge:
    """Judges the rows of a log as planned; keeps results as long as the stack is open."""

    def __init__(self, rows: DataFrame, plan: SlicePlan, stack: ExitStack) -> None:
        self._rows = rows
        self._plan = plan
        self._stack = stack

    def findings(self, tell: Tell) -> tuple[DataFrame, int, dict[int, list[str]]]:
        """All findings, how many flights were long, and which runs were out of order, and why."""
        tell("judging slices")
        sliced = self._kept(self._judged_slices())
        reasons, has_long = self._overview(sliced)
        parts = [sliced.where(~F.col("run").isin(list(reasons))) if reasons else sliced]
        long_flights = 0
        if has_long:
            tell("judging long flights")
            long = parts[0].where(F.col("what") == f.LONG)
            long_flights = long.count()
            parts.append(self._kept(self._judged_long_flights(long)))
        if reasons:
            tell("judging runs without a clock")
            parts.append(self._kept(self._judged_runs(list(reasons))))
        return reduce(DataFrame.unionByName, parts), long_flights, reasons

    def _overview(self, sliced: DataFrame) -> tuple[dict[int, list[str]], bool]:
        """The runs that slices cannot judge, and why; and whether there are long flights."""
        disorder = F.col("what") == f.DISORDER
        rows = (
            sliced.where(disorder | (F.col("what") == f.LONG))
            .select("what", F.when(disorder, F.struct("run", "number")).alias("told"))
            .distinct()
            .collect()
        )
        told = [tuple(row["told"]) for row in rows if row["told"] is not None]
        if self._plan.slices:
            told += [(row["run"], f.BACKWARDS) for row in runs_going_back(sliced).collect()]
            told += [(run, f.SCATTERED) for run in self._scattered_runs(sliced)]
        reasons: dict[int, list[str]] = {}
        for run, number in sorted(set(told)):
            reasons.setdefault(run, []).append(REASONS[number])
        return reasons, any(row["what"] == f.LONG for row in rows)

    def _scattered_runs(self, sliced: DataFrame) -> list[int]:
        """The runs whose submissions may begin in one slice and end in another, and do so."""
        suspects = [row["run"] for row in runs_with_mixed_sequences(sliced).collect()]
        if not suspects:
            return []
        rows = self._rows.where(F.col("run").isin(suspects))
        return [row["run"] for row in scattered_runs(rows).collect()]

    def _parts(self, groups: int) -> int:
        """Into how many partitions to put so many groups of rows."""
        usual = self._rows.sparkSession.conf.get("spark.sql.shuffle.partitions")
        return max(1, min(groups, int(usual or 1)))

    def _kept(self, findings: DataFrame) -> DataFrame:
        """The same, computed once."""
        findings.persist(StorageLevel.MEMORY_AND_DISK)
        self._stack.callback(findings.unpersist)
        return findings

    def _judged_slices(self) -> DataFrame:
        """The findings of all slices."""
        sliced = into_slices(find_copies(self._rows), self._plan)
        sliced = sliced.repartition(self._parts(self._plan.count), "slice")
        judge = partial(judge_slices, slices=self._plan.slices)
        return find_overtaken(sliced).mapInArrow(judge, FINDINGS)

    def _judged_long_flights(self, long: DataFrame) -> DataFrame:
        """The violations in which one of these is late."""
        groups = self._kept(group_long_flights(long))
        spans = self._kept(spans_of_groups(groups))
        copies = with_message_start(find_copies(during(self._rows, spans)))
        around = around_long_flights(copies, groups, spans, self._parts(spans.count()))
        return around.mapInArrow(judge_long_flights, FINDINGS)

    def _judged_runs(self, runs: Sequence[int]) -> DataFrame:
        """The findings of these runs, each judged as a whole."""
        copies = find_copies(self._rows.where(F.col("run").isin(list(runs))))
        together = copies.withColumn("overtaken", F.lit(0))
        together = together.repartition(self._parts(len(runs)), "run")
        return together.sortWithinPartitions("run").mapInArrow(judge_runs, FINDINGS)


@contextmanager
def configured(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Change settings of the session for a while."""
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is not None:
                session.conf.set(name, old)


def shuffle_settings(session: SparkSession, copies: int) -> dict[str, str]:
    """As many partitions as usual, or more if the log is large."""
    usual = int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    return {"spark.sql.shuffle.partitions": str(max(usual, copies // PARTITION_COPIES))}


def names_of(runs: Sequence[RunFacts], sources: Sequence[Source]) -> list[str]:
    """What to call the runs, no two of them the same."""
    ids = [run.run_id for run in runs]
    if len(set(ids)) == len(ids):
        return ids
    return [f"{sources[run.source].path}: {run.run_id}" for run in runs]


def with_run_ids(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """In: run, and more. Out: run_id instead of run, and the same."""
    table = rows.sparkSession.createDataFrame(list(enumerate(names)), "run int, run_id string")
    return rows.join(F.broadcast(table), on="run", how="inner").drop("run")
