"""`antecede check`: the model checker on the command line."""

import json
from collections.abc import Callable, Sequence
from typing import Final

import click
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError, not_called
from antecede_cli.console import Console, progress_bar
from antecede_cli.options import option_with_default
from antecede_lab.catalogue import find_protocol
from antecede_lab.checker.check import STATES_MAX, CheckResult, check
from antecede_lab.checker.enumerate import SIZE_MAX, every_program
from antecede_lab.checker.expulsion_search import PartingFailure, PartingResult, check_expulsions
from antecede_lab.checker.failure_story import Failure
from antecede_lab.checker.programs import PROGRAMS, Program, objection, parse

ROWS_MAX: Final = 40
"""A campaign over more programs than this is shown as totals only."""

RIGHT: Final = "right"
UNFINISHED: Final = "unfinished"
SHOWN: Final = {
    RIGHT: "[green]right[/]",
    UNFINISHED: "[yellow]right so far: --states-max reached[/]",
}
"""How these verdicts stand in the table; all others are bad news."""

FAULTS: Final = click.IntRange(0, 1_000)
"""At most this many faults of a kind: a search with more would end at its limit of states."""

EPILOG: Final = """
\b
Examples:
  antecede check                                   every named program, one packet lost
  antecede check --list                            the named programs
  antecede check --program relay --duplications 1  one program, a packet lost, another doubled
  antecede check --program "0 sends a to 2, b to 1; 1 sends c to 2 after b"
  antecede check --every 3 --multicast             every program of three messages
  antecede check --crashes 1 --expulsions 1        one dies, one expels another, dead or alive
  antecede check --protocol my_module:INFO         a protocol of your own

The exit status is 1 if something was wrong, and the smallest failure found is told as a story.
"""


@click.command(epilog=EPILOG)
@option_with_default("--protocol", default="hybrid", help="The name of a protocol, or module:INFO.")
@option_with_default(
    "--program",
    "wanted",
    multiple=True,
    default=("all",),
    help="A named program, `all` of them, or one written out; may be repeated.",
)
@click.option(
    "--every",
    "size",
    type=click.IntRange(1, SIZE_MAX),
    help="Instead: every program of this many messages between three processes.",
)
@click.option(
    "--multicast", is_flag=True, help="With --every: to any set of targets, not just one."
)
@option_with_default(
    "--programs-max",
    type=click.IntRange(1, 1 << 62),
    default=500,
    help="With --every: at most this many programs, taken evenly from all of them.",
)
@option_with_default("--losses", type=FAULTS, default=1, help="Packets lost, at most.")
@option_with_default("--duplications", type=FAULTS, default=0, help="Packets doubled, at most.")
@option_with_default(
    "--expiries",
    type=FAULTS,
    default=0,
    help="Times each process's timer fires between other steps (always when nothing else happens).",
)
@option_with_default("--crashes", type=FAULTS, default=0, help="Processes that crash, at most.")
@option_with_default(
    "--expulsions",
    type=FAULTS,
    default=0,
    help="Times that a process expels another, dead or alive, at any moment.",
)
@option_with_default(
    "--states-max",
    type=click.IntRange(1, 1 << 62),
    default=STATES_MAX,
    help="Distinct states per program after which to give up.",
)
@click.option("--list", "listing", is_flag=True, help="List the named programs and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one line of JSON.")
def command(
    protocol: str,
    wanted: tuple[str, ...],
    size: int | None,
    multicast: bool,
    programs_max: int,
    losses: int,
    duplications: int,
    expiries: int,
    crashes: int,
    expulsions: int,
    states_max: int,
    listing: bool,
    as_json: bool,
) -> None:
    """Explore every interleaving of small programs over a real protocol.

    A program says which process sends what to whom, and after which delivery. Whatever the network
    may do with it is done: packets arrive in every order, are lost and doubled (--losses,
    --duplications). At
    every delivery the order is judged from the definition; wherever nothing is in flight any more,
    every message must still arrive once nothing gets lost. With --crashes or --expulsions processes
    stop, and expel each other; then no cause may come after its effect, and those whom nobody has
    expelled must still get everything from each other.
    """
    console = Console(stderr=as_json and not listing)
    if listing:
        console.print(programs_table())
        return
    info = find_protocol(protocol)
    if size is None:
        programs = named_programs(info, wanted)
    else:
        programs = every_such_program(info, size, multicast, programs_max, console)
    if (crashes or expulsions) and (duplications or expiries):
        raise LocalError("with crashes and expulsions packets may be lost, but no more")
    if info.network != "lossy":
        losses = duplications = 0
    if crashes or expulsions:
        faults = f"any order, losses {losses}; crashes {crashes}, expulsions {expulsions}"
        results = checked(
            programs,
            lambda x, show: check_expulsions(
                info, x, losses, crashes, expulsions, states_max, show
            ),
        )
    else:
        faults = f"{network_text(info, losses, duplications)}; expiries {expiries}"
        results = checked(
            programs,
            lambda x, show: check(info, x, losses, duplications, expiries, states_max, show),
        )
    if as_json:
        click.echo(json.dumps(results_object(results)))
    else:
        console.print(results_table(info, results, faults))
    for result in results:
        if result.failure is not None:
            tell(console, protocol, result.failure)
            raise click.exceptions.Exit(1)


