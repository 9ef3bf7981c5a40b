"""Ingests traces that fit into this process: the same tables and summary, without Spark.

On a few hundred thousand spans Spark spends most of its time on starting and planning. What it
would do is done by the same readers, the same `calls`, `constraints`, `ties` and `causes`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from antecede.pipeline.arrow_files import write_together
from antecede.pipeline.ingest import known, sources
from antecede.pipeline.ingest.arrow_rows import Row, arrow_schema, collector_at_rest
from antecede.pipeline.ingest.calls import Call
from antecede.pipeline.ingest.causes import COUNTED, Local, planned_messages
from antecede.pipeline.ingest.constraints import repaired_clocks
from antecede.pipeline.ingest.earlier import (
    Earlier,
    earlier_here,
    known_files,
    run_after,
    stored_here,
)
from antecede.pipeline.ingest.formats.catalogue import AUTO, Found
from antecede.pipeline.ingest.formats.records import Copy, Reject, Span
from antecede.pipeline.ingest.layouts import FILES, REJECTS, STORED_LINES, STORED_SPANS
from antecede.pipeline.ingest.names import names_of, run_named
from antecede.pipeline.ingest.order import ORDINARY, SENDING
from antecede.pipeline.ingest.outputs import REPLACED, check_apart
from antecede.pipeline.ingest.reading import KNOWN, FileRead, Manner, read_part
from antecede.pipeline.ingest.small_copies import (
    Placed,
    call_of_copy,
    calls_among,
    first_receptions,
    gaps_among,
    linked_among,
    placed,
)
from antecede.pipeline.ingest.summary import FormatCount, Summary
from antecede.pipeline.places import is_plain
from antecede.pipeline.schemas import WORKLOAD
from antecede.trace.atomic import blaming
from antecede.trace.datasets import partition_folder
from antecede.trace.events import KINDS
from antecede.trace.parquet import event_schema
from antecede.trace.processes import FOLDER as BESIDE_EVENTS
from antecede.trace.processes import processes_schema

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

Spot: TypeAlias = tuple[int, int]
"""The part a record was in, and how many came before it there."""

SMALL_RECORDS: Final = 500_000
"""Traces with at most so many spans or lines are ingested in one process: about a gigabyte."""

SMALL_BYTES: Final = 256 << 20
"""Files that are larger than this, all together, are not even tried."""


@dataclass(slots=True)
class Records:
    """What was read."""

    spans: list[Span] = field(default_factory=list)
    spots: list[Spot] = field(default_factory=list)
    """Where each span stood."""
    copies: list[tuple[str, Copy]] = field(default_factory=list)
    """Each with its file."""
    lines: list[Spot] = field(default_factory=list)
    """Where each copy stood."""
    rejects: list[tuple[str, Reject]] = field(default_factory=list)
    files: list[tuple[int, str, FileRead]] = field(default_factory=list)
    """Each with its part and its name."""

    def add(self, number: int, ordinal: int, source: str, record: Found | FileRead) -> None:
        """Take a record."""
        if isinstance(record, Span):
            self.spans.append(record)
            self.spots.append((number, ordinal))
        elif isinstance(record, Copy):
            self.copies.append((source, record))
            self.lines.append((number, ordinal))
        elif isinstance(record, Reject):
            self.rejects.append((source, record))
        else:
            self.files.append((number, source, record))

    def __len__(self) -> int:
        return len(self.spans) + len(self.copies) + len(self.rejects)

    def reading(self) -> known.Reading:
        """The counts of it."""
        reasons = Counter(reject.reason for _, reject in self.rejects)
        involved = {span.process for span in self.spans}
        for _, copy in self.copies:
            involved.update((copy.sender, copy.receiver))
        formats: dict[str, list[FileRead]] = {}
        for _, _, file in self.files:
            formats.setdefault(file.format, []).append(file)
        return known.Reading(
            formats=[
                FormatCount(
                    format=format_name,
                    files=sum(file.fingerprint is not None for file in files),
                    records=sum(file.records for file in files),
                )
                for format_name, files in sorted(formats.items())
                if format_name != KNOWN
            ],
            skipped=sorted(source for _, source, file in self.files if file.format == KNOWN),
            rejects_by_reason=dict(sorted(reasons.items(), key=lambda one: (-one[1], one[0]))),
            spans=len(self.spans),
            copies=len(self.copies),
            processes=frozenset(involved),
        )


@collector_at_rest()
def ingest_small(
    paths: Sequence[str],
    out: str,
    *,
    format_name: str = AUTO,
    repair: bool = True,
    run_id: str | None = "ingested",
    unit: str | None = None,
    keep: Sequence[str] = (),
    append: bool = False,
    records_max: int = SMALL_RECORDS,
    tell: Callable[[str], None] = lambda _: None,
) -> Summary | None:
    """Ingest these traces if they are files here, of few records; None if they are not.

    The tables in the folder `out` are replaced or added to, as by
    `antecede.pipeline.ingest.job.ingest`.
    """
    if not all(is_plain(path) for path in (*paths, out)):
        return None
    found = sources.find_files(paths)
    if sum(size for _, size in found.files) > SMALL_BYTES:
        return None
    check_apart(str(Path(out).absolute()), [path for path, _ in found.files])
    with blaming(Path(out), "write"):
        Path(out).mkdir(parents=True, exist_ok=True)
    earlier = earlier_here(Path(out).absolute()) if append else None
    run = run_after(earlier, run_id, run_named(paths[0]))
    tell(f"reading {found.count:,} files")
    manner = Manner(
        format_name=format_name, unit=unit, keep=frozenset(keep), known=known_files(earlier)
    )
    records = read_records(found, manner, earlier, records_max)
    if records is None:
        return None
    reading = records.reading()
    if earlier is not None and found.count == len(reading.skipped):
        return earlier.unchanged(reading.skipped)
    tell("finding messages")
    calls, facts = understood(records, reading, repair)
    numbers = {key: number for key, number, _ in facts.clock_rows()}
    order = placed(calls, numbers, facts.clocks.offsets_ns)
    counts = counted_placing(calls, numbers, order)
    rows = list(planned(calls, numbers, order, counts))
    waiting = {name: sum(row[-2 + turn] for row in rows) for turn, name in enumerate(COUNTED)}
    before = None if earlier is None else earlier.summary
    summary = known.summary_of(run, found, repair, facts, counts, waiting, before)
    tell("writing")
    tables = {
        **by_run("events", run, events_table(calls, numbers, order)),
        **by_run("workload", run, table_of(sorted(row[:-2] for row in rows), WORKLOAD)),
        **processes_tables(facts.names.values(), run),
        **records_tables(records, numbers, run),
    }
    write_together(Path(out), tables, summary.as_object(), REPLACED)
    return summary


def read_records(
    found: sources.Found, manner: Manner, earlier: Earlier | None, records_max: int
) -> Records | None:
    """Everything in these files, after what there was before; None if it is too much."""
    records = Records()
    first = 0
    if earlier is not None:
        if sum(one.records for one in earlier.summary.read) > records_max:
            return None
        for record in stored_here(earlier):
            records.add(*record)
        first = earlier.parts
    for part in sources.parts_of(found.files):
        for record in read_part(part._replace(number=first + part.number), manner):
            records.add(*record)
            if len(records) > records_max:
                return None
    return records


def understood(
    records: Records, reading: known.Reading, repair: bool
) -> tuple[list[Call], known.Known]:
    """The copies in the records, and what the clocks say about them."""
    tally: Counter[str] = Counter()
    found = calls_among(records.spans, tally) + linked_among(records.spans)
    names = names_of(reading.processes)
    numbers = {key: number for number, key in enumerate(names)}
    calls = list(first_receptions(found, numbers))
    calls += [call_of_copy(source, copy) for source, copy in records.copies]
    gaps = gaps_among(calls) if repair else []
    return calls, known.Known(
        reading=reading,
        tallies=dict(tally),
        rows=len(found) + len(records.copies),
        names=names,
        gaps=gaps,
        clocks=repaired_clocks(gaps),
    )


def counted_placing(calls: Sequence[Call], numbers: dict[str, int], order: Placed) -> known.Placing:
    """The counts of the events in order."""
    senders = [numbers[call.sender] for call in calls]
    copies = dict.fromkeys(order.process, 0) | Counter(senders)
    return known.Placing(
        messages=len(set(zip(senders, order.sequence.tolist(), strict=True))),
        copies=copies,
        first_ns=min(order.time_ns, default=None),
        last_ns=max(order.time_ns, default=None),
        counts={
            known.BACKWARDS: order.backwards,
            known.CLAMPED: order.clamped,
            known.MUTUAL: order.mutual,
        },
    )


def planned(
    calls: Sequence[Call], numbers: dict[str, int], order: Placed, counts: known.Placing
) -> Iterator[Row]:
    """What each message waits for: the workload, and what could not be kept of it."""
    first_ids = counts.first_ids().tolist()
    sequences = order.sequence.tolist()
    groups: dict[tuple[int, str | None], list[Local]] = {}
    for place, is_delivery, process, time_ns in zip(
        order.copy, order.is_delivery, order.process, order.time_ns, strict=True
    ):
        call = calls[place]
        scope = call.received_in if is_delivery else call.sent_in
        event = Local(
            process=process,
            scope=scope,
            phase=ORDINARY if is_delivery else SENDING,
            message_id=first_ids[numbers[call.sender]] + sequences[place] - 1,
            time_ns=time_ns,
            target=numbers[call.receiver],
            payload_bytes=call.payload_bytes,
            handler=call.received_by if is_delivery else call.sent_by,
            message=call.message,
            answers=call.answers,
            label=call.label,
            causes=call.causes,
        )
        groups.setdefault((process, scope), []).append(event)
    for events in groups.values():
        yield from planned_messages(events, counts.first_ns or 0)


def events_table(calls: Sequence[Call], numbers: dict[str, int], order: Placed) -> ArrowTable:
    """The event log."""
    ends = list(zip([calls[place] for place in order.copy], order.is_delivery, strict=True))
    count = len(ends)
    columns = {
        "process": order.process,
        "position": order.position,
        "kind": [KINDS[3] if is_delivery else KINDS[0] for _, is_delivery in ends],
        "sender": [numbers[call.sender] for call, _ in ends],
        "sequence": order.sequence[order.copy] if count else [],
        "target": [numbers[call.receiver] for call, _ in ends],
        "packet": [None] * count,
        "packet_kind": [None] * count,
        "time_ns": order.time_ns,
        "payload_bytes": [call.payload_bytes for call, _ in ends],
        "metadata_bytes": np.zeros(count, np.int32),
        "trace_id": [call.received_in if at_end else call.sent_in for call, at_end in ends],
        "span_id": [call.received_span if at_end else call.sent_span for call, at_end in ends],
    }
    schema = event_schema()
    return pa.table([pa.array(columns[one.name], one.type) for one in schema], schema=schema)


def records_tables(records: Records, numbers: dict[str, int], run_id: str) -> dict[str, ArrowTable]:
    """What was read."""
    tables = {
        "rejects": table_of([(source, *reject) for source, reject in records.rejects], REJECTS),
        "files": table_of(
            [(part, name, *file) for part, name, file in records.files if file.format != KNOWN],
            FILES,
        ),
    }
    if records.spans:
        spans = [
            stored_span(span, numbers[span.process], *spot)
            for span, spot in zip(records.spans, records.spots, strict=True)
        ]
        tables |= by_run("spans", run_id, table_of(spans, STORED_SPANS))
    if records.copies:
        lines = [
            (*spot, source, *copy)
            for (source, copy), spot in zip(records.copies, records.lines, strict=True)
        ]
        tables |= by_run("lines", run_id, table_of(lines, STORED_LINES))
    return tables


def stored_span(span: Span, process: int, part: int, ordinal: int) -> Row:
    """A row of `STORED_SPANS`."""
    return (
        span.trace,
        span.span,
        process,
        span.operation,
        span.attributes,
        span.parent,
        span.follows,
        span.kind,
        span.process,
        span.start_ns,
        span.end_ns,
        span.links,
        part,
        ordinal,
    )


def processes_tables(names: Iterable[str], run_id: str) -> dict[str, ArrowTable]:
    """What the processes 0, 1, 2, … are called, also where readers of events look."""
    called = list(names)
    columns = [pa.array(range(len(called)), pa.int32()), pa.array(called, pa.string())]
    table = pa.table(columns, schema=processes_schema())
    return by_run("processes", run_id, table) | by_run(f"events/{BESIDE_EVENTS}", run_id, table)


def by_run(name: str, run_id: str, table: ArrowTable) -> dict[str, ArrowTable]:
    """The table, under its path in a dataset of runs."""
    return {str(partition_folder(Path(name), run_id)): table}


def table_of(rows: Sequence[Row], schema: Any) -> ArrowTable:  # noqa: ANN401 a Spark schema
    """Rows as a table of this schema."""
    target = arrow_schema(schema)
    columns = zip(*rows, strict=True) if rows else ([] for _ in target)
    arrays = [pa.array(list(values), one.type) for values, one in zip(columns, target, strict=True)]
    return pa.table(arrays, schema=target)
