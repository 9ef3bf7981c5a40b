"""`antecede lab compare`: the paper's table of comparison, from runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from antecede.core.errors import LocalError, not_called
from antecede.eventlog.atomic_files import check_replaceable
from antecede.units import duration_text
from antecede_cli.console import Console, figures_table, progress_bar
from antecede_cli.options import option_with_default, parse_names
from antecede_lab.comparison.campaign import (
    DEFAULT_PROTOCOLS,
    FAMILIES,
    Campaign,
    Show,
    entrants_of,
)
from antecede_lab.comparison.claims import FOOTNOTES
from antecede_lab.comparison.documents import (
    COMPARISON_FILES,
    KS_FILES,
    JudgedClaim,
    TextTable,
    all_verdicts,
    ks_table,
    metadata_table,
    omission_table,
    paper_tables,
    write_comparison,
    write_ks,
)
from antecede_lab.comparison.effort import FULL, QUICK, USUAL, Effort
from antecede_lab.comparison.hosts import MESSAGES, QUICK_MESSAGES, HostRow, for_nodes, host_rows
from antecede_lab.comparison.ks_experiment import (
    KS_FULL,
    KS_QUICK,
    KS_USUAL,
    KsRow,
    run_ks_experiment,
)
from antecede_lab.comparison.verdicts import CONFIRMED, QUALIFIED, REFUTED
from antecede_lab.simulator.run import CORE, NODE

SEED_MAX: Final = 1 << 61
SEEDS_MAX: Final = 1000
TRIALS_MAX: Final = 1_000_000
PROCESSES_MIN: Final = 3
PROCESSES_MAX: Final = 10_000

LABEL_WIDTH: Final = 26
CELL_WIDTH: Final = 22
"""Characters that a table needs for its first column, and for each of the others."""

COLOURS: Final = {"✓": "green", "~": "yellow", "✗": "red"}

EPILOG: Final = """
\b
Examples:
  antecede lab compare --quick                       everything, small, in seconds
  antecede lab compare --out table                   everything, and the figures as files
  antecede lab compare --full                        up to n = 1000, where possible 10000
  antecede lab compare --protocols ks --only network --trials 1000
                                                 is FIFO really needed?
  antecede lab compare --protocols rst,hybrid --only latency --seeds 10
  antecede lab compare --protocols +my_module:INFO   a protocol of your own, with all others
  antecede lab compare --ks                          what share of n² does KS carry?
  antecede lab compare --host node --quick           protocols alone beside whole nodes

