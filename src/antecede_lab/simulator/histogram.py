"""Counts of durations in buckets that grow with the duration: small, mergeable, never off by much.

Below 128 every whole number has a bucket of its own; above, every power of two is cut into 64 equal
ones. So a quantile is at most one part in 128 away from the truth, whatever the distribution, in a
few thousand integers at most. Count, mean, least and greatest are exact.
"""

from operator import truediv
from typing import Final, final

from librt.vecs import append as extended
from librt.vecs import vec
from mypy_extensions import i64

from antecede.core.errors import LocalError

STEPS_BITS: Final = 6
STEPS: Final = 1 << STEPS_BITS
"""Buckets in every power of two."""


@final
class Histogram:
    """How often each duration occurred, in nanoseconds."""

    __slots__ = ("_buckets", "_total", "count", "greatest", "least")

    def __init__(self) -> None:
        self.count: i64 = 0
        # Both 0 as long as nothing is counted.
        self.least: i64 = 0
        self.greatest: i64 = 0
        # A plain integer: the sum of many long durations need not fit 64 bits.
        self._total: int = 0
        self._buckets = vec[i64]()

    def add(self, duration_ns: i64) -> None:
        """Count one duration, which is not negative."""
        assert duration_ns >= 0, "time does not go backwards"
        if self.count == 0 or duration_ns < self.least:
            self.least = duration_ns
        if duration_ns > self.greatest:
            self.greatest = duration_ns
        self.count += 1
        self._total += int(duration_ns)
        self._add_to(bucket_of(duration_ns), 1)

    def merge(self, other: "Histogram") -> None:
        """Count everything that `other` has counted."""
        if other.count == 0:
            return
        if self.count == 0 or other.least < self.least:
            self.least = other.least
        if other.greatest > self.greatest:
            self.greatest = other.greatest
        self.count += other.count
        self._total += other._total
        bucket: i64 = 0
        while bucket < len(other._buckets):
            if other._buckets[bucket] > 0:
                self._add_to(bucket, other._buckets[bucket])
            bucket += 1

    def mean(self) -> float:
        """The exact mean, or 0 if nothing was counted."""
        if self.count == 0:
            return 0.0
        # Compiled, `/` would round both integers to floats first.
        mean: float = truediv(self._total, int(self.count))
        return mean

    def quantile(self, share: float) -> int:
        """A duration that `share` of all do not exceed: the nearest rank, within its bucket."""
        if not 0 <= share <= 1:
            raise LocalError(f"a quantile is between 0 and 1, not {share}")
        if self.count == 0:
            return 0
        rank = share * float(self.count)
        passed: i64 = 0
        bucket: i64 = 0
        while bucket < len(self._buckets):
            passed += self._buckets[bucket]
            if passed > 0 and float(passed) >= rank:
                break
            bucket += 1
        start = bucket_start(bucket)
        middle = start + (bucket_start(bucket + 1) - 1 - start) // 2
        return int(min(max(middle, self.least), self.greatest))

    def buckets(self) -> list[tuple[int, int, int]]:
        """What was counted, in ascending order: first and last duration of a bucket, and how many.

        Empty buckets are left out.
        """
        found: list[tuple[int, int, int]] = []
        bucket: i64 = 0
        while bucket < len(self._buckets):
            count = self._buckets[bucket]
            if count > 0:
                found.append((bucket_start(bucket), bucket_start(bucket + 1) - 1, count))
            bucket += 1
        return found

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Histogram)
            and self._total == other._total
            and self.least == other.least
            and self.greatest == other.greatest
            and self.buckets() == other.buckets()
        )

    def __hash__(self) -> int:
        return hash((int(self.count), self._total))

    def __repr__(self) -> str:
        return f"<Histogram of {self.count}, mean {self.mean():.1f} ns>"

    def _add_to(self, bucket: i64, count: i64) -> None:
        buckets = self._buckets
        if bucket >= len(buckets):
            while len(buckets) <= bucket:
                buckets = extended(buckets, 0)
            self._buckets = buckets
        buckets[bucket] += count


def bucket_of(duration_ns: i64) -> i64:
    """The bucket that counts this duration."""
    if duration_ns < 2 * STEPS:
        return duration_ns
    shift = bit_length(duration_ns) - STEPS_BITS - 1
    return (shift << STEPS_BITS) + (duration_ns >> shift)


def bucket_start(bucket: i64) -> i64:
    """The least duration that this bucket counts."""
    if bucket < 2 * STEPS:
        return bucket
    shift = (bucket >> STEPS_BITS) - 1
    return (bucket - (shift << STEPS_BITS)) << shift


def bit_length(number: i64) -> i64:
    """The number of binary digits of a number below 2**63."""
    length: i64 = 0
    if number >= 1 << 32:
        length += 32
        number >>= 32
    if number >= 1 << 16:
        length += 16
        number >>= 16
    if number >= 1 << 8:
        length += 8
        number >>= 8
    while number > 0:
        length += 1
        number >>= 1
    return length
