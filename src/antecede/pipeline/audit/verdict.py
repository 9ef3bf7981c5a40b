"""From the findings of all judges to the tables of an audit.

A large log is judged piece by piece, so a message may be found too early more than once, each time
with another late one; the latest counts.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.types import (
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from antecede.audit.history import Order
from antecede.audit.summary import CLEAR, POSSIBLE, RECORDED
from antecede.pipeline.audit.clocks import scattered_submissions
from antecede.pipeline.audit.findings import (
    BACKWARDS,
    DISORDER,
    DUPLICATE,
    INVENTION,
    LOSS,
    MIXED,
    ORDER_CODES,
    SPAN,
    VIOLATION,
)
from antecede.pipeline.schemas import RUN_ID

Moved: TypeAlias = Mapping[str, Mapping[int, int]]
"""By run and process: by how much its clock was moved."""

INVOLVED: Final = ("process", "early_sender", "late_sender")
"""The processes whose clocks a violation depends on first of all."""

INTEGERS: Final = ("process", "early_sender", "late_sender", "sender", "target")


def table(*names: str) -> StructType:
    """A table of runs; columns that name a process are short integers, the others long ones."""
    return StructType(
        [
            RUN_ID,
            *(
                StructField(name, IntegerType() if name in INTEGERS else LongType(), nullable=False)
                for name in names
            ),
        ]
    )


VIOLATIONS: Final = table(
    "process",
    "early_sender",
    "early_sequence",
    "early_delivered_ns",
    "late_sender",
    "late_sequence",
    "late_delivered_ns",
    "held_back_ns",
).add("kind", StringType(), nullable=False)
"""One row per message delivered too early at a process."""

VIOLATIONS.add("grade", StringType(), nullable=False)
SIDES: Final = ("early", "late")
IDENTITIES: Final = ("trace_id", "span_id", "operation")
ATTRIBUTES: Final = MapType(StringType(), StringType())
for _name in IDENTITIES:
    for _side in SIDES:
        VIOLATIONS.add(f"{_side}_{_name}", StringType())
for _side in SIDES:
    VIOLATIONS.add(f"{_side}_attributes", ATTRIBUTES)

DUPLICATES: Final = table(
    "process", "sender", "sequence", "deliveries", "first_delivered_ns", "last_delivered_ns"
)
"""One row per message delivered more than once at a process."""

LOSSES: Final = table("target", "sender", "sequence", "submitted_ns")
"""One row per message and process that it was submitted to and never delivered at."""

INVENTIONS: Final = table("process", "sender", "sequence", "delivered_ns")
"""One row per message delivered at a process that it was never submitted to."""


def violations(findings: DataFrame, order: Order) -> DataFrame:
    """For each early message the latest of the late ones, where events are ordered so.

    In:  findings, and run_id.
    Out: the columns of `VIOLATIONS` up to `kind`; early_position, late_position: of the deliveries.
    """
    # Of narrow columns Spark makes hash tables; of structs it would sort.
    others = {"sender": "sender", "sequence": "sequence", "ns": "delivered_ns"}
    found = (
        findings.where((F.col("what") == VIOLATION) & (F.col("order") == ORDER_CODES[order]))
        .groupBy("run_id", "process", "sender", "sequence")
        .agg(
            F.min("time_ns").alias("time_ns"),
            F.min("position").alias("position"),
            F.max("other_position").alias("late_position"),
            *(
                F.max_by(f"other_{name}", "other_position").alias(f"late_{column}")
                for name, column in others.items()
            ),
        )
    )
    same_sender = F.col("late_sender") == F.col("sender")
    return found.select(
        "run_id",
        "process",
        F.col("sender").alias("early_sender"),
        F.col("sequence").alias("early_sequence"),
        F.col("time_ns").alias("early_delivered_ns"),
        *(f"late_{column}" for column in others.values()),
        (F.col("late_delivered_ns") - F.col("time_ns")).alias("held_back_ns"),
        F.when(same_sender, F.lit("fifo")).otherwise(F.lit("transitive")).alias("kind"),
        F.col("position").alias("early_position"),
        "late_position",
    )


def identified(
    found: DataFrame, deliveries: DataFrame | None, spans: DataFrame | None
) -> DataFrame:
    """Violations with the traces and spans of both deliveries, as far as they are known.

    In:  what `violations` returns; run_id, process, position, trace_id, span_id of deliveries that
         have them; run_id, trace_id, span_id, operation, attributes of spans.
    Out: `VIOLATIONS`.
    """
    if deliveries is not None:
        places = [
            found.select("run_id", "process", F.col(f"{side}_position").alias("position"))
            for side in SIDES
        ]
        wanted = places[0].unionByName(places[1]).distinct()
        known = deliveries.join(wanted, on=wanted.columns, how="inner")
        known = known.dropDuplicates(wanted.columns)
        for side in SIDES:
            found = found.join(
                renamed(known, side, "position", "trace_id", "span_id"),
                on=["run_id", "process", f"{side}_position"],
                how="left",
            )
            if spans is not None:
                named = spans.dropDuplicates(["run_id", "trace_id", "span_id"])
                found = found.join(
                    renamed(named, side, "trace_id", "span_id", "operation", "attributes"),
                    on=["run_id", f"{side}_trace_id", f"{side}_span_id"],
                    how="left",
                )
    return found.select(
        *(
            F.col(field.name)
            if field.name in found.columns
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in VIOLATIONS.fields
        )
    )


def graded(found: DataFrame, moved: Moved) -> DataFrame:
    """Violations with what they rest on: `antecede.audit.summary.GRADES`.

    In:  what `violations` returns.
    Out: the same, and grade.
    """
    if not moved:
        return found.withColumn("grade", F.lit(RECORDED))
    rows = [(run, process, abs(ns)) for run, of in moved.items() for process, ns in of.items()]
    clocks = found.sparkSession.createDataFrame(rows, "run_id string, at int, moved_ns long")
    total = F.lit(0).cast("long")
    for role in INVOLVED:
        own = clocks.select(
            "run_id", F.col("at").alias(role), F.col("moved_ns").alias(f"{role}_ns")
        )
        found = found.join(F.broadcast(own), on=["run_id", role], how="left")
        total = total + F.coalesce(f"{role}_ns", F.lit(0))
    grade = (
        F.when(total == 0, F.lit(RECORDED))
        .when(F.col("held_back_ns") > total, F.lit(CLEAR))
        .otherwise(F.lit(POSSIBLE))
    )
    return found.withColumn("grade", grade).drop(*(f"{role}_ns" for role in INVOLVED))


def renamed(table: DataFrame, side: str, *names: str) -> DataFrame:
    """The table with these columns called after one side of a violation."""
    others = [name for name in ("run_id", "process") if name in table.columns]
    if "operation" in names:
        others = ["run_id"]
    return table.select(*others, *(F.col(name).alias(f"{side}_{name}") for name in names))


def duplicates(findings: DataFrame) -> DataFrame:
    """In: findings, and run_id. Out: `DUPLICATES`."""
    return findings.where(F.col("what") == DUPLICATE).select(
        "run_id",
        "process",
        "sender",
        "sequence",
        F.col("number").alias("deliveries"),
        F.col("time_ns").alias("first_delivered_ns"),
        F.col("other_ns").alias("last_delivered_ns"),
    )


def losses(findings: DataFrame) -> DataFrame:
    """In: findings, and run_id. Out: `LOSSES`."""
    return findings.where(F.col("what") == LOSS).select(
        "run_id",
        F.col("process").alias("target"),
        "sender",
        "sequence",
        F.col("time_ns").alias("submitted_ns"),
    )


def inventions(findings: DataFrame) -> DataFrame:
    """In: findings, and run_id. Out: `INVENTIONS`."""
    return findings.where(F.col("what") == INVENTION).select(
        "run_id", "process", "sender", "sequence", F.col("time_ns").alias("delivered_ns")
    )


def doubts(findings: DataFrame) -> DataFrame:
    """What speaks against following the clock, by run, each thing once.

    Beside what slices say themselves: `BACKWARDS` if some process has smaller positions in a
    later slice, and `MIXED` if the sequences of a sender do not simply grow from slice to slice.
    Only then can a message be submitted, in part, in one slice, and in part in another.

    In:  findings.
    Out: run, number.
    """
    earlier = (
        Window.partitionBy("run", "process")
        .orderBy("number")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    passed = F.max("other_position").over(earlier) >= F.col("position")
    mixed = F.max("other_sequence").over(earlier) >= F.col("sequence")
    backwards, differing = (F.lit(number).cast("long") for number in (BACKWARDS, MIXED))
    between = (
        findings.where(F.col("what") == SPAN)
        .select("run", F.array(F.when(passed, backwards), F.when(mixed, differing)).alias("all"))
        .select("run", F.explode("all").alias("number"))
        .where(F.col("number").isNotNull())
    )
    inside = findings.where(F.col("what") == DISORDER).select("run", "number")
    return inside.unionByName(between).distinct()


def scattered_runs(rows: DataFrame) -> DataFrame:
    """The runs in which the rows of one submission have different times.

    In:  what `counted_rows` returns.
    Out: run.
    """
    return scattered_submissions(rows).select("run").distinct()
