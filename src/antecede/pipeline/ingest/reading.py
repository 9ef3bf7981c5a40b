"""The first stage: parts of files in, records out. Python workers open the files themselves."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from antecede.pipeline.ingest.arrow_rows import BATCH_ROWS, Batch, arrow_schema, at_rest, rows_of
from antecede.pipeline.ingest.containers import HEAD_BYTES, Damage, contents
from antecede.pipeline.ingest.formats import parquet_tables
from antecede.pipeline.ingest.formats.catalogue import (
    AUTO,
    MESSAGES,
    PARQUET,
    SPANS_OF_DOCUMENT,
    FoundTogether,
    can_be_cut,
    detected,
    read_content,
    read_documents,
    read_lines,
    unknown_content,
)
from antecede.pipeline.ingest.formats.otlp_columns import SpanColumns
from antecede.pipeline.ingest.formats.records import KEEP_NOTHING, Copy, Reject, Span
from antecede.pipeline.ingest.layouts import PARTS, RECORDS
from antecede.pipeline.ingest.packing import packing
from antecede.pipeline.ingest.parcels import PARCELS
from antecede.pipeline.ingest.sources import (
    WHOLE,
    Part,
    Stretch,
    file_fingerprint,
    fingerprint_of,
    head_of,
    open_file,
)

NOTHING_KNOWN: Final[frozenset[str]] = frozenset()
KNOWN: Final = "known already"
"""The format of a file that an earlier batch had."""


class FileRead(NamedTuple):
    """A file, or a stretch of one, that was read to its end."""

    format: str
    records: int
    fingerprint: str | None
    """Null in all stretches of a file but the first."""


Numbered: TypeAlias = tuple[int, int, str, Span | Copy | Reject | FileRead]
NumberedTogether: TypeAlias = tuple[int, int, str, FoundTogether | FileRead]
"""A record, or many spans, of which the first has this number."""

FilesFound: TypeAlias = Iterator[tuple[str, str, Iterator[FoundTogether]]]
"""Each file: its name, its format, and what is found in it."""

COLUMN_OF: Final = {Span: "span", Copy: "copy", Reject: "reject", FileRead: "file"}
UNRECOGNISED: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How files are to be read."""

    format_name: str = AUTO
    unit: str | None = None
    """Of times in message tables that do not say."""
    keep: frozenset[str] = KEEP_NOTHING
    """The attributes of spans that come along."""
    known: frozenset[str] = NOTHING_KNOWN
    """The fingerprints of files that are passed over."""

    def format_of(self, head: bytes) -> str | None:
        """The format of a file that begins like this."""
        return detected(head, self.unit) if self.format_name == AUTO else self.format_name


def read_parts(parts: DataFrame, manner: Manner, buckets: int) -> DataFrame:
    """Every record of every part, packed.

    In:  number, path, start, end.
    Out: parcels of `packing`.
    """
    stage = partial(packed_parts, manner=manner, buckets=buckets)
    return parts.select(*PARTS.names).mapInArrow(stage, PARCELS)


def packed_parts(batches: Iterable[Batch], manner: Manner, buckets: int) -> Iterator[Batch]:
    """The records of the parts in these batches, packed."""
    return packing(read_batches(batches, manner), buckets)


def read_contents(
    contents: DataFrame, numbers: Mapping[str, int], manner: Manner, buckets: int
) -> DataFrame:
    """Every record of files that Spark has read; `numbers` says which part each of them is.

    In:  path, content.
    Out: as of `read_parts`.
    """
    stage = partial(packed_contents, numbers=numbers, manner=manner, buckets=buckets)
    return contents.select("path", "content").mapInArrow(stage, PARCELS)


def packed_contents(
    batches: Iterable[Batch], numbers: Mapping[str, int], manner: Manner, buckets: int
) -> Iterator[Batch]:
    """The records of files that come in batches, packed."""
    return packing(content_batches(batches, numbers, manner), buckets)


def content_batches(
    batches: Iterable[Batch], numbers: Mapping[str, int], manner: Manner
) -> Iterator[Batch]:
    """The records of files that come in batches."""
    return record_batches(
        record
        for path, data in rows_of(batches, ("path", "content"))
        for record in numbered(
            Part(numbers[path], path, 0, WHOLE),
            fingerprint_of(len(data), data[:HEAD_BYTES], data[-HEAD_BYTES:]),
            manner,
            partial(found_in_stream, path, io.BytesIO(data), manner),
        )
    )


def read_batches(batches: Iterable[Batch], manner: Manner) -> Iterator[Batch]:
    """The records of the parts in these batches, as batches."""
    parts = (Part(*row) for row in rows_of(batches, PARTS.names))
    records = (record for part in parts for record in read_together(part, manner))
    return at_rest(record_batches(records))


def record_batches(records: Iterable[NumberedTogether]) -> Iterator[Batch]:
    """Records as batches, those of one sort together."""
    chunk: list[Numbered] = []
    for number, ordinal, source, record in records:
        if not isinstance(record, SpanColumns):
            chunk.append((number, ordinal, source, record))
        elif len(record):
            yield columns_batch(number, ordinal, source, record)
        if len(chunk) == BATCH_ROWS:
            yield from alike_batches(chunk)
            chunk = []
    yield from alike_batches(chunk)


