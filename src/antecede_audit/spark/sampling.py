"""Runs too large for one task: some conversations stand for all of them.

What chains of causes decide has to be worked out by one task for each run. Of a run that is too
large, messages are chosen by *trees*: every message hangs below the first of its causes, and what
hangs below one spontaneous message is a tree, a conversation or a part of one. A hash chooses
trees, so that it is the same ones every time. Of a tree that would fill a good part of the sample
by itself, its beginning is taken instead. Either way a message that has causes keeps one of them.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

from antecede_audit.spark.settings import persisted

ENTRIES_MAX: Final = 12_000_000
"""A task takes 12 million messages, copies and causes of one run together: about 2 GB."""

LARGE_TREE: Final = 16
"""A tree is cut if it has more than a sixteenth of the messages that are wanted."""

HASHES: Final = 1 << 30
"""Shares are known to one part in 2**30."""

ACCURACY: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """How much there is of one run."""

    run_id: str
    messages: int
    copies: int
    causes: int
    highest: int
    """The greatest number of a process that sends or is sent to."""

    @property
    def entries(self) -> int:
        """What a task has to hold."""
        return self.messages + self.copies + self.causes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Workloads that tasks can take, and what they stand for."""

    workload: DataFrame
    sizes: dict[str, RunSize]
    """By run, as it is on disk."""
    messages: dict[str, int]
    """By run, if it is too large: how many of its messages were taken."""


def run_sizes(workload: DataFrame) -> dict[str, RunSize]:
    """Which runs there are, by name and in that order, and how large they are.

    In: run_id, sender, targets, causes.
    """
    rows = workload.groupBy("run_id").agg(
        F.count("*").alias("messages"),
        F.sum(F.size("targets")).alias("copies"),
        F.sum(F.size("causes")).alias("causes"),
        F.max(F.greatest("sender", F.array_max("targets"))).alias("highest"),
    )
    sizes = [RunSize(**row.asDict()) for row in rows.collect()]
    return {size.run_id: size for size in sorted(sizes, key=lambda size: size.run_id)}


def sampled(
    workload: DataFrame, sizes: dict[str, RunSize], stack: ExitStack, entries_max: int = ENTRIES_MAX
) -> Sampled:
    """The same workload, and of every run with more entries than `entries_max` a sample.

    In: run_id and the columns of a workload.
    """
    large = [size for size in sizes.values() if size.entries > entries_max]
    if not large:
        return Sampled(workload=workload, sizes=sizes, messages={})
    parts = [workload.where(~F.col("run_id").isin([size.run_id for size in large]))]
    messages: dict[str, int] = {}
    for size in large:
        run = workload.where(F.col("run_id") == size.run_id)
        part = sample_of(run, size.messages, entries_max / size.entries)
        part = persisted(part, stack)
        messages[size.run_id] = part.count()
        parts.append(part)
    return Sampled(workload=reduce(DataFrame.unionByName, parts), sizes=sizes, messages=messages)


def sample_of(run: DataFrame, messages: int, share: float) -> DataFrame:
    """About this share of the messages of a run; causes that are not among them are left out.

    In, out: run_id and the columns of a workload.
    """
    placed = with_roots(run, messages)
    chosen = chosen_messages(placed, share, int(messages * share)).select("message_id")
    sample = run.join(chosen, on="message_id", how="leftsemi")
    known = (
        sample.select("message_id", F.explode("causes").alias("cause"))
        .join(chosen.withColumnRenamed("message_id", "cause"), on="cause", how="leftsemi")
        .groupBy("message_id")
        .agg(F.array_sort(F.collect_list("cause")).alias("known"))
    )
    # One whose first cause exists has at least that left; another could never leave, and stays so.
    return (
        sample.join(known, on="message_id", how="left")
        .withColumn("causes", F.coalesce("known", "causes"))
        .select(*run.columns)
    )


def with_roots(run: DataFrame, messages: int) -> DataFrame:
    """The spontaneous message above each message, and how many steps up that is.

    Every round all messages look twice as far up, so that there are few, however long chains are.
    Those that wait for themselves in a circle find no root and become their own.

    In:  message_id, causes, of one run.
    Out: message_id, at (the root), hops.
    """
    ids = run.select(F.col("message_id").alias("at"))
    first = run.select("message_id", F.array_min("causes").alias("at"))
    up = first.join(ids, on="at", how="leftsemi").select("message_id", "at")
    own = run.join(up, on="message_id", how="leftanti").select("message_id", ids_as_roots())
    state = checkpointed(stepped(own, 0, ended=True).unionByName(stepped(up, 1, ended=False)))
    for _ in range(messages.bit_length()):
        rest = state.where(~F.col("ended"))
        if rest.isEmpty():
            break
        above = state.select(
            F.col("message_id").alias("at"),
            F.col("at").alias("next"),
            F.col("hops").alias("more"),
            F.col("ended").alias("ends"),
        )
        moved = rest.join(above, on="at", how="inner").select(
            "message_id",
            F.col("next").alias("at"),
            (F.col("hops") + F.col("more")).alias("hops"),
            F.col("ends").alias("ended"),
        )
        state = checkpointed(state.where("ended").unionByName(moved))
    circles = state.where(~F.col("ended")).select("message_id", ids_as_roots())
    found = state.where("ended").unionByName(stepped(circles, 0, ended=True))
    return found.select("message_id", "at", "hops")


def ids_as_roots() -> Column:
    """Every message as its own root."""
    return F.col("message_id").alias("at")


def stepped(table: DataFrame, hops: int, *, ended: bool) -> DataFrame:
    """The same table with how many steps up `at` is, and whether it is a root."""
    return table.select(
        "message_id", "at", F.lit(hops).cast("long").alias("hops"), F.lit(ended).alias("ended")
    )


def checkpointed(table: DataFrame) -> DataFrame:
    """The same, computed, with no memory of how: plans would double with every round."""
    return table.localCheckpoint(eager=True)


def chosen_messages(placed: DataFrame, share: float, wanted: int) -> DataFrame:
    """About this share of the messages: whole trees, and the beginnings of very large ones.

    In:  message_id, at, hops.
    Out: the same.
    """
    sizes = placed.groupBy("at").agg(F.count("*").alias("size"))
    large = checkpointed(sizes.where(F.col("size") > max(1, wanted // LARGE_TREE)).select("at"))
    whole = placed.join(F.broadcast(large), on="at", how="leftanti").where(
        F.pmod(F.xxhash64("at"), F.lit(HASHES)) < int(share * HASHES)
    )
    # A step further up is always smaller, whatever the hash, so nobody is taken without its cause.
    depth = F.col("hops") + unit(F.col("message_id"))
    ends = (
        placed.join(F.broadcast(large), on="at", how="leftsemi")
        .groupBy("at")
        .agg(F.percentile_approx(depth, share, ACCURACY).alias("end"))
    )
    begun = placed.join(F.broadcast(ends), on="at", how="inner").where(depth <= F.col("end"))
    return whole.select(*placed.columns).unionByName(begun.select(*placed.columns))


def unit(name: Column) -> Column:
    """A number from 0 up to, not including, 1; the same for the same name."""
    return F.pmod(F.xxhash64(name), F.lit(HASHES)) / F.lit(float(HASHES))
