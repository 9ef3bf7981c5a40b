"""Between a node and its journal: nothing shows before what it depends on is on disk.

Everything that happens in one turn of the loop is one group: the records of what changed, and what
may show when they are on disk: datagrams, deliveries, reports, and answers to whoever waits. One
group is written at a time, by a thread if it is synced. Meanwhile the next one collects; the
larger it gets, the less each message of it costs.

When there is no room, the group is tried again until there is; meanwhile nothing is taken from the
network, and nothing new is accepted (`JournalFull`). When the disk fails, the node stops.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from antecede.core.errors import AntecedeError
from antecede.core.protocols.hybrid_node import ACKED, PERMITTED
from antecede.journal.errors import JournalFailed, JournalFull
from antecede.journal.journal import Journal
from antecede.link.endpoint import Endpoint
from antecede.link.kept import CONFIRMED, Kept
from antecede.link.reports import Report
from antecede.link.writer import Datagram
from antecede.live.deliveries import Deliveries
from antecede.live.errors import NodeClosed
from antecede.live.side_thread import SideThread
from antecede.live.transport import Transport
from antecede.live.waiting import Notifier

FULL_SECONDS: Final = 0.2
"""How long to wait before a write is tried again for which there was no room."""

LATER_SECONDS: Final = 0.05
"""How long what may wait does wait, if nothing else is written."""

MAY_WAIT: Final = frozenset({ACKED, PERMITTED, CONFIRMED})
"""Records that something is over: who has lost one goes through its end once more. So a turn that
has no others shows at once."""

log = logging.getLogger(__name__)


class Group:
    """What may show when one write is on disk."""

    __slots__ = ("datagrams", "deliveries", "records", "reports", "then")

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.datagrams: list[Datagram] = []
        self.reports: list[Report] = []
        self.then: list[Callable[[], None]] = []
        self.deliveries = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the keeper needs of its node."""

    endpoint: Endpoint
    transport: Transport
    deliveries: Deliveries
    progress: Notifier
    tell: Callable[[list[Report]], None]
    """Tells the application what happened."""
    stop: Callable[[], None]
    """Stops the node, because the disk has failed."""


