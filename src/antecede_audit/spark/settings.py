"""What a job changes in a session for a while: settings, and tables that are kept until it ends."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, Self

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

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


def persisted(
    table: DataFrame, stack: ExitStack, level: StorageLevel = StorageLevel.MEMORY_AND_DISK
) -> DataFrame:
    """The same table, worked out once only, until the stack is closed."""
    stored = table.persist(level)
    stack.callback(stored.unpersist)
    return stored


def persist_packed(table: DataFrame, stack: ExitStack) -> DataFrame:
    """The same for rows that are parcels of a megabyte: kept on the disk.

    All of a task's are one object in Java's memory, and with others beside it there is no room to
    read it. The system keeps files in memory as well, as far as there is some.
    """
    return persisted(table, stack, StorageLevel.DISK_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistedTables:
    """Tables that are kept until `unpersist`, or the end of a `with`."""

    _stack: ExitStack = field(repr=False)

    def unpersist(self) -> None:
        """Let go of the tables: whoever looks at one again has it computed again."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unpersist()
