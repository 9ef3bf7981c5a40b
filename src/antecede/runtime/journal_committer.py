"""Between a node and its journal: nothing shows before what it depends on is on disk.

Everything that happens in one turn of the loop is one group: the records of what changed, and what
may show when they are on disk: datagrams, deliveries, reports, and answers to whoever waits. One
group is written at a time, by `commit_thread.py`. While it is synced the loop goes on, and the next
one collects; the larger it gets, the less each message of it costs.

When there is no room, the group is tried again until there is; meanwhile nothing is taken from the
network, and nothing new is accepted (`JournalFull`). When the disk fails, the node stops.
"""

import asyncio
import logging
from collections.abc import Callable, Generator
from functools import partial
from typing import Final, final

from antecede.core.errors import AntecedeError
from antecede.durability.errors import JournalFailed, JournalFull, JournalUnavailable
from antecede.durability.journal import Journal
from antecede.durability.recorder import JournalRecorder
from antecede.endpoint.endpoint import Endpoint
from antecede.events import Report
from antecede.runtime.callbacks import EXITS, Callbacks
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.commit_thread import CommitWriter
from antecede.runtime.committer import Committer
from antecede.runtime.errors import NodeClosed
from antecede.runtime.notifier import Notifier
from antecede.runtime.observe.stats import JournalStats
from antecede.runtime.turn import Turn
from antecede.transport.datagram import Datagram

FULL_SECONDS: Final = 0.2
"""A write for which there was no room is tried again after 0.2 s."""

LATER_SECONDS: Final = 0.05
"""Records that may wait are written after 50 ms, if nothing else is written before."""

log = logging.getLogger(__name__)


class OpenJournal:
    """A journal that was opened and read, and what writes into it."""

    def __init__(
        self,
        journal: Journal,
        recorder: JournalRecorder,
        core: list[bytes],
        *,
        threaded: bool,
    ) -> None:
        self.journal: Final = journal
        self.recorder: Final = recorder
        self.core: Final = core
        """What the core of the former process had written."""
        self.writer: Final = CommitWriter(journal, asyncio.get_running_loop(), threaded=threaded)

    def close(self) -> None:
        """Give it up; what is being written is finished."""
        self.writer.stop()
        self.journal.close()


class CommitGroup:
    """What may show when one write is on disk."""

    __slots__ = ("body", "datagrams", "deliveries", "losses", "reports", "snapshot", "then")

    def __init__(self) -> None:
        # What is written: records in a row, or all that there is, into a new file.
        self.body = b""
        self.snapshot: list[bytes] | None = None
        self.datagrams: list[Datagram] = []
        self.reports: list[Report] = []
        self.then: list[Callable[[], None]] = []
        # What its reports say is given up, by number: struck out when they were told.
        self.losses: list[int] = []
        self.deliveries = 0

    def show_before(self, former: "CommitGroup") -> None:
        """A former group has been interrupted: what it has not shown yet shows before this."""
        self.then[:0] = former.then
        self.reports[:0] = former.reports
        self.losses[:0] = former.losses


