"""One run's messages as arrays, and what follows from their causes: depths, times, who belongs.

Everything is worked out for all messages at once, a level of the graph at a time: a message's level
is the length of the longest chain of causes that leads to it. A *conversation* is everything that
causes connect, at all processes.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

NEVER: Final = -1
"""The depth of a message that can never leave: it waits for itself, or for what never comes."""

TIME_NS_MAX: Final = 1 << 62
"""Where times stop growing instead of overflowing."""

INDEX_BITS: Final = 31
"""Messages, copies and processes have indices of so many bits: two of them fit an integer."""

FEW: Final = 24
"""Up to so many messages of a level are quicker one by one than as arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The messages of one run in the order of their ids; lists are cut out of flat arrays."""

    ids: Integers
    senders: Integers
    target_counts: Integers
    targets: Integers
    """The targets of the first message, of the second, and so on."""
    cause_counts: Integers
    causes: Integers
    delays_ns: Integers

    @property
    def sources(self) -> Integers:
        """For each copy, the message it is a copy of."""
        return np.repeat(np.arange(len(self.ids)), self.target_counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Who waits for which delivery: one entry per cause, by index of message and of copy."""

    effects: Integers
    causes: Integers
    copies: Integers
    """Which copy of the cause it is whose delivery is awaited."""
    stranded: Flags
    """The messages with a cause that is not there, or is never delivered at the sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """Where each message stands in the chains of causes."""

    depths: Integers
    """The longest chain of causes before it; `NEVER` if it can never leave."""
    ready_ns: Integers
    """When it leaves over a network that takes no time."""


def linked(messages: Messages) -> Links:
    """Find every cause, and the copy of it that is delivered at the sender."""
    effects = np.repeat(np.arange(len(messages.ids)), messages.cause_counts)
    causes = found(messages.ids, messages.causes)
    copies = copy_index(messages, causes, messages.senders[effects])
    known = copies >= 0
    stranded = np.zeros(len(messages.ids), np.bool_)
    stranded[effects[~known]] = True
    # A cause that stands twice counts once.
    pairs = np.unique((effects[known] << INDEX_BITS) | copies[known])
    copies = pairs & ((1 << INDEX_BITS) - 1)
    return Links(
        effects=pairs >> INDEX_BITS,
        causes=messages.sources[copies],
        copies=copies,
        stranded=stranded,
    )


def found(ordered: Integers, wanted: Integers) -> Integers:
    """Where each wanted value stands in an ordered array, or -1."""
    if len(ordered) == 0:
        return np.full(len(wanted), -1, np.int64)
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[places] == wanted, places, -1)


def copy_index(messages: Messages, sources: Integers, targets: Integers) -> Integers:
    """Which copy goes from each source (-1: none) to the target beside it, or -1."""
    keys = (messages.sources << INDEX_BITS) | messages.targets
    order = np.argsort(keys, kind="stable")
    wanted = np.where(sources < 0, -1, (sources << INDEX_BITS) | targets)
    places = found(keys[order], wanted)
    return np.where(places < 0, -1, order[places] if len(order) else -1)


def chains(messages: Messages, links: Links) -> Chains:
    """Depths and times of all messages, level by level."""
    return Leveller(messages, links).run()


class Leveller:
    """Takes the messages level by level: the next level is whatever has no missing cause left."""

    def __init__(self, messages: Messages, links: Links) -> None:
        count = len(messages.ids)
        order = np.argsort(links.causes, kind="stable")
        self._effects = links.effects[order]
        self._ends = np.cumsum(np.bincount(links.causes, minlength=count))
        self._starts = self._ends - np.bincount(links.causes, minlength=count)
        self._missing = np.bincount(links.effects, minlength=count)
        self._missing[links.stranded] += 1
        self._delays_ns = messages.delays_ns
        self._depths = np.full(count, NEVER, np.int64)
        self._ready_ns = np.zeros(count, np.int64)

    def run(self) -> Chains:
        """Where each message stands."""
        level = np.flatnonzero(self._missing == 0)
        depth = 0
        while len(level):
            level = self._few(level, depth) if len(level) <= FEW else self._many(level, depth)
            depth += 1
        self._ready_ns[self._depths == NEVER] = 0
        return Chains(depths=self._depths, ready_ns=self._ready_ns)

    def _many(self, level: Integers, depth: int) -> Integers:
        self._depths[level] = depth
        begun = self._ready_ns[level]
        ready = begun + np.minimum(self._delays_ns[level], TIME_NS_MAX - begun)
        self._ready_ns[level] = ready
        counts = self._ends[level] - self._starts[level]
        effects = self._effects[spans(self._starts[level], counts)]
        np.maximum.at(self._ready_ns, effects, np.repeat(ready, counts))
        np.subtract.at(self._missing, effects, 1)
        return np.unique(effects[self._missing[effects] == 0])

    def _few(self, level: Integers, depth: int) -> Integers:
        complete = []
        for message in level.tolist():
            self._depths[message] = depth
            begun = int(self._ready_ns[message])
            ready = min(begun + int(self._delays_ns[message]), TIME_NS_MAX)
            self._ready_ns[message] = ready
            for effect in self._effects[self._starts[message] : self._ends[message]].tolist():
                self._missing[effect] -= 1
                if self._ready_ns[effect] < ready:
                    self._ready_ns[effect] = ready
                if self._missing[effect] == 0:
                    complete.append(effect)
        return np.array(sorted(complete), np.int64)


def spans(starts: Integers, counts: Integers) -> Integers:
    """The whole numbers of all the ranges that begin at `starts` and have so many members."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))


def conversations(messages: Messages, links: Links) -> Integers:
    """For each message the first message of its conversation."""
    return components(len(messages.ids), links.effects, links.causes)


def components(count: int, some: Integers, others: Integers) -> Integers:
    """For each of `count` nodes the smallest node that the edges connect it with.

    Every round each root that has a smaller neighbour is hung below it, and all paths are cut to
    length one; there are few rounds, since most roots have one.
    """
    parents = np.arange(count)
    while len(some):
        low = np.minimum(parents[some], parents[others])
        high = np.maximum(parents[some], parents[others])
        apart = low != high
        some, others = some[apart], others[apart]
        np.minimum.at(parents, high[apart], low[apart])
        parents = shortened(parents)
    return parents


def shortened(parents: Integers) -> Integers:
    """Every node directly below its root."""
    while True:
        nearer = parents[parents]
        if np.array_equal(nearer, parents):
            return parents
        parents = nearer


def least_of(groups: Integers, values: Integers) -> Integers:
    """For each member the smallest value in its group; groups go by one of their members."""
    least = np.full(len(groups), TIME_NS_MAX, np.int64)
    np.minimum.at(least, groups, values)
    return least[groups]


def ranks(messages: Messages, chains: Chains) -> Integers:
    """The place of each message in the order of times, causes before effects whatever the times."""
    late = np.where(chains.depths == NEVER, TIME_NS_MAX, chains.ready_ns)
    order = np.lexsort((messages.ids, chains.depths, late))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places
