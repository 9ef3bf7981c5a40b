"""Parts of files to records, by Python workers that open the files themselves.

A file that cannot be opened, or of which nothing can be used, would be missing from results that
look complete: the ingest fails before it writes anything, and names it. A file that is truncated or
damaged further on is used up to there, and the summary says how far that was.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from antecede.core.errors import LocalError
from antecede_audit.columns.arrow_rows import (
    BATCH_ROWS,
    Batch,
    Schema,
    batch_of_columns,
    batch_of_rows,
    conform,
    rows_of,
)
from antecede_audit.shuffle import Keyed
from antecede_audit.spans import summary, trace_files
from antecede_audit.spans.formats.catalogue import (
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
from antecede_audit.spans.formats.containers import DamagedFile, contents, damage_of
from antecede_audit.spans.formats.message_tables import DAMAGED_PARQUET, copies_in_parquet
from antecede_audit.spans.formats.otlp_columns import SpanColumns
from antecede_audit.spans.formats.records import (
    KEEP_NOTHING,
    MessageRecord,
    RejectRecord,
    SpanRecord,
)
from antecede_audit.spans.partitioning import partition_records
from antecede_audit.spans.schemas import COPY, FILE, PARTS, RECORDS, REJECT, SPAN

NOTHING_KNOWN: Final[frozenset[str]] = frozenset()
KNOWN: Final = "known already"
"""The format of a file that an earlier batch had."""
DAMAGED: Final = "damaged"
"""The format of a row that says how much was read of a file before its damage."""
UNREADABLE: Final = "unreadable"
"""The format of a row that says why nothing of a file can be used: the ingest fails."""

FileRows: TypeAlias = Sequence[Mapping[str, Any]]
"""Rows of `FILES`."""

NOT_READ: Final = (KNOWN, DAMAGED, UNREADABLE)
"""The formats of rows that count no records."""

SHOWN: Final = 5
"""Of files that cannot be read this many are named."""


class FileRead(NamedTuple):
    """A file, or a stretch of one, that was read to its end; or, once more, why it was not."""

    format: str
    records: int
    fingerprint: str | None
    """Null in all stretches of a file but the first."""
    damage: str | None = None


Numbered: TypeAlias = tuple[int, int, str, SpanRecord | MessageRecord | RejectRecord | FileRead]
NumberedTogether: TypeAlias = tuple[int, int, str, FoundTogether | FileRead]
"""A record, or many spans, of which the first has this number."""

FilesFound: TypeAlias = Iterator[tuple[str, str, Iterator[FoundTogether]]]
"""Each file: its name, its format, and what is found in it."""

SORTS: Final[dict[type, tuple[str, Schema]]] = {
    SpanRecord: ("span", SPAN),
    MessageRecord: ("copy", COPY),
    RejectRecord: ("reject", REJECT),
    FileRead: ("file", FILE),
}
"""Where in `RECORDS` each sort of record stands, and its columns there."""

PLACED: Final = pa.schema([*RECORDS][:3])
UNRECOGNISED: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
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


def read_parts(batches: Iterable[Batch], options: ReadOptions, keys: int) -> Iterator[Keyed]:
    """Every record of every part, keyed.

    In:  number, path, start, end.
    Out: what `partition_records` yields.
    """
    parts = (trace_files.FilePart(*row) for row in rows_of(batches, PARTS.names))
    records = (record for part in parts for record in read_together(part, options))
    return partition_records(record_batches(records), keys)


def read_contents(
    batches: Iterable[Batch], numbers: Mapping[str, int], options: ReadOptions, keys: int
) -> Iterator[Keyed]:
    """Every record of files that Spark has read; `numbers` says which part each of them is.

    In:  path, content.
    Out: what `partition_records` yields.
    """
    records = (
        record
        for path, data in rows_of(batches, ("path", "content"))
        for record in with_ordinals(
            trace_files.FilePart(numbers[path], path, 0, trace_files.WHOLE),
            partial(trace_files.fingerprint_of, data),
            options,
            partial(found_in_stream, path, io.BytesIO(data), options),
        )
    )
    return partition_records(record_batches(records), keys)


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
    """A batch for every sort of records in the chunk, in which all other columns are null."""
    for kind, (name, fields) in SORTS.items():
        alike = [record for record in chunk if type(record[3]) is kind]
        if alike:
            part, ordinal, source, values = zip(*alike, strict=True)
            places = batch_of_columns([part, ordinal, source], PLACED)
            yield conform(RECORDS, {name: batch_of_rows(values, fields).to_struct_array()}, places)


def columns_batch(number: int, ordinal: int, source: str, spans: SpanColumns) -> Batch:
    """Many spans as a batch."""
    count = len(spans)
    known = {
        "part": np.full(count, number),
        "ordinal": np.arange(ordinal, ordinal + count),
        "source": pa.repeat(source, count),
        "span": pa.record_batch([*spans.columns], schema=SPAN).to_struct_array(),
    }
    return conform(RECORDS, known)


def read_part(part: trace_files.FilePart, options: ReadOptions) -> Iterator[Numbered]:
    """The records of a part, numbered, and at the end of each file in it a count of them."""
    for number, ordinal, source, record in read_together(part, options):
        if isinstance(record, SpanColumns):
            for place, span in enumerate(record.spans(), start=ordinal):
                yield number, place, source, span
        else:
            yield number, ordinal, source, record


def read_together(part: trace_files.FilePart, options: ReadOptions) -> Iterator[NumberedTogether]:
    """The same, with many spans at a time where they come like that."""
    fingerprinted = partial(trace_files.file_fingerprint, part.path)
    return with_ordinals(part, fingerprinted, options, partial(found_in_part, part, options))


def with_ordinals(
    part: trace_files.FilePart,
    fingerprinted: Callable[[], str],
    options: ReadOptions,
    opened: Callable[[list[DamagedFile]], FilesFound],
) -> Iterator[NumberedTogether]:
    """The records of a part, which is opened with a list for damages; nothing if it is known."""
    ordinal, used = 0, 0
    damages: list[DamagedFile] = []
    broken: list[DamagedFile] = []
    try:
        # The whole file is hashed once, by whoever reads its first part.
        fingerprint = None if part.start else fingerprinted()
        if fingerprint in options.known:
            yield part.number, 0, part.path, FileRead(KNOWN, 0, fingerprint)
            return
        for source, kind, found in opened(damages):
            before = ordinal
            for record in found:
                yield part.number, ordinal, source, record
                count = len(record) if isinstance(record, SpanColumns) else 1
                ordinal += count
                if not isinstance(record, RejectRecord):
                    used += count
                elif record.reason == DAMAGED_PARQUET:
                    broken.append(DamagedFile(source, record.reason))
            yield part.number, ordinal, source, FileRead(kind, ordinal - before, fingerprint)
            ordinal += 1
    except OSError as error:
        damages.append(damage_of(part.path, error))
    for damage in dict.fromkeys(damages):
        yield part.number, ordinal, damage.name, RejectRecord("", damage.reason, "")
        ordinal += 1
    for damage in [*damages, *broken][:1]:
        kind = UNREADABLE if any(one.is_unreadable for one in damages) else DAMAGED
        read = FileRead(kind, used, None, damage.reason)
        yield part.number, ordinal, part.path, read


def found_in_part(
    part: trace_files.FilePart, options: ReadOptions, damages: list[DamagedFile]
) -> FilesFound:
    """Each file in a part: its name, its format, and what is found in it."""
    head = trace_files.head_of(part.path)
    is_cut = part.start > 0 or part.end != trace_files.WHOLE
    with trace_files.open_file(part.path) as file:
        if head.startswith(PARQUET):
            stretch = (part.start, part.end) if is_cut else None
            yield part.path, MESSAGES, copies_in_parquet(file, options.unit, stretch)
        elif is_cut and can_be_cut(head, options.format_name, options.unit):
            format_name = options.format_of(head) or UNRECOGNISED
            with closing(trace_files.ByteRange(part)) as lines:
                yield (
                    part.path,
                    format_name,
                    found_in_stretch(lines, part, head, format_name, options),
                )
        elif part.start == 0:
            yield from found_in_stream(part.path, file, options, damages)


def found_in_stream(
    name: str, stream: IO[bytes], options: ReadOptions, damages: list[DamagedFile]
) -> FilesFound:
    """Each file in a stream, packed or not: its name, its format, and what is found in it."""
    for content in contents(name, stream, damages):
        kind = options.format_of(content.head)
        if kind is not None:
            yield content.name, kind, read_content(content, kind, options.unit, options.keep)
        elif content.head or not damages:
            reject = unknown_content(content.head)
            yield content.name, UNRECOGNISED, iter([reject])


def found_in_stretch(
    stretch: trace_files.ByteRange,
    part: trace_files.FilePart,
    head: bytes,
    format_name: str,
    options: ReadOptions,
) -> Iterator[FoundTogether]:
    """What is found in a stretch of a file of lines."""
    first_byte = stretch.offset if part.start else None
    if format_name in SPANS_OF_DOCUMENT:
        return read_documents(stretch, format_name, first_byte, options.keep)
    return read_lines(head, stretch, format_name, options.unit, first_byte)


def check_readable(files: FileRows) -> None:
    """`LocalError` that names them if some files cannot be used at all."""
    failed = unreadable_among(files)
    if failed:
        shown = [f"{path} ({failed[path]})" for path in sorted(failed)]
        more = f" and {len(shown) - SHOWN:,} more" if len(shown) > SHOWN else ""
        raise LocalError(
            f"cannot read {', '.join(shown[:SHOWN])}{more}. "
            "Nothing was written: mend what cannot be read, or leave it out"
        )


def unreadable_among(files: FileRows) -> dict[str, str]:
    """By path: why nothing of a file can be used. Of a large file no part must be usable."""
    broken = [file for file in files if file["format"] == DAMAGED]
    parts = {(file["part"], file["source"]) for file in broken}
    used: Counter[str] = Counter()
    for file in files:
        if file["format"] == DAMAGED or (
            file["format"] not in NOT_READ and (file["part"], file["source"]) not in parts
        ):
            used[file["source"]] += file["records"]
    nothing = [file for file in broken if not used[file["source"]]]
    refused = [file for file in files if file["format"] == UNREADABLE]
    return {file["source"]: file["damage"] for file in (*nothing, *refused)}


def damaged_files(files: FileRows) -> list[summary.DamagedFile]:
    """The files that were read up to a damage, and how many records that gave."""
    reasons: dict[str, str] = {}
    records: Counter[str] = Counter()
    for file in files:
        if file["format"] == DAMAGED:
            reasons.setdefault(file["source"], file["damage"])
            records[file["source"]] += file["records"]
    return [
        summary.DamagedFile(source=source, reason=reasons[source], records=records[source])
        for source in sorted(reasons)
    ]
