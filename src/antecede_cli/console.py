"""Rich's console, for commands that print tables; those that do not need not load it."""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import rich.console
from rich.markup import escape
from rich.table import Table

from antecede.units import duration_text

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

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
    table = figures_table(left, right, box=None, header_style="bold")
    for column in table.columns:
        column.no_wrap, column.overflow = True, "ellipsis"
    return table


def figures_table(left: Iterable[str], right: Iterable[str], **look: Any) -> Table:  # noqa: ANN401 what a `Table` takes
    """Columns of words, which are folded where they are long, then columns of figures."""
    table = Table(**look)
    for heading in left:
        table.add_column(heading, overflow="fold")
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def counts_table(title: str) -> Table:
    """A table for numbers and what they count."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(justify="right")
    table.add_column()
    return table


def reasons_table(counts: Iterable[tuple[str, int]]) -> Table:
    """How many records were rejected for each reason."""
    table = Table("rejected", "reason")
    table.columns[0].justify = "right"
    for reason, count in counts:
        table.add_row(f"{count:,}", escape(reason))
    return table


def signed_text(duration_ns: float, plus: str = "") -> str:
    """A duration with its sign; `plus` is that of one that is not negative."""
    return f"{'-' if duration_ns < 0 else plus}{duration_text(abs(duration_ns))}"


@contextmanager
def progress_bar(*columns: "ProgressColumn") -> Iterator["Progress"]:
    """A bar that is gone when the block ends; without a terminal it is `disable`d, and silent."""
    from rich.progress import Progress

    console = Console(stderr=True)
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        yield bar
