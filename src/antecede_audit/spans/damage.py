"""Which files could not be read to their end, and which of them stop an ingest.

A file that cannot be opened, or of which nothing can be used, would be missing from results that
look complete: the ingest fails before it writes anything, and names it. A file that is truncated or
damaged further on is used up to there, and the summary says how far that was.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from antecede.core.errors import LocalError
from antecede_audit.spans.reading import DAMAGED, KNOWN, UNREADABLE
from antecede_audit.spans.summary import DamagedFile

FileRows: TypeAlias = Sequence[Mapping[str, Any]]
"""Rows of `FILES`."""

NOT_READ: Final = (KNOWN, DAMAGED, UNREADABLE)
"""The formats of rows that count no records."""

SHOWN: Final = 5
"""Of files that cannot be read this many are named."""


def check_readable(files: FileRows) -> None:
    """`LocalError` that names them if some files cannot be used at all."""
    failed = unreadable_among(files)
    if failed:
        shown = [f"{path} ({failed[path]})" for path in sorted(failed)]
        more = f" and {len(shown) - SHOWN:,} more" if len(shown) > SHOWN else ""
        raise LocalError(
            f"cannot read {', '.join(shown[:SHOWN])}{more}. "
            "Nothing was written: mend what cannot be read, or leave it out"
        )


def unreadable_among(files: FileRows) -> dict[str, str]:
    """By path: why nothing of a file can be used. Of a large file no part must be usable."""
    broken = [file for file in files if file["format"] == DAMAGED]
    parts = {(file["part"], file["source"]) for file in broken}
    used: Counter[str] = Counter()
    for file in files:
        if file["format"] == DAMAGED or (
            file["format"] not in NOT_READ and (file["part"], file["source"]) not in parts
        ):
            used[file["source"]] += file["records"]
    nothing = [file for file in broken if not used[file["source"]]]
    refused = [file for file in files if file["format"] == UNREADABLE]
    return {file["source"]: file["damage"] for file in (*nothing, *refused)}


def damaged_files(files: FileRows) -> list[DamagedFile]:
    """The files that were read up to a damage, and how many records that gave."""
    reasons: dict[str, str] = {}
    records: Counter[str] = Counter()
    for file in files:
        if file["format"] == DAMAGED:
            reasons.setdefault(file["source"], file["damage"])
            records[file["source"]] += file["records"]
    return [
        DamagedFile(source=source, reason=reasons[source], records=records[source])
        for source in sorted(reasons)
    ]