@final
class JournalCommitter(Committer):
    """Writes what happens at one node, and then lets it show."""

    durable = True

    def __init__(
        self,
        opened: OpenJournal,
        endpoint: Endpoint,
        carrier: Carrier,
        turn: Turn,
        callbacks: Callbacks,
        tell: Callable[[Report], None],
        stop: Callable[[], None],
    ) -> None:
        super().__init__(endpoint, carrier, tell)
        self._opened: Final = opened
        self._journal: Final = opened.journal
        self._recorder: Final = opened.recorder
        self._turn: Final = turn
        self._callbacks: Final = callbacks
        # Stops the node, because the disk has failed.
        self._stop: Final = stop
        self._loop: Final = asyncio.get_running_loop()
        self._next = CommitGroup()
        # How many groups have begun to be written, and how many have been shown.
        self._begun = 0
        self._done = 0
        self._wanted = False
        # What may wait until something else is written, and whether it must not any more.
        self._later = b""
        self._hurry = False
        # Why nothing new is accepted although what has begun goes on; empty if there is room.
        self._short = ""
        self._shown = Notifier(self._loop)
        self._writing: CommitGroup | None = None
        self._closed = False
        # What the former process may not have told: kept until somebody listens.
        self._unreported: list[Report] = []
        self._after_telling: Callable[[Callable[[], None]], None] = do_now
        self.full: JournalFull | None = None
        """Why nothing is accepted at the moment."""
        self.failed: AntecedeError | None = None

    # Beginning.

    def begin(self) -> None:
        """Restore what the journal holds, and begin a new file with it; the peers were added."""
        endpoint = self._endpoint
        if self._recorder.resumed:
            endpoint.resume(self._opened.core, self._carrier.now_ns())
        self._opened.core.clear()
        self._unreported = endpoint.crash_recovery.unreported()
        self._journal.rotate_file(endpoint.crash_recovery.snapshot())

    def report_with(self, after: Callable[[Callable[[], None]], None]) -> None:
        """Call `after` with an action to do once the application has everything that was told."""
        self._after_telling = after

    def report_unreported(self) -> None:
        """Somebody listens: tell soon what the former process may not have told."""
        if self._unreported:
            self._loop.call_soon(self._tell_unreported, list(self._recorder.state.losses.by_number))

    def _tell_unreported(self, numbers: list[int]) -> None:
        if not self._unreported or self._closed:
            return
        try:
            self._tell_all(self._unreported)
        except BaseException:
            self._loop.call_soon(self._tell_unreported, numbers)
            raise
        self._on_reported(numbers)

    def _tell_all(self, reports: list[Report]) -> None:
        """Tell these, and forget what was told: a listener may end the program."""
        while reports:
            self._tell(reports.pop(0))

    def _on_reported(self, losses: list[int]) -> None:
        """When the application has what it was told, it need not be told again after a crash."""
        if losses:
            self._call(
                partial(self._after_telling, partial(self._recorder.on_losses_reported, losses))
            )

    def _call(self, action: Callable[[], None]) -> None:
        """Do what the application has asked for; if that fails, the journal goes on."""
        try:
            action()
        except EXITS:
            raise
        except BaseException:
            self._callbacks.on_failure("what was to be done when something is on disk")

    # What the node asks.

    def check(self) -> None:
        """Raise why nothing can be accepted, if so."""
        if self.failed is not None:
            raise self.failed
        if self.full is not None:
            raise self.full
        if self._short:
            # It is looked for room after every write; there may be some by now.
            self._say_room(self._journal.shortage())
            if self._short:
                raise JournalFull(self._short)

    def _say_room(self, short: str) -> None:
        self._short = short
        self._accept()

    def _accept(self) -> None:
        """Accept new messages, or do not; then `check` says why."""
        has_disk = not self._short and self.full is None and self.failed is None
        self._endpoint.sending.accept(has_disk and self._endpoint.fenced is None)

    def failure(self) -> str | None:
        """Why nothing can be accepted, or None."""
        error = self.failed or self.full
        return self._short or None if error is None else str(error)

    def figures(self) -> JournalStats:
        """How things stand with the journal."""
        journal = self._journal
        return JournalStats(
            size_bytes=journal.size,
            files=journal.files,
            commits=journal.commits,
            written_bytes=journal.written_bytes,
            write_seconds=journal.write_ns / 1e9,
            waiting=self._begun - self._done + (1 if self._wanted else 0),
            unconfirmed=self._recorder.unconfirmed.unconfirmed(),
            accepting=self.failure() is None,
        )

    async def wait_durable(self) -> None:
        """Wait until everything that has happened until now is on disk; a write is planned."""
        self._hurry = True
        awaited = self._begun + 1
        while self._done < awaited and not self._closed:
            if self.failed is not None:
                raise self.failed
            await self._shown.wait()
        if self._done < awaited:
            raise self.failed or NodeClosed(self._recorder.state.name)

    def when_durable(self, action: Callable[[], None]) -> None:
        """Do this when everything that has happened until now is on disk; in order."""
        self._next.then.append(action)
        self._hurry = True

    def end_turn(self) -> None:
        """A turn has ended: write what happened in it as soon as nothing else is being written."""
        endpoint, group = self._endpoint, self._next
        group.datagrams += endpoint.out
        endpoint.out.clear()
        group.reports += endpoint.reports
        endpoint.reports.clear()
        self._wanted = True
        if self._writing is None and not self._closed:
            self._write()

    def send_early(self) -> None:
        """A turn is one commit."""

    def report_early(self) -> None:
        """What was reported is told when it is on disk."""

    async def end_life(self) -> None:
        """The node leaves. If nobody misses anything of it, it begins a new life next time."""
        if self._endpoint.buffered() == 0:
            self._recorder.on_life_ended("it has left")
        self.end_turn()
        await self._finish()

    async def _finish(self) -> None:
        """Wait until everything is on disk, or will never be."""
        while self._writing is not None and not (self._closed or self.failed or self.full):
            await self._shown.wait()

    def close(self, *, write: bool) -> None:
        """Give the journal up; `write`: what is not on disk yet first, though it shows no more."""
        if self._closed:
            return
        self._closed = True
        self._opened.writer.stop()
        try:
            if write and self.failed is None and self.full is None:
                self._journal.commit_body(self._later + self._endpoint.crash_recovery.changes())
        except AntecedeError as error:
            log.error("%s", error)
        finally:
            self._journal.close()
            self._recorder.unconfirmed.end(NeverOnDisk(self._recorder.state.name, self.failed))
            self._shown.notify()

    def leave_to_parent(self) -> None:
        """This process was forked: the journal is the parent's."""
        self._closed = True

    # Writing, inside.

    def _write(self) -> None:
        """Write the group that has collected, if there is anything to write; then show it."""
        endpoint = self._endpoint
        group, self._next = self._next, CommitGroup()
        self._begun += 1
        self._wanted = False
        self._writing = group
        # All that is written now, and only that, may show when it is.
        group.reports += endpoint.reports
        endpoint.reports.clear()
        group.losses += self._recorder.state.losses.take_fresh()
        group.deliveries = endpoint.inbox.uncommitted()
        recovery = endpoint.crash_recovery
        if self._journal.needs_rotation() and self._journal.prepare():
            group.snapshot = recovery.snapshot()
        else:
            group.body = self._later + recovery.changes()
            if not group.body or not (self._hurry or recovery.urgent):
                # That something is over may wait, and everything else shows at once.
                self._write_later(group.body)
                self._on_committed()
                return
        self._later = b""
        self._hurry = False
        self._attempt()

    def _write_later(self, records: bytes) -> None:
        """These are written with whatever comes next, or after a while."""
        if records and not self._later:
            self._loop.call_later(LATER_SECONDS, self._write_what_waits)
        self._later = records

    def _write_what_waits(self) -> None:
        if self._later and not self._closed:
            self._hurry = True
            self.end_turn()

    def _attempt(self) -> None:
        """Write what is to be written; `_on_written` is told what came of it."""
        group = self._writing
        assert group is not None, "there is something to write"
        self._opened.writer.put(group.body, group.snapshot, self._on_written)

    def _on_written(self, result: str | Exception) -> None:
        if self._closed:
            return
        if isinstance(result, str):
            self._say_room(result)
            self._on_committed()
        elif isinstance(result, AntecedeError):
            self._on_write_failed(result)
        else:
            self._on_write_failed(JournalFailed(f"the journal cannot be written: {result!r}"))

    def _on_write_failed(self, error: AntecedeError) -> None:
        if isinstance(error, JournalUnavailable):
            # Nothing has changed, as if there were no room; and it may pass as that does.
            error = JournalFull(str(error))
        if isinstance(error, JournalFull):
            if self.full is None:
                log.error("%s; nothing is accepted until that is over", error)
            self._set_full(error)
            self._loop.call_later(FULL_SECONDS, self._try_again)
            self._shown.notify()
            return
        log.critical("%s", error)
        self.failed = error
        self._accept()
        self._shown.notify()
        self._stop()

    def _set_full(self, full: JournalFull | None) -> None:
        """Full, or not: what could not be written down is not taken from the network either."""
        self.full = full
        self._say_room(self._short)
        self._endpoint.set_deaf(full is not None)

    def _try_again(self) -> None:
        """The same again; or everything, if that takes less room than what is there."""
        if self._closed or self._writing is None:
            return
        if self._journal.would_shrink() and self._journal.prepare():
            self._writing.snapshot = self._endpoint.crash_recovery.snapshot()
        self._attempt()

    def _on_committed(self) -> None:
        """What was written may show; then the next group has its turn."""
        group = self._writing
        assert group is not None, "something was written"
        if self.full is not None:
            log.warning("there is room for the journal again")
            self._set_full(None)
        self._writing = None
        self._done += 1
        try:
            self._show(group)
        except BaseException:
            # What has not shown yet does so in the next turn.
            self._next.show_before(group)
            self._turn.soon()
            raise
        finally:
            self._shown.notify()
            if self._writing is None and not self._closed and self._wanted:
                self._write()

    def _show(self, group: CommitGroup) -> None:
        """What is on disk now may be seen; what the application makes of it is another turn."""
        self._endpoint.inbox.release_committed(group.deliveries)
        if self._closed:
            return
        if group.datagrams:
            self._carrier.send(group.datagrams)
        while group.then:
            self._call(group.then.pop(0))
        if group.reports:
            self._tell_all(group.reports)
            self._on_reported(group.losses)
        self._turn.on_commit()


def do_now(action: Callable[[], None]) -> None:
    """Listeners have seen what they were told when they return."""
    action()


class NeverOnDisk:
    """The same when the journal is closed: awaited, it says so. It does not hold the node."""

    def __init__(self, name: str, failed: AntecedeError | None) -> None:
        self._name: Final = name
        self._failed: Final = failed

    def __await__(self) -> Generator[None, None, None]:
        yield from ()
        raise self._failed or NodeClosed(self._name)
