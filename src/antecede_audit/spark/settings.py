"""Settings of a job, in a session of its own; and tables that are cached until it ends.

A user's session is never changed, not even for a moment: another of his threads may run queries
meanwhile. A job works in a *private session*: a clone that has the settings, views, functions and
catalogs of the user's, and shares its SparkContext and its cache. Tables move between the two by
their plans, which costs nothing. Under Spark Connect a job works in the user's session itself and
sets nothing there that only makes it faster.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self, final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

BATCH_BY_ROWS: Final = {
    # Batches for Python are bounded by rows. To bound them by bytes too, Spark weighs the whole
    # batch again after every row: a third of all the processor time of an ingest.
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
}

BATCH_BY_BYTES: Final = {
    # Packed batches have a megabyte: there are few of them, and to weigh them is right.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # What was moved for one table goes when that is written. By default it stays until Java happens
    # to collect its garbage, and everything that was ever moved is on the disk at once.
    "spark.sql.classic.shuffleDependency.fileCleanup.enabled": "true",
}


def is_connect(session: SparkSession) -> bool:
    """Whether a session is one on a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@final
class PrivateSession(SparkSession):
    """A clone of a session, with settings of its own."""

    def __init__(self, lent: SparkSession) -> None:
        super().__init__(lent.sparkContext, lent._jsparkSession.cloneSession())
        self._lent: Final = lent

    def createDataFrame(self, *args: Any, **kwargs: Any) -> DataFrame:  # noqa: ANN401, N802 whatever Spark's own takes
        """The lent session makes the table: whichever does so becomes the active session."""
        return moved_to(self, self._lent.createDataFrame(*args, **kwargs))


def private_session(lent: SparkSession) -> SparkSession:
    """A session for one job; under Spark Connect the lent one."""
    return lent if is_connect(lent) else PrivateSession(lent)


def moved_to(session: SparkSession, table: DataFrame) -> DataFrame:
    """The same table in another session of the same Spark; if it is cached, it still is."""
    if is_connect(session):
        return table
    java = session._jvm
    assert java is not None, "only a session on a Spark Connect server has no Java"
    plan = table._jdf.queryExecution().analyzed()
    rows = java.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)
    return DataFrame(rows, session)


@contextmanager
def spark_conf(
    session: SparkSession, settings: Mapping[str, str], *, required: bool = False
) -> Iterator[None]:
    """Change settings of a private session for a while.

    Under Spark Connect only what is `required` for the result is changed.
    """
    if is_connect(session) and not required:
        yield
        return
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
    """The same for packed batches, rows of a megabyte: on the disk.

    All of a task's are one object in Java's memory, and with others beside it there is no room to
    read it. The system keeps files in memory as well, as far as there is some.
    """
    return persisted(table, stack, StorageLevel.DISK_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistedTables:
    """Tables that are cached until `unpersist`, or the end of a `with`."""

    _stack: ExitStack = field(repr=False)

    def unpersist(self) -> None:
        """Let go of the tables: whoever looks at one again has it computed again."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unpersist()
