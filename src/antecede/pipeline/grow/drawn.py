"""Chance as columns: numbers that depend on a seed and on names, never on partitions or order."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 what everybody calls it

LAYER: Final = 1
ERRAND: Final = 2
SAMPLE: Final = 3
"""Purposes: two draws for the same names must not be the same number."""

MANTISSA_BITS: Final = 53


def below(limit: Column, seed: int, purpose: int, *names: Column) -> Column:
    """A whole number from 0 up to, not including, `limit`; the same for the same names."""
    return F.pmod(hashed(seed, purpose, *names), limit.cast("long"))


def unit(seed: int, purpose: int, *names: Column) -> Column:
    """A number from 0 up to, not including, 1; the same for the same names."""
    bits = F.shiftrightunsigned(hashed(seed, purpose, *names), 64 - MANTISSA_BITS)
    return bits.cast("double") / F.lit(float(1 << MANTISSA_BITS))


def hashed(seed: int, purpose: int, *names: Column) -> Column:
    """64 bits in which every bit of the seed and the names has a part."""
    return F.xxhash64(
        F.lit(seed).cast("long"), F.lit(purpose), *(name.cast("long") for name in names)
    )
