"""Says what the demonstration is doing: a line for each step, and a bar where there is a terminal.

Everything goes to standard error, so that standard output has the summary alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from antecede.cli.console import Console
from antecede.cli.progress import progress_bar
from antecede.cli.spark_progress import SparkProgress

if TYPE_CHECKING:
    from antecede.pipeline.session import SparkSession

STEPS: Final = 4


class Bar:
    """The bar of one step; without a terminal it does nothing."""

    def __init__(self, progress: Progress) -> None:
        self._progress: Final = progress
        self._task: Final = progress.add_task("", total=None)
        self._spark: Final = SparkProgress(progress, self._task)

    def doing(self, text: str) -> None:
        """Say what is being done now; how much there is of it is not known yet."""
        self._progress.update(self._task, description=escape(text), total=None, completed=0)

    def done(self, count: int, total: int) -> None:
        """Say how much of it is done."""
        self._progress.update(self._task, completed=count, total=total)

    def show(self, count: int, total: int, text: str) -> None:
        """Both at once."""
        self._progress.update(
            self._task, description=escape(text), completed=count, total=max(total, 1)
        )

    def watch(self, session: "SparkSession") -> None:
        """From now on, show how many tasks of this session are done."""
        self._spark.watch(session)

    def stop(self) -> None:
        """Watch no longer."""
        self._spark.stop()


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
            bar = Bar(progress)
            try:
                yield bar
            finally:
                bar.stop()

    def note(self, text: str) -> None:
        """Something worth knowing."""
        self._console.print(f"    {escape(text)}", soft_wrap=True)
