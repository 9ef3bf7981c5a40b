"""Puts together the ends of copies that reach beyond their slices, and says what they are.

A slice that sees a submission without its delivery cannot know whether it was lost, or is long
under way; one that sees a delivery without its submission, whether that was long ago, never, or is
delivered again. Their reports, taken together, tell most of it. Only of what was delivered twice,
or without a submission that anybody reported, the rows are looked up in the log.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.pandas.types import from_arrow_schema

from antecede_audit.judging.copies import NEVER
from antecede_audit.judging.raw_findings import DUPLICATE, FINDINGS, INVENTION, LOSS, OPEN
from antecede_audit.spark.audit_stages import find_copies, receiver_of, sender_of

KEY: Final = ("run", "sender", "sequence", "process")

SENT_MAX: Final = 1_000_000
"""Up to 1,000,000 keys, some 100 MB, are sent to every executor; for more the log is shuffled."""


def join_ends(sliced: DataFrame) -> DataFrame:
    """What slices know together about each open copy.

    In:  findings.
    Out: run, sender, sequence, process; submitted: whether somebody saw the submission; met:
         whether whoever did saw a delivery as well; position, time_ns, clock_ns of the submission;
         other_position, other_ns, other_clock_ns of the first delivery, and other_sequence, its
         trace; deliveries.
    """
    opened = sliced.where(F.col("what") == OPEN)
    begin = F.when(F.col("position") != NEVER, F.struct("position", "time_ns", "clock_ns"))
    end = F.struct("other_position", "other_ns", "other_clock_ns", "other_sequence")
    delivered = F.col("other_position") != NEVER
    return (
        opened.groupBy(*KEY)
        .agg(
            F.min(begin).alias("begin"),
            F.min(F.when(delivered, end)).alias("end"),
            F.max((F.col("position") != NEVER) & delivered).alias("met"),
            F.sum("number").alias("deliveries"),
        )
        .select(
            *KEY,
            F.col("begin").isNotNull().alias("submitted"),
            "met",
            "begin.*",
            "end.*",
            "deliveries",
        )
    )


def is_long() -> Column:
    """Whether no slice saw the whole flight of an open copy."""
    return F.col("submitted") & ~F.col("met") & (F.col("deliveries") > 0)


def is_unclear() -> Column:
    """Whether slices do not know enough about an open copy to say what it is."""
    return ~F.col("submitted") | (F.col("deliveries") > 1)


def count_open(copies: DataFrame) -> tuple[int, int]:
    """How many of the copies that `join_ends` returns are long flights, and how many are
    unclear.
    """
    row = copies.agg(
        F.count_if(is_long()).alias("long"), F.count_if(is_unclear()).alias("unclear")
    ).collect()[0]
    return row["long"], row["unclear"]


def lost_copies(copies: DataFrame) -> DataFrame:
    """The losses among open copies. In: what `join_ends` returns. Out: `FINDINGS`."""
    lost = copies.where(F.col("submitted") & (F.col("deliveries") == 0))
    return lost.select(as_findings(LOSS, position="position", time_ns="time_ns"))


def resolve_from_log(copies: DataFrame, rows: DataFrame, unclear: int) -> DataFrame:
    """The duplicates and inventions among unclear copies; `unclear` is how many these are.

    In:  what `join_ends` returns; what `counted_rows` returns.
    Out: `FINDINGS`.
    """
    asked = copies.where(is_unclear()).select(*KEY)
    found = find_copies(rows_about(rows, F.broadcast(asked) if unclear <= SENT_MAX else asked))
    delivery = {"position": "delivered_position", "time_ns": "delivered_ns"}
    duplicates = found.where(F.col("deliveries") > 1).select(
        as_findings(DUPLICATE, **delivery, other_ns="last_delivered_ns", number="deliveries")
    )
    unsent = (F.col("submitted_position") == NEVER) & (F.col("delivered_position") != NEVER)
    inventions = found.where(unsent).select(as_findings(INVENTION, **delivery))
    return duplicates.unionByName(inventions)


def rows_about(rows: DataFrame, copies: DataFrame) -> DataFrame:
    """The rows of the log that are about these copies.

    In:  what `counted_rows` returns; run, sender, sequence, process.
    Out: the same rows.
    """
    named = rows.withColumns({"sender": sender_of(), "process": receiver_of()})
    return named.join(copies, on=list(KEY), how="leftsemi").select(*rows.columns)


def as_findings(what: int, **columns: str) -> list[Column]:
    """The columns of `FINDINGS`: the copy, these, and zeros."""
    given = {name: F.col(name) for name in KEY} | {
        name: F.col(source) for name, source in columns.items()
    }
    given["what"] = F.lit(what)
    return [
        given.get(field.name, F.lit(0)).cast(field.dataType).alias(field.name)
        for field in from_arrow_schema(FINDINGS).fields
    ]
