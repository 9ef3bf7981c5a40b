"""The audit of short logs with nothing but the standard library: the oracle, and JSON lines.

It leaves what any audit leaves, the tables as JSON lines instead of Parquet.
"""

import json
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import (
    check_replaceable,
    os_errors_as_local,
    replace_folder_atomically,
)
from antecede.eventlog.jsonl import parsed
from antecede.eventlog.layout import find_finished_runs, run_folders
from antecede.eventlog.processes import read_processes
from antecede.eventlog.rules import JUDGED
from antecede.eventlog.schema import TRACE_COLUMNS, Event
from antecede.installing import how_to_install
from antecede_audit.eventlog.leftovers import UnfinishedLog, find_leftovers, torn_file
from antecede_audit.eventlog.reader import read_rows
from antecede_audit.eventlog.restore import rows_restored
from antecede_audit.judging.definition import ORDERS, PROCESS, TRACE, Order
from antecede_audit.judging.findings import VIOLATION_COLUMNS, OracleVerdict, Violation
from antecede_audit.judging.oracle import check_log, find_violations
from antecede_audit.judging.verdict_summary import (
    CHANNELS,
    GRADES,
    KINDS,
    QUANTILES,
    RECORDED,
    SUMMARY,
    TABLES,
    AuditResult,
    AuditSummary,
    ChannelCount,
    Found,
    JudgingMethod,
)

MESSAGES_MAX: Final = 20_000
"""The oracle compares every message with every other, so that more take too long and too much."""

WRITTEN: Final = (*(f"{name}.jsonl" for name in TABLES), SUMMARY)

Rows = list[dict[str, Any]]

Log = Sequence[Event]
"""The rows of one run."""

READ: Final = (*JUDGED, *TRACE_COLUMNS)
"""The columns that are read: those that say what caused what, and in which request."""


@dataclass(slots=True, kw_only=True)
class Known:
    """What is known where logs break off, and how much is not."""

    ends: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """By run and process: the last submission or delivery that is known."""
    unknown: dict[str, int] = field(default_factory=lambda: {"losses": 0, "inventions": 0})

    def judged(self, run: str, log: Log, cut: set[int], verdict: OracleVerdict) -> OracleVerdict:
        """The verdict without what may be due to logs that break off."""
        if not cut:
            return verdict
        self.ends[run] = {str(process): end_of(log, process) for process in sorted(cut)}
        known = verdict.known(cut)
        self.unknown["losses"] += len(verdict.losses) - len(known.losses)
        self.unknown["inventions"] += len(verdict.inventions) - len(known.inventions)
        return known


def audit_plain(
    paths: Sequence[str], out: str, *, order: Order | None = None, explain: int = 0
) -> AuditResult:
    """Audit these logs; `LocalError` if that takes more than this can do."""
    check_replaceable(Path(out), WRITTEN)
    found = {(path, run): one for path in paths for run, one in read_logs(path).items()}
    logs = {key: log for key, (log, _) in found.items()}
    names = run_names(list(logs))
    for key, log in logs.items():
        check_size(names[key], log)
    traced = any(event.trace_id for log in logs.values() for event in log)
    chosen = order or (TRACE if traced else PROCESS)
    known = Known()
    verdicts = {}
    for key, (log, cut) in found.items():
        verdict = check_log(log, order=chosen, witnesses=bool(explain))
        verdicts[names[key]] = known.judged(names[key], log, cut, verdict)
    events = sum(len(log) for log in logs.values())
    by_order = {each: len(all_violations(logs.values(), each)) for each in ORDERS}
    summary = summarised(verdicts, events, chosen, by_order)
    summary = replace(summary, cut_off=known.ends, unknown=known.unknown)
    write_tables(Path(out), tables_of(verdicts), summary)
    early = [(run, one) for run, verdict in verdicts.items() for one in verdict.violations]
    worst = sorted(early, key=rank)[:explain]
    people = {names[path, run]: people_of(path, run) for path, run in logs}
    return AuditResult(summary=summary, worst=worst, names=people)


