"""Who waits to send to whom: a line for every target, in the order of the calls.

Messages to one target leave in the order in which `send` was called, whichever task called it: who
comes while others wait for room stands behind them. Lines of different targets do not wait for each
other; a message to several targets stands in the line of each.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from antecede.runtime.notifier import Waiter

WOKEN_TOGETHER: Final = 256
"""Sends that go on in one turn of the loop when there is room again."""


class Place:
    """The place of one call in the lines of its targets."""

    __slots__ = ("_waiter", "names")

    def __init__(self, names: Sequence[str]) -> None:
        self.names: Final = tuple(names)
        self._waiter: Waiter | None = None

    async def sleep(self) -> None:
        """Until those in front have gone, or may have."""
        self._waiter = Waiter(loop=asyncio.get_running_loop())
        try:
            await self._waiter
        finally:
            self._waiter = None

    def is_asleep(self) -> bool:
        """Whether nobody has woken it."""
        return self._waiter is not None and not self._waiter.done()

    def wake(self) -> None:
        """Let it look again, in the next turn."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.wake()


class Lines:
    """The lines of one node."""

    def __init__(self) -> None:
        self._lines: Final[dict[str, OrderedDict[Place, None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def join(self, names: Sequence[str]) -> Place:
        """Stand at the end of the lines of these targets."""
        place = Place(names)
        for name in names:
            self._lines.setdefault(name, OrderedDict())[place] = None
        return place

    def leave(self, place: Place) -> None:
        """Go, with or without having sent: those behind move up."""
        for name in place.names:
            line = self._lines[name]
            del line[place]
            if not line:
                del self._lines[name]
            elif next(iter(line)).is_asleep():
                for behind in islice(line, WOKEN_TOGETHER):
                    behind.wake()

    def is_first(self, place: Place) -> bool:
        """Whether nobody stands in front of it."""
        return all(next(iter(self._lines[name])) is place for name in place.names)

    def length(self, names: Iterable[str]) -> int:
        """How many stand in the longest of these lines."""
        return max((len(self._lines[name]) for name in names if name in self._lines), default=0)
