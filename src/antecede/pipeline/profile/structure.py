"""The stage that tells for every message where it stands among its causes and effects.

Chains of causes may be as long as the run, so no fixed number of joins finds their length. Instead
one task takes a whole run, as columns: see `antecede.pipeline.profile.causal_graph`. It needs about
250 bytes of memory a message and 90 a cause, in a Python worker; runs are independent tasks.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from antecede.pipeline.profile.causal_graph import (
    NEVER,
    Integers,
    Links,
    Messages,
    chains,
    conversations,
    least_of,
    linked,
    ranks,
)
from antecede.pipeline.profile.errands import errands
from antecede.trace.parquet import ArrowArray, ArrowBatch, ArrowTable
from antecede.trace.workload import WORKLOAD_COLUMNS

COLUMNS: Final = ("run_id", *WORKLOAD_COLUMNS)
BATCH_ROWS: Final = 1 << 16

STRUCTURE: Final = StructType(
    [
        StructField("run_id", StringType(), nullable=False),
        StructField("message_id", LongType(), nullable=False),
        StructField("rank", LongType(), nullable=False),
        StructField("sender", IntegerType(), nullable=False),
        StructField("targets", ArrayType(IntegerType(), containsNull=False), nullable=False),
        StructField("cause_ranks", ArrayType(LongType(), containsNull=False), nullable=False),
        StructField("delay_ns", LongType(), nullable=False),
        StructField("payload_bytes", IntegerType(), nullable=False),
        StructField("depth", IntegerType()),
        StructField("ready_ns", LongType()),
        StructField("conversation", LongType(), nullable=False),
        StructField("begun_ns", LongType(), nullable=False),
        StructField("errand", LongType(), nullable=False),
        StructField("target_errands", ArrayType(LongType(), containsNull=False), nullable=False),
        StructField("target_answers", ArrayType(LongType()), nullable=False),
        StructField("target_effects", ArrayType(IntegerType(), containsNull=False), nullable=False),
    ]
)


def causal_structure(workload: DataFrame) -> DataFrame:
    """Where each message stands among its causes and effects; the same however it is partitioned.

    In:  run_id and the columns of a workload.
    Out: run_id, message_id, sender, targets, delay_ns, payload_bytes as they were, and
         rank            its place in the order of times, from 0; causes come before effects
         cause_ranks     its causes by their ranks, those that are missing left out
         depth, ready_ns the longest chain of causes before it, and when it leaves over a network
                         that takes no time; null if it never can
         conversation    the rank of a message that stands for all that causes connect
         begun_ns        the least ready_ns of its conversation
         errand          the errand it is sent on, by number
         target_errands, target_answers, target_effects
                         for each target: which errand it is delivered to there, which message of
                         that process it answers (its rank, or null), and how many messages that
                         process sends because of it
    """
    ordered = (
        workload.select(*COLUMNS).repartition("run_id").sortWithinPartitions("run_id", "message_id")
    )
    return ordered.mapInArrow(structured_batches, STRUCTURE)


def structured_batches(batches: Iterable[ArrowBatch]) -> Iterator[ArrowBatch]:
    """The structure of every run of a partition, which comes ordered by run and message."""
    for run_id, table in by_run(batches):
        yield from structured(run_id, table).to_batches(max_chunksize=BATCH_ROWS)


def by_run(batches: Iterable[ArrowBatch]) -> Iterator[tuple[str, ArrowTable]]:
    """The rows of one run after the other."""
    run_id = ""
    pieces: list[ArrowBatch] = []
    for batch in batches:
        for piece in cut_by_run(batch):
            name = piece.column("run_id")[0].as_py()
            if pieces and name != run_id:
                yield run_id, pa.Table.from_batches(pieces)
                pieces = []
            run_id = name
            pieces.append(piece)
    if pieces:
        yield run_id, pa.Table.from_batches(pieces)


def cut_by_run(batch: ArrowBatch) -> Iterator[ArrowBatch]:
    """A batch as slices of equal run id."""
    codes = batch.column("run_id").dictionary_encode().indices.to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), batch.num_rows]
    for start, end in pairwise(cuts):
        if end > start:
            yield batch.slice(start, end - start)


def structured(run_id: str, table: ArrowTable) -> ArrowTable:
    """The structure of one run."""
    rows = table.combine_chunks()
    messages = messages_of(rows)
    links = linked(messages)
    standing = chains(messages, links)
    groups = conversations(messages, links)
    places = ranks(messages, standing)
    tasks = errands(messages, links, places)
    never = standing.depths == NEVER
    answers = pa.array(places[tasks.answered], mask=tasks.answered < 0)
    columns = {
        "run_id": pa.repeat(run_id, len(messages.ids)),
        "message_id": messages.ids,
        "rank": places,
        "sender": messages.senders,
        "targets": rows.column("targets").combine_chunks(),
        "cause_ranks": cause_ranks(links, places),
        "delay_ns": messages.delays_ns,
        "payload_bytes": rows.column("payload_bytes"),
        "depth": pa.array(standing.depths, mask=never),
        "ready_ns": pa.array(standing.ready_ns, mask=never),
        "conversation": places[groups],
        "begun_ns": least_of(groups, standing.ready_ns),
        "errand": tasks.sent,
        "target_errands": lists(messages.target_counts, tasks.received),
        "target_answers": lists(messages.target_counts, answers),
        "target_effects": lists(
            messages.target_counts, np.bincount(links.copies, minlength=len(messages.targets))
        ),
    }
    return pa.table(columns).cast(to_arrow_schema(STRUCTURE))


def messages_of(rows: ArrowTable) -> Messages:
    """The columns of a run as arrays."""
    targets = rows.column("targets").combine_chunks()
    causes = rows.column("causes").combine_chunks()
    return Messages(
        ids=integers(rows.column("message_id")),
        senders=integers(rows.column("sender")),
        target_counts=integers(targets.value_lengths()),
        targets=integers(targets.flatten()),
        cause_counts=integers(causes.value_lengths()),
        causes=integers(causes.flatten()),
        delays_ns=integers(rows.column("delay_ns")),
    )


def integers(column: ArrowArray) -> Integers:
    """An Arrow column without nulls as an array of 64-bit integers."""
    array: Integers = column.to_numpy().astype(np.int64, copy=False)
    return array


def cause_ranks(links: Links, places: Integers) -> ArrowArray:
    """The causes of each message by rank, in ascending order."""
    causes = places[links.causes]
    order = np.lexsort((causes, links.effects))
    return lists(np.bincount(links.effects, minlength=len(places)), causes[order])


def lists(counts: Integers, values: Any) -> ArrowArray:  # noqa: ANN401 an array of any type
    """An Arrow column of lists with so many members each, taken from `values` in order."""
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
