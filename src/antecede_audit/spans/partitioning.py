"""Records keyed for the stage that finds messages: spans by trace, lines of tables by thousands.

Every record becomes part of a table that is written as it is (`SPAN_TABLE`, `LINE_TABLE`,
`REJECT_TABLE`, `FILE_TABLE`), also those that messages are found by: to have what these need in a
table of its own as well took twice the disk, and time. Beside them goes how much there is of what.
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
from antecede_audit.shuffle import CHUNK_ROWS, Keyed, Table
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
CALL_SPANS: Final = pa.schema([*(SPAN.field(name) for name in CALLING), *PLACES])
EFFECTS: Final = table(link=TEXT, trace=TEXT, span=TEXT, kind=TEXT, process=TEXT, start_ns=LONG)
"""Spans that name a cause besides their parent, for the partition that has the trace of that."""
FACTS: Final = table(fact=TEXT, name=TEXT, count=LONG)
"""How much there is of what: of spans in each process, of copies, of rejects for each reason."""

SPAN_TABLE: Final = Table("spans", ALL_OF_A_SPAN)
"""Keyed by the hash of the trace."""
EFFECT_TABLE: Final = Table("effects", EFFECTS)
"""Keyed by the hash of the trace of the cause."""
LINE_TABLE: Final = Table("lines", STORED_LINES)
"""Keyed by part and thousands of lines."""
REJECT_TABLE: Final = Table("rejects", REJECTS)
FILE_TABLE: Final = Table("files", FILES)
FACT_TABLE: Final = Table("facts", FACTS)
"""These are for no partition: they are collected, or written where they are."""

RAN: Final = "ran"
INVOLVED: Final = "involved"
COPIED: Final = "copied"
WHY_NOT: Final = "why not"

SPREAD_ROWS: Final = 1 << 13
"""8,192 lines of a message table in a row have one key."""

SLASH: Final = "/"


def partition_records(batches: Iterable[Batch], keys: int) -> Iterator[Keyed]:
    """The records of these batches, those for messages keyed from 0 up to `keys`.

    In:  `RECORDS`.
    Out: `SPAN_TABLE`, `EFFECT_TABLE`, `LINE_TABLE`, `REJECT_TABLE`, `FILE_TABLE`, `FACT_TABLE`.
    """
    return RecordPartitioner(keys).partition(batches)


class RecordPartitioner:
    """Keys the records of one task, and counts them."""

    def __init__(self, keys: int) -> None:
        self._keys: Final = keys
        self._facts: Final[Counter[tuple[str, str]]] = Counter()
        self._spans: list[Batch] = []
        self._rows = 0

    def partition(self, batches: Iterable[Batch]) -> Iterator[Keyed]:
        """All records, and at the end how many there were."""
        for batch in batches:
            spans = fields_of(batch, "span", ALL_OF_A_SPAN)
            effects = effects_in(spans)
            yield Keyed(EFFECT_TABLE, effects, self._keys_of(effects["link"]))
            self._count(RAN, spans["process"])
            if spans.num_rows:
                self._spans.append(spans)
                self._rows += spans.num_rows
            if self._rows >= CHUNK_ROWS:
                yield from self._waiting_spans()
            yield from self._lines(fields_of(batch, "copy", STORED_LINES))
            rejects = fields_of(batch, "reject", REJECTS)
            self._count(WHY_NOT, rejects["reason"])
            yield Keyed(REJECT_TABLE, rejects)
            yield Keyed(FILE_TABLE, fields_of(batch, "file", FILES))
        yield from self._waiting_spans()
        facts = [(*about, count) for about, count in self._facts.items()]
        yield Keyed(FACT_TABLE, batch_of_rows(facts, FACTS))

    def _waiting_spans(self) -> Iterator[Keyed]:
        """The spans that have been waiting to be many."""
        if self._spans:
            spans = concat_batches(self._spans, ALL_OF_A_SPAN)
            self._spans, self._rows = [], 0
            yield Keyed(SPAN_TABLE, spans, self._keys_of(spans["trace"]))

    def _lines(self, lines: Batch) -> Iterator[Keyed]:
        """Lines of message tables, a few thousand in a row with one key."""
        if lines.num_rows:
            self._facts[COPIED, ""] += lines.num_rows
            self._count(INVOLVED, lines["sender"])
            self._count(INVOLVED, lines["receiver"])
            part, ordinal = (lines[name].to_numpy().astype(np.int64) for name in PLACES.names)
            yield Keyed(LINE_TABLE, lines, (part + ordinal // SPREAD_ROWS) % self._keys)

    def _keys_of(self, traces: Column) -> Integers | int:
        """The keys of traces, and of what is linked to them: what follows a slash is no part of
        the key, since a slash stands between the ids of trace and span."""
        if self._keys == 1:
            return 0
        if pc.any(pc.match_substring(traces, SLASH)).as_py():
            traces = pc.list_element(pc.split_pattern(traces, SLASH, max_splits=1), 0)
        return hash_texts(traces) % self._keys

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
