"""What earlier batches left in a folder, for another to be added to it.

An ingest keeps all that it read, as `spans/`, `lines/`, `rejects/` and `files/`. Adding a batch
means to read the new files, put these records before theirs, and do all the rest again: so nobody
can tell from the results in how many batches they came.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet as pq

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.layout import partition_folder
from antecede.eventlog.parquet import reading
from antecede_audit.columns.arrow_rows import Batch, batch_of_rows, conform, rows_of
from antecede_audit.judging.summary import SUMMARY
from antecede_audit.spans import schemas
from antecede_audit.spans.summary import IngestSummary
from antecede_audit.spans.trace_files import TraceFiles, file_fingerprint, sizes_of

SPAN_COLUMNS: Final = {**schemas.STORED_AS, "process": "process_key"}
"""Where the fields of a span stand in `STORED_SPANS`, if under another name."""

STORED: Final = {
    "span": ("spans", schemas.STORED_SPANS, schemas.SPAN),
    "copy": ("lines", schemas.STORED_LINES, schemas.COPY),
    "reject": ("rejects", schemas.REJECTS, schemas.REJECT),
    "file": ("files", schemas.FILES, schemas.FILE),
}
"""For each sort of record: its table, the columns of that, and the fields of the record."""

KNOWN_BY: Final = ("part", "source", "fingerprint")
"""What is asked of the files of earlier batches."""

FINGERPRINTS: Final = schemas.table(path=schemas.TEXT, fingerprint=schemas.TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousIngest:
    """A folder that has a run already."""

    folder: str
    summary: IngestSummary
    fingerprints: frozenset[str]
    """Of the files that were read."""
    sources: frozenset[str]
    """Their paths."""
    parts: int
    """The number of the first part of the next batch."""

    def place_of(self, sort: str) -> str:
        """Where the records of a sort are; tables of spans and lines are datasets of runs."""
        name = Path(STORED[sort][0])
        by_run = sort in ("span", "copy")
        return f"{self.folder}/{partition_folder(name, self.summary.run_id) if by_run else name}"


def known_files(earlier: PreviousIngest | None) -> frozenset[str]:
    """The fingerprints of what is not to be read again."""
    return frozenset() if earlier is None else earlier.fingerprints


def check_fingerprints(folder: str, fingerprints: Iterable[str | None]) -> None:
    """`LocalError` if files are known by something else than their whole content."""
    if any(one is not None and ":" not in one for one in fingerprints):
        raise LocalError(
            f"nothing can be added to {folder}: it was made by a version that knew files by their "
            "ends only. Ingest all files again, without --append"
        )


def without_known(found: TraceFiles, earlier: PreviousIngest | None) -> TraceFiles:
    """The files of this machine that no earlier batch had."""
    if earlier is None:
        return found
    known = set()
    for path in of_known_sizes(found, earlier):
        with os_errors_as_local(Path(path), "read"):
            if file_fingerprint(path) in earlier.fingerprints:
                known.add(path)
    return found.without(known)


def of_known_sizes(found: TraceFiles, earlier: PreviousIngest) -> list[str]:
    """The files of this machine that are as large as one that was read before: others are new."""
    sizes = sizes_of(earlier.fingerprints)
    return [path for path, size in found.files if size in sizes]


def fingerprints_of_files(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The fingerprints of files; of one that cannot be read it is null.

    In:  path.
    Out: `FINGERPRINTS`.
    """
    for (path,) in rows_of(batches, ["path"]):
        try:
            fingerprint = file_fingerprint(path)
        except OSError:  # Whoever reads it says why.
            fingerprint = None
        yield batch_of_rows([(path, fingerprint)], FINGERPRINTS)


def nothing_new(earlier: PreviousIngest | None, found: TraceFiles) -> IngestSummary | None:
    """The summary of an ingest to which nothing is added; None if there is something to read."""
    if earlier is None or found.count:
        return None
    return replace(earlier.summary, skipped=[*found.skipped], changed=[])


def run_after(earlier: PreviousIngest | None, wanted: str | None, default: str) -> str:
    """What the run is called; `LocalError` if the folder has another one."""
    if earlier is None:
        return default if wanted is None else wanted
    if wanted not in (None, earlier.summary.run_id):
        raise LocalError(
            f"{earlier.folder} has the run {earlier.summary.run_id!r}, and {wanted!r} is another"
        )
    return earlier.summary.run_id


def read_previous(folder: Path) -> PreviousIngest | None:
    """What is in a folder of this machine; None if there is no ingest in it."""
    try:
        text = (folder / SUMMARY).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    if not (folder / "files").is_dir():
        raise LocalError(no_records(str(folder)))
    with reading(folder / "files"):
        files = pq.read_table(folder / "files", columns=[*KNOWN_BY]).to_pylist()
    found = earlier_of(str(folder), text, files)
    check_stored(found, rows_here)
    return found


def check_stored(earlier: PreviousIngest, count: Callable[[str], int]) -> None:
    """`LocalError` if there are fewer records than were read: then part of a table is missing."""
    stored = sum(count(earlier.place_of(sort)) for sort in ("span", "copy", "reject"))
    wanted = sum(one.records for one in earlier.summary.read)
    if stored < wanted:
        raise LocalError(
            f"nothing can be added to {earlier.folder}: {wanted:,} records were read, and "
            f"{earlier.place_of('span')} and the tables beside it have {stored:,}"
        )


def rows_here(place: str) -> int:
    """How many rows a table on this machine has; none if it is not there."""
    count = 0
    for file in sorted(Path(place).glob("*.parquet")):
        with reading(file):
            count += pq.read_metadata(file).num_rows
    return count


def no_records(folder: str) -> str:
    """What to say of results to which nothing can be added."""
    return f"nothing can be added to {folder}: it does not have the records it was made from"


def earlier_of(folder: str, summary: str, files: Sequence[Mapping[str, Any]]) -> PreviousIngest:
    """What a folder has, by its summary and its table of files."""
    fingerprints = frozenset(file["fingerprint"] for file in files) - {None}
    check_fingerprints(folder, fingerprints)
    try:
        before = IngestSummary.of_object(json.loads(summary))
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(f"nothing can be added to {folder}: {SUMMARY} is damaged") from error
    return PreviousIngest(
        folder=folder,
        summary=before,
        fingerprints=fingerprints,
        # After `!` comes what is within an archive.
        sources=frozenset(file["source"].partition("!")[0] for file in files),
        parts=max((file["part"] for file in files), default=-1) + 1,
    )


def records_here(earlier: PreviousIngest) -> Iterator[Batch]:
    """The same, read without Spark, in the order of their files."""
    for sort, (_, columns, _) in STORED.items():
        place = Path(earlier.place_of(sort))
        if place.is_dir():
            with reading(place):
                stored = pq.read_table(place, schema=columns)
            order = [(name, "ascending") for name in ("part", "ordinal") if name in columns.names]
            yield from as_records((stored.sort_by(order) if order else stored).to_batches(), sort)


def as_records(batches: Iterable[Batch], sort: str) -> Iterator[Batch]:
    """The rows of a table of one sort of records, in the columns of `RECORDS`."""
    fields = STORED[sort][2]
    names = [SPAN_COLUMNS.get(one, one) if sort == "span" else one for one in fields.names]
    for batch in batches:
        record = pa.record_batch(batch.select(names).columns, schema=fields)
        yield conform(schemas.RECORDS, {sort: record.to_struct_array()}, batch)
