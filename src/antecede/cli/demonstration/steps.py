"""Says what the demonstration is doing: a line for each step, and a bar where there is a terminal.

Everything goes to standard error, so that standard output has the summary alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.markup import escape
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

from antecede.cli.console import Console
from antecede.cli.progress import progress_bar
from antecede.cli.spark_progress import SparkProgress

STEPS: Final = 4


class Bar(SparkProgress):
    """The bar of one step; without a terminal it does nothing."""

    def done(self, count: int, total: int) -> None:
        """Say how much of it is done."""
        self._bar.update(self._task, completed=count, total=total)

    def show(self, count: int, total: int, text: str) -> None:
        """Say what is being done, and how much."""
        self.tell(text)
        self.done(count, max(total, 1))


class Steps:
    """Numbers the steps."""

    def __init__(self) -> None:
        self._console: Final = Console(stderr=True, highlight=False)
        self._number = 0

    @contextmanager
    def step(self, text: str) -> Iterator[Bar]:
        """Say which step begins; its bar is gone when it is over."""
        self._number += 1
        self._console.print(f"[bold]{self._number}/{STEPS}[/] {escape(text)}", soft_wrap=True)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
        )
        with progress_bar(*columns) as progress:
            bar = Bar(progress, progress.add_task("", total=None))
            try:
                yield bar
            finally:
                bar.stop()

    def note(self, text: str) -> None:
        """Something worth knowing."""
        self._console.print(f"    {escape(text)}", soft_wrap=True)
