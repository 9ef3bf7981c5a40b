"""Journals of simulated nodes: in memory, and with a power failure at any write.

What a turn of a node changes is one write; nothing of the turn shows before that, neither on the
network nor in the event log. At a chosen write the power fails: the turn never
happened. The node comes back as the same incarnation, from what was written before.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.records import split_records
from antecede.durability.recorder import JournalRecorder
from antecede.endpoint.endpoint import Endpoint


@final
class MemoryJournal:
    """The journal of one simulated life, however often its power fails."""

    __slots__ = ("_fails_at", "_records", "incarnation", "name", "order", "recorder", "writes")

    def __init__(self, name: str, order: str, incarnation: i64) -> None:
        self.name: Final = name
        self.order: Final = order
        self.incarnation: Final[i64] = incarnation
        self.recorder = JournalRecorder(name, order, int(incarnation))
        self._records: list[bytes] = []
        self.writes: i64 = 0
        # The writes at which the power fails, the last one first.
        self._fails_at: Final[list[int]] = []

    def fail_at(self, writes: list[int]) -> None:
        """Let the power fail at these writes, counted from the first of the first process."""
        self._fails_at.extend(sorted(writes, reverse=True))

    def begin(self, endpoint: Endpoint, core: list[bytes], now_ns: i64) -> None:
        """A process begins: restore what there is, if it is not the first."""
        if self.recorder.resumed:
            endpoint.resume(core, now_ns)
        self._records = endpoint.crash_recovery.snapshot()

    def reopen(self) -> list[bytes]:
        """The power is back: what was kept is read again; the records of the core."""
        self.recorder = JournalRecorder(self.name, self.order, 0)
        return self.recorder.replay(self._records)

    def write(self, endpoint: Endpoint) -> bool:
        """Write what has changed in this turn; False if the power fails instead."""
        body = endpoint.crash_recovery.changes()
        if not body:
            return True
        self.writes += 1
        if self._fails_at and self.writes >= self._fails_at[-1]:
            self._fails_at.pop()
            return False
        records = split_records(body)
        assert records is not None, "they were written a moment ago"
        self._records += records
        endpoint.inbox.release_committed(endpoint.inbox.uncommitted())
        return True
