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

NOBODY: Final = 0
"""No thread has this number."""


@final
class Belonging:
    """Whose one node is."""

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
        if self.owner == NOBODY:
            raise WrongProcess(self._name)
        raise WrongThread(self._name)

    def was_forked(self) -> None:
        """This is the copy in another process."""
        self.owner = NOBODY
        self._leave()


OPEN: Final[WeakSet[Belonging]] = WeakSet()


def leave_to_parent() -> None:
    """In a forked process: every node is the parent's."""
    for belonging in list(OPEN):
        belonging.was_forked()


os.register_at_fork(after_in_child=leave_to_parent)
