"""A node belongs to the thread that opened it, in the process that did.

Its state is that of one loop, and is changed without locks. Another thread that called it would
break that. A process that was forked has a copy of everything but the socket, which is the same
one: whatever it sent or received would be taken from its parent.
"""

import os
from collections.abc import Callable
from threading import get_ident
from typing import Final, NoReturn, final
from weakref import WeakSet

from antecede.runtime.errors import WrongProcess, WrongThread

NO_THREAD: Final = 0
"""No thread has the number 0."""


@final
class ThreadGuard:
    """Lets only the thread that opened a node call it."""

    __slots__ = ("__weakref__", "_leave", "_name", "owner")

    def __init__(self, name: str, leave: Callable[[], None]) -> None:
        self._name: Final = name
        # To be called in a forked process: it must change nothing that the parent sees.
        self._leave: Final = leave
        self.owner = get_ident()
        """The thread that may call; compared on the way of every message."""
        OPEN.add(self)

    def check(self) -> None:
        """`WrongThread` or `WrongProcess` unless the caller is the one that opened the node."""
        if get_ident() != self.owner:
            self.refuse()

    def refuse(self) -> NoReturn:
        """Say why the caller may not call."""
        if self.owner == NO_THREAD:
            raise WrongProcess(self._name)
        raise WrongThread(self._name)

    def was_forked(self) -> None:
        """This is the copy in another process."""
        self.owner = NO_THREAD
        self._leave()


OPEN: Final[WeakSet[ThreadGuard]] = WeakSet()


def leave_to_parent() -> None:
    """In a forked process: every node is the parent's."""
    for guard in list(OPEN):
        guard.was_forked()


os.register_at_fork(after_in_child=leave_to_parent)
