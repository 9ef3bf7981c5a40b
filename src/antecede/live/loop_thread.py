"""A loop in a thread of its own, for code that knows nothing of asyncio.

Every thread that calls has one task in the loop, its *seat*, which performs its calls one after the
other. So a node sees a thread as it sees any task, and can tell that whoever waits for room is the
one who should be reading.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar, cast

from antecede.core.errors import LocalError

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]


class LoopEnded(LocalError):  # noqa: N818 - reads as what it is
    """There is no loop any more that could perform the call."""


class Request:
    """A call that waits to be performed in the loop."""

    def __init__(self, work: Work[Any]) -> None:
        self.work: Final = work
        self.result: Final[Future[Any]] = Future()


class Seat:
    """The task that performs the calls of one thread; to be used in the loop."""

    def __init__(self) -> None:
        self._requests: asyncio.Queue[Request | None] = asyncio.Queue()
        self._current: Request | None = None
        self._ending = False
        self._task = asyncio.get_running_loop().create_task(self._serve())

    @property
    def is_empty(self) -> bool:
        """Whether its thread has gone, and it performs nothing more."""
        return self._task.done()

    def ask(self, request: Request | None) -> None:
        """Perform this call after those before; None: no more calls will come."""
        if self._ending and request is not None:
            request.result.set_exception(LoopEnded())
        else:
            self._requests.put_nowait(request)

    def withdraw(self, request: Request) -> None:
        """Nobody waits for this call any more."""
        request.result.cancel()
        if self._current is request:
            self._task.cancel()

    async def end(self) -> None:
        """Perform nothing more; whoever still waits is told."""
        self._ending = True
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        while not self._requests.empty():
            request = self._requests.get_nowait()
            if request is not None and request.result.set_running_or_notify_cancel():
                request.result.set_exception(LoopEnded())

    async def _serve(self) -> None:
        while (request := await self._requests.get()) is not None:
            if request.result.set_running_or_notify_cancel():
                self._current = request
                await self._perform(request)
                self._current = None

    async def _perform(self, request: Request) -> None:
        try:
            request.result.set_result(await request.work())
        except asyncio.CancelledError:
            request.result.set_exception(LoopEnded())
            task = asyncio.current_task()
            if self._ending or task is None:
                raise
            task.uncancel()  # This call alone was withdrawn.
        except Exception as error:
            request.result.set_exception(error)


class Caller:
    """A thread that calls; it has a seat from its first call on, as long as it lives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._seat: Seat | None = None

    def ask(self, request: Request, seats: list[Seat]) -> None:
        """Have this call performed; in the loop."""
        if self._seat is None:
            self._seat = Seat()
            seats[:] = [seat for seat in seats if not seat.is_empty]
            seats.append(self._seat)
        self._seat.ask(request)

    def withdraw(self, request: Request) -> None:
        """Nobody waits for this call any more; in the loop."""
        if self._seat is not None:
            self._seat.withdraw(request)

    def __del__(self) -> None:
        if self._seat is not None:
            with suppress(RuntimeError):  # The loop may have gone before the thread.
                self._loop.call_soon_threadsafe(self._seat.ask, None)


class LoopThread:
    """Runs a loop until it is stopped; a daemon, so that it never keeps a program from ending."""

    def __init__(self, name: str) -> None:
        self._loop: Final = asyncio.new_event_loop()
        self._seats: Final[list[Seat]] = []
        self._own: Final = threading.local()
        # No call slips in behind the end: it would never be performed.
        self._gate: Final = threading.Lock()
        self._stopping = False
        self._thread: Final = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Work[T]) -> T:
        """What the coroutine that `work` makes returns or raises; waits for it.

        `LoopEnded` if the loop is stopped before that.
        """
        if threading.current_thread() is self._thread:
            raise LocalError(
                "this would wait for itself: call a blocking node from a thread of your own, not "
                "from code that runs in its loop"
            )
        caller = self._caller()
        request = Request(work)
        self._schedule(caller.ask, request, self._seats)
        try:
            return cast(T, request.result.result())
        except BaseException:
            if not request.result.done():  # Ctrl-C while waiting.
                with suppress(LoopEnded):
                    self._schedule(caller.withdraw, request)
            raise

    def stop(self) -> None:
        """End the loop and its thread; calls that still wait raise `LoopEnded`."""
        with self._gate:
            if self._stopping:
                return
            self._stopping = True
            ending = asyncio.run_coroutine_threadsafe(self._end_seats(), self._loop)
        ending.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _schedule(self, callback: Callable[..., None], *arguments: object) -> None:
        with self._gate:
            if self._stopping:
                raise LoopEnded
            self._loop.call_soon_threadsafe(callback, *arguments)

    def _caller(self) -> Caller:
        caller: Caller | None = getattr(self._own, "caller", None)
        if caller is None:
            caller = self._own.caller = Caller(self._loop)
        return caller

    async def _end_seats(self) -> None:
        for seat in self._seats:
            await seat.end()
