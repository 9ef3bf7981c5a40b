"""The findings about the rows of a batch: judged here if they are few, on Spark if they are many.

Most batches are small, and Spark would spend seconds on planning what takes a fraction of one. The
verdict is the same.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from antecede.audit.history import Order
from antecede.pipeline.audit.library import audit
from antecede.pipeline.audit.small_job import SMALL_EVENTS, audit_small

LOG: Final = "log.parquet"


@contextmanager
def findings_about(
    events: DataFrame, order: Order | None, names: Sequence[str], events_max: int = SMALL_EVENTS
) -> Iterator[dict[str, DataFrame]]:
    """The tables of an audit that have these names, while the context is open.

    In: the event log, run_id.
    """
    few = events.limit(events_max + 1).toArrow()
    tables = None if few.num_rows > events_max else found_here(events, few, order, names)
    if tables is not None:
        yield tables
        return
    with audit(events, order=order) as found:
        yield {name: getattr(found, name) for name in names}


def found_here(
    events: DataFrame, rows: object, order: Order | None, names: Sequence[str]
) -> dict[str, DataFrame] | None:
    """The tables of an audit in this process; None if that cannot be, where paths are elsewhere."""
    with TemporaryDirectory(prefix="antecede-") as scratch:
        log, out = Path(scratch) / LOG, Path(scratch) / "found"
        pq.write_table(rows, log)
        if audit_small([str(log)], str(out), order=order) is None:
            return None
        create = events.sparkSession.createDataFrame
        return {name: create(pq.read_table(out / name)) for name in names}
