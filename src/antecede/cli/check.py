"""`antecede check`: the model checker on the command line."""

import json
from collections.abc import Sequence
from typing import Final

import click
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from antecede.cli.console import Console
from antecede.cli.progress import progress_bar
from antecede.core.catalogue import ProtocolInfo, find_protocol
from antecede.core.errors import LocalError, near_miss
from antecede.sim.checker.check import STATES_MAX, CheckResult, check
from antecede.sim.checker.every import SIZE_MAX, every_program
from antecede.sim.checker.partings import PartingFailure, PartingResult, check_partings
from antecede.sim.checker.programs import PROGRAMS, Program, objection, parse
from antecede.sim.checker.story import Failure

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
"""How many faults of a kind can be asked for; a search with so many ends at its limit of states."""

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
@click.option("--protocol", default="hybrid", show_default=True, help="Its name, or module:INFO.")
@click.option(
    "--program",
    "wanted",
    multiple=True,
    default=("all",),
    show_default=True,
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
@click.option(
    "--programs-max",
    type=click.IntRange(1, 1 << 62),
    default=500,
    show_default=True,
    help="With --every: at most so many, taken evenly from all of them.",
)
@click.option("--losses", type=FAULTS, default=1, show_default=True, help="Packets lost.")
@click.option("--duplications", type=FAULTS, default=0, show_default=True, help="Packets doubled.")
@click.option(
    "--expiries",
    type=FAULTS,
    default=0,
    show_default=True,
    help="Times each process's timer fires between other steps (always when nothing else happens).",
)
@click.option("--crashes", type=FAULTS, default=0, show_default=True, help="Processes that crash.")
@click.option(
    "--expulsions",
    type=FAULTS,
    default=0,
    show_default=True,
    help="Times that a process expels another, dead or alive, at any moment.",
)
@click.option(
    "--states-max",
    type=click.IntRange(1, 1 << 62),
    default=STATES_MAX,
    show_default=True,
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
    may do with it is done: packets arrive in every order, and up to so many are lost or doubled. At
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
    partings = (crashes, expulsions)
    if any(partings) and (duplications or expiries):
        raise LocalError("with crashes and expulsions packets may be lost, but no more")
    campaign = Campaign(info, losses, duplications, expiries, states_max, partings)
    results = campaign.run(programs)
    if as_json:
        click.echo(json.dumps(results_object(results)))
    else:
        console.print(results_table(info, results, campaign.faults()))
    for result in results:
        if result.failure is not None:
            tell(console, protocol, result.failure)
            raise click.exceptions.Exit(1)


AnyResult = CheckResult | PartingResult


class Campaign:
    """The same check for one program after another, up to the first failure; shows progress."""

    def __init__(
        self,
        info: ProtocolInfo,
        losses: int,
        duplications: int,
        expiries: int,
        states_max: int,
        partings: tuple[int, int],
    ) -> None:
        self._partings = partings
        lossy = info.network == "lossy"
        self._info = info
        self._losses = losses if lossy else 0
        self._duplications = duplications if lossy else 0
        self._expiries = expiries
        self._states_max = states_max

    def faults(self) -> str:
        """What the network and the timers are allowed to do, in words."""
        crashes, expulsions = self._partings
        if crashes or expulsions:
            gone = f"crashes {crashes}, expulsions {expulsions}"
            return f"any order, losses {self._losses}; {gone}"
        if self._info.network == "lossy":
            words = f"any order, losses {self._losses}, duplications {self._duplications}"
        elif self._info.network == "fifo":
            words = "FIFO channels, which this protocol needs"
        else:
            words = "any order, nothing lost or doubled, which this protocol needs"
        return f"{words}; expiries {self._expiries}"

    def run(self, programs: Sequence[Program]) -> list[AnyResult]:
        """Check each of them, up to the first failure."""
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        results: list[AnyResult] = []
        with progress_bar(*columns) as progress:
            task = progress.add_task("", total=len(programs))
            for program in programs:
                results.append(self._check(program, progress, task))
                progress.advance(task)
                if results[-1].failure is not None:
                    break
        return results

    def _check(self, program: Program, progress: Progress, task: TaskID) -> AnyResult:
        name = escape(program.name)

        def show(states: int) -> None:
            progress.update(task, description=f"{name}: {states:,} states")

        progress.update(task, description=name)
        if any(self._partings):
            faults = (self._losses, *self._partings)
            return check_partings(self._info, program, *faults, self._states_max, show)
        return check(
            self._info,
            program,
            self._losses,
            self._duplications,
            self._expiries,
            self._states_max,
            show,
        )


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
            raise LocalError(
                f"no program is called {name!r}{near_miss(name, list(PROGRAMS))}; "
                f"there are {', '.join(PROGRAMS)}"
            )
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
