"""Tables that are worked out once, and let go together."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self

from pyspark import StorageLevel
from pyspark.sql import DataFrame


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
