"""Ingests traces that fit into this process: the same steps, the same tables, without Spark.

On a few hundred thousand spans Spark spends most of its time on starting and planning.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

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
from antecede_audit.jobs.outputs import REPLACED, OutputTables, check_apart
from antecede_audit.jobs.trace_files import FilePart, TraceFiles, find_files, parts_of
from antecede_audit.shuffle import LocalShuffle
from antecede_audit.spans.formats.catalogue import AUTO
from antecede_audit.spans.names import run_named
from antecede_audit.spans.partitioning import partition_records
from antecede_audit.spans.reading import ReadOptions, read_together, record_batches
from antecede_audit.spans.steps import IngestRequest, run_ingest
from antecede_audit.spans.summary import IngestSummary
from antecede_audit.spark.storage import is_local_path

SMALL_RECORDS: Final = 500_000
"""Traces with at most so many spans or lines are ingested in one process: about a gigabyte."""

SMALL_BYTES: Final = 256 << 20
"""Files that are larger than this, all together, are not even tried."""


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
    records_max: int = SMALL_RECORDS,
    tell: Callable[[str], None] = lambda _: None,
) -> IngestSummary | None:
    """Ingest these traces if they are files here, of few records; None if they are not.

    The tables in the folder `out` are replaced or added to, as by
    `antecede_audit.spark.ingest.ingest`.
    """
    if not all(is_local_path(path) for path in (*paths, out)):
        return None
    found = find_files(paths)
    if sum(size for _, size in found.files) > SMALL_BYTES:
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
    manner = ReadOptions(format_name=format_name, unit=unit, keep=frozenset(keep), known=known)
    try:
        batches = at_most(records_max, records_found(found, manner, earlier, tell))
        records = LocalShuffle([[*partition_records(batches, 1)]])
    except DoesNotFitError:
        return None
    asked = IngestRequest(found=found, earlier=earlier, run=run, repair=repair, tell=tell)
    with ExitStack() as stack:
        return run_ingest(asked, records, 1, outputs_at(folder, run, earlier), stack)[0]


def records_found(
    found: TraceFiles,
    manner: ReadOptions,
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
        for record in read_together(part._replace(number=first + part.number), manner)
    )


def told_parts(found: TraceFiles, tell: Callable[[str], None]) -> Iterator[FilePart]:
    """The parts of all files; `tell` hears of each file as it is begun."""
    begun = 0
    for part in parts_of(found.files):
        if part.start == 0:
            begun += 1
            tell(f"reading file {begun:,} of {found.count:,}")
        yield part


def at_most(records_max: int, batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches, as long as there are no more records in them."""
    count = 0
    for batch in batches:
        count += batch["file"].null_count
        if count > records_max:
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
        yield OutputTables(None, str(stage), run)
