"""Waiting for a condition that something else in the same loop will make true."""

import asyncio
from collections.abc import Callable, Generator
from types import coroutine

from antecede.live.errors import TimedOut


@coroutine
def one_turn() -> Generator[None, None, None]:
    """Let the loop do everything that is ready, then go on: the cheapest way to be fair."""
    yield


class Notifier:
    """Wakes everybody who waits on it, in its loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def awaited(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiters)

    def notify(self) -> None:
        """Wake all who wait."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Wait until somebody notifies."""
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:  # Nobody has notified it: it waits no more.
                self._waiters.remove(waiter)
            raise

    async def wait_until(
        self,
        condition: Callable[[], bool],
        timeout: float | None,
        action: str,
        waiting_for: Callable[[], str],
    ) -> None:
        """Wait until `condition` holds, looking whenever it is notified; `TimedOut` if too late."""
        if timeout is None:
            while not condition():
                await self.wait()
            return
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self.wait()
        except TimeoutError:
            raise TimedOut(action, timeout, waiting_for()) from None
