"""The runs of a sweep on disk: what is finished is known from what is there.

`DIR/runs` is a Parquet dataset. Every file in it appears complete or not at all, and a run is in it
exactly if it is over, so a sweep that was interrupted goes on where it stopped.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local, write_atomically
from antecede.eventlog.parquet import ArrowTable, load_pyarrow, reading
from antecede_audit.measure.figures import MEASURED

FINISHED: Final = "finished"
"""Everything that was submitted was delivered, and all buffers emptied."""

UNFINISHED: Final = "unfinished"
"""The run ended, at its limit or for good, with something still to be done."""

UNSUITED: Final = "unsuited"
"""The protocol cannot carry this workload: it does not multicast, or does nothing else."""

FAILED: Final = "failed"
"""The run broke down, and would again; the reason says how."""

LOST: Final = "lost"
"""What was to carry the run gave way, not the run: a worker died, a disk was full, memory ran out.
Nothing is known of the run, so a sweep that goes on tries it again.
"""

LEFT_OUT: Final = "left out"
"""The grid sets a limit to this protocol, and the reason says why."""

STATES: Final = (FINISHED, UNFINISHED, UNSUITED, FAILED, LOST, LEFT_OUT)

WITH_EVENTS: Final = (FINISHED, UNFINISHED)
"""A run that ended like this has events, if they were asked for."""

PLANNED: Final = StructType(
    [
        StructField("digest", StringType(), nullable=False),
        StructField("run_id", StringType(), nullable=False),
        StructField("protocol", StringType(), nullable=False),
        StructField("scenario", StringType(), nullable=False),
        StructField("network", StringType(), nullable=False),
        StructField("processes", IntegerType(), nullable=False),
        StructField("seed", LongType(), nullable=False),
        StructField("plan", StringType(), nullable=False),
    ]
)
"""A run that is to take place; `plan` is all that it depends on, the rest says which one it is."""

REQUESTS: Final = StructType(
    [
        StructField("requests", LongType()),
        StructField("request_mean_ns", DoubleType()),
        StructField("request_p50_ns", LongType()),
        StructField("request_p99_ns", LongType()),
    ]
)
"""How long conversations took, from the first submission to the last delivery; of replays only."""

RUNS: Final = StructType(
    [
        *PLANNED.fields,
        StructField("status", StringType(), nullable=False),
        StructField("reason", StringType()),
        StructField("carried_by", StringType()),
        StructField("events", LongType()),
        StructField("refused", LongType()),
        StructField("blocked", LongType()),
        StructField("seconds", DoubleType()),
        *from_arrow_schema(MEASURED).fields,
        *REQUESTS.fields,
    ]
)
"""What came of a run. `carried_by` is the protocol, with `+link` if it ran over the reliable link;
`seconds` is the real time that it took, the only column that another attempt would not repeat.
"""


PARTS_MAX: Final = 64
"""More files than this are put together into one when a sweep is over."""


class RunStore:
    """The folder of a sweep's runs."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder

    def create(self) -> None:
        """Make the folder, if it is not there."""
        with os_errors_as_local(self.folder, "write"):
            self.folder.mkdir(parents=True, exist_ok=True)

    def statuses(self) -> dict[str, str]:
        """How the runs that are over have ended, by their digests."""
        table = self.read(("digest", "status"))
        return dict(zip(table["digest"].to_pylist(), table["status"].to_pylist(), strict=True))

    def add(self, runs: ArrowTable) -> None:
        """Keep these runs."""
        if len(runs):
            self._write(runs, runs["digest"][0].as_py())

    def read(self, columns: Sequence[str] | None = None) -> ArrowTable:
        """All runs, or some columns of them; of one that was run again, the last attempt."""
        pa = load_pyarrow("pyarrow")
        pq = load_pyarrow("pyarrow.parquet")
        schema = to_arrow_schema(RUNS)
        tables = []
        for file in self._parts():
            with reading(file):
                tables.append(pq.read_table(file, schema=schema, partitioning=None))
        whole = pa.concat_tables(tables) if tables else schema.empty_table()
        latest = dict(zip(whole["digest"].to_pylist(), range(len(whole)), strict=True))
        kept = whole.take(pa.array(sorted(latest.values()), pa.int64()))
        return kept if columns is None else kept.select(list(columns))

    def read_only(self, digests: Iterable[str]) -> ArrowTable:
        """The runs with these digests, in this order; `LocalError` if one is missing."""
        pa = load_pyarrow("pyarrow")
        runs = self.read()
        place = {digest: number for number, digest in enumerate(runs["digest"].to_pylist())}
        try:
            rows = [place[digest] for digest in digests]
        except KeyError as error:
            raise LocalError(f"{self.folder} has no run {error.args[0]}") from None
        return runs.take(pa.array(rows, pa.int64()))

    def tidy(self) -> None:
        """Put many small files together into one."""
        parts = self._parts()
        if len(parts) <= PARTS_MAX:
            return
        runs = self.read()
        self._write(runs, f"all-{len(runs)}-{runs['digest'][0].as_py()}")
        for part in parts:
            part.unlink()

    def _write(self, runs: ArrowTable, name: str) -> None:
        pq = load_pyarrow("pyarrow.parquet")
        taken = [int(part.name.split("-")[1]) for part in self._parts()]
        number = 1 + max(taken, default=0)
        file = self.folder / f"part-{number:05}-{name}.parquet"
        with write_atomically(file) as partial, os_errors_as_local(file, "write"):
            pq.write_table(runs, partial, compression="zstd")

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))
