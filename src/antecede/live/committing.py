"""Putting what a node writes down on disk, one group at a time, while its loop goes on.

If nothing is synced, the loop itself writes: that is a copy in memory. Otherwise the loop writes
and the kernel syncs, and a file is begun anew in a thread. Where the kernel cannot be asked, the
thread does it all.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from antecede.core.errors import AntecedeError
from antecede.journal.journal import Journal
from antecede.live.kernel_sync import KernelSync
from antecede.live.side_thread import SideThread

Then: TypeAlias = Callable[[str | Exception], None]
"""Called in the loop with why there is no room for more, empty if there is, or with what failed."""


class Committer:
    """Writes into one journal."""

    def __init__(
        self,
        journal: Journal,
        loop: asyncio.AbstractEventLoop,
        *,
        threaded: bool,
        kernel: KernelSync | None = None,
    ) -> None:
        self._journal: Final = journal
        self._thread: Final = SideThread("antecede-journal", loop) if threaded else None
        self._kernel: Final = kernel
        self._then: Then | None = None

    def put(self, body: bytes, snapshot: list[bytes] | None, then: Then) -> None:
        """Commit these records, or begin a new file with a snapshot."""
        if snapshot is not None:
            self._do(partial(self._begin_anew, snapshot), then)
        elif self._kernel is not None:
            self._write_and_sync(self._kernel, body, then)
        else:
            self._do(partial(self._commit, body), then)

    def stop(self) -> None:
        """Wait until what was begun is done; nothing more may be put."""
        if self._thread is not None:
            self._thread.stop()
        if self._kernel is not None:
            self._kernel.stop()

    def _do(self, work: Callable[[], str], then: Then) -> None:
        """Here, or in the thread."""
        if self._thread is not None:
            self._thread.do(work, then)
            return
        try:
            result: str | Exception = work()
        except AntecedeError as error:
            result = error
        then(result)

    def _begin_anew(self, snapshot: list[bytes]) -> str:
        self._journal.begin_anew(snapshot)
        return self._journal.is_short_of_room()

    def _commit(self, body: bytes) -> str:
        self._journal.commit_body(body)
        return self._journal.is_short_of_room()

    def _write_and_sync(self, kernel: KernelSync, body: bytes, then: Then) -> None:
        try:
            descriptor = self._journal.append_body(body)
        except AntecedeError as error:
            then(error)
            return
        self._then = then
        try:
            kernel.sync(descriptor, self._has_synced)
        except OSError:
            self._do(self._sync, then)

    def _sync(self) -> str:
        self._journal.sync_appended()
        return self._journal.is_short_of_room()

    def _has_synced(self, error: int) -> None:
        then = self._then
        assert then is not None, "something was put"
        self._then = None
        try:
            self._journal.was_synced(error)
            result: str | Exception = self._journal.is_short_of_room()
        except AntecedeError as failed:
            result = failed
        then(result)