class Keeper:
    """Writes what happens at one node, and then lets it show."""

    def __init__(
        self,
        journal: Journal,
        kept: Kept,
        core: list[bytes],
        *,
        threaded: bool,
    ) -> None:
        self._journal: Final = journal
        self.kept: Final = kept
        # What the core of the former process had written, until it is restored.
        self._core: list[bytes] = core
        self._loop: Final = asyncio.get_running_loop()
        self._thread: Final = SideThread("antecede-journal", self._loop) if threaded else None
        self._node: Parts | None = None
        self._next = Group()
        # How many groups have begun to be written, and how many have been shown.
        self._begun = 0
        self._done = 0
        self._wanted = False
        # What may wait until something else is written, and whether it must not any more.
        self._later: list[bytes] = []
        self._hurry = False
        # Why nothing new is accepted although what has begun goes on; empty if there is room.
        self._short = ""
        self._shown = Notifier(self._loop)
        self._writing: Group | None = None
        self._closed = False
        self.accepts = True
        """Whether anything new is accepted; if not, `check` says why."""
        self.full: JournalFull | None = None
        """Why nothing is accepted at the moment."""
        self.failed: AntecedeError | None = None
        """Why the node has stopped for good."""

    # Beginning.

    def begin(self, node: Parts) -> None:
        """Restore what the journal holds, and begin a new file with it."""
        self._node = node
        if self.kept.resumed:
            endpoint = node.endpoint
            endpoint.survival.resume(self._core, endpoint.sessions(), node.transport.now_ns())
        self._core = []
        self._journal.begin_anew(node.endpoint.survival.snapshot())

    # What the node asks.

    def check(self) -> None:
        """Raise why nothing can be accepted, if so."""
        if self.failed is not None:
            raise self.failed
        if self.full is not None:
            raise self.full
        if self._short:
            # It is looked for room after every write; there may be some by now.
            self._say_room(self._journal.is_short_of_room())
            if self._short:
                raise JournalFull(self._short)

    def _say_room(self, short: str) -> None:
        self._short = short
        self.accepts = not short and self.full is None and self.failed is None

    def failure(self) -> str | None:
        """Why nothing can be accepted, or None."""
        error = self.failed or self.full
        return self._short or None if error is None else str(error)

    async def kept_so_far(self) -> None:
        """Wait until everything that has happened until now is on disk; a write is planned."""
        self._hurry = True
        awaited = self._begun + 1
        while self._done < awaited and not self._closed:
            if self.failed is not None:
                raise self.failed
            await self._shown.wait()
        if self._done < awaited:
            raise self.failed or NodeClosed(self.kept.name)

    def when_kept(self, action: Callable[[], None]) -> None:
        """Do this when everything that has happened until now is on disk; in order."""
        self._next.then.append(action)
        self._hurry = True

    def collect(self, reports: list[Report]) -> None:
        """A turn has ended: write what happened in it as soon as nothing else is being written."""
        assert self._node is not None, "it has begun"
        endpoint = self._node.endpoint
        group = self._next
        group.datagrams += endpoint.out
        endpoint.out.clear()
        group.reports += reports
        reports.clear()
        self._wanted = True
        if self._writing is None and not self._closed:
            self._write()

    async def end_life(self) -> None:
        """The node leaves. If nobody misses anything of it, it begins a new life next time."""
        assert self._node is not None, "it has begun"
        if self._node.endpoint.buffered() == 0:
            self.kept.end("it has left")
        self.collect(self._node.endpoint.reports)
        await self.finish()

    async def finish(self) -> None:
        """Wait until everything is on disk, or will never be."""
        while self._writing is not None and self.failed is None and self.full is None:
            await self._shown.wait()

    def close(self, *, write: bool) -> None:
        """Give the journal up; `write`: what is not on disk yet first, though it shows no more."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._thread.stop()
        try:
            if write and self._node is not None and self.failed is None and self.full is None:
                self._journal.commit(self._later + self._node.endpoint.survival.changes())
        except AntecedeError as error:
            log.error("%s", error)
        finally:
            self._journal.close()
            self._shown.notify()

    # Writing, inside.

    def _write(self) -> None:
        """Write the group that has collected, if there is anything to write; then show it."""
        assert self._node is not None, "it has begun"
        endpoint = self._node.endpoint
        group, self._next = self._next, Group()
        self._begun += 1
        self._wanted = False
        self._writing = group
        group.deliveries = endpoint.inbox.unsettled()
        survival = endpoint.survival
        anew = self._journal.outgrown()
        if anew:
            group.records = survival.snapshot()
        else:
            group.records = self._later + survival.changes()
            if not group.records or not (self._hurry or must_be_written(group.records)):
                self._write_later(group.records)
                self._has_been_kept()
                return
        self._later = []
        self._hurry = False
        self._attempt(anew)

    def _write_later(self, records: list[bytes]) -> None:
        """These are written with whatever comes next, or after a while."""
        if records and not self._later:
            self._loop.call_later(LATER_SECONDS, self._write_what_waits)
        self._later = records

    def _write_what_waits(self) -> None:
        if self._later and not self._closed and self._node is not None:
            self._hurry = True
            self.collect(self._node.endpoint.reports)

    def _attempt(self, anew: bool) -> None:
        """Write, here or in the thread."""
        group = self._writing
        assert group is not None, "there is something to write"
        if self._thread is None:
            try:
                self._say_room(self._put_on_disk(group.records, anew))
            except AntecedeError as error:
                self._could_not(error)
            else:
                self._has_been_kept()
            return
        self._thread.do(partial(self._put_on_disk, group.records, anew), self._has_tried)

    def _put_on_disk(self, records: list[bytes], anew: bool) -> str:
        """In the thread: write, then look whether there is room for more; why not, if so."""
        if anew:
            self._journal.begin_anew(records)
        else:
            self._journal.commit(records)
        return self._journal.is_short_of_room()

    def _has_tried(self, result: str | Exception) -> None:
        if self._closed:
            return
        if isinstance(result, str):
            self._say_room(result)
            self._has_been_kept()
        elif isinstance(result, AntecedeError):
            self._could_not(result)
        else:
            self._could_not(JournalFailed(f"the journal cannot be written: {result!r}"))

    def _could_not(self, error: AntecedeError) -> None:
        if isinstance(error, JournalFull):
            if self.full is None:
                log.error("%s; nothing is accepted until there is", error)
            self._become(error)
            self._loop.call_later(FULL_SECONDS, self._try_again)
            self._shown.notify()
            return
        log.critical("%s", error)
        self.failed = error
        self.accepts = False
        self._shown.notify()
        assert self._node is not None, "it has begun"
        self._node.stop()

    def _become(self, full: JournalFull | None) -> None:
        """Full, or not: what could not be written down is not taken from the network either."""
        assert self._node is not None, "it has begun"
        self.full = full
        self._say_room(self._short)
        self._node.endpoint.deaf = full is not None

    def _try_again(self) -> None:
        """The same again; or everything, if that takes less room than what is there."""
        if self._closed or self._writing is None or self._node is None:
            return
        anew = self._journal.would_shrink()
        if anew:
            self._writing.records = self._node.endpoint.survival.snapshot()
        self._attempt(anew)

    def _has_been_kept(self) -> None:
        """What was written may show; then the next group has its turn."""
        group = self._writing
        assert group is not None, "something was written"
        if self.full is not None:
            log.warning("there is room for the journal again")
            self._become(None)
        self._writing = None
        self._done += 1
        self._show(group)
        self._shown.notify()
        if self._writing is None and not self._closed and self._wanted:
            self._write()

    def _show(self, group: Group) -> None:
        """What is on disk now may be seen."""
        node = self._node
        assert node is not None, "it has begun"
        node.endpoint.inbox.settle(group.deliveries)
        if self._closed:
            return
        if group.datagrams:
            node.transport.send(group.datagrams)
        for action in group.then:
            action()
        if group.reports:
            node.tell(group.reports)
        if node.endpoint.inbox.messages:
            node.deliveries.announce()
        if node.progress.awaited:
            node.progress.notify()


def must_be_written(records: list[bytes]) -> bool:
    """Whether one of these may not wait."""
    return any(record[0] not in MAY_WAIT for record in records)
