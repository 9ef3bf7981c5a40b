"""Waiting for a condition that something else in the same loop will make true."""

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context
from types import coroutine
from typing import Generic, Self, TypeVar, final

from antecede.runtime.errors import TimedOut

T = TypeVar("T")


@coroutine
def yield_to_loop() -> Generator[None, None, None]:
    """Let the loop do everything that is ready, then go on: the cheapest way to be fair."""
    yield


@final
class Waiter(asyncio.Future[T], Generic[T]):
    """What a task waits on. It goes on in the loop's next turn, as with any future, or at once.

    A task that awaits a future asks it to be called back. Here that callback is kept until it is
    known how: to call it at once saves a turn of the loop, which is a system call and more.
    """

    _go_on: Callable[[Self], object] | None = None
    _context: Context | None = None

    def add_done_callback(
        self, fn: Callable[[Self], object], /, *, context: Context | None = None
    ) -> None:
        """Call this when there is a result; a task passes its context."""
        if context is None or self._go_on is not None or self.done():
            super().add_done_callback(fn, context=context)
        else:
            self._go_on = fn
            self._context = context

    def wake(self, value: T) -> None:
        """Let the task go on in the next turn."""
        self._leave_to_loop()
        self.set_result(value)

    def resume(self, value: T) -> None:
        """Let the task go on at once: for callbacks of the loop, never within another task."""
        go_on, self._go_on = self._go_on, None
        self.set_result(value)
        if go_on is not None and self._context is not None:
            self._context.run(go_on, self)

    def give(self, value: T, at_once: bool) -> None:
        """Let the task go on, unless it waits no more: at once, or in the next turn."""
        if self.done():
            return
        if at_once:
            self.resume(value)
        else:
            self.wake(value)

    def fail(self, error: BaseException) -> None:
        """Let the task learn in the next turn that there will be no value."""
        if not self.done():
            self._leave_to_loop()
            self.set_exception(error)

    def abandon(self) -> None:
        """Nobody waits any more, whatever comes or has come."""
        if not self.cancel() and not self.cancelled():
            self.exception()  # It need not be raised.

    def cancel(self, msg: object = None) -> bool:
        """The task is cancelled; it learns that in the next turn."""
        self._leave_to_loop()
        return super().cancel(msg)

    def _leave_to_loop(self) -> None:
        if self._go_on is not None:
            super().add_done_callback(self._go_on, context=self._context)
            self._go_on = None


class Notifier:
    """Wakes everybody who waits on it, in its loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.waiters: list[Waiter[None]] = []
        """Whoever waits; empty if nobody does."""

    def notify(self) -> None:
        """Wake all who wait."""
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.wake(None)

    def resume(self) -> None:
        """Let all who wait go on at once: not within a task, where only one can run."""
        waiters, self.waiters = self.waiters, []
        try:
            for waiter in waiters:
                if not waiter.done():
                    waiter.resume(None)
        except BaseException:
            # It ends the program. If that goes on all the same, so do the others.
            self.waiters[:0] = [waiter for waiter in waiters if not waiter.done()]
            raise

    async def wait(self) -> None:
        """Wait until somebody notifies."""
        waiter: Waiter[None] = Waiter(loop=self._loop)
        self.waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self.waiters:  # Nobody has notified it: it waits no more.
                self.waiters.remove(waiter)
            raise

    async def wait_until(
        self,
        condition: Callable[[], bool],
        timeout: float | None,
        action: str,
        waiting_for: Callable[[], str],
    ) -> None:
        """Wait until `condition` holds, looking whenever it is notified; `TimedOut` if too late."""
        if condition():
            return
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
