"""Waiting for a condition that something else in the same loop will make true."""

import asyncio
from collections.abc import Callable, Generator
from types import coroutine

from antecede.live.errors import TimedOut


@coroutine
def one_turn() -> Generator[None, None, None]:
    """Let the loop do everything that is ready, then go on: the cheapest way to be fair."""
    yield


class Bell:
    """Wakes everybody who waits on it."""

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None

    @property
    def awaited(self) -> bool:
        """Whether anybody waits."""
        return self._future is not None

    def ring(self) -> None:
        """Wake all who wait."""
        future = self._future
        if future is not None:
            self._future = None
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Wait until the bell rings."""
        future = self._future
        if future is None:
            future = self._future = asyncio.get_running_loop().create_future()
        # One waiter's cancellation must not be the others'.
        await asyncio.shield(future)

    async def wait_until(
        self,
        condition: Callable[[], bool],
        timeout: float | None,
        action: str,
        waiting_for: Callable[[], str],
    ) -> None:
        """Wait until `condition` holds, looking whenever the bell rings; `TimedOut` if too late."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self.wait()
        except TimeoutError:
            raise TimedOut(action, timeout or 0.0, waiting_for()) from None
