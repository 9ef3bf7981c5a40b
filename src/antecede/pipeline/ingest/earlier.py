"""What earlier batches left in a folder, for another to be added to it.

An ingest keeps all that it read, as `spans/`, `lines/`, `rejects/` and `files/`. Adding a batch
means to read the new files, put these records before theirs, and do all the rest again: so nobody
can tell from the results in how many batches they came.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession

from antecede.audit.summary import SUMMARY
from antecede.core.errors import LocalError
from antecede.pipeline.ingest import layouts
from antecede.pipeline.ingest.arrow_rows import Batch, arrow_schema, shaped
from antecede.pipeline.ingest.summary import Summary
from antecede.pipeline.places import Places
from antecede.trace.atomic import blaming
from antecede.trace.datasets import partition_folder

SPAN_COLUMNS: Final = {**layouts.STORED_AS, "process": "process_key"}
"""Where the fields of a span stand in `STORED_SPANS`, if under another name."""

STORED: Final = {
    "span": ("spans", layouts.STORED_SPANS, layouts.SPAN),
    "copy": ("lines", layouts.STORED_LINES, layouts.COPY),
    "reject": ("rejects", layouts.REJECTS, layouts.REJECT),
    "file": ("files", layouts.FILES, layouts.FILE),
}
"""For each sort of record: its table, the columns of that, and the fields of the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A folder that has a run already."""

    folder: str
    summary: Summary
    fingerprints: frozenset[str]
    """Of the files that were read."""
    parts: int
    """The number of the first part of the next batch."""

    def place_of(self, sort: str) -> str:
        """Where the records of a sort are; tables of spans and lines are datasets of runs."""
        name = Path(STORED[sort][0])
        by_run = sort in ("span", "copy")
        return f"{self.folder}/{partition_folder(name, self.summary.run_id) if by_run else name}"


def known_files(earlier: Earlier | None) -> frozenset[str]:
    """The fingerprints of what is not to be read again."""
    return frozenset() if earlier is None else earlier.fingerprints


def run_after(earlier: Earlier | None, wanted: str | None, default: str) -> str:
    """What the run is called; `LocalError` if the folder has another one."""
    if earlier is None:
        return default if wanted is None else wanted
    if wanted not in (None, earlier.summary.run_id):
        raise LocalError(
            f"{earlier.folder} has the run {earlier.summary.run_id!r}, and {wanted!r} is another"
        )
    return earlier.summary.run_id


def earlier_here(folder: Path) -> Earlier | None:
    """What is in a folder of this machine; None if there is no ingest in it."""
    try:
        text = (folder / SUMMARY).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    if not (folder / "files").is_dir():
        raise LocalError(no_records(str(folder)))
    with blaming(folder, "read"):
        files = pq.read_table(folder / "files", columns=["part", "fingerprint"]).to_pydict()
    return earlier_of(str(folder), text, files["part"], files["fingerprint"])


def earlier_anywhere(spark: SparkSession, places: Places, folder: str) -> Earlier | None:
    """What is in a folder wherever Spark can read; None if there is no ingest in it."""
    here = places.local(folder)
    if here is not None:
        return earlier_here(here)
    found = places.contents(f"{folder}/{SUMMARY}")
    if not found:
        return None
    if not places.exists(f"{folder}/files"):
        raise LocalError(no_records(folder))
    files = spark.read.schema(layouts.FILES).parquet(f"{folder}/files").collect()
    parts, prints = ([row[name] for row in files] for name in ("part", "fingerprint"))
    return earlier_of(folder, b"".join(found.values()).decode(), parts, prints)


def no_records(folder: str) -> str:
    """What to say of results to which nothing can be added."""
    return f"nothing can be added to {folder}: it does not have the records it was made from"


def earlier_of(
    folder: str, summary: str, parts: list[int], fingerprints: list[str | None]
) -> Earlier:
    """What a folder has, by its summary and its table of files."""
    return Earlier(
        folder=folder,
        summary=Summary.of_object(json.loads(summary)),
        fingerprints=frozenset(one for one in fingerprints if one is not None),
        parts=max(parts, default=-1) + 1,
    )


def records_anywhere(spark: SparkSession, places: Places, earlier: Earlier) -> list[DataFrame]:
    """The records of all earlier batches, read by Spark: tables of `RECORDS`."""
    tables = []
    for sort, (_, columns, _) in STORED.items():
        place = earlier.place_of(sort)
        here = places.local(place)
        if places.exists(place) if here is None else here.is_dir():
            stored = spark.read.schema(columns).parquet(place)
            tables.append(stored.mapInArrow(partial(as_records, sort=sort), layouts.RECORDS))
    return tables


def records_here(earlier: Earlier) -> Iterator[Batch]:
    """The same, read without Spark, in the order of their files."""
    for sort, (_, columns, _) in STORED.items():
        place = Path(earlier.place_of(sort))
        if place.is_dir():
            stored = pq.read_table(place, schema=arrow_schema(columns))
            order = [(name, "ascending") for name in ("part", "ordinal") if name in columns.names]
            yield from as_records((stored.sort_by(order) if order else stored).to_batches(), sort)


def as_records(batches: Iterable[Batch], sort: str) -> Iterator[Batch]:
    """The rows of a table of one sort of records, in the columns of `RECORDS`."""
    fields = STORED[sort][2]
    names = [SPAN_COLUMNS.get(one, one) if sort == "span" else one for one in fields.names]
    for batch in batches:
        record = pa.record_batch(batch.select(names).columns, schema=arrow_schema(fields))
        yield shaped(layouts.RECORDS, {sort: record.to_struct_array()}, batch)
