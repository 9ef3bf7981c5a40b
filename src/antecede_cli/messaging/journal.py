"""`antecede journal`: look into the journal of a node that is not running."""

from pathlib import Path
from typing import Final

import click

from antecede.core.hybrid import records as core
from antecede.durability import record_kinds as link
from antecede.durability.journal import check, contents, repair
from antecede.runtime.config.settings import FORMER_ORDER
from antecede_cli.output import Failed

EXAMPLES = """\b
Examples:
  antecede journal check state/alice      could a node start from it?
  antecede journal show state/alice       what is in it, commit by commit
  antecede journal repair state/alice     cut off or set aside what no node accepts
"""

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

HYBRID: Final = {
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

LINK: Final = {
    link.LIFE: "this life",
    link.PEER: "peer",
    link.OVER: "peer left",
    link.FORGOTTEN: "peer removed",
    link.EXPULSION: "tombstone",
    link.COUNTS: "counts",
    link.FRAGMENT_SENT: "part",
    link.LARGE_PAYLOAD: "large payload",
    link.UNFINISHED_PAYLOAD: "rest of it",
    link.LARGE_GONE: "rest dropped",
    link.FRAGMENT_RECEIVED: "piece",
    link.DROPPED: "too large",
    link.INBOUND: "inbound",
    link.CONFIRMED: "confirmed",
    link.PUT: "value",
    link.REMOVED: "value removed",
    link.ENDED: "end of life",
    link.NUMBERED: "number of a large payload",
    link.LOSS: "given up",
    link.LOSSES_REPORTED: "told",
    link.SENT_BEFORE: "sent before",
}
"""What the kinds of records are called: of the cores, then of the node."""

SHOWN_BYTES: Final = 32
"""How much of a record `show` prints."""


@click.group("journal", epilog=EXAMPLES, short_help="Look into the journal of a node.")
def command() -> None:
    """Look into the journal of a node, and mend it.

    A node cuts off by itself what a crash interrupted; it refuses a journal that has been changed
    in the middle, because something it promised is gone.
    """


@command.command("check", epilog="\b\nExamples:\n  antecede journal check state/alice")
@click.argument("folder", type=FOLDER)
def check_command(folder: Path) -> None:
    """Say whether a node could start from the journal in FOLDER; exits with 1 if not."""
    found = check(folder)
    if found.corrupt is not None:
        raise Failed(found.corrupt)
    click.echo(found.sentence())


@command.command("show", epilog="\b\nExamples:\n  antecede journal show state/alice | head")
@click.argument("folder", type=FOLDER)
def show_command(folder: Path) -> None:
    """Print the records in FOLDER, a line each: commit, kind, length, and how it begins."""
    blocks = contents(folder)
    # The order is at the end of the record of this life.
    lives = [one for block in blocks for one in block.records if one[:1] == bytes([link.LIFE])]
    former = FORMER_ORDER.encode() in b"".join(lives[-1:])
    words = LINK if former else {**HYBRID, **LINK}
    for block in blocks:
        word = "snapshot" if block.number == 0 else f"commit {block.number}"
        for record in block.records:
            more = " …" if len(record) > SHOWN_BYTES else ""
            kind = words.get(record[0], "?") if record else "?"
            start = record[:SHOWN_BYTES].hex()
            click.echo(f"{word}  {kind:<14}  {len(record):>6} bytes  {start}{more}")


@command.command("repair", epilog="\b\nExamples:\n  antecede journal repair state/alice")
@click.argument("folder", type=FOLDER)
def repair_command(folder: Path) -> None:
    """Make the journal in FOLDER one that a node accepts, and say what was done.

    What cannot be read is kept beside it, never deleted.
    """
    click.echo(repair(folder))
