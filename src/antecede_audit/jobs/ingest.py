"""The steps of an ingest in their order, and what they write.

`run_ingest` does them wherever the records are. `ingest_here` does them in this process, without
Spark, which on a few hundred thousand spans spends most of its time on starting and planning.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.atomic_files import (
    check_replaceable,
    os_errors_as_local,
    replace_folder_atomically,
)
from antecede_audit.columns.arrow_rows import Batch, gc_disabled
from antecede_audit.jobs.append import (
    PreviousIngest,
    known_files,
    nothing_new,
    read_previous,
    records_here,
    run_after,
    without_known,
)
from antecede_audit.jobs.limits import ROWS_MAX, fits_here
from antecede_audit.jobs.outputs import REPLACED, OutputTables, check_apart
from antecede_audit.paths import is_local_path
from antecede_audit.shuffle import LocalShuffle, Shuffle, chunks
from antecede_audit.spans.causes import COUNTED, WORK_TABLE, keyed_workload, workload_batches
from antecede_audit.spans.formats.catalogue import AUTO
from antecede_audit.spans.partitioning import (
    LINE_TABLE,
    REJECT_TABLE,
    SPAN_TABLE,
    partition_records,
)
from antecede_audit.spans.reading import KNOWN, ReadOptions, read_together, record_batches
from antecede_audit.spans.schemas import EVENTS, REJECTS, STORED_LINES, STORED_SPANS, WORKLOAD
from antecede_audit.spans.steps import (
    OrderedCopies,
    count_records,
    extract_messages,
    order_events,
    stored_spans,
)
from antecede_audit.spans.summary import IngestFacts, IngestSummary, run_named, summary_of
from antecede_audit.spans.trace_files import FilePart, TraceFiles, find_files, parts_of


class DoesNotFitError(Exception):
    """There are more records than are ingested here."""


@gc_disabled()
def ingest_here(
    paths: Sequence[str],
    out: str,
    *,
    format_name: str = AUTO,
    repair: bool = True,
    run_id: str | None = "ingested",
    unit: str | None = None,
    keep: Sequence[str] = (),
    append: bool = False,
    rows_max: int = ROWS_MAX,
    tell: Callable[[str], None] = lambda _: None,
) -> IngestSummary | None:
    """Ingest these traces if they are files here, of few records; None if they are not.

    The tables in the folder `out` are replaced or added to, as by
    `antecede_audit.spark.ingest.ingest`.
    """
    if not all(is_local_path(path) for path in (*paths, out)):
        return None
    found = find_files(paths)
    if not fits_here(0, sum(size for _, size in found.files)):
        return None
    folder = Path(out).absolute()
    check_apart(str(folder), [path for path, _ in found.files])
    earlier = read_previous(folder) if append else None
    check_replaceable(folder, REPLACED, known=earlier is not None)
    with os_errors_as_local(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
    run = run_after(earlier, run_id, run_named(paths[0]))
    found = without_known(found, earlier)
    if (unchanged := nothing_new(earlier, found)) is not None:
        return unchanged
    known = known_files(earlier)
    options = ReadOptions(format_name=format_name, unit=unit, keep=frozenset(keep), known=known)
    try:
        batches = at_most(rows_max, records_found(found, options, earlier, tell))
        records = LocalShuffle([partition_records(batches, 1)])
    except DoesNotFitError:
        return None
    asked = IngestRequest(found=found, earlier=earlier, run=run, repair=repair, tell=tell)
    with ExitStack() as stack:
        return run_ingest(asked, records, 1, outputs_at(folder, run, earlier), stack)[0]


def records_found(
    found: TraceFiles,
    options: ReadOptions,
    earlier: PreviousIngest | None,
    tell: Callable[[str], None],
) -> Iterator[Batch]:
    """Everything in these files, after what there was before: batches of `RECORDS`."""
    if earlier is not None:
        yield from records_here(earlier)
    first = 0 if earlier is None else earlier.parts
    yield from record_batches(
        record
        for part in told_parts(found, tell)
        for record in read_together(part._replace(number=first + part.number), options)
    )


def told_parts(found: TraceFiles, tell: Callable[[str], None]) -> Iterator[FilePart]:
    """The parts of all files; `tell` hears of each file as it is begun."""
    begun = 0
    for part in parts_of(found.files):
        if part.start == 0:
            begun += 1
            tell(f"reading file {begun:,} of {found.count:,}")
        yield part


def at_most(rows_max: int, batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches, as long as there are no more records in them."""
    count = 0
    for batch in batches:
        count += batch["file"].null_count
        if not fits_here(count, rows_max=rows_max):
            raise DoesNotFitError
        yield batch


