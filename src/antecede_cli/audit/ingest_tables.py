"""What `antecede ingest` prints: its summary, the quality of traces, what was rejected and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.table import Table

from antecede.core.errors import LocalError
from antecede.eventlog.layout import part_files
from antecede.eventlog.parquet import numbered_rows, read_table
from antecede.units import counted, duration_text
from antecede_cli.console import Console, counts_table, figures_table, reasons_table, signed_text
from antecede_cli.spark import check_readable

if TYPE_CHECKING:
    from antecede_audit.spans.quality import TraceQuality
    from antecede_audit.spans.summary import IngestSummary

CHECK_ROWS_SHOWN: Final = 20
REJECT_COLUMNS: Final = ("source", "position", "reason", "excerpt")

ROWS_SHOWN: Final = 12
"""At most this many reasons, clocks and pairs are printed; summary.json has them all."""

HOUR_NS: Final = 3_600_000_000_000
DAY_NS: Final = 24 * HOUR_NS

MEANINGS: Final = {
    "duplicate_spans": "spans were recorded twice: the first record counts",
    "missing_parents": "spans have a parent that is not there: what started them is not known",
    "unreceived_calls": "calls went to something that is not traced",
    "repeated_receptions": "times a process received a one-way message that it had already",
    "received_before_sent": "copies were received before they were sent, by the recorded clocks",
    "clamped": "copies still are, after the repair: they count as received when sent",
    "mutual_at_one_time": "copies went to and fro at one time: nobody acted on them at that time",
    "unknown_causes": "named causes had not reached the sender: not waited for",
    "causes_cut": "deliveries were too many for one message to wait for",
}


def print_summary(console: Console, summary: "IngestSummary", out: str) -> None:
    """What an operator wants to know: what was read, what was not, and how far to trust it."""
    console.print(result_table(summary))
    if summary.rejects:
        console.print(rejects_table(summary))
        console.print(
            f"Each with its place and an excerpt: antecede ingest --show-rejects {escape(out)}"
        )
        if any("from 1970 in " in reason for reason in summary.rejects_by_reason):
            console.print(
                "Times of message tables count from 1970, in seconds unless something says another "
                "unit. If they count in another, say so (--time-unit); if from another year, "
                "subtract it."
            )
    notes = notes_table(summary.counts)
    if notes.row_count:
        console.print(notes)
    if summary.repaired and summary.counts["received_before_sent"]:
        print_clocks(console, summary)
    elif summary.counts["received_before_sent"]:
        console.print("Clocks were not repaired (--no-repair).")
    if summary.damaged:
        console.print(damaged_table(summary))
    if summary.changed:
        files = files_were(len(summary.changed))
        console.print(
            f"{files} read before with other content: both contents count, and spans that are in "
            "both as they were at first. To have the new content alone, ingest all files without "
            "--append."
        )
    if summary.skipped:
        console.print(f"{files_were(len(summary.skipped))} there already, and skipped.")
    if summary.passed_over:
        passed_over = files_were(len(summary.passed_over), "other file")
        console.print(f"{passed_over} passed over in the folders.")
    console.print(f"The tables are in {escape(out)}.")


def files_were(count: int, one: str = "file") -> str:
    """How many files were something."""
    return f"{counted(count, one)} {'was' if count == 1 else 'were'}"


def result_table(summary: "IngestSummary") -> Table:
    """What was read, and what it came to."""
    table = counts_table(escape(summary.run_id))
    for entry in summary.read:
        table.add_row(
            f"{entry.records:,}", f"records in {counted(entry.files, 'file')}: {entry.format}"
        )
    table.add_section()
    table.add_row(f"{summary.messages:,}", "messages")
    table.add_row(f"{summary.copies:,}", "copies (messages x destinations)")
    table.add_row(f"{summary.processes:,}", "processes")
    if summary.first_ns is not None and summary.last_ns is not None:
        table.add_row(period_text(summary.last_ns - summary.first_ns), "from first to last event")
    table.add_row(f"{summary.rejects:,}", "rejected")
    return table


def rejects_table(summary: "IngestSummary") -> Table:
    """Why records were rejected."""
    shown = list(summary.rejects_by_reason.items())
    table = reasons_table(shown[:ROWS_SHOWN])
    if len(shown) > ROWS_SHOWN:
        table.add_row(f"{sum(count for _, count in shown[ROWS_SHOWN:]):,}", "other reasons")
    return table


def damaged_table(summary: "IngestSummary") -> Table:
    """Which files are truncated or damaged, and how much of them was read."""
    title = "Truncated or damaged: used up to there"
    table = figures_table(("file", "what"), ("records",), title=title, title_justify="left")
    for file in summary.damaged[:ROWS_SHOWN]:
        table.add_row(escape(file.source), escape(file.reason), f"{file.records:,}")
    if len(summary.damaged) > ROWS_SHOWN:
        rest = summary.damaged[ROWS_SHOWN:]
        count = sum(file.records for file in rest)
        table.add_row(f"and {len(rest):,} more", "", f"{count:,}")
    return table


def damaged_text(summary: "IngestSummary") -> str:
    """That files are damaged, in a line for whoever reads the logs of scheduled runs."""
    first = summary.damaged[0]
    files = f"{len(summary.damaged):,} files are" if len(summary.damaged) > 1 else "1 file is"
    return escape(
        f"{files} truncated or damaged, and used up to there: {first.source}: {first.reason}, "
        f"{counted(first.records, 'record')} before."
    )


def notes_table(counts: Mapping[str, int]) -> Table:
    """What was met and dealt with."""
    table = counts_table("Met and dealt with")
    for name, meaning in MEANINGS.items():
        if counts.get(name):
            table.add_row(f"{counts[name]:,}", meaning)
    return table


def print_clocks(console: Console, summary: "IngestSummary") -> None:
    """Which clocks were moved, and where no moving helps."""
    moved = [(name, offset) for name, offset in summary.clock_offsets_ns.items() if offset]
    moved.sort(key=lambda entry: (-abs(entry[1]), entry[0]))
    if moved:
        title = "Clocks that were moved"
        table = figures_table(("process",), ("by",), title=title, title_justify="left")
        for name, offset in moved[:ROWS_SHOWN]:
            table.add_row(escape(name), signed_text(offset, "+"))
        if len(moved) > ROWS_SHOWN:
            table.add_row(f"and {len(moved) - ROWS_SHOWN:,} more, less far", "")
        console.print(table)
    if summary.contradictions:
        console.print(contradictions_table(summary))
        console.print("Spans that close late, or truncated times, look like this.")


def contradictions_table(summary: "IngestSummary") -> Table:
    """The pairs of processes between which no clock offset puts everything in order."""
    pairs = summary.contradictions
    title = "No clock offset puts all messages of these in order"
    figures = ("copies", "backwards", "worst", "median")
    table = figures_table(("from", "to"), figures, title=title, title_justify="left")
    for pair in pairs[:ROWS_SHOWN]:
        table.add_row(
            escape(pair.sender),
            escape(pair.receiver),
            f"{pair.copies:,}",
            f"{pair.backwards:,}",
            signed_text(pair.smallest_ns, "+"),
            signed_text(pair.median_ns, "+"),
        )
    if len(pairs) > ROWS_SHOWN:
        rest = pairs[ROWS_SHOWN:]
        backwards = sum(pair.backwards for pair in rest)
        copies = sum(pair.copies for pair in rest)
        table.add_row(f"and {len(rest):,} more", "", f"{copies:,}", f"{backwards:,}", "", "")
    return table


def period_text(duration_ns: int) -> str:
    """A duration, in days or hours if it is long."""
    if duration_ns >= 2 * DAY_NS:
        return f"{duration_ns / DAY_NS:,.1f} days"
    if duration_ns >= 2 * HOUR_NS:
        return f"{duration_ns / HOUR_NS:.1f} hours"
    return duration_text(duration_ns)


def print_quality(console: Console, found: "TraceQuality") -> None:
    """One page."""
    console.print(traces_table(found))
    if found.services:
        console.print(services_table(found))
    if found.impossible:
        console.print(impossible_table(found))


def traces_table(found: "TraceQuality") -> Table:
    """What is there, and what is wrong with it."""
    rest = "" if found.complete else ", the first of more"
    table = counts_table("What the traces are like")
    table.add_row(f"{found.spans:,}", f"spans in {counted(found.traces, 'trace')}{rest}")
    for reason, count in found.rejects.items():
        table.add_row(f"{count:,}", f"rejected: {escape(reason)}")
    table.add_row(f"{found.missing_parents:,}", "have a parent that is not there")
    table.add_row(f"{found.duplicate_spans:,}", "are there twice")
    table.add_row(f"{found.before_parent:,}", "start before their parent, by the same clock")
    table.add_row(f"{found.unreceived_calls:,}", "calls that nobody is known to have received")
    table.add_section()
    table.add_row(f"{found.messages:,}", "messages that follow from them")
    table.add_row(f"{found.backwards:,}", "arrive before they are sent, as the clocks have it")
    table.add_row(f"{found.backwards_repaired:,}", "still do, after the clocks are repaired")
    return table


def services_table(found: "TraceQuality") -> Table:
    """How far the clock of each service can be believed."""
    figures = ("spans", "resolution", "moved by", "known to within")
    table = figures_table(("process",), figures, title="Clocks", title_justify="left")
    ranked = sorted(found.services, key=lambda one: (-abs(one.offset_ns), -one.spans, one.name))
    for one in ranked[:CHECK_ROWS_SHOWN]:
        table.add_row(
            escape(one.name),
            f"{one.spans:,}",
            duration_text(one.resolution_ns),
            signed_text(one.offset_ns, "+") if one.offset_ns else "",
            "" if one.uncertain_ns is None else duration_text(one.uncertain_ns),
        )
    if len(ranked) > CHECK_ROWS_SHOWN:
        table.add_row(f"and {len(ranked) - CHECK_ROWS_SHOWN:,} more", "", "", "", "")
    return table


def impossible_table(found: "TraceQuality") -> Table:
    """Between which services no repair is possible."""
    title = "No clock offset puts all messages of these in order"
    figures = ("messages", "backwards", "worst")
    table = figures_table(("from", "to"), figures, title=title, title_justify="left")
    for pair in found.impossible[:CHECK_ROWS_SHOWN]:
        table.add_row(
            escape(pair.sender),
            escape(pair.receiver),
            f"{pair.messages:,}",
            f"{pair.backwards:,}",
            signed_text(pair.worst_ns, "+") if pair.worst_ns else "",
        )
    return table


def print_rejects(console: Console, shown: list[dict[str, str]], found: Sequence[str]) -> None:
    """The rejects that are `shown`, and how many were `found` for each reason."""
    if shown:
        console.print(places_table(shown))
        console.print(reasons_table(Counter(found).most_common()))
    console.print(f"{len(found):,} rejected." if found else "Nothing was rejected.")


def rejects_in(folder: Path) -> list[dict[str, str]]:
    """The rejects of an ingest, file by file; `LocalError` if there was none."""
    check_readable(folder)
    table = folder / "rejects"
    if not table.is_dir():
        raise LocalError(f"{folder} is not what an ingest left: it has no rejects/")
    rows = numbered_rows(read_table(part_files(table), table, REJECT_COLUMNS))
    return sorted(
        ({name: str(row[name] or "") for name in REJECT_COLUMNS} for _, row in rows),
        key=lambda row: row["source"],
    )


def places_table(rows: list[dict[str, str]]) -> Table:
    """Every one of them."""
    table = Table("file", "place", "reason", "begins with")
    for row in rows:
        table.add_row(
            escape(row["source"].rpartition("/")[2]),
            escape(row["position"]),
            escape(row["reason"]),
            escape(row["excerpt"][:60].strip()),
        )
    return table
