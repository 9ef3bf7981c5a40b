"""The audit's stages on Spark: from the event log to rows, and from rows to copies.

`run` is a small number that stands for a run (`antecede_audit.spark.survey` gives it out), so
that no string is shuffled or compared.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use

from antecede_audit.judging.copies import CLOCK, INT_BITS, NEVER, ROW_COLUMNS, TRACE


def counted(events: DataFrame) -> DataFrame:
    """What the definition of causal delivery looks at: submissions at the sender, and deliveries.

    In:  the event log.
    Out: the same columns.
    """
    is_submission = (F.col("kind") == "submitted") & (F.col("process") == F.col("sender"))
    is_message = F.col("sender").isNotNull() & F.col("sequence").isNotNull()
    return events.where(is_message & (is_submission | (F.col("kind") == "delivered")))


def counted_rows(events: DataFrame, *, traced: bool) -> DataFrame:
    """The same, and no more of it than is needed.

    Sender and process share a column: narrow rows make the shuffle cheaper. Traces go by hashes of
    their ids. Should two of 64 bits ever be equal at one process, they count as one trace.

    In:  the event log and run.
    Out: `ROW_COLUMNS`, and trace if asked for.
    """
    delivered = F.col("kind") == "delivered"
    process = F.when(delivered, F.col("process")).otherwise(
        F.coalesce(F.col("target"), F.lit(NEVER))
    )
    channel = F.shiftleft(F.col("sender").cast("long"), INT_BITS).bitwiseOR(
        process.cast("long") - NEVER
    )
    has_trace = F.col("trace_id").isNotNull() & (F.col("trace_id") != "")
    trace = F.when(has_trace, F.xxhash64("trace_id")).otherwise(F.lit(0))
    columns = {"channel": channel, "delivered": delivered, TRACE: trace}
    return counted(events).select(
        *(
            columns[name].alias(name) if name in columns else F.col(name)
            for name in (*ROW_COLUMNS, *((TRACE,) if traced else ()))
        )
    )


def sender_of(channel: str = "channel") -> Column:
    """The sender that a channel begins at."""
    return F.shiftright(channel, INT_BITS).cast("int")


def receiver_of(channel: str = "channel") -> Column:
    """The process that a channel ends at; -1 for nobody."""
    return (F.col(channel).bitwiseAND((1 << INT_BITS) - 1) + NEVER).cast("int")


def clock_of(rows: DataFrame) -> Column:
    """The time that rows are judged by."""
    return F.col(CLOCK if CLOCK in rows.columns else "time_ns")


def find_copies(rows: DataFrame) -> DataFrame:
    """One row for each message and process: the first submission to it, the first delivery at it.

    In:  what `counted_rows` returns.
    Out: the columns of `Copies`; a position of -1 says that there is no such event.
    """
    ends = {"submitted": ~F.col("delivered"), "delivered": F.col("delivered")}
    position = {end: F.when(which, F.col("position")) for end, which in ends.items()}
    parts = {"ns": "time_ns"} | {name: name for name in (CLOCK, TRACE) if name in rows.columns}
    # Of narrow columns Spark makes hash tables; of structs it would sort.
    grouped = rows.groupBy("run", "channel", "sequence").agg(
        *(F.min(at).alias(f"{end}_position") for end, at in position.items()),
        *(
            F.min_by(source, at).alias(f"{end}_{name}")
            for end, at in position.items()
            for name, source in parts.items()
        ),
        F.count_if("delivered").alias("deliveries"),
        F.max_by("time_ns", position["delivered"]).alias("last_delivered_ns"),
    )
    nothing = F.lit(0).cast("long")
    columns = {f"{end}_{name}": F.col(f"{end}_{name}") for end in ends for name in parts}
    for end in ends:
        columns[f"{end}_{CLOCK}"] = columns.get(f"{end}_{CLOCK}", F.col(f"{end}_ns"))
        columns[f"{end}_{TRACE}"] = columns.get(f"{end}_{TRACE}", nothing)
    return grouped.select(
        "run",
        sender_of().alias("sender"),
        "sequence",
        receiver_of().alias("process"),
        *(F.coalesce(f"{end}_position", F.lit(NEVER)).alias(f"{end}_position") for end in ends),
        *(F.coalesce(column, nothing).alias(name) for name, column in columns.items()),
        "deliveries",
        F.coalesce("last_delivered_ns", nothing).alias("last_delivered_ns"),
    )


def flights_of(rows: DataFrame) -> DataFrame:
    """The first submission and the first delivery of each copy, as recorded; null if there is none.

    It looks at less than `find_copies` does, and takes a third of its time.

    In:  what `counted_rows` returns.
    Out: run, channel, sequence, begin_ns, end_ns.
    """
    ends = {"begin_ns": ~F.col("delivered"), "end_ns": F.col("delivered")}
    return rows.groupBy("run", "channel", "sequence").agg(
        *(F.min(F.when(which, F.col("time_ns"))).alias(name) for name, which in ends.items())
    )


def spread(rows: DataFrame, parts: int, number: str) -> DataFrame:
    """The rows of each group in one partition, as many groups in each.

    A hash of the numbers would leave a third of the partitions empty, and others with several.
    """
    return rows.repartitionById(parts, F.pmod(F.col(number), F.lit(parts)).cast("int"))


def table_of_longs(
    session: SparkSession, names: Sequence[str], columns: Sequence[Sequence[int]]
) -> DataFrame:
    """A small table, which may be empty."""
    arrays = [pa.array(column, pa.int64()) for column in columns]
    return session.createDataFrame(pa.table(arrays, names=list(names)))
