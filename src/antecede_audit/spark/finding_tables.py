"""What Spark makes of the findings of all judges: tables, and their figures."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, StructField, StructType

from antecede_audit.columns.arrow_rows import Schema
from antecede_audit.columns.packed_batch import pack_integers, unpack_integers
from antecede_audit.jobs.worker_files import SUMS, without_leftovers, write_parquet_part
from antecede_audit.judging.copies import ArrowBatch
from antecede_audit.judging.definition import Order
from antecede_audit.judging.finding_tables import (
    ORIGINS,
    PLACED,
    REPORTED,
    SIDES,
    VIOLATIONS,
    Moved,
    arrow_table,
    chosen,
    latest_cause_of_each,
)
from antecede_audit.judging.raw_findings import (
    BACKWARDS,
    DISORDER,
    MIXED,
    ORDER_CODES,
    PACKED_ROWS,
    SPAN,
    VIOLATION,
    violations_in,
)
from antecede_audit.judging.violation_figures import ViolationFigures
from antecede_audit.spark.audit_stages import spread
from antecede_audit.spark.clocks import scattered_submissions
from antecede_audit.spark.job_names import named
from antecede_audit.spark.outputs import task_of_spark

EARLY: Final = StructType([StructField(name, BinaryType()) for name in ("figures", "content")])
"""Early messages, many in a row, and what is to be counted of all those of a task."""

NUMBERS: Final = ("run", *(name for name in PLACED.names if name != "run_id"))
"""The columns of early messages."""


def violations_of(
    findings: DataFrame, order: Order, names: Sequence[str], moved: Moved, buckets: int
) -> DataFrame:
    """The messages that came too early, where events are ordered so.

    In:  `PACKED`; what runs are called, by how much clocks were moved, and how many buckets there
         are.
    Out: `EARLY`.
    """
    asked = findings.where((F.col("what") == VIOLATION) & (F.col("order") == ORDER_CODES[order]))
    packed = asked.select(F.col("process").alias("partition"), "content")
    find = partial(early_in, names=names, moved=moved)
    return spread(packed, buckets, "partition").mapInArrow(named(find), EARLY)


def early_in(
    batches: Iterator[ArrowBatch], names: Sequence[str], moved: Moved
) -> Iterator[ArrowBatch]:
    """The early messages in these packed batches. Out: `EARLY`."""
    contents = [content for batch in batches for content in batch.column("content")]
    early = latest_cause_of_each(violations_in(contents), moved)
    figures: bytes | None = ViolationFigures.of(early, names).packed()
    for begin in range(0, len(early["run"]), PACKED_ROWS):
        part = chosen(early, slice(begin, begin + PACKED_ROWS))
        content = pack_integers([part[name] for name in NUMBERS])
        columns = [pa.array([one], pa.binary()) for one in (figures, content)]
        yield pa.record_batch(columns, names=EARLY.names)
        figures = None


def figures_of(early: DataFrame) -> ViolationFigures:
    """What is counted of them. In: `EARLY`."""
    rows = early.where(F.col("figures").isNotNull()).select("figures").collect()
    return ViolationFigures.joined(
        [ViolationFigures.unpacked(bytes(row["figures"])) for row in rows]
    )


def violations(early: DataFrame, names: Sequence[str], *, traced: bool) -> DataFrame:
    """In: `EARLY`. Out: `VIOLATIONS`; of those that may be traced `PLACED`."""
    schema = PLACED if traced else VIOLATIONS
    unpack = partial(rows_in, names=names, schema=schema)
    return early.select("content").mapInArrow(named(unpack), from_arrow_schema(schema))


def write_violations(early: DataFrame, names: Sequence[str], folder: Path) -> None:
    """Have workers write what `violations` returns. In: `EARLY`; nothing there may be traced."""
    folder.mkdir(parents=True)
    unpack = partial(rows_in, names=names, schema=VIOLATIONS)
    write = partial(
        write_parquet_part,
        stage=unpack,
        folder=str(folder),
        names=VIOLATIONS.names,
        counted=(),
        numbered=task_of_spark,
    )
    early.select("content").mapInArrow(named(write), from_arrow_schema(SUMS)).collect()
    without_leftovers(folder)


def rows_in(
    batches: Iterable[ArrowBatch], names: Sequence[str], schema: Schema
) -> Iterator[ArrowBatch]:
    """The early messages in these packed batches, as rows of this schema."""
    for batch in batches:
        for content in batch.column("content"):
            columns = unpack_integers([content], len(NUMBERS))
            early = dict(zip(NUMBERS, columns, strict=True))
            yield from arrow_table(schema, early, names).to_batches()


def reported(findings: DataFrame, name: str) -> DataFrame:
    """In: findings, and run_id. Out: the table of this name, one of `REPORTED`."""
    what, schema = REPORTED[name]
    columns = [
        F.col(ORIGINS.get(field.name, field.name)).cast(field.dataType).alias(field.name)
        for field in from_arrow_schema(schema).fields
    ]
    return findings.where(F.col("what") == what).select(columns)


def identified(found: DataFrame, deliveries: DataFrame, spans: DataFrame | None) -> DataFrame:
    """Violations with the traces and spans of both deliveries, as far as they are known.

    In:  `PLACED`; run_id, process, position, trace_id, span_id of deliveries; run_id, trace_id,
         span_id, operation, attributes of spans.
    Out: `VIOLATIONS`.
    """
    early, late = (
        found.select("run_id", "process", F.col(f"{side}_position").alias("position"))
        for side in SIDES
    )
    wanted = early.unionByName(late).distinct()
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
    there = {name: F.col(name) for name in found.columns}
    return found.select(
        *(
            there.get(field.name, F.lit(None).cast(field.dataType)).alias(field.name)
            for field in from_arrow_schema(VIOLATIONS).fields
        )
    )


def renamed(table: DataFrame, side: str, *names: str) -> DataFrame:
    """The table with these columns called after one side of a violation."""
    others = [name for name in ("run_id", "process") if name in table.columns]
    if "operation" in names:
        others = ["run_id"]
    return table.select(*others, *(F.col(name).alias(f"{side}_{name}") for name in names))


def clock_contradictions(findings: DataFrame) -> DataFrame:
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