def read_logs(path: str) -> dict[str, tuple[Log, set[int]]]:
    """Every log at `path` by its run, and the processes whose part of it breaks off."""
    place = Path(path)
    torn = torn_file(place) if place.is_file() else None
    folders = run_folders(place) if place.is_dir() else {}
    found: dict[str, tuple[Log, set[int]]] = {}
    for run, files in find_finished_runs(place).items():
        unfinished = find_leftovers(folders[run]) if run in folders else []
        if torn is not None:
            files, unfinished = [], [torn]
        log: Log = read_rows(files, READ)
        if len(files) > 1:
            check_separate(run, log)
        for one in unfinished:
            log = with_lines(log, one)
        found[run] = log, {one.process for one in unfinished if one.process is not None}
    return found


def with_lines(log: Log, one: UnfinishedLog) -> Log:
    """The log and what was left unfinished of it, if that goes on where the log ends."""
    numbered = enumerate(one.lines.splitlines(), start=1)
    rows = [
        (number, parsed(line, f"{one.path}, line {number}")) for number, line in numbered if line
    ]
    more = list(rows_restored(rows, f"{one.path}, line", READ))
    ends = {event.process: event.position for event in sorted(log, key=position_of)}
    # A file of another life of the process, say, does not: the log is right without it.
    goes_on = all(event.position > ends.get(event.process, -1) for event in more)
    return [*log, *more] if goes_on else log


def position_of(event: Event) -> int:
    """Its place among the events of its process."""
    return event.position


def check_separate(run: str, log: Log) -> None:
    """`LocalError` if files that are taken for one run must be several runs."""
    if len({(event.process, event.position) for event in log}) < len(log):
        raise LocalError(
            f"{run}: a process has several events at one position, so these files are more than "
            "one run; give each file alone, or put each run into a folder run_id=…"
        )


def end_of(log: Log, process: int) -> int | None:
    """The last submission or delivery of a process that is known."""
    times_ns = [
        event.time_ns
        for event in log
        if event.process == process and event.kind in ("submitted", "delivered")
    ]
    return max(times_ns, default=None)


