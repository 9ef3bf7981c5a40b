"""From folders to a report: reads what is there, and puts the sections in order."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from antecede_audit.judging.findings import Violation
from antecede_audit.report.audit_page import AUDIT, AuditResults, audited, read_audit
from antecede_audit.report.page.document import Report
from antecede_audit.report.page.markup import Markup
from antecede_audit.report.page.section import page_order
from antecede_audit.report.parts import ReportContents, ReportPart, Results
from antecede_audit.report.recordings_page import (
    LoggedRun,
    NamedRecording,
    chosen_runs,
    display_names,
    logged_runs,
    read_recording,
    recordings_table,
    runs_worth_drawing,
)
from antecede_audit.report.sources import find_sources
from antecede_audit.report.spacetime.diagram import Diagram
from antecede_audit.report.spacetime.recording import WHOLE, TimeRange
from antecede_audit.report.spacetime.violations import WitnessFinder


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What a report should show of what is there."""

    runs: tuple[str, ...] = ()
    """Patterns of the ids of runs to draw; none: the first few."""
    window: TimeRange = WHOLE
    title: str = "antecede report"
    trace_url: str | None = None
    """Where a trace can be looked at, with {trace_id} for its id."""


def make_report(
    paths: Sequence[Path], wanted: ReportOptions, parts: Sequence[ReportPart]
) -> Report:
    """The report about everything below these paths; `LocalError` if there is nothing."""
    sources = find_sources(paths, [kind for part in parts for kind in part.kinds])
    results = Results(sources)
    found = results.of(AUDIT, read_audit)
    logged = logged_runs(sources)
    if wanted.runs:
        chosen = chosen_runs(logged, wanted.runs)
    else:
        series = [run_ids for part in parts for run_ids in part.series(results)]
        chosen = runs_worth_drawing(logged, series, early_by_run(found.values()))
    recordings = [
        read_recording(run, name, wanted.window)
        for run, name in zip(chosen, display_names(chosen), strict=True)
    ]
    audits = all_audits(found, logged, recordings)
    contents = ReportContents(
        results=results,
        recordings=recordings,
        audits=audits,
        diagrams=all_diagrams(recordings, audits),
        trace_url=wanted.trace_url,
    )
    undrawn = len(logged) - len(chosen)
    return Report(
        title=wanted.title,
        subtitle=subtitle(recordings, undrawn),
        opening=recordings_table(recordings, early_by_run(audits)) if recordings else Markup(),
        sections=page_order(section for part in parts for section in part.sections(contents)),
        sources=[(source.text(), str(source.path)) for source in sources],
    )


def subtitle(recordings: Sequence[NamedRecording], undrawn: int) -> str:
    """What the report is about, in a line."""
    if undrawn:
        return (
            f"{len(recordings)} of {len(recordings) + undrawn} recorded runs are shown; "
            "--run chooses others."
        )
    return "Who sent what, when it was delivered, and what that cost."


# What was read.


def early_by_run(audits: Iterable[AuditResults]) -> dict[str, int]:
    """How many messages came too early, by run, as far as that is known."""
    early: dict[str, int] = {}
    for one in audits:
        early.update(one.by_run)
    return early


def all_audits(
    audits: Mapping[Path, AuditResults],
    logged: Sequence[LoggedRun],
    recordings: Sequence[NamedRecording],
) -> list[AuditResults]:
    """Audits that were found; runs that none of them knows are judged by the oracle, if short."""
    found = [assigned(one, folder, logged, recordings) for folder, one in audits.items()]
    known = {name for one in found for name in one.by_run}
    return found + [
        audited({one.run.name: one.verdict}, one.run.name)
        for one in recordings
        if one.verdict is not None and one.run.name not in known
    ]


def assigned(
    one: AuditResults,
    folder: Path,
    logged: Sequence[LoggedRun],
    recordings: Sequence[NamedRecording],
) -> AuditResults:
    """The audit with its runs under the names that the report has for them.

    Several recordings may have the same id; then the one nearest to the audit's folder is meant.
    """

    def shown(run_id: str) -> str:
        same = [recording for recording in recordings if run_id in ids_of(recording)]
        if not same:
            return run_id
        return max(same, key=lambda recording: shared_parts(recording.path, folder)).run.name

    drawn = {(recording.path, recording.run_id): recording.run.name for recording in recordings}
    judged = [drawn.get((run.path, run.run_id), run.run_id) for run in covered(one, folder, logged)]
    found = {shown(run_id): count for run_id, count in one.by_run.items()}
    return replace(
        one,
        channels=tuple(replace(channel, run_id=shown(channel.run_id)) for channel in one.channels),
        worst={shown(run_id): violations for run_id, violations in one.worst.items()},
        by_run=dict.fromkeys(judged, 0) | found,
    )


def ids_of(recording: NamedRecording) -> tuple[str, str]:
    """What an audit calls a run: by its id, or by its place too if there are several."""
    return recording.run_id, f"{recording.path.absolute()}: {recording.run_id}"


def covered(one: AuditResults, folder: Path, logged: Sequence[LoggedRun]) -> list[LoggedRun]:
    """The runs that an audit has looked at, as far as can be told.

    It names only those in which it found something; but if there are exactly as many runs nearest
    to its folder as it has judged, it is those.
    """
    depths = [shared_parts(run.path, folder) for run in logged]
    nearest = [run for run, depth in zip(logged, depths, strict=True) if depth == max(depths)]
    for candidates in (nearest, list(logged)):
        if len(candidates) == one.runs:
            return candidates
    return []


def shared_parts(path: Path, other: Path) -> int:
    """How many folders two places have in common."""
    common = os.path.commonpath([path.absolute(), other.absolute()])
    return len(Path(common).parts)


def all_diagrams(
    recordings: Sequence[NamedRecording], audits: Sequence[AuditResults]
) -> list[Diagram]:
    """A diagram for each recording, with the violations that audits have found in it."""
    worst: dict[str, list[Violation]] = {}
    for one in audits:
        worst.update(one.worst)
    early = early_by_run(audits)
    diagrams: list[Diagram] = []
    for recording in recordings:
        violations = worst.get(recording.run.name, [])
        shown = WitnessFinder(recording.run).shown(violations) if violations else []
        diagrams.append(
            Diagram(
                run=recording.run,
                violations=shown,
                violation_count=early.get(recording.run.name, 0),
                note=recording.note,
            )
        )
    return diagrams
