"""How far a command is: a bar on standard error, where that is a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, ProgressColumn

from antecede.cli.console import Console


@contextmanager
def progress_bar(*columns: ProgressColumn) -> Iterator[Progress]:
    """A bar that is gone when the block ends; without a terminal it is `disable`d, and silent."""
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        yield bar
