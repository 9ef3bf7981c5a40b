"""Spark for one command: a session, a bar that says how far it is, and what goes wrong in words."""

import errno
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from signal import SIGINT, getsignal, signal
from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import check_replaceable, os_errors_as_local
from antecede_cli.console import progress_bar

if TYPE_CHECKING:
    from antecede_audit.spark.session import SparkSession


INTERVAL_S: Final = 0.5
BRIDGE: Final = "py4j"


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
        from antecede_audit.spark.session import tasks_done

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


def need_spark() -> None:
    """Look for Spark first, so that one who lacks it is told so, and not of something smaller."""
    import_module("antecede_audit.spark.session")


def check_readable(*paths: str | Path) -> None:
    """A path of this machine that is not there need not wait for Spark to start."""
    for path in paths:
        if is_local(path) and not Path(path).exists():
            raise LocalError(f"{path} does not exist")


def check_writable(*folders: str | Path | None, names: Sequence[str] = ()) -> None:
    """Nor need one that nothing can be written to, or that has files of others of these names."""
    for folder in folders:
        if folder is not None and is_local(folder):
            check_replaceable(Path(folder), names)
            with os_errors_as_local(Path(folder), "write"):
                Path(folder).mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise LocalError(f"cannot write {folder}: {os.strerror(errno.EACCES)}")


def is_local(path: str | Path) -> bool:
    """Whether a path is one of this machine for certain; wildcards are Spark's."""
    if set(str(path)) & set("*?[{"):
        return False
    from antecede_audit.spark.storage import is_local_path

    return is_local_path(str(path))


@contextmanager
def interrupted_in_silence(verbose: bool = False) -> Iterator[Callable[[], None]]:
    """Let Ctrl-C end a job on Spark as it ends all else; to be called once Spark has started.

    Spark answers it by asking Java to cancel all jobs, on the very line that this process waits on,
    which fails; and the bridge to Java logs each step of that. What runs is ended when the session
    stops.
    """
    before = getsignal(SIGINT)
    handlers = list(logging.getLogger().handlers)

    def restored() -> None:
        if current_thread() is main_thread():
            signal(SIGINT, before)

    if not verbose:
        for handler in handlers:
            handler.addFilter(is_not_of_the_bridge)
    try:
        yield restored
    finally:
        restored()
        for handler in handlers:
            handler.removeFilter(is_not_of_the_bridge)


def is_not_of_the_bridge(record: logging.LogRecord) -> bool:
    """Whether somebody else than the bridge to Java says something; what fails is raised, too."""
    return f"{os.sep}{BRIDGE}{os.sep}" not in record.pathname


@contextmanager
def spark_session(
    context: click.Context, master: str | None, settings: Mapping[str, str] | None = None
) -> Iterator["SparkSession"]:
    """Spark for as long as the command needs it; with -v it says all that it has to say."""
    from antecede_audit.spark.session import SPARK_ERRORS, first_line, open_session

    verbose = context.find_root().params.get("verbose", 0) > 0
    name = f"antecede {context.info_name}"
    with (
        interrupted_in_silence(verbose) as restored,
        open_session(name, master=master, verbose=verbose, settings=settings) as session,
    ):
        restored()
        try:
            yield session
        except SPARK_ERRORS as error:
            if verbose:
                raise
            raise LocalError(f"Spark gave up: {first_line(error)} (-v says more)") from error
