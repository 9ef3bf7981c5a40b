"""Measures event logs, whatever their origin: reads them, runs the stages, and brings back a table.

There is one row a run, so the result is small however long the logs are.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.audit.facts import RunFacts, check_separate, gather_facts
from antecede.pipeline.audit.inputs import find_source, read_logs
from antecede.pipeline.metrics.instants import message_instants
from antecede.pipeline.metrics.measure import measured_runs
from antecede.pipeline.metrics.non_causal import COPIES_MAX, find_stretches
from antecede.pipeline.persisting import persisted
from antecede.pipeline.places import Places
from antecede.pipeline.schemas import EVENTS
from antecede.trace.parquet import ArrowTable


def measure_logs(
    session: SparkSession,
    paths: Sequence[str],
    *,
    non_causal: bool = True,
    copies_max: int = COPIES_MAX,
) -> ArrowTable:
    """Every figure of every run in these files and datasets: run_id and the columns of `MEASURED`.

    Runs of several paths that have the same name are told apart by a number in front; `LocalError`
    if these are no event logs. What needs a run as a whole is estimated from about `copies_max`
    copies if it has more.
    """
    with ExitStack() as stack:
        places = stack.enter_context(Places(session))
        sources = [find_source(path, places) for path in paths]
        events = read_logs(session, sources)
        runs = gather_facts(events)
        check_separate(runs, sources)
        names = distinct_names(runs)
        shared = [run.run_id for run, name in zip(runs, names, strict=True) if run.run_id != name]
        log = with_distinct_names(events, shared).select("run_id", *EVENTS.names)
        instants = persisted(message_instants(log), stack)
        sizes = {name: run.copies for run, name in zip(runs, names, strict=True)}
        stretches = find_stretches(instants, sizes, copies_max) if non_causal else []
        measured = measured_runs(log, instants, non_causal=non_causal, stretches=stretches)
        return measured.orderBy("run_id").toArrow()


def distinct_names(runs: Sequence[RunFacts]) -> list[str]:
    """What the runs are called; one whose name occurs in several sources is `source:name`."""
    names = Counter(run.run_id for run in runs)
    return [f"{run.source}:{run.run_id}" if names[run.run_id] > 1 else run.run_id for run in runs]


def with_distinct_names(events: DataFrame, shared: Sequence[str]) -> DataFrame:
    """The same events; a run whose name several sources share is called `source:name`.

    In:  run_id, source, and whatever columns.
    Out: the same columns.
    """
    if not shared:
        return events
    numbered = F.concat_ws(":", F.col("source").cast("string"), F.col("run_id"))
    chosen = F.when(F.col("run_id").isin(*shared), numbered).otherwise(F.col("run_id"))
    return events.withColumn("run_id", chosen)
