"""The event log of a running node: rows are handed over now and then, by a clock that goes on."""

import asyncio
from typing import Final

from antecede.live.clock import SharedClock
from antecede.live.tracing import FLUSH_SECONDS, LiveTrace


class TraceKeeping:
    """Keeps the event log of one node, if it has one."""

    def __init__(self, trace: LiveTrace | None, loop: asyncio.AbstractEventLoop) -> None:
        self._trace: Final = trace
        self._clock: Final = None if trace is None else SharedClock(trace.rows)
        self._loop: Final = loop
        self._timer: asyncio.TimerHandle | None = None

    @property
    def failure(self) -> str | None:
        """Why nothing is written any more, or None if all is well."""
        return None if self._trace is None else self._trace.failure

    def note_process(self, process: int, name: str) -> None:
        """Let the table of processes say what this number stands for."""
        if self._trace is not None:
            self._trace.note_process(process, name)

    def begin(self) -> None:
        """Hand rows to the writer from now on, however few there are."""
        if self._trace is None or self._clock is None:
            return
        self._clock.follow()
        self._trace.flush()
        self._timer = self._loop.call_later(FLUSH_SECONDS, self.begin)

    def stop(self) -> None:
        """The node has stopped: nothing more happens."""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Write everything; `TraceFailed` if that cannot be done."""
        if self._trace is not None:
            self._trace.close()
