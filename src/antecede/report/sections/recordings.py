"""Recorded runs in a table: how much was sent, what it cost, whether it went well."""

from collections.abc import Mapping, Sequence
from typing import Final

from antecede.report.charts.scale import plain, time_text
from antecede.report.page.markup import Markup, element
from antecede.report.readers.recordings import Recording
from antecede.report.sections.section import table
from antecede.report.spacetime.run import IMPLIED, MISSING, Run
from antecede.report.spacetime.times import latencies_ns

UNKNOWN: Final = "-"
"""What a log does not say."""


def recordings_table(recordings: Sequence[Recording], early: Mapping[str, int]) -> Markup:
    """A row for each run; `early` says how many messages of it came too early, if that is known."""
    # What people look for first stands first: a telephone shows three columns.
    head = ["run", "too early", "messages", "processes", "lasted", "median latency", "p99"]
    head += ["metadata bytes a message", "control packets a message"]
    rows = [
        [recording.run.name, *figures_of(recording.run, early.get(recording.run.name))]
        for recording in recordings
    ]
    return table(head, rows)


def figures_of(run: Run, early: int | None) -> list[Markup | str]:
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
