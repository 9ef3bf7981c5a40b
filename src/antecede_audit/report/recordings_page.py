"""Recorded runs: read, in a table, in spacetime, how full buffers were, where the time went."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.eventlog.layout import find_run
from antecede.eventlog.processes import processes_file, read_files, read_processes
from antecede.units import counted, listing
from antecede_audit.eventlog.leftovers import find_leftovers
from antecede_audit.judging.findings import OracleVerdict
from antecede_audit.report.charts.scale import plain, time_text
from antecede_audit.report.charts.spec import (
    WAIT_CLASSES,
    WAITS,
    Axis,
    LineChart,
    Look,
    Series,
    StackChart,
)
from antecede_audit.report.page.markup import Markup, element, joined, json_script
from antecede_audit.report.page.section import (
    Place,
    Section,
    chart_grid,
    legend,
    paragraph,
    table,
    waits_legend,
)
from antecede_audit.report.sources import EVENTS, ReportSource
from antecede_audit.report.spacetime.diagram import Diagram, diagram_object
from antecede_audit.report.spacetime.recording import (
    IMPLIED,
    MISSING,
    WHOLE,
    Recording,
    RecordingRows,
    TimeRange,
    build_run,
    rows_of_files,
)
from antecede_audit.report.spacetime.times import cdf_of, latencies_ns, levels_of, parts_of
from antecede_audit.report.spacetime.violations import judged

DRAWN: Final = 6
"""Runs that get a diagram unless somebody asks for others."""

NAMES_FOLDER: Final = "processes"
"""Where ingest puts the names of processes, beside its events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRecording:
    """A run that was read, and what the oracle says about it."""

    run: Recording
    run_id: str
    path: Path
    note: str
    """What was left out, if anything."""
    verdict: OracleVerdict | None
    """None if the run is too long for the oracle, or was not read as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """A run that has an event log, and where."""

    run_id: str
    path: Path
    files: list[Path]


def logged_runs(sources: Sequence[ReportSource]) -> list[LoggedRun]:
    """All runs with an event log."""
    return [
        LoggedRun(run_id=run_id, path=source.path, files=files)
        for source in sources
        if source.kind == EVENTS
        for run_id, files in source.runs.items()
    ]


def chosen_runs(runs: Sequence[LoggedRun], patterns: Sequence[str]) -> list[LoggedRun]:
    """The runs that are asked for."""
    chosen: list[LoggedRun] = []
    for pattern in patterns:
        found = [run for run in runs if fnmatchcase(run.run_id, pattern)]
        if not found:
            there = listing([run.run_id for run in runs]) if runs else "no recorded runs at all"
            raise LocalError(f"no run is called {pattern!r}; there are {there}")
        chosen += [run for run in found if run not in chosen]
    return chosen


def read_recording(logged: LoggedRun, name: str, window: TimeRange = WHOLE) -> NamedRecording:
    """Read one run; `name` is what the report calls it."""
    rows = rows_of_files(logged.files, window)
    names = names_of(logged)
    run = build_run(rows, name, names=names)
    cut = cut_off(logged)
    verdict = judged(rows.rows) if rows.is_whole else None
    return NamedRecording(
        run=run,
        run_id=logged.run_id,
        path=logged.path,
        note=note_about(rows, run, [names.get(process, f"P{process}") for process in sorted(cut)]),
        verdict=None if verdict is None else verdict.known(cut),
    )


def cut_off(logged: LoggedRun) -> set[int]:
    """The processes whose logs break off: they were killed, or still run."""
    folder = logged.files[0].parent
    found = find_leftovers(folder) if logged.path.is_dir() else []
    return {one.process for one in found if one.process is not None}


def note_about(rows: RecordingRows, run: Recording, cut: Sequence[str]) -> str:
    """What the reader should know about this log."""
    notes: list[str] = []
    if cut:
        notes.append(
            f"The log of {' and of '.join(cut)} breaks off: what is missing because of that counts "
            "as neither lost nor made up; `antecede audit` says since when."
        )
    if not rows.is_whole:
        notes.append(
            f"A part of the run: {len(rows.rows):,} of {rows.total:,} events "
            "(--from and --to choose another)."
        )
    if run.unmatched:
        notes.append(
            f"{counted(run.unmatched, 'packet')} arrived of which the log does not say who sent "
            f"{'it' if run.unmatched == 1 else 'them'}."
        )
    return " ".join(notes)


def names_of(logged: LoggedRun) -> dict[int, str]:
    """What the processes are called, if somebody has written that down."""
    if logged.path.is_file() or logged.files[0].parent == logged.path:
        tables = [processes_file(file) for file in logged.files]
        return read_files([table for table in tables if table.exists()])
    names = read_processes(logged.path, logged.run_id)
    beside = logged.path.parent / NAMES_FOLDER
    if names or not beside.is_dir():
        return names
    try:
        return read_files(find_run(beside, logged.run_id))
    except LocalError:
        # Names are a courtesy: a table that does not fit is none.
        return {}


def display_names(runs: Sequence[LoggedRun]) -> list[str]:
    """What the report calls each run: its id, with the folder where ids alone are not enough."""
    ids = [run.run_id for run in runs]
    return [
        run.run_id if ids.count(run.run_id) == 1 else f"{place_of(run)}: {run.run_id}"
        for run in runs
    ]


def place_of(run: LoggedRun) -> str:
    """The folder that tells a run from others of the same id."""
    path = run.path if run.path.name != EVENTS.name else run.path.parent
    return path.name


VIOLATING = 2
"""Of runs of which nothing else is known, this many with violations are drawn first."""


def runs_worth_drawing(
    logged: Sequence[LoggedRun], series: Iterable[Sequence[str]], early: Mapping[str, int]
) -> list[LoggedRun]:
    """A few runs; `early` says how many messages came too early, by the id of the run.

    Of series, which are runs that differ in one thing only, the longest one whose logs are there,
    and of several such the one with most violations.
    """
    places = {
        run_id: (number, place)
        for number, one in enumerate(series)
        for place, run_id in enumerate(one)
    }
    known = [run for run in logged if run.run_id in places]
    if len(known) < 2:
        return first_few(logged, early)
    groups: dict[int, list[LoggedRun]] = {}
    for run in known:
        number, _ = places[run.run_id]
        groups.setdefault(number, []).append(run)

    def worth(group: list[LoggedRun]) -> tuple[int, int]:
        return len(group), sum(early.get(run.run_id, 0) for run in group)

    best = max(groups.values(), key=worth)
    best.sort(key=lambda run: places[run.run_id])
    return best[:DRAWN]


def first_few(logged: Sequence[LoggedRun], early: Mapping[str, int]) -> list[LoggedRun]:
    """The first runs, and among them those with most violations."""
    worst = sorted(
        (run for run in logged if early.get(run.run_id)), key=lambda run: -early[run.run_id]
    )[:VIOLATING]
    others = [run for run in logged if run not in worst]
    chosen = [*worst, *others][:DRAWN]
    return [run for run in logged if run in chosen]


def pair_of(counts: Sequence[int]) -> list[int] | None:
    """The two runs to begin with, by their violations: one without any, and the one with most."""
    if len(counts) < 2 or max(counts) == 0 or min(counts) > 0:
        return None
    return [counts.index(0), counts.index(max(counts))]


UNKNOWN: Final = "-"
"""What a log does not say."""


def recordings_table(recordings: Sequence[NamedRecording], early: Mapping[str, int]) -> Markup:
    """A row for each run; `early` says how many messages of it came too early, if that is known."""
    # What people look for first stands first: a telephone shows three columns.
    head = ["run", "too early", "messages", "processes", "lasted", "median latency", "p99"]
    head += ["metadata bytes a message", "control packets a message"]
    rows = [
        [recording.run.name, *figures_of(recording.run, early.get(recording.run.name))]
        for recording in recordings
    ]
    return table(head, rows)


def figures_of(run: Recording, early: int | None) -> list[Markup | str]:
    """The figures of a run; metadata and control packets are those for one message."""
    latencies = latencies_ns(run)
    count = max(run.messages, 1)
    packets = run.packets
    transmitted = any(run.packet_kinds[kind] != IMPLIED for kind in packets.kind)
    control = sum(copy == MISSING for copy in packets.copy)
    return [
        UNKNOWN if early is None else element("b", f"{early:,}", class_="refuted" if early else ""),
        f"{run.messages:,}",
        f"{len(run.processes):,}",
        time_text(run.span_ns),
        time_text(latencies[len(latencies) // 2]) if latencies else UNKNOWN,
        time_text(latencies[len(latencies) * 99 // 100]) if latencies else UNKNOWN,
        plain(sum(packets.metadata_bytes) / count) if transmitted else UNKNOWN,
        plain(control / count) if transmitted else UNKNOWN,
    ]


LOOKS = {
    "send buffers": Look(colour=5),
    "on the way": Look(colour=8, dash=2),
    "receive buffers": Look(colour=2, dash=1),
}


def buffers_section(recordings: Sequence[NamedRecording]) -> Section | None:
    """A chart for each run in which anything was ever buffered or under way."""
    longest_ns = max((recording.run.span_ns for recording in recordings), default=1)
    charts = [
        chart for recording in recordings if (chart := chart_of(recording, longest_ns)) is not None
    ]
    if not charts:
        return None
    return Section(
        identity="buffers",
        title="Buffers over time",
        lead="Copies in all send buffers, on the way, and in all receive buffers: the most in each "
        "stretch of time.",
        body=joined([legend(LOOKS.items()), chart_grid(charts)]),
        place=Place.LAST,
    )


def chart_of(recording: NamedRecording, longest_ns: int) -> LineChart | None:
    """The levels of one run, on an axis that all runs share; None if its log knows no buffers."""
    levels = levels_of(recording.run)
    columns = (levels.sending, levels.travelling, levels.receiving)
    if not any(map(any, columns)):
        return None
    series = tuple(
        Series(
            name=name,
            points=tuple(zip(levels.times_ns, map(float, column), strict=True)),
            look=look,
            dots=False,
        )
        for (name, look), column in zip(LOOKS.items(), columns, strict=True)
    )
    return LineChart(
        title=recording.run.name,
        x=Axis(title="time since the start", unit="time", low=0.0, high=float(longest_ns)),
        y=Axis(title="copies", low=0.0),
        series=series,
        stairs=True,
    )


LEAD = (
    "Processes are lines, time goes to the right, messages are arrows; a lost packet ends in a "
    "cross. "
    "Click a message to see what it depends on and what depends on it. "
    "Drag to move; pinch, or hold Ctrl and turn the wheel, to zoom."
)


def spacetime_section(
    diagrams: Sequence[Diagram], pair: Sequence[int] | None = None
) -> Section | None:
    """A viewer of all runs that were read: two at a time if there are several, or this pair."""
    if not diagrams:
        return None
    data = [
        json_script(f"run-{number}", diagram_object(one)) for number, one in enumerate(diagrams)
    ]
    shown = range(min(2, len(diagrams))) if pair is None else pair
    stage = element(
        "div",
        paragraph("The diagram is drawn by a script, which has not run.", class_="quiet"),
        id="viewer",
        data_runs=len(diagrams),
        data_pair=",".join(map(str, shown)),
    )
    return Section(
        identity="spacetime",
        title="Spacetime diagram",
        lead=LEAD,
        body=joined([stage, *data]),
    )


SHARE_AXIS: Final = Axis(title="share of messages", unit="share", low=0.0, high=1.0)

LATENCY_AXIS: Final = Axis(title="from submission to delivery", unit="time", log=True)

FEW: Final = 200
"""With fewer than 200 messages a smooth line would promise more than is known: steps are drawn."""


def latency_section(pieces: Sequence[Markup]) -> Section | None:
    """The section on latency: what each part has to say about it goes into the same one."""
    body = joined([piece for piece in pieces if piece])
    if not body:
        return None
    return Section(
        identity="latency",
        title="Latency",
        lead="From submission to delivery: in the send buffer, on the way, in the receive buffer. "
        "Causal order is paid for in one of the two buffers.",
        body=body,
    )


def run_look(number: int) -> Look:
    """How the runs of a report are drawn, by their number."""
    return Look(colour=(1, 2, 5, 3, 6, 7)[number % 6], dash=number // 6)


def recorded_latencies(recordings: Sequence[NamedRecording]) -> list[Markup]:
    """The latencies of all recorded runs in one chart, and what they consist of in one each."""
    all_latencies = [latencies_ns(recording.run) for recording in recordings]
    lines = tuple(
        Series(name=recording.run.name, points=cdf_of(values), look=run_look(number), dots=False)
        for number, (recording, values) in enumerate(zip(recordings, all_latencies, strict=True))
        if values
    )
    if not lines:
        return []
    slowest_ns = max(values[-1] for values in all_latencies if values)
    stacks = [
        stack
        for recording, values in zip(recordings, all_latencies, strict=True)
        if (stack := stack_of(recording, values, slowest_ns)) is not None
    ]
    chart = LineChart(
        title="Recorded runs",
        note="share of messages delivered after at most so long",
        x=LATENCY_AXIS,
        y=SHARE_AXIS,
        series=lines,
        stairs=any(0 < len(values) < FEW for values in all_latencies),
    )
    pieces = [element("h3", "Recorded runs"), legend((line.name, line.look) for line in lines)]
    if stacks:
        pieces.append(waits_legend())
    return [*pieces, chart_grid([chart, *stacks])]


def stack_of(
    recording: NamedRecording, own_ns: Sequence[int], slowest_ns: int
) -> StackChart | None:
    """Messages from the quickest to the slowest: what their time consisted of.

    The axis goes to the slowest of all runs, so that runs can be compared by looking; a run that
    is much quicker than another lies flat on it, so its own slowest message is told in words.
    """
    parts = parts_of(recording.run)
    if parts is None:
        return None
    return StackChart(
        title=recording.run.name,
        note="messages from the quickest to the slowest: where each spent its time; "
        f"the slowest took {time_text(own_ns[-1])}",
        x=SHARE_AXIS,
        y=Axis(title="latency", unit="time", high=float(slowest_ns)),
        places=parts.shares,
        parts=WAITS,
        classes=WAIT_CLASSES,
        layers=(parts.sender_wait_ns, parts.channel_ns, parts.receiver_wait_ns),
    )