@contextmanager
def outputs_at(folder: Path, run: str, earlier: PreviousIngest | None) -> Iterator[OutputTables]:
    """Where tables go that appear in a folder together."""
    known = earlier is not None
    with (
        replace_folder_atomically(folder, REPLACED, known=known) as stage,
        os_errors_as_local(folder, "write"),
    ):
        yield OutputTables(str(stage), run)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """What is to be ingested, and how."""

    found: TraceFiles
    earlier: PreviousIngest | None
    run: str
    repair: bool
    tell: Callable[[str], None]
    """Hears what is being done."""


def run_ingest(
    asked: IngestRequest,
    records: Shuffle,
    read_keys: int,
    outputs: AbstractContextManager[OutputTables],
    stack: ExitStack,
) -> tuple[IngestSummary, "OrderedCopies | None"]:
    """What records come to, written; and the events, unless nothing of it is new.

    In: what `partition_records` yields, keyed from 0 up to `read_keys`.
    """
    reading, files = count_records(records)
    earlier = None if asked.earlier is None else asked.earlier.summary
    if earlier is not None and asked.found.count == len(reading.skipped):
        skipped = sorted({*asked.found.skipped, *reading.skipped})
        return replace(earlier, skipped=skipped, changed=[]), None
    records.all_packed(stack)
    asked.tell("messages of traces")
    traffic = extract_messages(records, read_keys, reading, asked.repair, stack)
    known = traffic.known
    # Whatever is not needed any more goes at once: the disk has to hold all that is left.
    asked.tell("writing spans and rejects")
    tables = stack.enter_context(outputs)
    write_records(tables, records, known)
    tables.write_few("files", pa.table(files.filter(pc.not_equal(files["format"], KNOWN))))
    records.unpersist()
    asked.tell("events in order")
    events = order_events(traffic, stack)
    asked.tell("writing events and workload")
    tables.write_stage(tables.of_run("events"), events.ends(), events.stage(), EVENTS)
    tables.write_processes(known.names.values())
    waiting = write_workload(tables, events)
    changed = changed_files(asked.found, asked.earlier)
    summary = summary_of(
        asked.run, asked.found, asked.repair, known, events.placing, waiting, earlier, changed
    )
    tables.write_summary(summary.as_object())
    return summary, events


def write_records(tables: OutputTables, records: Shuffle, known: IngestFacts) -> None:
    """Write what was read: it has names that findings lead back to, and later batches need it."""
    if known.reading.spans:
        stage = partial(stored_spans, keys=list(known.names))
        tables.write_stage(tables.of_run("spans"), records.select(SPAN_TABLE), stage, STORED_SPANS)
    if known.reading.copies:
        tables.write_stage(tables.of_run("lines"), records.select(LINE_TABLE), chunks, STORED_LINES)
    if known.reading.rejects_by_reason:
        tables.write_stage("rejects", records.select(REJECT_TABLE), chunks, REJECTS)
    else:
        tables.write_few("rejects", REJECTS.empty_table())


def write_workload(tables: OutputTables, events: "OrderedCopies") -> dict[str, int]:
    """Write what each message waits for, and count what could not be kept of it.

    It exchanges copies by trace, or by process where there are no traces.
    """
    tasks = events.by_process.tasks
    work = partial(keyed_workload, numbering=events.numbering, tasks=tasks)
    by_trace = events.copies.map(work).exchange([WORK_TABLE], tasks)
    stage = partial(workload_batches, first_ns=events.placing.first_ns or 0)
    return tables.write_stage(tables.of_run("workload"), by_trace, stage, WORKLOAD, COUNTED)


def changed_files(found: TraceFiles, earlier: PreviousIngest | None) -> list[str]:
    """The files that an earlier batch has read with other content."""
    before = frozenset[str]() if earlier is None else earlier.sources
    return sorted(path for path, _ in (*found.files, *found.elsewhere) if path in before)
