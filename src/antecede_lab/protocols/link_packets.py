"""The packets of the reliable link: a numbered packet of the protocol above it, and its answer.

They stand in the core, below the link itself, because the wire must know them too.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Message, Packet

RANGES_LIMIT: Final = 16
"""Ranges in one answer; a later one has what lies beyond them."""


@final
@mypyc_attr(acyclic=True)
class LinkData(Packet):
    """The packet of a protocol above, with its number among those from here to there."""

    __slots__ = ("inner", "number")

    FIELDS: ClassVar = ("number", "inner")

    def __init__(self, number: i64, inner: Packet) -> None:
        self.number: Final[i64] = number
        self.inner: Final = inner

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def message(self) -> Message | None:
        return self.inner.message

    @property
    def metadata_integers(self) -> int:
        """The number, and what the inner packet has."""
        return 1 + self.inner.metadata_integers


@final
@mypyc_attr(acyclic=True)
class LinkAck(Packet):
    """Everything up to `through` has been taken in, and so are (or wait here) these `ranges`.

    A range is (first, last); ranges ascend, with at least one number missing before each.
    """

    __slots__ = ("ranges", "through")

    KIND: ClassVar[str] = "link-ack"
    FIELDS: ClassVar = ("through", "ranges")

    def __init__(self, through: i64, ranges: tuple[tuple[int, int], ...]) -> None:
        self.through: Final[i64] = through
        self.ranges: Final = ranges

    @property
    def metadata_integers(self) -> int:
        """The number, and two for every range."""
        return 1 + 2 * len(self.ranges)

    def is_sound(self) -> bool:
        """Whether the ranges are as they should be."""
        if self.through < 0 or len(self.ranges) > RANGES_LIMIT:
            return False
        end = self.through
        for first, last in self.ranges:
            if first < end + 2 or last < first:
                return False
            end = last
        return True

    def highest(self) -> int:
        """The highest number that it acknowledges."""
        return self.ranges[-1][1] if self.ranges else self.through
