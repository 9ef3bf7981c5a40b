"""The file that the rows of a log are written to: it is complete, or not there."""

from abc import abstractmethod
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from antecede.eventlog.atomic_files import os_errors_as_local, write_atomically
from antecede.eventlog.log import RowSink


class FileSink(RowSink):
    """A file being written, as a context: leaving it normally is what makes the file appear."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._open(stack.enter_context(write_atomically(self.path)), stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with os_errors_as_local(self.path, "write"):
            self._stack.__exit__(error_type, error, traceback)

    def push(self) -> None:
        """Flush, so that rows so far survive a crash of this process, if the format allows."""
        return

    @abstractmethod
    def _open(self, partial: Path, stack: ExitStack) -> None:
        """Open `partial` for writing, with its closing on the stack."""