In the table, ✓ is confirmed, ~ qualified, ✗ refuted; behind an arrow stands what was seen. Every
verdict that is not a plain confirmation is explained below it, with the command that shows it.
"""


@click.command(epilog=EPILOG)
@click.option(
    "--protocols",
    default="",
    help="Only these, separated by commas, or module:INFO; with a + in front, in addition.",
)
@click.option(
    "--only",
    "families",
    default="",
    help=f"Only these kinds of runs, separated by commas: {', '.join(FAMILIES)}.",
)
@click.option("--quick", is_flag=True, help="Small runs: seconds.")
@click.option("--full", is_flag=True, help="Large runs: an hour, compiled.")
@click.option(
    "--sizes",
    default="",
    help="These numbers of processes, separated by commas, for metadata, state and --ks.",
)
@option_with_default("--seed", type=click.IntRange(0, SEED_MAX), default=1)
@click.option(
    "--seeds",
    type=click.IntRange(1, SEEDS_MAX),
    help="Runs of what depends on chance; several give confidence intervals.",
)
@click.option(
    "--trials",
    type=click.IntRange(1, TRIALS_MAX),
    help="Runs on networks that do not suit a protocol, of every size.",
)
@click.option("--ks", "ks", is_flag=True, help="Instead: how much metadata KS carries.")
@option_with_default(
    "--host",
    type=click.Choice([CORE, NODE]),
    default=CORE,
    help="With node, instead: protocols on whole nodes, beside the same alone.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write CSV, JSON and Markdown into this folder.",
)
def command(
    protocols: str,
    families: str,
    quick: bool,
    full: bool,
    sizes: str,
    seed: int,
    seeds: int | None,
    trials: int | None,
    ks: bool,
    host: str,
    out: Path | None,
) -> None:
    """Measure the protocols side by side, in the rows of the paper's Table 1.

    Metadata and state against the number of processes, counted steps, latency compared with RST on
    the same network, throughput over distance, what kind of network each really needs, and whether
    it is live. Every claim of the table is confirmed, qualified or refuted by runs.
    """
    console = Console(highlight=False)
    typed = as_typed(
        {
            "--ks": "" if ks else None,
            "--protocols": protocols or None,
            "--only": families or None,
            "--quick": "" if quick else None,
            "--full": "" if full else None,
            "--sizes": sizes or None,
            "--seed": str(seed),
            "--seeds": None if seeds is None else str(seeds),
            "--trials": None if trials is None else str(trials),
        }
    )
    effort = chosen_effort(quick, full)
    numbers = chosen_sizes(sizes)
    if host == NODE:
        if ks or families or sizes or out is not None:
            raise LocalError(
                "--host node has a table of its own; leave out --ks, --only, --sizes and --out"
            )
        names = chosen_protocols(protocols) if protocols else []
        messages = QUICK_MESSAGES if quick else MESSAGES
        console.print(hosts_table(host_rows(for_nodes(names), messages, seed)))
        return
    if ks:
        if protocols or families:
            raise LocalError("--ks measures KS alone; leave out --protocols and --only")
        make_folder(out, KS_FILES)
        rows = ks_experiment(console, effort.name, numbers, seed, seeds)
        if out is not None:
            tell_files(write_ks(out, rows, typed))
        return
    campaign = Campaign(
        entrants_of(chosen_protocols(protocols)),
        replace(effort, sizes=numbers) if numbers else effort,
        chosen_families(families),
        seed,
        seeds,
        trials,
    )
    make_folder(out, COMPARISON_FILES)
    with shown() as show:
        campaign.run(show)
    report(console, campaign)
    if out is not None:
        tell_files(write_comparison(out, campaign, typed))


def hosts_table(rows: list[HostRow]) -> Table:
    """What a message takes, and what is sent for it, alone and on nodes."""
    table = figures_table(
        ("protocol", "network, a process sends every"),
        ("host", "p50", "p99", "sent per message", "all delivered"),
        title="Protocols alone, and on whole nodes",
    )
    for row in rows:
        table.add_row(
            row.protocol,
            f"{row.network}, {duration_text(row.interval_ns)}",
            row.host,
            duration_text(row.median_ns),
            duration_text(row.late_ns),
            f"{row.sent_per_message:.2f}",
            "yes" if row.delivered else "NO",
        )
    return table


def chosen_protocols(text: str) -> list[str]:
    """The names asked for; those with a + in front are added to the usual ones."""
    names = parse_names(text)
    if not names:
        return list(DEFAULT_PROTOCOLS)
    only = [name for name in names if not name.startswith("+")]
    added = [name[1:] for name in names if name.startswith("+")]
    return (only or list(DEFAULT_PROTOCOLS)) + added


def chosen_effort(quick: bool, full: bool) -> Effort:
    """How large the runs are."""
    if quick and full:
        raise LocalError("give --quick or --full, not both")
    if quick:
        return QUICK
    return FULL if full else USUAL


def chosen_sizes(text: str) -> tuple[int, ...]:
    """The numbers of processes asked for, in ascending order; none: the usual ones."""
    words = parse_names(text)
    for word in words:
        if not word.isdecimal() or not PROCESSES_MIN <= int(word) <= PROCESSES_MAX:
            raise LocalError(
                f"--sizes: {word!r} is no number of processes from {PROCESSES_MIN} to "
                f"{PROCESSES_MAX:,}"
            )
    return tuple(sorted({int(word) for word in words}))


def chosen_families(text: str) -> tuple[str, ...]:
    """The kinds of runs asked for, in their usual order."""
    names = parse_names(text)
    for name in names:
        if name not in FAMILIES:
            raise not_called("nothing", name, FAMILIES)
    return tuple(family for family in FAMILIES if not names or family in names)


def make_folder(out: Path | None, names: tuple[str, ...]) -> None:
    """Make the folder for the files now, not after the hour that their figures may take.

    `LocalError` if it has a file of one of these names that somebody else wrote.
    """
    if out is not None:
        check_replaceable(out, names)
        out.mkdir(parents=True, exist_ok=True)


def as_typed(options: dict[str, str | None]) -> str:
    """The command that does the same, for whoever reads the files later."""
    given = [f"{name} {value}".rstrip() for name, value in options.items() if value is not None]
    return " ".join(["antecede lab compare", *given])


@contextmanager
def shown() -> Iterator[Show]:
    """A bar that shows how far the runs are, and which is next."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with progress_bar(*columns, TextColumn("{task.description}")) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, description=escape(text))

        yield show