AnyResult = CheckResult | PartingResult
Check = Callable[[Program, Callable[[int], None]], AnyResult]
"""Checks a program, and says now and then how many states it has seen."""


def checked(programs: Sequence[Program], check_one: Check) -> list[AnyResult]:
    """Check one program after another, up to the first failure; shows progress."""
    results: list[AnyResult] = []
    with progress_bar(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=len(programs))

        def show(states: int) -> None:
            bar.update(task, description=f"{escape(program.name)}: {states:,} states")

        for program in programs:
            bar.update(task, description=escape(program.name))
            results.append(check_one(program, show))
            bar.advance(task)
            if results[-1].failure is not None:
                break
    return results


def network_text(info: ProtocolInfo, losses: int, duplications: int) -> str:
    """What the network is allowed to do, in words."""
    if info.network == "lossy":
        return f"any order, losses {losses}, duplications {duplications}"
    if info.network == "fifo":
        return "FIFO channels, which this protocol needs"
    return "any order, nothing lost or doubled, which this protocol needs"


def named_programs(info: ProtocolInfo, wanted: Sequence[str]) -> list[Program]:
    """The programs asked for; of `all` those that the protocol can run."""
    programs: list[Program] = []
    for name in wanted:
        if name == "all":
            programs += [x for x in PROGRAMS.values() if not objection(info, x)]
        elif name in PROGRAMS:
            programs.append(PROGRAMS[name])
        elif " " in name:
            programs.append(parse(name))
        else:
            raise not_called("no program", name, PROGRAMS)
    return programs


def every_such_program(
    info: ProtocolInfo, size: int, multicast: bool, programs_max: int, console: Console
) -> list[Program]:
    """Every program of this size that the protocol can run, or evenly chosen ones of them."""
    many = multicast or info.broadcast_only
    programs = [x for x in every_program(size, 3, many) if not objection(info, x)]
    if not programs:
        raise LocalError(f"{info.name} can run no program of {size} messages like this")
    if len(programs) <= programs_max:
        return programs
    console.print(f"Taking {programs_max} of {len(programs)} programs; see --programs-max.")
    return [programs[i * len(programs) // programs_max] for i in range(programs_max)]


def programs_table() -> Table:
    """The named programs."""
    table = Table("program", "what is sent", title="Named programs")
    for program in PROGRAMS.values():
        table.add_row(program.name, program.text)
    return table


def results_table(info: ProtocolInfo, results: Sequence[AnyResult], faults: str) -> Table:
    """One row a program, and the totals."""
    table = Table(title=f"{info.name}: {info.ordering} order", caption=faults, show_footer=True)
    unfinished = len([result for result in results if not result.complete])
    summary = f"{unfinished} wrong or unfinished" if unfinished else "all states seen, all right"
    table.add_column("program", footer=f"{len(results)} programs")
    for name, total in (
        ("states", sum(result.states for result in results)),
        ("transitions", sum(result.transitions for result in results)),
        ("quiescent", sum(result.quiescent for result in results)),
    ):
        table.add_column(name, footer=f"{total:,}", justify="right")
    table.add_column("verdict", footer=summary)
    for result in results:
        if len(results) > ROWS_MAX and result.complete:
            continue
        counts = [f"{n:,}" for n in (result.states, result.transitions, result.quiescent)]
        word = verdict_of(result)
        verdict = SHOWN.get(word, f"[bold red]{word}[/]")
        table.add_row(escape(result.program.name), *counts, verdict)
    return table


def results_object(results: Sequence[AnyResult]) -> dict[str, object]:
    """The same for programs: what was counted, and whether all states were seen and right."""
    return {
        "ok": all(result.failure is None for result in results),
        "complete": all(result.complete for result in results),
        "states": sum(result.states for result in results),
        "programs": {
            result.program.name: {
                "states": result.states,
                "transitions": result.transitions,
                "quiescent": result.quiescent,
                "verdict": verdict_of(result),
            }
            for result in results
        },
    }


def verdict_of(result: AnyResult) -> str:
    """What came of one program, in a word."""
    if result.failure is not None:
        return result.failure.verdict.kind
    return RIGHT if result.complete else UNFINISHED


def tell(console: Console, protocol: str, failure: Failure | PartingFailure) -> None:
    """The failure as a story, and how to see it again."""
    for line in failure.story():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if isinstance(failure, PartingFailure):
        return
    budgets = failure.budgets
    console.print(
        f"To see it again: antecede check --protocol {protocol} "
        f'--program "{failure.program.text}" --losses {budgets.losses} '
        f"--duplications {budgets.duplications} --expiries {budgets.expiries}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
