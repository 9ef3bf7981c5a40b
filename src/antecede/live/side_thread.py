"""A thread beside the loop that does one thing at a time, for as long as a node lives.

Not an executor: those refuse work as soon as the interpreter begins to exit, when a node that was
left open still has to be closed.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, TypeAlias

Work: TypeAlias = Callable[[], str]
Then: TypeAlias = Callable[[str | Exception], None]


class SideThread:
    """Does work that may take long, and says in the loop what came of it."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._work: Final[SimpleQueue[tuple[Work, Then] | None]] = SimpleQueue()
        self._thread: Final = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Work, then: Then) -> None:
        """Call `work` in the thread, and `then` in the loop with its result or its exception."""
        self._work.put((work, then))

    def stop(self) -> None:
        """Wait until what was asked for is done; nothing more may be asked for."""
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (task := self._work.get()) is not None:
            work, then = task
            try:
                result: str | Exception = work()
            except Exception as error:
                result = error
            with suppress(RuntimeError):  # The loop has ended: nobody wants to know.
                self._loop.call_soon_threadsafe(then, result)
