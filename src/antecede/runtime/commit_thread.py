"""Writes into a journal: in the loop, in a thread, or in the loop with a sync done by the kernel.

If nothing is synced, the loop itself writes: that is a copy in memory. Otherwise the loop writes
and the kernel syncs, and a file is begun anew in a thread. Where the kernel cannot be asked, the
thread does it all.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, TypeAlias

from antecede.core.errors import AntecedeError
from antecede.durability.journal import Journal

if TYPE_CHECKING:
    from antecede.runtime.kernel_sync import KernelSync

Work: TypeAlias = Callable[[], str]
Then: TypeAlias = Callable[[str | Exception], None]
"""Called in the loop with why there is no room for more, empty if there is, or with what failed."""


class CommitThread:
    """Does work that may take long, one thing at a time, and says in the loop what came of it.

    Not an executor: those refuse work as soon as the interpreter begins to exit, when a node that
    was left open still has to be closed.
    """

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._work: Final[SimpleQueue[tuple[Work, Then] | None]] = SimpleQueue()
        self._thread: Final = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Work, then: Then) -> None:
        """Call `work` in the thread, and `then` in the loop with its result or its exception."""
        self._work.put((work, then))

    def stop(self) -> None:
        """Wait until what was asked for is done; nothing more may be asked for."""
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (task := self._work.get()) is not None:
            work, then = task
            try:
                result: str | Exception = work()
            except Exception as error:
                result = error
            with suppress(RuntimeError):  # The loop has ended: nobody wants to know.
                self._loop.call_soon_threadsafe(then, result)


class CommitWriter:
    """Writes into one journal."""

    def __init__(
        self,
        journal: Journal,
        loop: asyncio.AbstractEventLoop,
        *,
        threaded: bool,
        kernel: "KernelSync | None" = None,
    ) -> None:
        self._journal: Final = journal
        self._thread: Final = CommitThread("antecede-journal", loop) if threaded else None
        self._kernel: Final = kernel
        self._then: Then | None = None

    def put(self, body: bytes, snapshot: list[bytes] | None, then: Then) -> None:
        """Commit these records, or begin a new file with a snapshot."""
        if snapshot is not None:
            self._do(partial(self._journal.rotate_file, snapshot), then)
        elif self._kernel is not None:
            self._write_and_sync(self._kernel, body, then)
        else:
            self._do(partial(self._journal.commit_body, body), then)

    def stop(self) -> None:
        """Wait until what was begun is done; nothing more may be put."""
        if self._thread is not None:
            self._thread.stop()
        if self._kernel is not None:
            self._kernel.stop()

    def _do(self, write: Callable[[], None], then: Then) -> None:
        """Write here, or in the thread."""
        work = partial(self._then_room, write)
        if self._thread is not None:
            self._thread.do(work, then)
            return
        try:
            result: str | Exception = work()
        except Exception as error:  # As in the thread: who waits for the write must be answered.
            result = error
        then(result)

    def _then_room(self, write: Callable[[], None]) -> str:
        """Write; why there is no room for more."""
        write()
        return self._journal.shortage()

    def _write_and_sync(self, kernel: "KernelSync", body: bytes, then: Then) -> None:
        try:
            descriptor = self._journal.append_body(body)
        except AntecedeError as error:
            then(error)
            return
        self._then = then
        try:
            kernel.sync(descriptor, self._on_synced)
        except OSError:
            self._do(self._journal.sync_appended, then)

    def _on_synced(self, error: int) -> None:
        then = self._then
        assert then is not None, "something was put"
        self._then = None
        try:
            self._journal.on_synced(error)
            result: str | Exception = self._journal.shortage()
        except AntecedeError as failed:
            result = failed
        then(result)
