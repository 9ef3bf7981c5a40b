"""Whether the rows that executors wrote are where the driver, and whoever reads them, looks.

A path of this machine's disk is another folder on every machine. Spark writes there without a word
of complaint, each executor on its own disk, and then the tables that it leaves here are empty. So
whoever has Spark write a table counts what is there afterwards.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from pyspark.errors import PySparkException

from antecede.core.errors import LocalError
from antecede_audit.jobs.worker_files import SHARED
from antecede_audit.spark.session import first_line
from antecede_audit.spark.storage import Storage

PARQUET: Final = "parquet"
STAGE: Final = re.compile(r"/\.[^/]+\.unfinished")
"""Where tables are until all of them are written."""


@contextmanager
def blaming_spark(table: str) -> Iterator[None]:
    """Turn what Spark says into a `LocalError` that names the table."""
    try:
        yield
    except PySparkException as error:
        raise LocalError(f"cannot write {table}: {first_line(error)}") from error


def check_rows(storage: Storage, place: str, expected: int, format_name: str = PARQUET) -> None:
    """`LocalError` unless the table at a place has this number of rows."""
    here = storage.local(place)
    if here is not None and format_name == PARQUET:
        found = rows_here(here)
    else:
        found = storage.count(place, format_name)
    if found != expected:
        folder, _, table = place.rpartition("/")
        raise LocalError(
            f"{expected:,} rows of the table {table} were written, and {found:,} are there: "
            f"{STAGE.sub('', folder)} {SHARED}"
        )


def rows_here(folder: Path) -> int:
    """How many rows there are in the Parquet files of a folder, by their own account."""
    files = (file for file in folder.rglob("*.parquet") if not file.name.startswith((".", "_")))
    return sum(pq.read_metadata(file).num_rows for file in files)
