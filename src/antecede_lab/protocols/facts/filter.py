"""The filter of `hybrid-facts`: a few bits that stand for destinations.

A set bit speaks of every destination that is mapped to it, so it is never cleared, not even by one
who knows that the destination it set it for is not concerned: somebody may mean another one.
"""

from typing import Final, final

from mypy_extensions import i64

FILTER_BITS_MAX: Final = 64

# Bit 63 is the sign of a 64-bit integer; written like this it is the same compiled or not.
BITS: Final[list[int]] = [*(1 << bit for bit in range(63)), -(1 << 63)]


@final
class Filter:
    """How destinations are mapped to bits: e to bit e mod W; without bits, all to one."""

    __slots__ = ("all", "width")

    def __init__(self, width: i64) -> None:
        self.width: Final[i64] = width
        self.all: Final[i64] = every_bit(width)

    def bit(self, target: i64) -> i64:
        """The bit of a destination."""
        return 1 if self.width == 0 else BITS[target % self.width]

    def has(self, mask: i64, target: i64) -> bool:
        """Whether `mask` speaks of `target`, or of one that shares its bit."""
        if mask == 0 or self.width == 0:
            return mask != 0
        return (mask >> (target % self.width)) & 1 == 1

    def fits(self, mask: i64) -> bool:
        """Whether `mask` has no bits outside the filter."""
        return mask | self.all == self.all


def every_bit(width: i64) -> i64:
    """A mask with all bits of a filter set."""
    if width == 0:
        return 1
    mask: i64 = 0
    for bit in range(width):
        mask |= BITS[bit]
    return mask
