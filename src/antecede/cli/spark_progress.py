"""A progress bar for a job on Spark: what it does, and how many of the tasks at hand are done."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from antecede.cli.progress import progress_bar

if TYPE_CHECKING:
    from antecede.pipeline.session import SparkSession

INTERVAL_S: Final = 0.5


class SparkProgress:
    """What the bar shows."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task
        self._over = Event()
        self._watcher: Thread | None = None

    def tell(self, doing: str) -> None:
        """Say what is being done now."""
        self._bar.update(self._task, description=escape(doing), total=None, completed=0)

    def watch(self, session: "SparkSession") -> None:
        """From now on, show how many tasks of this session are done."""
        if not self._bar.disable:
            self._watcher = Thread(target=self._poll, args=(session,), daemon=True)
            self._watcher.start()

    def _poll(self, session: "SparkSession") -> None:
        from antecede.pipeline.progress import tasks_done

        while not self._over.wait(INTERVAL_S):
            tasks = tasks_done(session)
            if tasks is not None:
                self._bar.update(self._task, total=tasks.total, completed=tasks.done)

    def stop(self) -> None:
        """Watch no longer."""
        self._over.set()
        if self._watcher is not None:
            self._watcher.join()


@contextmanager
def spark_progress() -> Iterator[SparkProgress]:
    """A bar on standard error, if that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with progress_bar(*columns) as bar:
        progress = SparkProgress(bar, bar.add_task("starting Spark", total=None))
        try:
            yield progress
        finally:
            progress.stop()