def run_names(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What to call the runs, no two of them the same."""
    ids = [run for _, run in keys]
    alone = len(set(ids)) == len(ids)
    return {(path, run): run if alone else f"{path}: {run}" for path, run in keys}


def people_of(path: str, run: str) -> dict[int, str]:
    """The names of a run's processes, if they are beside its log; audits do without, if need be."""
    with suppress(LocalError):
        return read_processes(path, run if Path(path).is_dir() else None)
    return {}


def check_size(name: str, log: Log) -> None:
    """`LocalError` if there is too much to compare."""
    messages = len({(event.sender, event.sequence) for event in log if event.kind == "submitted"})
    if messages > MESSAGES_MAX:
        raise LocalError(
            f"{name} has {messages:,} messages; more than {MESSAGES_MAX:,} need pyarrow and Spark; "
            + how_to_install("lab")
        )


def all_violations(logs: Iterable[Log], order: Order) -> list[Violation]:
    """Everything that came too early by this order."""
    return [one for log in logs for one in find_violations(log, witnesses=False, order=order)]


def rank(found: Found) -> tuple[Any, ...]:
    """The worst first."""
    run, violation = found
    return -violation.held_back_ns, run, violation.process, violation.early


def summarised(
    verdicts: dict[str, OracleVerdict], events: int, order: Order, by_order: dict[Order, int]
) -> AuditSummary:
    """The counts of everything."""
    judged = list(verdicts.values())
    found = [(run, one) for run, verdict in verdicts.items() for one in verdict.violations]
    return AuditSummary(
        events=events,
        messages=sum(verdict.messages for verdict in judged),
        deliveries=sum(verdict.deliveries for verdict in judged),
        processes=max((verdict.processes for verdict in judged), default=0),
        runs=len(judged),
        violations={kind: sum(one.kind == kind for _, one in found) for kind in KINDS},
        order=order,
        violations_by_order=by_order,
        duplicates=sum(len(verdict.duplicates) for verdict in judged),
        losses=sum(len(verdict.losses) for verdict in judged),
        inventions=sum(len(verdict.inventions) for verdict in judged),
        self_caused=sum(len(verdict.self_causes) for verdict in judged),
        cut_off={},
        unknown={"losses": 0, "inventions": 0},
        grades={grade: len(found) * (grade == RECORDED) for grade in GRADES},
        held_back_ns=quantiles_of([one.held_back_ns for _, one in found]),
        channels=channels_of(found),
        method=JudgingMethod(
            slices=0,
            overlap_ns=0,
            long_flights=0,
            sequential={},
            clock_offsets_ns={},
            blurred={},
        ),
    )


def quantiles_of(values: Sequence[int]) -> dict[str, int] | None:
    """How long causal delivery would have held messages back; None if there are none."""
    ranked = sorted(values)
    return {name: quantile(ranked, share) for name, share in QUANTILES.items()} if ranked else None


def quantile(ranked: Sequence[int], share: float) -> int:
    """The smallest value that this share of all values does not exceed."""
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def channels_of(found: Sequence[Found]) -> list[ChannelCount]:
    """The channels with most violations."""
    waits: dict[tuple[str, int, int, int], list[int]] = {}
    for run, one in found:
        key = run, one.process, one.early.sender, one.late.sender
        waits.setdefault(key, []).append(one.held_back_ns)
    ranked = sorted(waits, key=lambda key: (-len(waits[key]), key))
    return [
        ChannelCount(
            run_id=run,
            process=process,
            early_sender=early,
            late_sender=late,
            violations=len(waits[run, process, early, late]),
            held_back_ns=quantile(sorted(waits[run, process, early, late]), 0.5),
            held_back_ns_max=max(waits[run, process, early, late]),
        )
        for run, process, early, late in ranked[:CHANNELS]
    ]


def tables_of(verdicts: dict[str, OracleVerdict]) -> dict[str, Rows]:
    """The rows of all tables."""
    tables: dict[str, Rows] = {name: [] for name in ("violations", "duplicates", "losses")}
    tables["inventions"] = []
    for run, verdict in verdicts.items():
        for one in verdict.violations:
            steps = {
                f"{side}_{name}": getattr(one, f"{side}_{name}")
                for side in ("early", "late")
                for name in ("trace_id", "span_id")
            }
            row = dict(zip(VIOLATION_COLUMNS, one.row(), strict=True))
            tables["violations"].append({"run_id": run, **row, **steps})
        for twin in verdict.duplicates:
            tables["duplicates"].append(
                {
                    "run_id": run,
                    "process": twin.process,
                    **twin.message._asdict(),
                    "deliveries": twin.deliveries,
                    "first_delivered_ns": twin.first_delivered_ns,
                    "last_delivered_ns": twin.last_delivered_ns,
                }
            )
        for loss in verdict.losses:
            row = {"target": loss.target, **loss.message._asdict()}
            tables["losses"].append({"run_id": run, **row, "submitted_ns": loss.submitted_ns})
        for invention in verdict.inventions:
            row = {"process": invention.process, **invention.message._asdict()}
            tables["inventions"].append(
                {"run_id": run, **row, "delivered_ns": invention.delivered_ns}
            )
    return tables


def write_tables(out: Path, tables: dict[str, Rows], summary: AuditSummary) -> None:
    """Replace the tables and the summary: all of them, or, if something goes wrong, none."""
    with replace_folder_atomically(out, WRITTEN) as stage, os_errors_as_local(out, "write"):
        for name, rows in tables.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (stage / f"{name}.jsonl").write_text(text, encoding="utf-8")
        text = json.dumps(summary.as_object(), indent=2) + "\n"
        (stage / SUMMARY).write_text(text, encoding="utf-8")
