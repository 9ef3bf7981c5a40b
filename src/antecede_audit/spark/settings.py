"""Settings of Spark that jobs need, whoever opened the session."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

BATCH_BY_ROWS: Final = {
    # Batches for Python are bounded by rows. To bound them by bytes too, Spark weighs the whole
    # batch again after every row: a third of all the processor time of an ingest.
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
}

BATCH_BY_BYTES: Final = {
    # Where rows are parcels of a megabyte, there are few of them, and weighing them is right.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # What was moved for one table goes when that is written. By default it stays until Java happens
    # to collect its garbage, and everything that was ever moved is on the disk at once.
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
}


@contextmanager
def spark_conf(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of the session for a while."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
