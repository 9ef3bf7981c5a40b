"""Rich's console, for commands that print tables; those that do not need not load it."""

import errno
import os
from collections.abc import Iterable
from typing import Final

import rich.console
from rich.table import Table

from antecede.link.notation import duration_text

FILE_WIDTH: Final = 200


class Console(rich.console.Console):
    """Rich's console, but a reader that has left is the command's to answer for."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def wide_console(file_width: int = FILE_WIDTH) -> Console:
    """Where tables go: as wide as the terminal; a file or a pipe has no width to keep to."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=file_width)


def plain_table(left: Iterable[str], right: Iterable[str]) -> Table:
    """A table without lines: columns of words, then columns of figures."""
    table = Table(box=None, header_style="bold")
    for heading in left:
        table.add_column(heading, no_wrap=True)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def signed_text(duration_ns: float, plus: str = "") -> str:
    """A duration with its sign; `plus` is that of one that is not negative."""
    return f"{'-' if duration_ns < 0 else plus}{duration_text(abs(duration_ns))}"
