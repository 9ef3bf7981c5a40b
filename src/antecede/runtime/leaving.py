"""Leaving politely: everything is delivered, then bye, and then nobody waits for this node."""

import asyncio
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from antecede.endpoint.endpoint import Endpoint
from antecede.runtime.backpressure import Backpressure
from antecede.runtime.errors import TimedOut
from antecede.runtime.notifier import Notifier
from antecede.runtime.observe.explain import explain
from antecede.runtime.turn import Turn
from antecede.transport.peer_lifecycle import LEAVE_AFTER_BYE, LEAVE_WHEN_RELEASED

Linger: TypeAlias = Literal["released", "bye"]


class Leaving:
    """How one node leaves."""

    def __init__(
        self,
        endpoint: Endpoint,
        backpressure: Backpressure,
        progress: Notifier,
        now: Callable[[], int],
        turn: Turn,
        *,
        has_journal: bool,
    ) -> None:
        self._endpoint: Final = endpoint
        # Knows whether the node is closed, and is told first.
        self._backpressure: Final = backpressure
        self._progress: Final = progress
        self._now: Final = now
        self._turn: Final = turn
        self._has_journal: Final = has_journal
        self._loop: Final = asyncio.get_running_loop()

    async def drained(self, timeout: float | None, action: str) -> None:
        """Wait until everything sent so far is delivered, or the node is closed."""
        sending = self._endpoint.sending
        last = sending.last_sequence()
        await self._progress.wait_until(
            lambda: self._backpressure.closed or sending.is_delivered(last),
            timeout,
            action,
            lambda: str(explain(self._endpoint, self._now())),
        )

    async def say_bye(self, deadline: float, linger: Linger) -> list[str]:
        """Drain, say bye, and wait to be let go; who has not by the deadline."""
        endpoint = self._endpoint
        mode = LEAVE_AFTER_BYE if linger == "bye" else LEAVE_WHEN_RELEASED
        try:
            try:
                await self.drained(deadline - self._loop.time(), "close")
            finally:
                # Too late or not: nobody should wait for a node that is gone. One with a journal
                # is not gone as long as somebody misses something of it.
                if not self._has_journal or endpoint.buffered() == 0:
                    endpoint.say_bye(mode, self._now())
                    self._turn.end()
            await self._progress.wait_until(
                lambda: self._backpressure.closed or not endpoint.awaited(),
                deadline - self._loop.time(),
                "close",
                str,
            )
        except TimedOut:
            return endpoint.stranded()
        return (
            endpoint.stranded() if self._backpressure.closed else []
        )  # Another call was less patient.
