"""`node.journal`: what an application keeps in the journal, small values under keys of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from threading import get_ident
from typing import Final

from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import DONE
from antecede.runtime.confirming import Confirming
from antecede.runtime.journal_committer import JournalCommitter

KEY_BYTES_MAX: Final = 1 << 10
VALUE_BYTES_MAX: Final = 1 << 20
"""A key has at most 1 KiB and a value 1 MiB. All values are written again whenever a new file of
the journal is begun, so they should be positions, not data."""


class OnDisk:
    """Awaited, it ends when everything that has happened until then is on disk."""

    def __init__(self, committer: JournalCommitter, plan: Callable[[], None]) -> None:
        self._committer: Final = committer
        self._plan: Final = plan

    def __await__(self) -> Generator[None, None, None]:
        self._plan()
        return self._committer.wait_durable().__await__()


OWN: Final = "\0"
"""What the node itself writes down has keys that begin so."""


class AppJournal:
    """The application's own part of a journal.

    What is put by the task, or the plain function, that is handling a message becomes durable in
    the same commit as the confirmation of that message: after a crash either both count or neither.
    """

    def __init__(
        self, committer: JournalCommitter, confirming: Confirming, plan: Callable[[], None]
    ) -> None:
        self._committer: Final = committer
        self._unconfirmed: Final = confirming.handling
        self._unconfirmed.begin(plan, self._confirm_anywhere, OnDisk(committer, plan))
        self._owner: Final = get_ident()
        self._loop: Final = asyncio.get_running_loop()
        self._confirming: Final = confirming
        # To be called when there is something to write.
        self._plan: Final = plan

    def put(self, key: str, value: bytes) -> Awaitable[None]:
        """Keep `value` under `key`; `JournalFull` if nothing can be kept now.

        Done when it returns, so a plain function may call it; awaiting it costs nothing.
        """
        if not isinstance(key, str) or not 0 < len(key.encode()) <= KEY_BYTES_MAX:
            raise LocalError(f"a key is a text of 1 to {KEY_BYTES_MAX} bytes, not {key!r}")
        if key.startswith(OWN):
            raise LocalError("keys that begin with a zero are the node's own")
        if not isinstance(value, bytes) or len(value) > VALUE_BYTES_MAX:
            raise LocalError(f"a value is at most {VALUE_BYTES_MAX} bytes")
        self._committer.check()
        self._unconfirmed.put(key, value, self._confirming.number_in_hand())
        return DONE

    def remove(self, key: str) -> Awaitable[None]:
        """Keep nothing under `key` any more."""
        self._committer.check()
        if self._unconfirmed.value(key) is not None:
            self._unconfirmed.put(key, None, self._confirming.number_in_hand())
        return DONE

    def get(self, key: str, default: bytes | None = None) -> bytes | None:
        """What was put under `key` last, in this life of the node or one before."""
        found = self._unconfirmed.value(key)
        return default if found is None else found

    def keys(self) -> list[str]:
        """The keys under which something is kept."""
        known = self._unconfirmed.keys()
        return sorted(key for key in known if not key.startswith(OWN))

    def report_with(self, after: Callable[[Callable[[], None]], None]) -> None:
        """Let `after` decide when `Undeliverable` events count as reported.

        After its listeners have returned the node calls `after` with an action. The losses count as
        reported when that action is called; until then they are reported again after a crash.
        Without this the node calls the action itself, at once.
        """
        self._committer.report_with(after)

    told_when = report_with
    """The former name, for one release."""

    def serve_threads(self) -> None:
        """From now on messages are confirmed by hand."""
        self._confirming.stop_by_asking()

    def _confirm_anywhere(self, number: int) -> None:
        """`done()` was called, perhaps by a thread that does the work of a handler."""
        if get_ident() == self._owner:
            self._unconfirmed.confirm_here(number)
        else:
            with suppress(RuntimeError):  # The loop has ended: it comes again.
                self._loop.call_soon_threadsafe(self._unconfirmed.confirm_here, number)

    async def sync(self) -> None:
        """Wait until everything that has been sent, confirmed or put so far is on disk.

        What was put while a message is in hand is not part of that before the message is confirmed.
        """
        self._committer.check()
        self._plan()
        await self._committer.wait_durable()
