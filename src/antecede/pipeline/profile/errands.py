"""Errands: what one process does in one go, found by going through the messages in order of time.

An errand has messages that a process sends and copies that are delivered to it. Whatever a message
waits for is on its errand. A copy *answers* if the errand it was sent on had been asked by its
target: the last message from there that was no answer itself is what it answers, and it is
delivered to the errand on which that was sent. Any other copy opens an errand. So a reply ends up
with the call, however many others were called in between.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from antecede.pipeline.profile.causal_graph import Integers, Links, Messages, shortened

NOBODY: Final = -1
CHUNK: Final = 1 << 16
"""So many messages at a time become Python integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errands:
    """Which errand each message is sent on, and each copy is delivered to, by smallest member."""

    sent: Integers
    """Messages are numbered first, then copies."""
    received: Integers
    answered: Integers
    """The message of its target that each copy answers, or -1."""


def errands(messages: Messages, links: Links, ranks: Integers) -> Errands:
    """The errands of a run; `ranks` is the order of its messages."""
    return Finder(messages, links, ranks).run()


class Finder:
    """Goes through the messages and joins what belongs together."""

    def __init__(self, messages: Messages, links: Links, ranks: Integers) -> None:
        self._count = len(messages.ids)
        nodes = self._count + len(messages.targets)
        self._messages = messages
        self._links = links
        self._ranks = ranks
        self._parents = array("q", range(nodes))
        # Who opened an errand, and with which message; most are opened by one process only.
        self._opener = array("q", [NOBODY]) * nodes
        self._opening = array("q", [NOBODY]) * nodes
        self._openings: dict[int, dict[int, int]] = {}
        self._answered = array("q", [NOBODY]) * len(messages.targets)

    def run(self) -> Errands:
        """All errands."""
        for message, sender, causes, first, targets in self._in_order():
            root = message
            for copy in causes:
                root = self._join(root, self._count + copy)
            for copy, target in enumerate(targets, start=first):
                self._deliver(message, sender, copy, target, root)
        labels = shortened(np.array(self._parents, np.int64))
        return Errands(
            sent=labels[: self._count],
            received=labels[self._count :],
            answered=np.array(self._answered, np.int64),
        )

    def _in_order(self) -> Iterator[tuple[int, int, list[int], int, list[int]]]:
        """Each message, its sender, the copies it waits for, its first copy, and its targets."""
        targets = self._messages.targets
        ends = np.cumsum(self._messages.target_counts)
        starts = ends - self._messages.target_counts
        waits = np.bincount(self._links.effects, minlength=self._count)
        wait_ends = np.cumsum(waits)
        order = np.argsort(self._ranks)
        for place in range(0, self._count, CHUNK):
            chunk = order[place : place + CHUNK]
            columns = (
                chunk,
                self._messages.senders[chunk],
                wait_ends[chunk] - waits[chunk],
                wait_ends[chunk],
                starts[chunk],
                ends[chunk],
            )
            for message, sender, wait, wait_end, start, end in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                causes = self._links.copies[wait:wait_end].tolist()
                yield message, sender, causes, start, targets[start:end].tolist()

    def _deliver(self, message: int, sender: int, copy: int, target: int, root: int) -> None:
        """Put a copy where it belongs: to what it answers, or else it opens something."""
        asked = self._asked_by(target, self._root(root))
        if asked != NOBODY:
            self._answered[copy] = asked
            self._join(asked, self._count + copy)
        else:
            self._open(self._root(self._count + copy), sender, message)

    def _root(self, node: int) -> int:
        parents = self._parents
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def _join(self, one: int, other: int) -> int:
        """Make two errands one, under the smaller root, which is returned."""
        low, high = self._root(one), self._root(other)
        if low == high:
            return low
        if low > high:
            low, high = high, low
        self._parents[high] = low
        several = self._openings.pop(high, None)
        if several is not None:
            for sender, message in several.items():
                self._open(low, sender, message)
        elif self._opener[high] != NOBODY:
            self._open(low, self._opener[high], self._opening[high])
        return low

    def _open(self, root: int, sender: int, message: int) -> None:
        """Note that a process has asked an errand; of several times the last counts."""
        several = self._openings.get(root)
        if several is not None:
            before = several.get(sender, NOBODY)
            if before == NOBODY or self._ranks[before] < self._ranks[message]:
                several[sender] = message
        elif self._opener[root] == NOBODY:
            self._opener[root] = sender
            self._opening[root] = message
        elif self._opener[root] == sender:
            if self._ranks[self._opening[root]] < self._ranks[message]:
                self._opening[root] = message
        else:
            self._openings[root] = {self._opener[root]: self._opening[root], sender: message}

    def _asked_by(self, process: int, root: int) -> int:
        """The last message with which a process has asked an errand, or -1."""
        several = self._openings.get(root)
        if several is not None:
            return several.get(process, NOBODY)
        return self._opening[root] if self._opener[root] == process else NOBODY
