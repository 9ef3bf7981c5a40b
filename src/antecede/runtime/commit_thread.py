"""Writes into a journal: in the loop if nothing is synced, or else in a thread.

A write that is not synced is a copy in memory. One that is synced waits for the disk, and the loop
goes on meanwhile.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Final, TypeAlias

from antecede.durability.journal import Journal

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
        self, journal: Journal, loop: asyncio.AbstractEventLoop, *, threaded: bool
    ) -> None:
        self._journal: Final = journal
        self._thread: Final = CommitThread("antecede-journal", loop) if threaded else None

    def put(self, body: bytes, snapshot: list[bytes] | None, then: Then) -> None:
        """Commit these records, or begin a new file with a snapshot."""
        work = partial(self._write, body, snapshot)
        if self._thread is not None:
            self._thread.do(work, then)
            return
        try:
            result: str | Exception = work()
        except Exception as error:  # As in the thread: who waits for the write must be answered.
            result = error
        then(result)

    def stop(self) -> None:
        """Wait until what was begun is done; nothing more may be put."""
        if self._thread is not None:
            self._thread.stop()

    def _write(self, body: bytes, snapshot: list[bytes] | None) -> str:
        """Write; why there is no room for more."""
        if snapshot is None:
            self._journal.commit_body(body)
        else:
            self._journal.rotate_file(snapshot)
        return self._journal.shortage()
