"""What `antecede audit` prints: counts, where it happened most, and the worst in words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.table import Table

from antecede.audit.explain import explain, moment, name
from antecede.audit.findings import Violation
from antecede.audit.summary import GRADES, RECORDED
from antecede.cli.console import Console, signed_text

if TYPE_CHECKING:
    from antecede.audit.history import Order
    from antecede.audit.summary import Channel, Summary

CHANNELS_SHOWN: Final = 8
RUNS_SHOWN: Final = 5

MEANINGS: Final[dict["Order", str]] = {
    "trace": "trace: only what the same request did before at a process counts as a cause.",
    "process": "process: all that a process did before counts, which causal messaging enforces.",
}

Names = Mapping[str, Mapping[int, str]]


def print_summary(console: Console, summary: "Summary", names: Names, out: str) -> None:
    """What an operator wants to know: how much was looked at, and what is wrong with it."""
    runs = f" in {summary.runs:,} runs" if summary.runs != 1 else ""
    console.print(
        f"{summary.events:,} events{runs}: {summary.messages:,} messages, "
        f"{summary.deliveries:,} deliveries, {summary.processes:,} processes"
    )
    console.print(verdict_text(summary))
    for line in order_lines(summary):
        console.print(line)
    if summary.grades.get(RECORDED, 0) < summary.violation_count:
        told = [f"{summary.grades[grade]:,} {words}" for grade, words in GRADES.items()]
        console.print(f"Of these, {'; '.join(told)}.")
    others = faults_text(summary)
    if others:
        console.print(others)
    if summary.channels:
        console.print(channels_table(summary.channels, names))
    for line in [*cut_off_lines(summary, names), *method_lines(summary)]:
        console.print(escape(line))
    console.print(f"The tables are in {escape(out)}.")


def verdict_text(summary: "Summary") -> str:
    """Whether effects overtook causes, and by how much."""
    if not summary.deliveries and summary.cut_off:
        return "[yellow]No delivery can be read, so nothing was judged.[/]"
    if not summary.deliveries:
        return "[yellow]Nothing was delivered, so nothing was judged:[/] is this the right log?"
    if summary.held_back_ns is None:
        return "[green]No message was delivered before one that caused it.[/]"
    held = summary.held_back_ns
    early = summary.violation_count
    share = early / max(1, summary.deliveries)
    were, them = ("message was", "it") if early == 1 else ("messages were", "them")
    return (
        f"[bold red]{early:,} {were} delivered before one that caused "
        f"{them}[/] ({share:.2%} of deliveries): {summary.violations['fifo']:,} before an earlier "
        f"one of the same sender, {summary.violations['transitive']:,} before one of another.\n"
        f"Causal order would have held {them} back for {signed_text(held['p50'])} (median), "
        f"{signed_text(held['p99'])} (99th percentile), {signed_text(held['max'])} at most."
    )


def order_lines(summary: "Summary") -> list[str]:
    """How many there are by either order, and what that means; nothing if there are no traces."""
    if summary.order == "process" and len(set(summary.violations_by_order.values())) == 1:
        return []
    width = max(len(f"{count:,}") for count in summary.violations_by_order.values())
    return [
        f"{summary.violations_by_order[order]:>{width},} by {meaning}"
        for order, meaning in MEANINGS.items()
    ]


def faults_text(summary: "Summary") -> str:
    """What else is wrong, if anything is."""
    counts = {
        "lost": summary.losses,
        "delivered more than once": summary.duplicates,
        "delivered where nobody sent them": summary.inventions,
        "their own cause, so that the log cannot be right": summary.self_caused,
    }
    found = [f"{count:,} {words}" for words, count in counts.items() if count]
    return f"Copies: {', '.join(found)}." if found else ""


def channels_table(channels: Sequence["Channel"], names: Names) -> Table:
    """Where it happened most."""
    several = len({channel.run_id for channel in channels}) > 1
    table = Table(
        box=None, header_style="bold", title="Channels most affected", title_justify="left"
    )
    for heading in (*(["run"] if several else []), "at", "messages of", "came before those of"):
        table.add_column(heading, overflow="fold")
    for heading in ("times", "early by (median)", "at most"):
        table.add_column(heading, justify="right")
    for channel in channels[:CHANNELS_SHOWN]:
        people = names.get(channel.run_id, {})
        late = "themselves"
        if channel.late_sender != channel.early_sender:
            late = name(channel.late_sender, people)
        table.add_row(
            *([escape(channel.run_id)] if several else []),
            escape(name(channel.process, people)),
            escape(name(channel.early_sender, people)),
            escape(late),
            f"{channel.violations:,}",
            signed_text(channel.held_back_ns),
            signed_text(channel.held_back_ns_max),
        )
    return table


def cut_off_lines(summary: "Summary", names: Names) -> list[str]:
    """Whose logs break off, and what is not known because of that."""
    lines = []
    for run_id, processes in summary.cut_off.items():
        people = names.get(run_id, {})
        for process, since_ns in processes.items():
            end = "nothing of it can be read" if since_ns is None else f"after {moment(since_ns)}"
            lines.append(f"The log of {name(int(process), people)} in {run_id} breaks off: {end}.")
    unknown = summary.unknown
    if any(unknown.values()):
        lines.append(
            f"So it is not known whether {unknown['losses']:,} more messages reached them, nor "
            f"whether they sent {unknown['inventions']:,} that others delivered; nobody is blamed."
        )
    return lines


def method_lines(summary: "Summary") -> list[str]:
    """What a reader should know about how runs were judged whose clocks cannot be trusted."""
    runs = list(summary.method.sequential.items())
    lines = [
        f"{run_id}: {'; '.join(reasons)}. {remedy(summary, run_id)}"
        for run_id, reasons in runs[:RUNS_SHOWN]
    ]
    if len(runs) > RUNS_SHOWN:
        lines.append(f"… and {len(runs) - RUNS_SHOWN:,} more runs, named in summary.json")
    return lines


def remedy(summary: "Summary", run_id: str) -> str:
    """What was done about a clock that cannot be right."""
    moved = summary.method.clock_offsets_ns.get(run_id, {})
    share = summary.method.blurred.get(run_id)
    if share is None and not moved:
        return "It was judged by the order of its events alone."
    clocks = f"The clocks of {len(moved):,} processes were moved" if moved else "No clock was moved"
    if share is None:
        return f"{clocks}."
    return f"{clocks}, and for {share:.2%} of the time only the order of events was looked at."


def print_worst(
    console: Console, worst: Sequence[tuple[str, Violation]], names: Names, several: bool
) -> None:
    """The worst violations, each as a story."""
    for number, (run_id, violation) in enumerate(worst, start=1):
        where = f"In {run_id}: " if several else ""
        told = explain(violation, names.get(run_id))
        path = "" if violation.witness else " (Too much happened between them to show how.)"
        console.print(f"{number}. {where}{told}{path}", markup=False, soft_wrap=True)
