"""Spans as a table that anybody can work with: from files, or from the messages of a broker.

    register_formats(spark)
    spans = spark.read.format("otlp").load("traces/")
    spans = spans_in_values(spark.readStream.format("kafka")…)

Every row is a span or, in `rejected`, why there is none: its place, the reason and an excerpt.
"""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from antecede.core.errors import LocalError
from antecede_audit.columns.arrow_rows import Batch, batches_of, rows_of
from antecede_audit.spans.formats.catalogue import AUTO, JAEGER, OTLP, ZIPKIN, one_by_one
from antecede_audit.spans.formats.containers import DamagedFile
from antecede_audit.spans.formats.records import INSTANCE, RejectRecord, SpanRecord
from antecede_audit.spans.reading import (
    UNREADABLE,
    FileRead,
    ReadOptions,
    found_in_stream,
    read_part,
)
from antecede_audit.spans.schemas import ATTRIBUTES, FLAG, LONG, REJECT, TEXT, TEXTS, table
from antecede_audit.spans.trace_files import FilePart, find_files, parts_of
from antecede_audit.spark.job_names import named

SPAN_COLUMNS: Final = table(
    trace_id=TEXT,
    span_id=TEXT,
    parent_id=TEXT,
    follows=FLAG,
    kind=TEXT,
    process=TEXT,
    start_ns=LONG,
    end_ns=LONG,
    links=TEXTS,
    operation=TEXT,
    attributes=ATTRIBUTES,
    source=TEXT,
    rejected=pa.struct([*REJECT]),
)
"""A span in the columns that `spans_to_events` asks for; which file or topic it came from; and, if
it is none, what was wrong: then all other columns but `source` are null."""

SPAN_ROWS: Final = from_arrow_schema(SPAN_COLUMNS)
"""The same for Spark."""

SPAN_WIDTH: Final = len(SpanRecord._fields)
BROKER: Final = ("topic", "partition", "offset")
"""The columns that Kafka's tables have beside `value`."""


def spans_in_values(
    values: DataFrame, *, format_name: str = AUTO, keep: Sequence[str] = ()
) -> DataFrame:
    """The spans in a table of binary values: requests of OTLP, documents of Jaeger or Zipkin.

    Each value may be compressed. Works on streams too. `keep` names attributes that come along.

    In:  value (as Kafka has it) or content (as Spark's `binaryFile` has it); topic, partition and
         offset, or path, if they are there, name the place of what is rejected.
    Out: `SPAN_ROWS`.
    """
    column = next((name for name in ("value", "content") if name in values.columns), None)
    if column is None:
        raise LocalError("these are no values: there is no column value, and none called content")
    source, position = F.lit("value"), F.lit("")
    if set(BROKER) <= set(values.columns):
        source = F.format_string("%s[%d]", F.col("topic"), F.col("partition"))
        position = F.format_string("offset %d", F.col("offset"))
    elif "path" in values.columns:
        source = F.col("path")
    chosen = values.select(
        source.alias("source"), position.alias("position"), F.col(column).alias("value")
    )
    options = ReadOptions(format_name=format_name, keep=frozenset(keep))
    return chosen.mapInArrow(named(partial(value_batches, options=options)), SPAN_ROWS)


def value_batches(batches: Iterable[Batch], options: ReadOptions) -> Iterator[Batch]:
    """The spans of values that come in batches."""
    rows = rows_of(batches, ("source", "position", "value"))
    return span_batches(
        (where, record)
        for source, position, value in rows
        if value is not None
        for where, record in records_in_value(source, position, value, options)
    )


def records_in_value(
    source: str, position: str, value: bytes, options: ReadOptions
) -> Iterator[tuple[str, SpanRecord | RejectRecord]]:
    """The spans in one value, and what in it could not be read."""
    damages: list[DamagedFile] = []
    before = f"{position}: " if position else ""
    for name, _, found in found_in_stream(source, io.BytesIO(value), options, damages):
        for record in one_by_one(found):
            if isinstance(record, RejectRecord):
                place = before + record.position if record.position else position
                yield name, record._replace(position=place)
            elif isinstance(record, SpanRecord):
                yield name, record
    for damage in dict.fromkeys(damages):
        yield damage.name, RejectRecord(position, damage.reason, "")


def span_batches(records: Iterable[tuple[str, SpanRecord | RejectRecord]]) -> Iterator[Batch]:
    """Spans and rejects, each with its source, as batches of `SPAN_ROWS`."""
    return batches_of((row_of(source, record) for source, record in records), SPAN_COLUMNS)


def row_of(source: str, record: SpanRecord | RejectRecord) -> tuple[Any, ...]:
    """A row of `SPAN_ROWS`."""
    if isinstance(record, RejectRecord):
        return (*[None] * SPAN_WIDTH, source, record._asdict())
    named = record._replace(process=record.process.replace(INSTANCE, "@"))
    return (*named, source, None)


class PartOfFiles(InputPartition):
    """A file, or a stretch of it, for one task."""

    def __init__(self, part: FilePart) -> None:
        super().__init__(tuple(part))
        self.part: Final = part


class SpanReader(DataSourceReader):
    """Reads the files of a `TraceSource`, part by part."""

    def __init__(self, paths: Sequence[str], options: ReadOptions) -> None:
        self.paths: Final = tuple(paths)
        self.options: Final = options

    def partitions(self) -> Sequence[InputPartition]:
        """A task for every part."""
        files = find_files(self.paths).files
        return [PartOfFiles(part) for part in parts_of(files)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The spans of one part, in batches."""
        assert isinstance(partition, PartOfFiles), "they are made above"
        return span_batches(spans_in_part(partition.part, self.options))


def spans_in_part(
    part: FilePart, options: ReadOptions
) -> Iterator[tuple[str, SpanRecord | RejectRecord]]:
    """The spans of one part, and what is rejected; `LocalError` if it cannot be read at all."""
    for _, _, source, record in read_part(part, options):
        if isinstance(record, SpanRecord | RejectRecord):
            yield source, record
        elif isinstance(record, FileRead) and record.format == UNREADABLE:
            raise LocalError(f"cannot read {source}: {record.damage}")


class TraceSource(DataSource):
    """Files of spans: `spark.read.format(…).load(path)`, with `option("keep", "name,name")`."""

    format_name = AUTO

    @classmethod
    def name(cls) -> str:
        return cls.format_name

    def schema(self) -> StructType:
        return SPAN_ROWS

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 there is only one
        keep = self.options.get("keep", "")
        names = frozenset(name.strip() for name in keep.split(",") if name.strip())
        options = ReadOptions(format_name=self.format_name, keep=names)
        return SpanReader(paths_in(self.options.get("path"), self.options), options)


class OtlpSource(TraceSource):
    """Requests of OpenTelemetry, in JSON or Protocol Buffers."""

    format_name = OTLP


class JaegerSource(TraceSource):
    """Documents of Jaeger."""

    format_name = JAEGER


class ZipkinSource(TraceSource):
    """Documents of Zipkin."""

    format_name = ZIPKIN


def paths_in(path: str | None, options: Any) -> list[str]:  # noqa: ANN401 Spark's own mapping
    """What somebody gave to `load`: a path, or several."""
    if path is not None:
        return [path]
    several = options.get("paths")
    if several is None:
        raise LocalError("nothing to read: give a path to load()")
    return [str(one) for one in json.loads(several)]


def register_formats(spark: SparkSession) -> None:
    """Let this session read `otlp`, `jaeger` and `zipkin` as formats of their own."""
    for source in (OtlpSource, JaegerSource, ZipkinSource):
        spark.dataSource.register(source)
