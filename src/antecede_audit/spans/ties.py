"""Order inside equal times: deliveries come before submissions, as far as that can be.

Clocks are coarse, and many tables have no receive times, so messages may be delivered at the very
time they are submitted. If p sends to q and q to r, all at one time, then p's message came first.
But if q also sends to p at that time, deliveries cannot come before submissions at both: the log
would say that each of two messages happened before the other. So the processes that reach each
other at one time submit first, all of them, and then deliver what they sent each other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import (
    Batch,
    Flags,
    Integers,
    Row,
    batch_of_rows,
    conform,
    groups_of,
)
from antecede_audit.shuffle import Keyed, chunks, whole_partition
from antecede_audit.spans.order import NUMBERED, NUMBERED_TABLE, MessageNumbering, numbered
from antecede_audit.spans.schemas import LONG, table

Edge: TypeAlias = tuple[int, int]
"""Sender and receiver of a message that takes no time."""

EDGES_MAX: Final = 1_000_000
"""1,000,000 messages that take no time are looked at before all messages are sorted by time."""

MUTUALS: Final = table(mutual=LONG)


def ranks_of(edges: Iterable[Edge]) -> dict[int, int]:
    """A rank for each process, so that every message goes from a lower rank to a higher one.

    Processes that reach each other have the same number: they are the strongly connected
    components, found as Kosaraju does, by searching forwards and then backwards.
    """
    forwards: dict[int, list[int]] = {}
    backwards: dict[int, list[int]] = {}
    for sender, receiver in edges:
        for process in (sender, receiver):
            forwards.setdefault(process, [])
            backwards.setdefault(process, [])
        forwards[sender].append(receiver)
        backwards[receiver].append(sender)
    finished = [process for tree in search_trees(forwards, list(forwards)) for process in tree]
    components = search_trees(backwards, finished[::-1])
    return {process: rank for rank, tree in enumerate(components) for process in tree}


def search_trees(neighbours: Mapping[int, list[int]], roots: Sequence[int]) -> list[list[int]]:
    """What a search in depth finds from each root that it did not find before, deepest first."""
    seen: set[int] = set()
    trees: list[list[int]] = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        path = [(root, iter(neighbours[root]))]
        tree: list[int] = []
        while path:
            process, others = path[-1]
            deeper = next((other for other in others if other not in seen), None)
            if deeper is None:
                tree.append(process)
                path.pop()
            else:
                seen.add(deeper)
                path.append((deeper, iter(neighbours[deeper])))
        trees.append(tree)
    return trees


def rank_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The ranks at every time at which they matter."""
    for (time_ns,), group in groups_of(rows, 1):
        edges = {(sender, receiver): None for _, sender, receiver in group}
        senders = {sender for sender, _ in edges}
        if any(receiver in senders for _, receiver in edges):
            for process, rank in ranks_of(edges).items():
                yield time_ns, process, rank


def is_tied(edges: Batch) -> bool:
    """Whether a process both receives and sends within no time: then there are ranks."""
    time_ns, sender, receiver = (edges[name].to_pylist() for name in edges.schema.names)
    sending = set(zip(time_ns, sender, strict=True))
    return any(one in sending for one in zip(time_ns, receiver, strict=True))


def keyed_by_time(
    rows: Iterable[Keyed], numbering: MessageNumbering, tasks: int
) -> Iterator[Keyed]:
    """The copies, those of one time for one partition.

    In:  `SENT_TABLE`.
    Out: `NUMBERED_TABLE`.
    """
    for copies in numbered(rows, numbering):
        task = scrambled(copies["submitted_ns"].to_numpy()) % tasks
        yield Keyed(NUMBERED_TABLE, copies, task)


def scrambled(times: Integers) -> Integers:
    """Integers that are spread, also if all times are multiples of something."""
    mixed = times.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    found: Integers = (mixed >> np.uint64(33)).view(np.int64)
    return found


def rank_ties(rows: Iterable[Keyed]) -> Iterator[Keyed]:
    """The copies with the rank of the sender, and whether the delivery is among mutual ones.

    In, out: `NUMBERED_TABLE`.
    """
    number, (copies,) = whole_partition(rows, NUMBERED_TABLE)
    names = ("sender", "receiver", "submitted_ns", "delivered_ns")
    rank, mutual = ranks_among(*(copies[name].to_numpy() for name in names))
    yield Keyed(NUMBERED_TABLE, conform(NUMBERED, {"rank": rank, "mutual": mutual}, copies), number)


def mutual_counts(rows: Iterable[Keyed]) -> Iterator[Batch]:
    """How many of the copies are delivered among mutual ones. In: `NUMBERED_TABLE`."""
    for copies in chunks(rows):
        yield batch_of_rows([(pc.sum(copies["mutual"]).as_py() or 0,)], MUTUALS)


def ranks_among(
    sender: Integers, receiver: Integers, submitted: Integers, delivered: Integers
) -> tuple[Integers, Flags]:
    """The rank of every copy's sender, and whether its delivery is among mutual ones."""
    at_once = np.flatnonzero(submitted == delivered)
    edges = sorted(
        zip(*(one[at_once].tolist() for one in (submitted, sender, receiver)), strict=True)
    )
    ranks = {(time_ns, process): rank for time_ns, process, rank in rank_rows(edges)}
    rank, mutual = np.zeros(len(sender), np.int64), np.zeros(len(sender), np.bool_)
    if not ranks:
        return rank, mutual
    times = np.array([time_ns for time_ns, _ in ranks])
    for place in np.flatnonzero(np.isin(submitted, times)).tolist():
        time_ns = int(submitted[place])
        own = ranks.get((time_ns, int(sender[place])))
        rank[place] = own or 0
        mutual[place] = (
            own is not None
            and time_ns == delivered[place]
            and own == ranks.get((time_ns, int(receiver[place])))
        )
    return rank, mutual
