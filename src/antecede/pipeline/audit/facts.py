"""What has to be known about a log before it can be cut: its runs, their size, a few flights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.core.errors import LocalError
from antecede.pipeline.audit.inputs import Source
from antecede.pipeline.audit.plan import RunExtent
from antecede.pipeline.audit.stages import flights_of, receiver_of, sender_of
from antecede.trace.events import KINDS

Flights: TypeAlias = NDArray[np.int64]
"""When copies began and ended, and at which processes, a row each."""

REQUIRED: Final = ("process", "position", "kind", "time_ns", "run_id")
"""What no row may lack."""

COUNTS: Final = ("submissions", "deliveries", "traced")

SAMPLED_MESSAGES: Final = 50_000
"""About so many messages are looked at before the log is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run: which, and how much of everything it has."""

    source: int
    run_id: str
    events: int
    processes: int
    submissions: int
    """Rows, one per target."""
    deliveries: int
    first_ns: int
    last_ns: int
    crowded: bool
    """Whether a process has more events than positions."""
    traced: int = 0
    """Submissions and deliveries that belong to a trace."""

    @property
    def copies(self) -> int:
        """At most so many copies, unless much is delivered where nobody sent it."""
        return max(self.submissions, self.deliveries)


def gather_facts(events: DataFrame) -> list[RunFacts]:
    """All runs, by source and id; `LocalError` if rows lack what every row must have."""
    is_bad = ~F.col("kind").isin(*KINDS) | F.lit(False)
    for column in REQUIRED:
        is_bad = is_bad | F.col(column).isNull()
    counted = F.col("sender").isNotNull() & F.col("sequence").isNotNull()
    is_submission = (F.col("kind") == "submitted") & (F.col("process") == F.col("sender"))
    is_delivery = F.col("kind") == "delivered"
    time_ns = F.when(counted & (is_submission | is_delivery), F.col("time_ns"))
    places = F.max("position") - F.min("position") + 1
    by_process = events.groupBy("source", "run_id", "process").agg(
        F.count(F.lit(1)).alias("events"),
        F.count_if(is_bad).alias("bad"),
        F.count_if(counted & is_submission).alias("submissions"),
        F.count_if(counted & is_delivery).alias("deliveries"),
        F.min(time_ns).alias("first_ns"),
        F.max(time_ns).alias("last_ns"),
        F.count_if(counted & is_traced(events)).alias("traced"),
        (F.count("position") > places).alias("crowded"),
    )
    by_run = by_process.groupBy("source", "run_id").agg(
        F.count("process").alias("processes"),
        *(F.sum(name).alias(name) for name in ("events", "bad", *COUNTS)),
        F.min("first_ns").alias("first_ns"),
        F.max("last_ns").alias("last_ns"),
        F.max("crowded").alias("crowded"),
    )
    rows = [row.asDict() for row in by_run.collect()]
    bad = sum(row.pop("bad") for row in rows)
    if bad:
        raise LocalError(f"this is no event log: {bad} rows lack one of {', '.join(REQUIRED)}")
    for row in rows:
        row["first_ns"] = row["first_ns"] or 0
        row["last_ns"] = row["last_ns"] or 0
    return sorted((RunFacts(**row) for row in rows), key=lambda run: (run.source, run.run_id))


def check_separate(runs: Sequence[RunFacts], sources: Sequence[Source]) -> None:
    """`LocalError` if the files of a folder, which are taken for one run, must be several runs."""
    for run in runs:
        if run.crowded and len(sources[run.source].files) > 1:
            raise LocalError(
                f"{run.run_id}: a process has several events at one position, so these files are "
                "more than one run; give each file alone, or put each run into a folder run_id=…"
            )


def is_traced(events: DataFrame) -> Column:
    """Whether a row says which trace it belongs to."""
    if "trace_id" not in events.columns:
        return F.lit(False)
    return F.col("trace_id").isNotNull() & (F.col("trace_id") != "")


def with_run_numbers(events: DataFrame, runs: Sequence[RunFacts]) -> DataFrame:
    """Replace source and run_id by `run`: the place of the run in the list.

    In:  the event log, source and run_id.
    Out: the event log and run.
    """
    if len(runs) == 1:
        return events.drop("source", "run_id").withColumn("run", F.lit(0))
    numbers = events.sparkSession.createDataFrame(
        [(run.source, run.run_id, number) for number, run in enumerate(runs)],
        "source int, run_id string, run int",
    )
    joined = events.join(F.broadcast(numbers), on=["source", "run_id"], how="inner")
    return joined.drop("source", "run_id")


def extent_of(run: RunFacts, sample: Flights | None, offsets: Mapping[int, int]) -> RunExtent:
    """What the plan needs to know of a run, by clocks that are moved by these offsets."""
    moves = [0, *offsets.values()]
    flights = np.zeros((0, 4), np.int64) if sample is None else sample
    return RunExtent(
        copies=run.copies,
        first_ns=run.first_ns + min(moves),
        last_ns=run.last_ns + max(moves),
        sample=moved_flights(flights, offsets)[:, :2],
    )


def sample_flights(rows: DataFrame, runs: Sequence[int], copies: int) -> dict[int, Flights]:
    """When some copies of these runs began and ended, as recorded, and where.

    In: what `counted_rows` returns.
    """
    if not runs:
        return {}
    one_of = max(1, copies // SAMPLED_MESSAGES)
    is_chosen = F.pmod(F.xxhash64(sender_of(), "sequence"), F.lit(one_of)) == 0
    sampled = flights_of(rows.where(F.col("run").isin(list(runs)) & is_chosen))
    columns = {
        "begin": F.coalesce("begin_ns", "end_ns"),
        "end": F.coalesce("end_ns", "begin_ns"),
        "sender": F.when(F.col("begin_ns").isNotNull(), sender_of()).otherwise(receiver_of()),
        "receiver": F.when(F.col("end_ns").isNotNull(), receiver_of()).otherwise(sender_of()),
    }
    chosen = sampled.select("run", *(column.alias(name) for name, column in columns.items()))
    table = chosen.toArrow()
    run, *others = (table.column(name).to_numpy() for name in ("run", *columns))
    flights = np.stack(others, axis=1)
    return {number: flights[run == number] for number in runs}


def moved_flights(flights: Flights, offsets: Mapping[int, int]) -> Flights:
    """The same, by clocks that are moved by these offsets."""
    known = np.array(sorted(offsets.items()), np.int64).reshape(-1, 2)
    if not len(known):
        return flights
    where = flights[:, 2:]
    place = np.minimum(np.searchsorted(known[:, 0], where), len(known) - 1)
    moves = np.where(known[place, 0] == where, known[place, 1], 0)
    return np.concatenate([flights[:, :2] + moves, where], axis=1)
