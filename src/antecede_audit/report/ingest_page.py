"""Ingested traces: how far they can be believed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from antecede.core.errors import LocalError
from antecede.units import counted
from antecede_audit.report.charts.scale import time_text
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, paragraph, table
from antecede_audit.report.sources import EVENTS, SUMMARY_FILE, ReportSource, read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """How far one run that was ingested can be believed."""

    run_id: str
    messages: int
    rejects: Mapping[str, int]
    """By reason."""
    counts: Mapping[str, int]
    """What was met and dealt with."""
    repaired: bool
    offsets_ns: Mapping[str, int]
    """What was added to clocks; only those that were moved."""
    impossible: tuple[tuple[str, str, int, int], ...]
    """Sender, receiver, messages, and how many arrive before they are sent."""


def read_ingested(sources: Iterable[ReportSource]) -> list[Ingested]:
    """The ingests that some of these logs come from."""
    found: list[Ingested] = []
    for source in sources:
        place = source.path.parent / SUMMARY_FILE
        if source.kind == EVENTS and source.path.name == EVENTS.name and place.is_file():
            one = ingested_at(place)
            if one is not None:
                found.append(one)
    return found


def ingested_at(place: Path) -> Ingested | None:
    """The summary of an ingest; None if it is one of something else."""
    try:
        summary: Mapping[str, Any] = read_json(place)
    except LocalError:
        return None
    offsets, counts = summary.get("clock_offsets_ns"), summary.get("counts")
    if not isinstance(offsets, dict) or not isinstance(counts, dict):
        return None
    return Ingested(
        run_id=str(summary.get("run_id", "")),
        messages=int(summary.get("messages", 0)),
        rejects=summary.get("rejects_by_reason", {}),
        counts=counts,
        repaired=bool(summary.get("repaired")),
        offsets_ns={name: ns for name, ns in offsets.items() if ns},
        impossible=tuple(
            (pair["sender"], pair["receiver"], pair["copies"], pair["backwards"])
            for pair in summary.get("contradictions", [])
        ),
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
