"""What ingested traces were like: said before any verdict about them."""

from collections.abc import Sequence
from typing import Final

from antecede.report.charts.scale import time_text
from antecede.report.page.markup import Markup, element, joined
from antecede.report.readers.quality import Ingested
from antecede.report.sections.section import Section, paragraph, table

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
        lead=f"{moved:,} clocks were moved; {still:,} messages still arrive before they are sent.",
        body=joined([run_markup(one, len(ingested) > 1) for one in ingested]),
    )


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
