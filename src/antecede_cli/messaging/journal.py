"""`antecede journal`: look into the journal of a node that is not running."""

from pathlib import Path
from typing import Final

import click

from antecede.core.hybrid import records as core
from antecede.durability import record_kinds as node
from antecede.durability.journal import check, contents, repair
from antecede.runtime.config.settings import FORMER_ORDER
from antecede_cli.output import Failed

EXAMPLES = """\b
Examples:
  antecede journal check state/alice      could a node start from it?
  antecede journal show state/alice       what is in it, commit by commit
  antecede journal repair state/alice     cut off or set aside what cannot be read
"""

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

CORE_RECORDS: Final = {
    core.NUMBERED: "numbered",
    core.SUBMITTED: "submitted",
    core.DELIVERED: "delivered",
    core.ACKED: "acknowledged",
    core.PERMITTED: "permitted",
    core.EXPELLED: "expelled",
    core.PEER: "process",
    core.MISSING: "missing permit",
    core.POSITION: "position",
}

NODE_RECORDS: Final = {
    node.LIFE: "this life",
    node.PEER: "peer",
    node.OVER: "peer left",
    node.FORGOTTEN: "peer removed",
    node.EXPULSION: "expulsion",
    node.COUNTS: "counts",
    node.FRAGMENT_SENT: "fragment out",
    node.LARGE_PAYLOAD: "large payload",
    node.UNFINISHED_PAYLOAD: "unfinished",
    node.LARGE_GONE: "large dropped",
    node.FRAGMENT_RECEIVED: "fragment in",
    node.DROPPED: "too large",
    node.INBOUND: "inbound",
    node.CONFIRMED: "confirmed",
    node.PUT: "value",
    node.REMOVED: "value removed",
    node.ENDED: "end of life",
    node.NUMBERED: "number of a large payload",
    node.LOSS: "loss",
    node.LOSSES_REPORTED: "loss reported",
    node.SENT_BEFORE: "sent before",
}
"""What the kinds of records are called, of the core and of the node around it."""

SHOWN_BYTES: Final = 32
"""`show` prints the first 32 bytes of a record."""


@click.group("journal", epilog=EXAMPLES, short_help="Check, show or repair the journal of a node.")
def command() -> None:
    """Check, show or repair the journal of a node that is not running.

    A node that opens its journal cuts off the write that a crash interrupted. If the journal has
    been changed further up, the node does not start, since something that it promised is gone.
    """


@command.command(
    "check",
    short_help="Say whether a node could start from it.",
    epilog="\b\nExamples:\n  antecede journal check state/alice",
)
@click.argument("folder", type=FOLDER)
def check_command(folder: Path) -> None:
    """Say whether a node could start from the journal in FOLDER; exits with 1 if not."""
    found = check(folder)
    if found.corrupt is not None:
        raise Failed(found.corrupt)
    click.echo(found.sentence())


@command.command(
    "show",
    short_help="Print its records, a line each.",
    epilog="\b\nExamples:\n  antecede journal show state/alice | head",
)
@click.argument("folder", type=FOLDER)
def show_command(folder: Path) -> None:
    """Print the records in FOLDER, a line each: commit, kind, length, and how it begins."""
    blocks = contents(folder)
    # The order is at the end of the record of this life.
    lives = [one for block in blocks for one in block.records if one[:1] == bytes([node.LIFE])]
    former = FORMER_ORDER.encode() in b"".join(lives[-1:])
    words = NODE_RECORDS if former else {**CORE_RECORDS, **NODE_RECORDS}
    for block in blocks:
        word = "snapshot" if block.number == 0 else f"commit {block.number}"
        for record in block.records:
            more = " …" if len(record) > SHOWN_BYTES else ""
            kind = words.get(record[0], "?") if record else "?"
            start = record[:SHOWN_BYTES].hex()
            click.echo(f"{word}  {kind:<14}  {len(record):>6} bytes  {start}{more}")


@command.command(
    "repair",
    short_help="Make it one that a node accepts.",
    epilog="\b\nExamples:\n  antecede journal repair state/alice",
)
@click.argument("folder", type=FOLDER)
def repair_command(folder: Path) -> None:
    """Make the journal in FOLDER one that a node accepts, and say what was done.

    What cannot be read is kept beside it, never deleted.
    """
    click.echo(repair(folder))
