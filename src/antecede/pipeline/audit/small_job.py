"""The audit of logs that fit into this process: the same tables and summary, without Spark.

On a hundred thousand events Spark spends seconds planning what one pass of the kernel decides in a
fraction of one. The verdict is the same, as the judges are: a small log is one slice.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.pipeline.audit import findings as f
from antecede.pipeline.audit.copies import Copies
from antecede.pipeline.audit.facts import check_separate
from antecede.pipeline.audit.findings import REASONS
from antecede.pipeline.audit.inputs import Source, find_source, names_beside
from antecede.pipeline.audit.job import SUMMARY, Audit
from antecede.pipeline.audit.judge import Tell, names_of, silent
from antecede.pipeline.audit.sequential import RunJudge
from antecede.pipeline.audit.slices import SliceJudge
from antecede.pipeline.audit.small_files import files_of
from antecede.pipeline.audit.small_log import READ, SmallLog, read_small, run_in
from antecede.pipeline.audit.small_tables import (
    Columns,
    channels_of,
    columns_of,
    latest_violations,
    quantiles_of,
    tables_of,
)
from antecede.pipeline.audit.summary import KINDS, Method, Summary
from antecede.pipeline.audit.witnesses import Found, violation_of, witnessed
from antecede.trace.atomic import blaming, replacing
from antecede.trace.events import COLUMNS, Event

SMALL_EVENTS: Final = 1_000_000
"""Logs with at most so many events are judged in one process: a few hundred megabytes."""

PART: Final = "part-00000.parquet"


def audit_small(
    paths: Sequence[str],
    out: str,
    *,
    explain: int = 0,
    events_max: int = SMALL_EVENTS,
    tell: Tell = silent,
) -> Audit | None:
    """Audit these logs if they are files here, of few events; None if they are not.

    The tables in the folder `out` are replaced, as by `antecede.pipeline.audit.job.audit`.
    """
    sources = [find_source(path) for path in paths]
    files = None if "://" in out else files_of(sources, events_max)
    if files is None:
        return None
    tell("judging")
    log = read_small(files, COLUMNS if explain else READ)
    check_separate(log.runs, sources)
    names = names_of(log.runs, sources)
    findings, reasons = judged(log.copies)
    early = latest_violations(findings)
    summary = summarise(log, findings, early, names, reasons)
    write_tables(Path(out), findings, names, summary)
    if explain:
        tell("looking for the reasons")
    worst = explained(log, early, names, explain)
    spoken_of = {channel.run_id for channel in summary.channels} | {run for run, _ in worst}
    return Audit(
        summary=summary,
        worst=worst,
        names={name: process_names(log, sources, names, name) for name in sorted(spoken_of)},
    )


def judged(copies: Copies) -> tuple[Columns, dict[int, list[str]]]:
    """All findings, and the runs that had to be judged without a clock, with the reasons."""
    rows = columns_of(SliceJudge(copies, 0, None).findings())
    is_disorder = rows["what"] == f.DISORDER
    told = zip(rows["run"][is_disorder].tolist(), rows["number"][is_disorder].tolist(), strict=True)
    reasons: dict[int, list[str]] = {}
    for run, number in sorted(set(told)):
        reasons.setdefault(run, []).append(REASONS[number])
    fine = ~np.isin(rows["run"], list(reasons))
    parts = [{name: values[fine] for name, values in rows.items()}]
    parts += [columns_of(RunJudge(run_in(copies, run)).findings()) for run in reasons]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in rows}
    return joined, reasons


def summarise(
    log: SmallLog,
    findings: Columns,
    early: Columns,
    names: Sequence[str],
    reasons: dict[int, list[str]],
) -> Summary:
    """The counts of everything."""
    what, number = findings["what"], findings["number"]
    return Summary(
        events=sum(run.events for run in log.runs),
        messages=int(number[what == f.MESSAGES].sum()),
        deliveries=sum(run.deliveries for run in log.runs),
        processes=max((run.processes for run in log.runs), default=0),
        runs=len(log.runs),
        violations={kind: int((early["kind"] == place).sum()) for place, kind in enumerate(KINDS)},
        duplicates=int((what == f.DUPLICATE).sum()),
        losses=int((what == f.LOSS).sum()),
        inventions=int((what == f.INVENTION).sum()),
        self_caused=int(number[what == f.CAUSED].sum()),
        held_back_ns=quantiles_of(early["held_back_ns"]),
        channels=channels_of(early, names),
        method=Method(
            slices=1 if len(log.copies) else 0,
            overlap_ns=0,
            long_flights=0,
            sequential={names[run]: why for run, why in reasons.items()},
        ),
    )


def write_tables(out: Path, findings: Columns, names: Sequence[str], summary: Summary) -> None:
    """Replace the tables and the summary, which comes last."""
    with blaming(out, "write"):
        (out / SUMMARY).unlink(missing_ok=True)
        for name, table in tables_of(findings, names).items():
            shutil.rmtree(out / name, ignore_errors=True)
            (out / name).mkdir(parents=True)
            pq.write_table(table, out / name / PART, compression="zstd")
    with replacing(out / SUMMARY) as partial, blaming(out, "write"):
        partial.write_text(json.dumps(summary.as_object(), indent=2) + "\n", encoding="utf-8")


def explained(log: SmallLog, early: Columns, names: Sequence[str], count: int) -> list[Found]:
    """The worst violations with their witnesses."""
    rank = np.lexsort(
        (
            early["early_sequence"],
            early["early_sender"],
            early["process"],
            np.argsort(np.argsort(names))[early["run"]] if len(names) else early["run"],
            -early["held_back_ns"],
        )
    )
    worst: list[Found] = []
    for place in rank[:count].tolist():
        row = {name: int(values[place]) for name, values in early.items()}
        run = row.pop("run")
        name, violation = violation_of({**row, "run_id": names[run]})
        worst.append((name, witnessed(violation, events_of(log, run))))
    return worst


def events_of(log: SmallLog, run: int) -> list[Event]:
    """The submissions and deliveries of a run; the log has all columns."""
    counted = pc.is_in(log.table["kind"], pa.array(["submitted", "delivered"]))
    ours = pc.and_(counted, pc.equal(log.table["run"], run))
    return [Event(**row) for row in log.table.filter(ours).select(COLUMNS).to_pylist()]


def process_names(
    log: SmallLog, sources: Sequence[Source], names: Sequence[str], name: str
) -> dict[int, str]:
    """What the processes of a run are called, if that is written beside its log."""
    facts = log.runs[names.index(name)]
    return names_beside(sources[facts.source], facts.run_id)
