"""How much a command does in this process: one limit for all of them; what is beyond is Spark's.

Spark takes longer to start and to plan than this process takes for half a million rows; and with
more than a million, a gigabyte or two of memory would not do any more.
"""

from typing import Final

ROWS_MAX: Final = 1_000_000
"""At most 1,000,000 rows: events of logs, messages of workloads, spans or lines of traces."""

BYTES_MAX: Final = 256 << 20
"""At most 256 MiB of files."""


def fits_here(rows: int, size_bytes: int = 0, rows_max: int = ROWS_MAX) -> bool:
    """Whether so many rows, in files of this size, are dealt with in this process."""
    return rows <= rows_max and size_bytes <= BYTES_MAX
