"""Measures logs that fit the memory of this process, without Spark: as one task would."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from antecede.eventlog.schema import COLUMNS
from antecede_audit.jobs.audit_files import files_of, read_small
from antecede_audit.jobs.event_logs import check_separate, distinct_names, find_source
from antecede_audit.jobs.limits import ROWS_MAX
from antecede_audit.measure.distributions import merged
from antecede_audit.measure.figures import Figures
from antecede_audit.measure.instants import in_order, instants_of
from antecede_audit.measure.non_causal import tally_lateness
from antecede_audit.measure.runs import (
    event_totals,
    moments_at_places,
    rows_of_runs,
    tally_copies,
    tally_places,
)
from antecede_audit.paths import is_local_path


def measure_here(
    paths: Sequence[str], *, non_causal: bool = True, events_max: int = ROWS_MAX
) -> list[Figures] | None:
    """What `measure_logs` says of these logs if they are files here, of few events; else None."""
    if not all(is_local_path(path) for path in paths):
        return None
    sources = [find_source(path) for path in paths]
    files = files_of(sources, events_max)
    if files is None:
        return None
    log = read_small(files, COLUMNS)
    check_separate(log.runs, sources)
    names = pa.array(distinct_names(log.runs), pa.string())
    others = [name for name in log.table.column_names if name != "run_id"]
    events = log.table.select(others).append_column("run_id", names.take(log.table["run"]))
    instants = instants_of(events)
    parts = [tally_copies(instants)]
    parts += tally_places(in_order(moments_at_places(instants)).to_batches())
    if non_causal:
        instants = instants.append_column("first_ns", pa.nulls(len(instants), pa.int64()))
        for name in pc.unique(instants["run_id"]):
            parts.append(tally_lateness(instants.filter(pc.equal(instants["run_id"], name))))
    return rows_of_runs(merged(pa.concat_tables(parts)), event_totals(events))
