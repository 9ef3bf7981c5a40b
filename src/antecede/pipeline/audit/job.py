"""The audit as a job: reads logs, has them judged, writes the tables and the summary."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow.fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede.pipeline.audit import findings as f
from antecede.pipeline.audit import verdict
from antecede.pipeline.audit.inputs import find_source
from antecede.pipeline.audit.judge import Judged, Tell, judged_logs, silent
from antecede.pipeline.audit.plan import SLICE_COPIES
from antecede.pipeline.audit.summary import (
    Method,
    Summary,
    channels_of,
    kinds_and_quantiles,
)
from antecede.pipeline.audit.witnesses import Found, violation_of, with_witnesses

TABLES: Final = {
    "violations": verdict.violations,
    "duplicates": verdict.duplicates,
    "losses": verdict.losses,
    "inventions": verdict.inventions,
}

SUMMARY: Final = "summary.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit leaves besides its tables."""

    summary: Summary
    worst: list[Found]
    """The violations that would have been held back longest, with their witnesses."""
    names: dict[str, dict[int, str]]
    """By run: what its processes are called, as far as somebody has written it down."""


def audit(
    session: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    explain: int = 0,
    slice_copies: int = SLICE_COPIES,
    tell: Tell = silent,
) -> Audit:
    """Audit the event logs at these paths; the tables in the folder `out` are replaced."""
    sources = [find_source(path) for path in paths]
    with judged_logs(session, sources, slice_copies=slice_copies, tell=tell) as judged:
        tell("writing")
        for name, stage in TABLES.items():
            stage(judged.findings).write.mode("overwrite").parquet(f"{out}/{name}")
        violations = session.read.schema(verdict.VIOLATIONS).parquet(f"{out}/violations")
        summary = summarise(judged, violations)
        write_text(f"{out}/{SUMMARY}", json.dumps(summary.as_object(), indent=2) + "\n")
        worst: list[Found] = []
        if explain and not summary.causal:
            tell("looking for the reasons")
            worst = explained(judged, violations, explain)
        spoken_of = {channel.run_id for channel in summary.channels} | {run for run, _ in worst}
        names = {run_id: judged.process_names(run_id) for run_id in sorted(spoken_of)}
    return Audit(summary=summary, worst=worst, names=names)


def summarise(judged: Judged, violations: DataFrame) -> Summary:
    """The counts of everything."""
    counted = judged.findings.groupBy("what").agg(
        F.count(F.lit(1)).alias("rows"), F.sum("number").alias("number")
    )
    found = {row["what"]: (row["rows"], row["number"]) for row in counted.collect()}
    nothing = (0, 0)
    kinds, quantiles = kinds_and_quantiles(violations)
    return Summary(
        events=sum(run.events for run in judged.runs),
        messages=found.get(f.MESSAGES, nothing)[1],
        deliveries=sum(run.deliveries for run in judged.runs),
        processes=max((run.processes for run in judged.runs), default=0),
        runs=len(judged.runs),
        violations=kinds,
        duplicates=found.get(f.DUPLICATE, nothing)[0],
        losses=found.get(f.LOSS, nothing)[0],
        inventions=found.get(f.INVENTION, nothing)[0],
        self_caused=found.get(f.CAUSED, nothing)[1],
        held_back_ns=quantiles,
        channels=channels_of(violations) if sum(kinds.values()) else [],
        method=Method(
            slices=judged.plan.count,
            overlap_ns=judged.plan.overlap_ns,
            long_flights=judged.long_flights,
            sequential={judged.names[run]: reasons for run, reasons in judged.out_of_order.items()},
        ),
    )


def explained(judged: Judged, violations: DataFrame, count: int) -> list[Found]:
    """The worst violations with their witnesses."""
    ranked = violations.orderBy(
        F.desc("held_back_ns"), "run_id", "process", "early_sender", "early_sequence"
    )
    worst = [violation_of(row.asDict()) for row in ranked.limit(count).collect()]
    clockless = [judged.names[run] for run in judged.out_of_order]
    return with_witnesses(judged.rows, worst, clockless)


def write_text(path: str, text: str) -> None:
    """Write a small file, wherever Spark writes its tables to."""
    if "://" in path:
        filesystem, place = pyarrow.fs.FileSystem.from_uri(path)
    else:
        filesystem, place = pyarrow.fs.LocalFileSystem(), path
    with filesystem.open_output_stream(place) as stream:
        stream.write(text.encode())
