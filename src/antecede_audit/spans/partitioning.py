"""Packs what was read: spans by trace, for the stage that finds messages, and all else beside them.

Every record becomes part of a table that is written as it is (`SPAN_SORT`, `LINE`, `REJECTED`,
`READ`), also those that messages are found by: to have what these need in parcels of its own as
well took twice the disk, and time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import (
    Batch,
    Column,
    Integers,
    Schema,
    batch_of_rows,
    concat_batches,
)
from antecede_audit.columns.hashing import hash_texts
from antecede_audit.parcels import CHUNK_ROWS, keyed, parcels_of_one
from antecede_audit.spans.schemas import (
    FILES,
    INTEGER,
    LONG,
    REJECTS,
    SPAN,
    STORED_LINES,
    TEXT,
    table,
)

CALLING: Final = ("trace", "span", "parent", "follows", "kind", "process", "start_ns", "end_ns")
"""What of a span matters for messages."""

PLACES: Final = table(part=INTEGER, ordinal=LONG)
ALL_OF_A_SPAN: Final = pa.schema([*SPAN, *PLACES])
MOVED_SPANS: Final = pa.schema([*(SPAN.field(name) for name in CALLING), *PLACES])
EFFECTS: Final = table(link=TEXT, trace=TEXT, span=TEXT, kind=TEXT, process=TEXT, start_ns=LONG)
"""Spans that name a cause besides their parent, for the task that has the trace of that."""
FACTS: Final = table(fact=TEXT, name=TEXT, count=LONG)
"""How much there is of what: of spans in each process, of copies, of rejects for each reason."""

SPAN_SORT: Final = "span"
EFFECT: Final = "effect"
LINE: Final = "line"
REJECTED: Final = "reject"
READ: Final = "file"
FACT: Final = "fact"

RAN: Final = "ran"
INVOLVED: Final = "involved"
COPIED: Final = "copied"
WHY_NOT: Final = "why not"

SPREAD_ROWS: Final = 1 << 13
"""So many lines of a message table in a row go to one bucket."""

SLASH: Final = "/"


def partition_records(batches: Iterable[Batch], buckets: int) -> Iterator[Batch]:
    """The records of these batches in parcels, those for messages spread over so many buckets.

    In:  `RECORDS`.
    Out: `PARCELS`.
    """
    return RecordPartitioner(buckets).parcels(batches)


class RecordPartitioner:
    """Packs the records of one task."""

    def __init__(self, buckets: int) -> None:
        self._buckets: Final = buckets
        self._facts: Final[Counter[tuple[str, str]]] = Counter()
        self._spans: list[Batch] = []
        self._rows = 0

    def parcels(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """All records, and at the end how many there were."""
        for batch in batches:
            spans = fields_of(batch, "span", ALL_OF_A_SPAN)
            yield from self._packed_effects(spans)
            self._count(RAN, spans["process"])
            if spans.num_rows:
                self._spans.append(spans)
                self._rows += spans.num_rows
            if self._rows >= CHUNK_ROWS:
                yield from self._packed_spans()
            yield from self._packed_lines(fields_of(batch, "copy", STORED_LINES))
            rejects = fields_of(batch, "reject", REJECTS)
            self._count(WHY_NOT, rejects["reason"])
            yield from parcels_of_one(REJECTED, rejects)
            yield from parcels_of_one(READ, fields_of(batch, "file", FILES))
        yield from self._packed_spans()
        facts = [(*about, count) for about, count in self._facts.items()]
        yield from parcels_of_one(FACT, batch_of_rows(facts, FACTS))

    def _packed_spans(self) -> Iterator[Batch]:
        """The spans that have been waiting."""
        if self._spans:
            spans = concat_batches(self._spans, ALL_OF_A_SPAN)
            self._spans, self._rows = [], 0
            yield from keyed(SPAN_SORT, spans, self._buckets_of(spans["trace"]))

    def _packed_effects(self, spans: Batch) -> Iterator[Batch]:
        """The spans that name causes."""
        effects = effects_in(spans)
        yield from keyed(EFFECT, effects, self._buckets_of(effects["link"]))

    def _packed_lines(self, lines: Batch) -> Iterator[Batch]:
        """Lines of message tables, a few thousand in a row for one task."""
        if lines.num_rows:
            self._facts[COPIED, ""] += lines.num_rows
            self._count(INVOLVED, lines["sender"])
            self._count(INVOLVED, lines["receiver"])
            part, ordinal = (lines[name].to_numpy().astype(np.int64) for name in PLACES.names)
            yield from keyed(LINE, lines, (part + ordinal // SPREAD_ROWS) % self._buckets)

    def _buckets_of(self, traces: Column) -> Integers:
        """Where traces go, and what is linked to them: to which is not said by what follows a
        slash, since that stands between the ids of trace and span."""
        if pc.any(pc.match_substring(traces, SLASH)).as_py():
            traces = pc.list_element(pc.split_pattern(traces, SLASH, max_splits=1), 0)
        return hash_texts(traces) % self._buckets

    def _count(self, fact: str, names: Column) -> None:
        for one in pc.value_counts(names).to_pylist():
            self._facts[fact, one["values"]] += one["counts"]


def fields_of(batch: Batch, column: str, schema: Schema) -> Batch:
    """The records of one sort in a batch of `RECORDS`, in these columns."""
    records = batch[column]
    if records.null_count == len(records):
        return batch_of_rows([], schema)
    if records.null_count:
        valid = records.is_valid()
        batch, records = batch.filter(valid), records.filter(valid)
    fields = {field.name: place for place, field in enumerate(records.type)}
    flat = records.flatten()
    arrays = [flat[fields[one.name]] if one.name in fields else batch[one.name] for one in schema]
    return pa.record_batch(arrays, schema=schema)


def effects_in(spans: Batch) -> Batch:
    """The spans that name causes, once for each of them."""
    linked = spans.filter(pc.greater(pc.fill_null(pc.list_value_length(spans["links"]), 0), 0))
    place = pc.list_parent_indices(linked["links"])
    arrays = [
        pc.list_flatten(linked["links"]),
        *(linked[name].take(place) for name in EFFECTS.names[1:]),
    ]
    return pa.record_batch(arrays, schema=EFFECTS)
