"""The `antecede` command: finds the subcommand asked for, and turns errors into one clear sentence.

A subcommand's module is imported when the subcommand is used, so that `antecede --help` is quick
and a subcommand that needs an extra which is not installed does not trouble the others.
"""

import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
from click.shell_completion import get_completion_class

from antecede import __version__, compiled
from antecede.build_mode import why_interpreted
from antecede.core.errors import LocalError
from antecede.installing import missing_sentence
from antecede_cli.lazy_group import LazyGroup, Subcommand
from antecede_cli.output import INTERRUPTED, READER_GONE, finish_output, status_of

MESSAGING: Final = "Messaging"
AUDIT: Final = "Audit of recorded systems"
LAB: Final = "Laboratory"

SUBCOMMANDS: Final = {
    "node": Subcommand(
        "antecede_cli.messaging.node", "Run one node: JSON lines in, JSON lines out.", MESSAGING
    ),
    "top": Subcommand(
        "antecede_cli.messaging.top", "Show a cluster of nodes in the terminal.", MESSAGING
    ),
    "dashboard": Subcommand(
        "antecede_cli.messaging.dashboard",
        "Show a cluster, or a recorded run, on a page.",
        MESSAGING,
    ),
    "mcp": Subcommand(
        "antecede_cli.messaging.mcp", "Run one node for an agent: tools over MCP.", MESSAGING
    ),
    "key": Subcommand("antecede_cli.messaging.key", "Make the keys of nodes.", MESSAGING),
    "journal": Subcommand(
        "antecede_cli.messaging.journal", "Check, show or repair the journal of a node.", MESSAGING
    ),
    "ingest": Subcommand("antecede_cli.audit.ingest", "Read the traces of other systems.", AUDIT),
    "audit": Subcommand(
        "antecede_cli.audit.audit", "Judge causal order in event logs of any size.", AUDIT
    ),
    "watch": Subcommand("antecede_cli.audit.watch", "Judge event logs while they grow.", AUDIT),
    "measure": Subcommand(
        "antecede_cli.audit.measure", "Measure delays, packets and buffers of runs.", AUDIT
    ),
    "report": Subcommand("antecede_cli.audit.report", "Make one HTML report of results.", AUDIT),
    "demo": Subcommand(
        "antecede_cli.lab.demo", "Run a small shop on a bad network, and audit it.", LAB
    ),
    "simulate": Subcommand(
        "antecede_cli.lab.simulate", "Run one simulation and say where the time went.", LAB
    ),
    "check": Subcommand(
        "antecede_cli.lab.check", "Explore every interleaving of a small program.", LAB
    ),
    "lab": Subcommand(
        "antecede_cli.lab.group",
        "Experiments: compare protocols, replay traces, inject faults.",
        LAB,
    ),
    "bench": Subcommand(
        "antecede_cli.lab.bench", "Run the benchmarks of the repository.", LAB, hidden=True
    ),
}
"""Every command, in the order of `antecede --help`."""

GONE: Final = {
    "chat": "chat is an example now, in the repository: python examples/chat.py NAME; what happens "
    "without causal order is shown by python examples/chat_with_replies.py none"
}
"""Former commands, and where to find what they did."""

EXPERIMENTS: Final = ("compare", "evaluate", "grow", "sweep", "chaos", "scenario", "data")

RENAMED: Final = {
    **{name: ("lab", name) for name in EXPERIMENTS},
    "quality": ("ingest", "--check"),
    "rejects": ("ingest", "--show-rejects"),
    "metrics": ("measure",),
    "profile": ("measure", "--workload"),
    "completion": ("--completion",),
}
"""Former names, which work for one release, and what they stand for."""

SHELLS: Final = ("bash", "zsh", "fish")
COMPLETE_VARIABLE: Final = "_ANTECEDE_COMPLETE"
"""How a shell asks; click knows it by the name of the program."""

EPILOG: Final = """
\b
Examples:
  antecede demo --quick                        a shop on a bad network, in less than a minute
  antecede simulate -p hybrid --loss 20%       one simulated run
  antecede lab scenario triangle               a story, step by step
  antecede audit events --out found            did effects overtake causes?
  eval "$(antecede --completion bash)"         complete commands with the Tab key

Every command has examples and its defaults in its own --help.
"""


class UserError(click.ClickException):
    """Shown as `Error: ...`, without a traceback."""

    exit_code = 2


class AntecedeCommand(LazyGroup):
    """The command `antecede` itself: what goes wrong in a subcommand ends here."""

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - as click has it
        """Click's; before the process ends, what it prints is written, or given up."""
        try:
            return super().main(*args, **extra)
        except SystemExit as ended:
            sys.exit(finish_output(status_of(ended)))
        except BrokenPipeError:  # Not even standard error is read any more.
            sys.exit(finish_output(READER_GONE))

    def make_context(self, *args: Any, **extra: Any) -> click.Context:  # noqa: ANN401 - as click has it
        with errors_in_one_sentence():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        with errors_in_one_sentence():
            return super().invoke(ctx)


@contextmanager
def errors_in_one_sentence() -> Iterator[None]:
    """Turn what users and their systems do into a sentence and an exit status; bugs stay bugs."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except LocalError as error:
        raise UserError(str(error)) from error
    except ModuleNotFoundError as error:
        advice = missing_package(error)
        if advice is None:
            raise
        raise UserError(advice) from error
    except MemoryError as error:
        raise UserError(
            "there is not enough memory for this: ask for less (fewer processes or messages, a "
            "shorter log), or give it more"
        ) from error
    except BrokenPipeError:
        raise click.exceptions.Exit(READER_GONE) from None
    except OSError as error:
        if error.filename is not None:
            raise UserError(f"{error.strerror}: {error.filename}") from error
        if error.errno == errno.ENOSPC:
            raise UserError(f"{error.strerror}") from error
        raise


def missing_package(error: ModuleNotFoundError) -> str | None:
    """One sentence that says what to install, or None if no extra of ours would help."""
    return missing_sentence((error.name or "").partition(".")[0])


def version_line() -> str:
    """What `antecede --version` prints."""
    mode = "compiled" if compiled() else f"interpreted: {why_interpreted()}"
    return f"antecede {__version__} ({mode})"


def start_logging(verbosity: int) -> None:
    """Send log records to standard error: warnings, with -v information, with -vv everything."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbosity, 2)]
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", force=True)


def print_anything() -> None:
    """Let standard output show what its encoding lacks as an escape, instead of failing over it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def find_modules_here() -> None:
    """Let `module:INFO` name a file in the working folder; whatever is installed comes first."""
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def print_completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    """Print what a shell needs in order to complete this command, and end."""
    if shell is None or context.resilient_parsing:
        return
    completion = get_completion_class(shell)
    assert completion is not None, "click knows all three"
    click.echo(completion(context.command, {}, "antecede", COMPLETE_VARIABLE).source())
    context.exit()


@click.group(
    cls=AntecedeCommand,
    table=SUBCOMMANDS,
    renamed=RENAMED,
    gone=GONE,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(message=version_line().replace("%", "%%"), version=__version__)
@click.option(
    "--completion",
    type=click.Choice(SHELLS),
    callback=print_completion,
    expose_value=False,
    is_eager=True,
    help="Print a script that makes this shell complete commands and options.",
)
@click.option("-v", "--verbose", count=True, help="Say more on standard error; -vv says most.")
def main(verbose: int) -> None:
    """Causal-order messaging: no process ever sees an effect before its cause."""
    start_logging(verbose)
    print_anything()
    find_modules_here()


if __name__ == "__main__":
    main(prog_name="antecede")
