"""Calling application code, which may raise anything, without being stopped by it.

Event listeners, expulsion policies, discovery sources and the like are called in the middle of a
node's own work. Whatever they raise is logged with its traceback and counted; the node goes on.
Only what asks the whole program to end (`KeyboardInterrupt`, `SystemExit`) passes.
"""

import asyncio
import logging
from typing import Final

from antecede.core.errors import LocalError

EXITS: Final = (KeyboardInterrupt, SystemExit)
"""What application code may raise that is meant for the program, not for whoever calls it."""

log = logging.getLogger(__name__)


def check_callable(function: object, what: str) -> None:
    """`LocalError` if this cannot be called."""
    if not callable(function):
        raise LocalError(f"{what} is a function, not {function!r}")


def is_ending(task: "asyncio.Task[object] | None") -> bool:
    """Whether an exception came because this task is cancelled or closed, not out of what it
    awaited: to be asked where the exception is caught."""
    if task is None:
        return True
    # A coroutine that is closed, which raises GeneratorExit in it, is not run by its task.
    running: object = asyncio.current_task(task.get_loop())
    return running is not task or task.cancelling() > 0


class Callbacks:
    """The application code that one node calls, beside its message handler."""

    def __init__(self, name: str) -> None:
        self._name: Final = name
        self.failures = 0
        """How often it has raised."""

    def count_failure(self) -> None:
        """Some of it has raised, and the caller says so itself."""
        self.failures += 1

    def on_failure(self, what: str) -> None:
        """Log and count the exception that is being handled; `what` names who has raised it."""
        self.count_failure()
        log.exception("%s: %s failed", self._name, what)
