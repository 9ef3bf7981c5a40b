"""What a watch reads: the rows of event logs in new files, and what is wrong with those it rejects.

A row that breaks the rules of the log would stop the watch in every batch anew. So it is set aside,
with the reason, and the others are judged.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 the name that all of Spark's documents use
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from antecede_audit.eventlog.checked import REASON
from antecede_audit.eventlog.tables import check_batches, parse_lines
from antecede_audit.jobs.event_logs import PARQUET, WITNESSED
from antecede_audit.paths import local_path
from antecede_audit.spark.event_logs import lines_schema, stored_types
from antecede_audit.spark.job_names import named
from antecede_audit.spark.schemas import EVENTS
from antecede_audit.spark.storage import is_local_path, literal
from antecede_audit.spark.watch.state import write_batch

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

LINES: Final = "json"
NAMES: Final = ".processes.jsonl"
"""How files end that say what processes are called; they lie beside logs."""

FILE: Final = "file"
EXCERPT: Final = "excerpt"
EXCERPT_LENGTH: Final = 200

CHECKED: Final = StructType(
    [
        *lines_schema(WITNESSED).fields,
        StructField(FILE, StringType()),
        StructField(EXCERPT, StringType()),
    ]
)
"""Rows of logs that are right; of others only the reason, the file, and how they begin."""


def event_rows(stream: DataStreamReader, source: str, format_name: str) -> DataFrame:
    """The rows of files as they come to a folder. Out: `CHECKED`."""
    file = F.col("_metadata.file_path").alias(FILE)
    if format_name == LINES:
        lines = stream.format("text").load(literal(source)).select("value", file)
        lines = lines.where(~F.col(FILE).endswith(NAMES))
        return lines.mapInArrow(named(check_lines), CHECKED)
    stored = stored_types(first_file(source) if format_name == PARQUET else None, WITNESSED)
    schema = StructType([StructField(name, of) for name, of in stored.items()])
    rows = stream.format(format_name).schema(schema).load(literal(source))
    return rows.select(*stored, file).mapInArrow(named(check_rows), CHECKED)


def first_file(source: str) -> Path | None:
    """A Parquet file of the source, if it is on this machine and has one already."""
    if not is_local_path(source):
        return None
    names = (name for name in local_path(source).rglob("*.parquet") if name.name[0] not in "._")
    return min(names, default=None)


def check_lines(batches: Iterator[ArrowTable]) -> Iterator[ArrowTable]:
    """In: value, which are lines, and their file. Out: `CHECKED`."""
    for batch in parse_lines(batches, WITNESSED, (FILE, "value")):
        table = pa.Table.from_batches([batch])
        begins = pc.utf8_slice_codeunits(table["value"], 0, EXCERPT_LENGTH)
        shown = pc.if_else(pc.is_valid(table[REASON]), begins, None)
        yield from table.drop("value").append_column(EXCERPT, shown).to_batches()


def check_rows(batches: Iterator[ArrowTable]) -> Iterator[ArrowTable]:
    """In: columns of the event log, in whatever types, and their file. Out: `CHECKED`."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        for found in check_batches(iter([batch]), WITNESSED, (FILE,)):
            wrong = found[REASON].is_valid().to_pylist()
            begins = [
                excerpt_of(table.slice(number, 1).drop(FILE)) if is_wrong else None
                for number, is_wrong in enumerate(wrong)
            ]
            yield found.append_column(EXCERPT, pa.array(begins, pa.string()))


def excerpt_of(row: ArrowTable) -> str:
    """A table of one row in a few words."""
    return json.dumps(row.to_pylist()[0], default=str)[:EXCERPT_LENGTH]


def accepted(batch: DataFrame, place: str) -> DataFrame:
    """The rows of a batch that are right; those that are not go to this place, if there are any.

    In: `CHECKED`, run_id. Out: the event log, run_id.
    """
    if REASON not in batch.columns:
        return batch
    bad = batch.where(F.col(REASON).isNotNull()).select(
        F.col(FILE).alias("source"), F.lit("").alias("position"), REASON, EXCERPT
    )
    write_batch(bad, place, bad.count())
    good = batch.where(F.col(REASON).isNull())
    return good.select(*(log_column(name) for name in EVENTS.names), "run_id")


def log_column(name: str) -> Column:
    """A column of the event log; null, if a watch does not read it."""
    return F.col(name) if name in WITNESSED else F.lit(None).cast(EVENTS[name].dataType).alias(name)


def rejected_in(place: str) -> int:
    """How many rows of a batch were set aside, as far as this machine can tell."""
    folder = local_path(place) if is_local_path(place) else None
    if folder is None or not folder.is_dir():
        return 0
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))
