"""Recorded runs: in a table, in spacetime, how full buffers were, how far they can be believed."""

from collections.abc import Mapping, Sequence
from typing import Final

from antecede.units import counted
from antecede_audit.report.charts.scale import plain, time_text
from antecede_audit.report.charts.spec import Axis, LineChart, Look, Series
from antecede_audit.report.page.markup import Markup, element, joined, json_script
from antecede_audit.report.page.section import Place, Section, chart_grid, legend, paragraph, table
from antecede_audit.report.parts import ReportContents
from antecede_audit.report.recordings import Ingested, NamedRecording, pair_of, read_ingested
from antecede_audit.report.spacetime.diagram import Diagram, diagram_object
from antecede_audit.report.spacetime.recording import IMPLIED, MISSING, Recording
from antecede_audit.report.spacetime.times import latencies_ns, levels_of

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


def buffers_sections(contents: ReportContents) -> list[Section | None]:
    """How full the buffers of recorded runs were."""
    return [buffers_section(contents.recordings)]


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


def spacetime_sections(contents: ReportContents) -> list[Section | None]:
    """The diagrams of recorded runs; of these, the one without violations beside the worst."""
    counts = [one.violation_count for one in contents.diagrams]
    return [spacetime_section(contents.diagrams, pair_of(counts))]


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


MEANINGS: Final = {
    "missing_parents": "spans whose parent is not there",
    "duplicate_spans": "spans that are there twice",
    "unreceived_calls": "calls that nobody is known to have received",
    "received_before_sent": "messages that arrive before they are sent, by the recorded clocks",
    "clamped": "messages that still do, after the clocks were repaired",
    "mutual_at_one_time": "messages that went to and fro at one time",
}

ROWS_SHOWN: Final = 12


def quality_sections(contents: ReportContents) -> list[Section | None]:
    """How far traces that were ingested can be believed."""
    return [quality_section(read_ingested(contents.results.sources))]


def quality_section(ingested: Sequence[Ingested]) -> Section | None:
    """How far the traces can be believed; None if nothing was ingested."""
    if not ingested:
        return None
    moved = sum(len(one.offsets_ns) for one in ingested)
    still = sum(one.counts.get("clamped", 0) for one in ingested)
    return Section(
        identity="quality",
        title="Quality of the traces",
        lead=quality_lead(moved, still),
        body=joined([run_markup(one, len(ingested) > 1) for one in ingested]),
    )


def quality_lead(moved: int, still: int) -> str:
    """How many clocks were moved, and what that did not help."""
    clocks = f"{counted(moved, 'clock')} {'was' if moved == 1 else 'were'} moved"
    late = "arrives before it is sent" if still == 1 else "arrive before they are sent"
    return f"{clocks}; {counted(still, 'message')} still {late}."


def run_markup(one: Ingested, titled: bool) -> Markup:
    """One run: what was met, which clocks were moved, where that is impossible."""
    rows = [[words, f"{one.counts.get(name, 0):,}"] for name, words in MEANINGS.items()]
    rows += [[f"rejected: {reason}", f"{count:,}"] for reason, count in one.rejects.items()]
    pieces: list[Markup] = [
        *([element("h3", one.run_id)] if titled else []),
        table(["what was met", "how often"], rows),
    ]
    if not one.repaired:
        pieces.append(paragraph("Clocks were left as they were recorded.", class_="quiet"))
    if one.offsets_ns:
        ranked = sorted(one.offsets_ns.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
        clocks = [
            [name, f"{'-' if ns < 0 else '+'}{time_text(abs(ns))}"]
            for name, ns in ranked[:ROWS_SHOWN]
        ]
        pieces.append(table(["clock", f"moved by ({len(ranked):,} in all)"], clocks))
    if one.impossible:
        pairs = [
            [sender, receiver, f"{messages:,}", f"{backwards:,}"]
            for sender, receiver, messages, backwards in one.impossible[:ROWS_SHOWN]
        ]
        pieces.append(element("h4", "No clock offset puts all messages of these in order"))
        pieces.append(table(["from", "to", "messages", "backwards"], pairs, texts=2))
    return joined(pieces)
