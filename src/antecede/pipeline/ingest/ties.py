"""Order inside equal times: deliveries come before submissions, as far as that can be.

Clocks are coarse, and many tables have no receive times, so messages may be delivered at the very
time they are submitted. If p sends to q and q to r, all at one time, then p's message came first.
But if q also sends to p at that time, deliveries cannot come before submissions at both: the log
would say that each of two messages happened before the other. So the processes that reach each
other at one time submit first, all of them, and then deliver what they sent each other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.types import IntegerType

from antecede.pipeline.ingest.arrow_rows import Batch, Row, batches_of, groups_of, rows_of
from antecede.pipeline.ingest.layouts import LONG, table

Edge: TypeAlias = tuple[int, int]
"""Sender and receiver of a message that takes no time."""

EDGES: Final = ("time_ns", "sender", "receiver")
RANKS: Final = table(time_ns=LONG, process=IntegerType(), rank=IntegerType())

RANKS_BROADCAST_MAX: Final = 1_000_000
"""So many ranks go to every task; more are joined like any other table."""


def ranks_of(edges: Iterable[Edge]) -> dict[int, int]:
    """Numbers for processes such that messages go from lower ones to higher.

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


def ranks(copies: DataFrame) -> DataFrame:
    """The ranks of processes at those times at which one both receives and sends within no time.

    In:  sender, receiver, submitted_ns, delivered_ns.
    Out: time_ns, process, rank.
    """
    edges = copies.where(F.col("submitted_ns") == F.col("delivered_ns")).select(
        F.col("submitted_ns").alias("time_ns"), "sender", "receiver"
    )
    by_time = edges.repartition("time_ns").sortWithinPartitions(*EDGES)
    return by_time.mapInArrow(rank_batches, RANKS)


def rank_batches(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The ranks at every time, from edges that are sorted by time."""
    return batches_of(rank_rows(rows_of(batches, EDGES)), RANKS)


def rank_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The ranks at every time at which they matter."""
    for (time_ns,), group in groups_of(rows, 1):
        edges = {(sender, receiver): None for _, sender, receiver in group}
        senders = {sender for sender, _ in edges}
        if any(receiver in senders for _, receiver in edges):
            for process, rank in ranks_of(edges).items():
                yield time_ns, process, rank


def unranked(copies: DataFrame) -> DataFrame:
    """The copies if there are no ranks, as is usual where clocks are fine.

    Out: the columns of the copies, rank, mutual.
    """
    return copies.withColumns({"rank": F.lit(0), "mutual": F.lit(False)})


def ranked(copies: DataFrame, found: DataFrame) -> DataFrame:
    """The copies with the rank of the sender, and whether the delivery is among mutual ones.

    In:  sender, receiver, submitted_ns, delivered_ns; time_ns, process, rank.
    Out: the columns of the copies, rank, mutual.
    """
    by_sender = found.select(
        F.col("time_ns").alias("submitted_ns"), F.col("process").alias("sender"), "rank"
    )
    by_receiver = found.select(
        F.col("time_ns").alias("delivered_ns"),
        F.col("process").alias("receiver"),
        F.col("rank").alias("receiver_rank"),
    )
    joined = copies.join(by_sender, on=["submitted_ns", "sender"], how="left").join(
        by_receiver, on=["delivered_ns", "receiver"], how="left"
    )
    at_once = F.col("submitted_ns") == F.col("delivered_ns")
    mutual = at_once & F.coalesce(F.col("rank") == F.col("receiver_rank"), F.lit(False))
    return joined.select(
        *copies.columns, F.coalesce("rank", F.lit(0)).alias("rank"), mutual.alias("mutual")
    )