def alike_batches(chunk: list[Numbered]) -> Iterator[Batch]:
    """A batch for every sort of records in the chunk."""
    for kind in COLUMN_OF:
        alike = [record for record in chunk if type(record[3]) is kind]
        if alike:
            yield batch_of(alike, COLUMN_OF[kind])


def columns_batch(number: int, ordinal: int, source: str, spans: SpanColumns) -> Batch:
    """Many spans as a batch."""
    schema = arrow_schema(RECORDS)
    count = len(spans)
    known = {
        "part": pa.repeat(pa.scalar(number, schema.field("part").type), count),
        "ordinal": pa.array(np.arange(ordinal, ordinal + count)),
        "source": pa.repeat(source, count),
        "span": pa.StructArray.from_arrays(spans.columns, fields=list(schema.field("span").type)),
    }
    arrays = [known.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def batch_of(records: list[Numbered], column: str) -> Batch:
    """Records of one sort as a batch, in which the other columns are null."""
    schema = arrow_schema(RECORDS)
    part, ordinal, source, values = zip(*records, strict=True)
    arrays = [
        pa.array(part, schema.field("part").type),
        pa.array(ordinal, schema.field("ordinal").type),
        pa.array(source, schema.field("source").type),
    ]
    for field in schema:
        if field.name == column:
            arrays.append(struct_array([*zip(*values, strict=True)], field.type))
        elif pa.types.is_struct(field.type):
            arrays.append(pa.nulls(len(records), field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def struct_array(columns: Sequence[Sequence[object]], kind: Any) -> Any:  # noqa: ANN401 untyped
    """An Arrow array of structs from the values of their fields."""
    arrays = [pa.array(column, field.type) for column, field in zip(columns, kind, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def read_part(part: Part, manner: Manner) -> Iterator[Numbered]:
    """The records of a part, numbered, and at the end of each file in it a count of them."""
    for number, ordinal, source, record in read_together(part, manner):
        if isinstance(record, SpanColumns):
            for place, span in enumerate(record.spans(), start=ordinal):
                yield number, place, source, span
        else:
            yield number, ordinal, source, record


def read_together(part: Part, manner: Manner) -> Iterator[NumberedTogether]:
    """The same, with many spans at a time where they come like that."""
    try:
        fingerprint = file_fingerprint(part.path)
    except OSError as error:
        reject = Reject("", f"cannot be read: {error.strerror or error}", "")
        return iter([] if part.start else [(part.number, 0, part.path, reject)])
    return numbered(part, fingerprint, manner, partial(found_in_part, part, manner))


def numbered(
    part: Part,
    fingerprint: str,
    manner: Manner,
    opened: Callable[[list[Damage]], FilesFound],
) -> Iterator[NumberedTogether]:
    """The records of a part, which is opened with a list for damages; nothing if it is known."""
    ordinal = 0
    damages: list[Damage] = []
    if fingerprint in manner.known:
        if part.start == 0:
            yield part.number, 0, part.path, FileRead(KNOWN, 0, fingerprint)
        return
    for source, kind, found in opened(damages):
        before = ordinal
        for record in found:
            yield part.number, ordinal, source, record
            ordinal += len(record) if isinstance(record, SpanColumns) else 1
        read = FileRead(kind, ordinal - before, None if part.start else fingerprint)
        yield part.number, ordinal, source, read
        ordinal += 1
    for damage in dict.fromkeys(damages):
        yield part.number, ordinal, damage.name, Reject("", damage.reason, "")
        ordinal += 1


def found_in_part(part: Part, manner: Manner, damages: list[Damage]) -> FilesFound:
    """Each file in a part: its name, its format, and what is found in it."""
    head = head_of(part.path)
    is_cut = part.start > 0 or part.end != WHOLE
    with open_file(part.path) as file:
        if head.startswith(PARQUET):
            stretch = (part.start, part.end) if is_cut else None
            yield part.path, MESSAGES, parquet_tables.copies_in(file, manner.unit, stretch)
        elif is_cut and can_be_cut(head, manner.format_name, manner.unit):
            format_name = manner.format_of(head) or UNRECOGNISED
            with closing(Stretch(part)) as lines:
                yield (
                    part.path,
                    format_name,
                    found_in_stretch(lines, part, head, format_name, manner),
                )
        elif part.start == 0:
            yield from found_in_stream(part.path, file, manner, damages)


def found_in_stream(
    name: str, stream: IO[bytes], manner: Manner, damages: list[Damage]
) -> FilesFound:
    """Each file in a stream, packed or not: its name, its format, and what is found in it."""
    for content in contents(name, stream, damages):
        kind = manner.format_of(content.head)
        if kind is not None:
            yield content.name, kind, read_content(content, kind, manner.unit, manner.keep)
        elif content.head or not damages:
            reject = unknown_content(content.head, manner.unit)
            yield content.name, UNRECOGNISED, iter([reject])


def found_in_stretch(
    stretch: Stretch, part: Part, head: bytes, format_name: str, manner: Manner
) -> Iterator[FoundTogether]:
    """What is found in a stretch of a file of lines."""
    first_byte = stretch.offset if part.start else None
    if format_name in SPANS_OF_DOCUMENT:
        return read_documents(stretch, format_name, first_byte, manner.keep)
    return read_lines(head, stretch, format_name, manner.unit, first_byte)