# What is printed.


def report(console: Console, campaign: Campaign) -> None:
    """The tables, and the verdicts that need an explanation."""
    for table in paper_tables(campaign):
        for part in parts_of(table, console.width):
            console.print(rich_table(part))
    metadata = metadata_table(campaign)
    if metadata is not None:
        console.print(rich_table(metadata))
    judged = all_verdicts(campaign)
    for one in judged:
        if one.verdict.outcome != CONFIRMED:
            explain(console, one)
    omissions = omission_table(campaign.readings)
    if omissions is not None:
        console.print(rich_table(omissions))
    for mark, text in FOOTNOTES.items():
        console.print(f"{mark} {text}", markup=False, style="dim")
    if judged:
        console.print(summary(judged))


def parts_of(table: TextTable, width: int) -> list[TextTable]:
    """The table, cut into several with the same first column where it would be too wide."""
    fitting = max(1, (width - LABEL_WIDTH) // CELL_WIDTH)
    parts: list[TextTable] = []
    for start in range(1, len(table.head), fitting):
        end = start + fitting
        rows = tuple((row[0], *row[start:end]) for row in table.rows)
        head = (table.head[0], *table.head[start:end])
        parts.append(TextTable(title=table.title, head=head, rows=rows))
    return parts


def rich_table(table: TextTable) -> Table:
    """The table in colour."""
    rich = figures_table(table.head, (), title=table.title, show_lines=False)
    for row in table.rows:
        rich.add_row(*(coloured(cell) for cell in row))
    return rich


def coloured(cell: str) -> str:
    """A cell with a mark gets its colour."""
    colour = COLOURS.get(cell[:1])
    text = escape(cell)
    return text if colour is None else f"[{colour}]{text}[/]"


def explain(console: Console, one: JudgedClaim) -> None:
    """A verdict that is not a plain confirmation, with its figures and its run."""
    verdict = one.verdict
    colour = "yellow" if verdict.outcome == QUALIFIED else "red"
    claim = verdict.claim
    console.print(
        f"[{colour}]{verdict.outcome}[/] [bold]{escape(claim.protocol)}[/], "
        f"{escape(claim.aspect)}: the paper says {escape(claim.cell)}; {escape(verdict.reason)}"
    )
    console.print(f"    {verdict.observation.detail}", markup=False)
    console.print(f"    {one.command}\n", markup=False, style="dim", soft_wrap=True)


def summary(judged: list[JudgedClaim]) -> str:
    """How many claims fared how."""
    outcomes = [one.verdict.outcome for one in judged]
    counts = ", ".join(f"{outcomes.count(x)} {x}" for x in (CONFIRMED, QUALIFIED, REFUTED))
    return f"{len(outcomes)} claims: {counts}"


def tell_files(paths: list[Path]) -> None:
    """Where the files are."""
    click.echo(f"Written: {', '.join(str(path) for path in paths)}", err=True)


def ks_experiment(
    console: Console, effort: str, sizes: tuple[int, ...], seed: int, seeds: int | None
) -> list[KsRow]:
    """Run the experiment with KS, and print its table."""
    grid = {QUICK.name: KS_QUICK, USUAL.name: KS_USUAL, FULL.name: KS_FULL}[effort]
    if sizes:
        grid = replace(grid, sizes=sizes)
    with shown() as show:
        rows = run_ks_experiment(grid, seed, seeds, show)
    console.print(rich_table(ks_table(rows)))
    console.print(
        "An entry counts 2 + |Dests| integers; a multicast goes to 2 to n - 1 processes; "
        "Student's t over seeds."
    )
    return rows
