"""Measures event logs, whatever their origin: reads them, runs the stages, and brings back a table.

There is one row a run, so the result is small however long the logs are.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede.pipeline.audit.facts import check_separate, gather_facts
from antecede.pipeline.audit.inputs import find_source, read_logs
from antecede.pipeline.metrics.instants import message_instants
from antecede.pipeline.metrics.measure import measured_runs
from antecede.pipeline.metrics.non_causal import COPIES_MAX, find_stretches
from antecede.pipeline.places import Places
from antecede.pipeline.schemas import EVENTS

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; this name says at least what is meant."""


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
        names = Counter(run.run_id for run in runs)
        shared = [run_id for run_id, sources in names.items() if sources > 1]
        log = with_distinct_names(events, shared).select("run_id", *EVENTS.names)
        instants = message_instants(log).persist(StorageLevel.MEMORY_AND_DISK)
        stack.callback(instants.unpersist)
        sizes = {
            f"{run.source}:{run.run_id}" if run.run_id in shared else run.run_id: run.copies
            for run in runs
        }
        stretches = find_stretches(instants, sizes, copies_max) if non_causal else []
        measured = measured_runs(log, instants, non_causal=non_causal, stretches=stretches)
        return measured.orderBy("run_id").toArrow()


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
