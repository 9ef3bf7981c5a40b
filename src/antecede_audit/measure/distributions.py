"""Distributions as counts in buckets: small enough to collect, close enough for any quantile.

The buckets are those of `antecede_lab.simulator.histogram`, and those of a negative value mirror
them, so what is counted in a log and what the simulator counts in a run can be compared bucket by
bucket, and a quantile is at most one part in 128 away from the truth. Count, mean, least and
greatest are exact. A task counts its own rows (`tally`); what several tasks have counted is added
up (`merged`), so nothing depends on how rows are spread over tasks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.eventlog.parquet import ArrowArray, ArrowTable

Integers: TypeAlias = NDArray[np.int64]
Tally: TypeAlias = dict[str, Any]
"""A row of `TALLIES`."""

STEPS_BITS: Final = 6
STEPS: Final = 1 << STEPS_BITS
POWERS: Final = np.left_shift(1, np.arange(63, dtype=np.int64))
"""The powers of two up to 2**62. As many of them as are up to a number, it has binary digits."""

HALF_BITS: Final = 32
LOW_HALF: Final = (1 << HALF_BITS) - 1

TALLIES: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("measure", pa.string()),
        ("bucket", pa.int64()),
        ("count", pa.int64()),
        ("high", pa.int64()),
        ("low", pa.int64()),
        ("least", pa.int64()),
        ("greatest", pa.int64()),
    ]
)
"""How many values of a measure are in a bucket, and which; their sum is `high * 2**32 + low`.

In halves of 32 bits sums of a billion values fit 64 bits each, and are exact.
"""

KEY: Final = ("run_id", "measure", "bucket")
ADDED: Final = {
    "count": "sum",
    "high": "sum",
    "low": "sum",
    "least": "min",
    "greatest": "max",
}
"""How tallies of one bucket become one."""

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How often which values occurred."""

    least: int
    greatest: int
    total: int
    buckets: tuple[tuple[int, int], ...]
    """Ascending: the number of a bucket, and how many values it has counted."""

    @property
    def count(self) -> int:
        """How many values there are; at least one."""
        return sum(count for _, count in self.buckets)

    @property
    def mean(self) -> float:
        """The exact mean."""
        return self.total / self.count

    def quantile(self, share: float) -> int:
        """A value that `share` of all do not exceed: the nearest rank, within its bucket."""
        rank = share * self.count
        counts = accumulate(count for _, count in self.buckets)
        bucket = self.buckets[[passed >= rank for passed in counts].index(True)][0]
        low, high = bounds(bucket)
        return min(max(low + (high - low) // 2, self.least), self.greatest)

    def steps(self) -> list[tuple[int, int]]:
        """Ascending values, and how many are no greater: the points of a cumulative plot."""
        passed = accumulate(count for _, count in self.buckets)
        ends = [bounds(bucket)[1] for bucket, _ in self.buckets]
        inside = [min(max(end, self.least), self.greatest) for end in ends]
        return list(zip(inside, passed, strict=True))

    def figures(self) -> dict[str, float]:
        """Count, mean and quantiles by name."""
        named = {f"p{100 * share:g}": self.quantile(share) for share in QUANTILES}
        return {
            "count": self.count,
            "mean": self.mean,
            "min": self.least,
            **named,
            "max": self.greatest,
        }


def bounds(bucket: int) -> tuple[int, int]:
    """The least and the greatest value of a bucket; those below 0 count negative ones."""
    size = abs(bucket)
    shift = max(0, (size >> STEPS_BITS) - 1)
    near = (size - shift * STEPS) << shift
    far = near + (1 << shift) - 1
    return (near, far) if bucket >= 0 else (-far, -near)


def bucket_numbers(values: Integers) -> Integers:
    """The number of the bucket that counts each value; negative for a negative one."""
    sizes = np.abs(values)
    digits = np.searchsorted(POWERS, sizes, side="right")
    shifts = np.maximum(digits - STEPS_BITS - 1, 0).astype(np.int64)
    numbers: Integers = shifts * STEPS + (sizes >> shifts)
    return np.where(values < 0, -numbers, numbers)


def bucket_number(value: int) -> int:
    """The number of the bucket that counts this value."""
    return int(bucket_numbers(np.array([value], np.int64))[0])


# Counting.


def tally(
    runs: ArrowArray,
    measure: str,
    values: ArrowArray,
    counts: ArrowArray | None = None,
    buckets: ArrowArray | None = None,
) -> ArrowTable:
    """Count the values of a measure, as `TALLIES`; nulls are no values.

    Each is counted once, or as often as `counts` says; in the bucket of its size, or in that of
    `buckets`.
    """
    rows = pa.table(
        {
            "run_id": runs,
            "value": values.cast(pa.int64()),
            "count": pa.repeat(1, len(values)) if counts is None else counts,
            "bucket": pa.nulls(len(values), pa.int64()) if buckets is None else buckets,
        }
    )
    rows = rows.filter(pc.is_valid(rows["value"])).combine_chunks()
    value, count = rows["value"].to_numpy(), rows["count"].to_numpy()
    if buckets is None:
        rows = rows.set_column(3, "bucket", pa.array(bucket_numbers(value)))
    columns = {
        "run_id": rows["run_id"],
        "measure": pa.repeat(measure, len(rows)),
        "bucket": rows["bucket"],
        "count": count,
        "high": (value >> HALF_BITS) * count,
        "low": (value & LOW_HALF) * count,
        "least": value,
        "greatest": value,
    }
    return merged(pa.table(columns))


def merged(tallies: ArrowTable) -> ArrowTable:
    """One tally for each bucket of what several tasks, or several rows, have counted."""
    groups = tallies.group_by([*KEY], use_threads=False).aggregate([*ADDED.items()])
    return groups.rename_columns(TALLIES.names).cast(TALLIES)


def total_of(tallies: Iterable[Tally]) -> int:
    """The sum of all values that these have counted."""
    return sum((one["high"] << HALF_BITS) + one["low"] for one in tallies)


def distribution_of(tallies: Sequence[Tally]) -> Distribution:
    """What the tallies of one measure make; at least one."""
    return Distribution(
        least=min(one["least"] for one in tallies),
        greatest=max(one["greatest"] for one in tallies),
        total=total_of(tallies),
        buckets=tuple(sorted((one["bucket"], one["count"]) for one in tallies)),
    )


def gathered(counts: Mapping[int, int]) -> Distribution:
    """The distribution of these values, each with how often it occurred; at least one."""
    values, often = pa.array(counts.keys(), pa.int64()), pa.array(counts.values(), pa.int64())
    return distribution_of(tally(pa.repeat("", len(counts)), "", values, often).to_pylist())


def by_run(tallies: ArrowTable) -> dict[str, dict[str, list[Tally]]]:
    """The tallies of each run, by measure; `merged` ones."""
    found: dict[str, dict[str, list[Tally]]] = {}
    for one in tallies.to_pylist():
        found.setdefault(one["run_id"], {}).setdefault(one["measure"], []).append(one)
    return found
