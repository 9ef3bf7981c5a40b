"""A loop that runs in a thread of its own, and calls from other threads that are performed in it.

Every thread that calls has one task in the loop, which performs its calls one after the other. So a
node sees a thread as it sees any task, and can tell that whoever waits for room is the one who
should be reading.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar, cast

from antecede.core.errors import LocalError
from antecede.runtime.errors import WrongProcess

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]


class LoopEnded(LocalError):  # noqa: N818 - reads as what it is
    """There is no loop any more that could perform the call."""


class PendingCall:
    """A call that waits to be performed in the loop."""

    def __init__(self, work: Work[Any]) -> None:
        self.work: Final = work
        self.result: Final[Future[Any]] = Future()


class CallerTask:
    """The task that performs the calls of one thread, in their order; to be used in the loop."""

    def __init__(self) -> None:
        self._requests: asyncio.Queue[PendingCall | None] = asyncio.Queue()
        self._current: PendingCall | None = None
        self._ending = False
        self._task = asyncio.get_running_loop().create_task(self._serve())

    @property
    def has_ended(self) -> bool:
        """Whether its thread has gone, and it performs nothing more."""
        return self._task.done()

    def ask(self, request: PendingCall | None) -> None:
        """Perform this call after those before; None: no more calls will come."""
        if self._ending and request is not None:
            request.result.set_exception(LoopEnded())
        else:
            self._requests.put_nowait(request)

    def withdraw(self, request: PendingCall) -> None:
        """Nobody waits for this call any more."""
        request.result.cancel()
        if self._current is request:
            self._task.cancel()

    async def end(self) -> None:
        """Perform nothing more; calls that still wait raise `LoopEnded`."""
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

    async def _perform(self, request: PendingCall) -> None:
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


class ThreadCaller:
    """A thread that calls; from its first call to its end it has a task in the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._task: CallerTask | None = None

    def ask(self, request: PendingCall, tasks: list[CallerTask]) -> None:
        """Have this call performed; in the loop."""
        if self._task is None:
            self._task = CallerTask()
            tasks[:] = [task for task in tasks if not task.has_ended]
            tasks.append(self._task)
        self._task.ask(request)

    def withdraw(self, request: PendingCall) -> None:
        """Nobody waits for this call any more; in the loop."""
        if self._task is not None:
            self._task.withdraw(request)

    def __del__(self) -> None:
        if self._task is not None:
            with suppress(RuntimeError):  # The loop may have gone before the thread.
                self._loop.call_soon_threadsafe(self._task.ask, None)


class LoopThread:
    """Runs a loop until it is stopped; a daemon, so that it never keeps a program from ending."""

    def __init__(self, name: str, node: str = "") -> None:
        self._name: Final = node
        self._pid: Final = os.getpid()
        self._loop: Final = asyncio.new_event_loop()
        self._tasks: Final[list[CallerTask]] = []
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
        if os.getpid() != self._pid:
            raise WrongProcess(self._name)  # There is no thread that would answer.
        caller = self._caller()
        request = PendingCall(work)
        self._schedule(caller.ask, request, self._tasks)
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
            ending = asyncio.run_coroutine_threadsafe(self._end_tasks(), self._loop)
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

    def _caller(self) -> ThreadCaller:
        caller: ThreadCaller | None = getattr(self._own, "caller", None)
        if caller is None:
            caller = self._own.caller = ThreadCaller(self._loop)
        return caller

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            await task.end()
