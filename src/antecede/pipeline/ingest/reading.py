"""The first stage: parts of files in, records out. Python workers open the files themselves."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from typing import IO, Any, Final, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from antecede.pipeline.ingest.arrow_rows import BATCH_ROWS, Batch, arrow_schema, rows_of
from antecede.pipeline.ingest.containers import Damage, contents
from antecede.pipeline.ingest.formats import parquet_tables
from antecede.pipeline.ingest.formats.catalogue import (
    AUTO,
    MESSAGES,
    PARQUET,
    SPANS_OF_DOCUMENT,
    Found,
    detected,
    read_content,
    read_documents,
    read_lines,
    unknown_content,
)
from antecede.pipeline.ingest.formats.records import KEEP_NOTHING, Copy, Reject, Span
from antecede.pipeline.ingest.layouts import PARTS, RECORDS
from antecede.pipeline.ingest.sources import WHOLE, Part, Stretch, head_of, open_file

FileRead: TypeAlias = tuple[str, int]
"""The format of a file that was read to its end, and how many records it had."""

Numbered: TypeAlias = tuple[int, int, str, Span | Copy | Reject | FileRead]

FilesFound: TypeAlias = Iterator[tuple[str, str, Iterator[Found]]]
"""Each file: its name, its format, and what is found in it."""

COLUMN_OF: Final = {Span: "span", Copy: "copy", Reject: "reject", tuple: "file"}
UNRECOGNISED: Final = "unknown"


def read_parts(
    parts: DataFrame, form: str, unit: str | None, keep: frozenset[str] = KEEP_NOTHING
) -> DataFrame:
    """Every record of every part; of the attributes of spans those that are to be kept.

    In:  number, path, start, end.
    Out: part, ordinal, source, and one of span, copy, reject, file.
    """
    return parts.mapInArrow(partial(read_batches, form=form, unit=unit, keep=keep), RECORDS)


def read_contents(
    contents: DataFrame,
    numbers: Mapping[str, int],
    form: str,
    unit: str | None,
    keep: frozenset[str] = KEEP_NOTHING,
) -> DataFrame:
    """Every record of files that Spark has read; `numbers` says which part each of them is.

    In:  path, content.
    Out: as of `read_parts`.
    """
    task = partial(content_batches, numbers=numbers, form=form, unit=unit, keep=keep)
    return contents.select("path", "content").mapInArrow(task, RECORDS)


def content_batches(
    batches: Iterable[Batch],
    numbers: Mapping[str, int],
    form: str,
    unit: str | None,
    keep: frozenset[str],
) -> Iterator[Batch]:
    """The records of files that come in batches."""
    return record_batches(
        record
        for path, data in rows_of(batches, ("path", "content"))
        for record in numbered(
            numbers[path],
            partial(found_in_stream, path, io.BytesIO(data), form, unit, keep),
        )
    )


def read_batches(
    batches: Iterable[Batch], form: str, unit: str | None, keep: frozenset[str]
) -> Iterator[Batch]:
    """The records of the parts in these batches, as batches."""
    parts = (Part(*row) for row in rows_of(batches, PARTS.names))
    return record_batches(record for part in parts for record in read_part(part, form, unit, keep))


def record_batches(records: Iterable[Numbered]) -> Iterator[Batch]:
    """Records as batches, those of one sort together."""
    records = iter(records)
    while chunk := list(islice(records, BATCH_ROWS)):
        for kind in COLUMN_OF:
            alike = [record for record in chunk if type(record[3]) is kind]
            if alike:
                yield batch_of(alike, COLUMN_OF[kind])


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
            arrays.append(struct_array(values, field.type))
        elif pa.types.is_struct(field.type):
            arrays.append(pa.nulls(len(records), field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def struct_array(values: Iterable[tuple[object, ...]], kind: Any) -> Any:  # noqa: ANN401 untyped
    """An Arrow array of structs from tuples of their fields."""
    columns = zip(*values, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, kind, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def read_part(
    part: Part, form: str, unit: str | None, keep: frozenset[str] = KEEP_NOTHING
) -> Iterator[Numbered]:
    """The records of a part, numbered, and at the end of each file in it a count of them."""
    return numbered(part.number, partial(found_in_part, part, form, unit, keep))


def numbered(number: int, opened: Callable[[list[Damage]], FilesFound]) -> Iterator[Numbered]:
    """The records of the part with this number, which is opened with a list for damages."""
    ordinal = 0
    damages: list[Damage] = []
    for source, kind, found in opened(damages):
        records = 0
        for record in found:
            yield number, ordinal, source, record
            ordinal += 1
            records += 1
        yield number, ordinal, source, (kind, records)
        ordinal += 1
    for damage in dict.fromkeys(damages):
        yield number, ordinal, damage.name, Reject("", damage.reason, "")
        ordinal += 1


def found_in_part(
    part: Part, form: str, unit: str | None, keep: frozenset[str], damages: list[Damage]
) -> FilesFound:
    """Each file in a part: its name, its format, and what is found in it."""
    try:
        head = head_of(part.path)
        if head.startswith(PARQUET):
            with open_file(part.path) as file:
                groups = None if part.end == WHOLE else range(part.start, part.end)
                yield part.path, MESSAGES, parquet_tables.copies_in(file, unit, groups)
        elif part.start or part.end != WHOLE:
            # Only a file whose format is known is cut.
            certain = detected(head, unit) or UNRECOGNISED if form == AUTO else form
            with closing(Stretch(part)) as stretch:
                found = found_in_stretch(stretch, part, head, certain, unit, keep)
                yield part.path, certain, found
        else:
            with open_file(part.path) as file:
                for content in contents(part.path, file, damages):
                    kind = detected(content.head, unit) if form == AUTO else form
                    if kind is not None:
                        yield content.name, kind, read_content(content, kind, unit, keep)
                    elif content.head or not damages:
                        yield (
                            content.name,
                            UNRECOGNISED,
                            iter([unknown_content(content.head, unit)]),
                        )
    except OSError as error:
        damages.append(Damage(part.path, f"cannot be read: {error.strerror or error}"))


def found_in_stream(
    name: str,
    stream: IO[bytes],
    form: str,
    unit: str | None,
    keep: frozenset[str],
    damages: list[Damage],
) -> FilesFound:
    """Each file in a stream, packed or not: its name, its format, and what is found in it."""
    for content in contents(name, stream, damages):
        kind = detected(content.head, unit) if form == AUTO else form
        if kind is not None:
            yield content.name, kind, read_content(content, kind, unit, keep)
        elif content.head or not damages:
            reject = unknown_content(content.head, unit)
            yield content.name, UNRECOGNISED, iter([reject])


def found_in_stretch(
    stretch: Stretch, part: Part, head: bytes, form: str, unit: str | None, keep: frozenset[str]
) -> Iterator[Found]:
    """What is found in a stretch of a file of lines."""
    first_byte = stretch.offset if part.start else None
    if form in SPANS_OF_DOCUMENT:
        return read_documents(stretch, form, first_byte, keep)
    return read_lines(head, stretch, form, unit, first_byte)
