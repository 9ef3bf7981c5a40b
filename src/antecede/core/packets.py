"""The packets of the hybrid family: a tagged message, and three kinds of pure control.

Their cost is the point of the family: two integers and a flag per message, one or two integers per
control packet, however many processes there are.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.values import Message, Packet


@final
@mypyc_attr(acyclic=True)
class DataPacket(Packet):
    """A message, the id of its predecessor to the same process, and whether a permit follows."""

    __slots__ = ("carried", "flagged", "previous")

    KIND: ClassVar[str] = "message"

    def __init__(self, carried: Message, previous: i64, flagged: bool) -> None:
        self.carried: Final = carried
        self.previous: Final[i64] = previous
        self.flagged: Final = flagged

    @property
    def message(self) -> Message | None:
        return self.carried

    @property
    def metadata_integers(self) -> int:
        """The id and that of its predecessor; the flag is a bit."""
        return 2

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DataPacket)
            and self.carried == other.carried
            and self.previous == other.previous
            and self.flagged == other.flagged
        )

    def __hash__(self) -> int:
        return hash((self.carried, int(self.previous), self.flagged))

    def __repr__(self) -> str:
        return f"DataPacket({self.carried!r}, {self.previous}, {self.flagged})"


@final
@mypyc_attr(acyclic=True)
class Ack(Packet):
    """Delivered: the message with this id (and, where acks are cumulative, all before it)."""

    __slots__ = ("sequence",)

    KIND: ClassVar[str] = "ack"

    def __init__(self, sequence: i64) -> None:
        self.sequence: Final[i64] = sequence

    @property
    def metadata_integers(self) -> int:
        """The id."""
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ack) and self.sequence == other.sequence

    def __hash__(self) -> int:
        return hash((self.KIND, int(self.sequence)))

    def __repr__(self) -> str:
        return f"Ack({self.sequence})"


@final
@mypyc_attr(acyclic=True)
class Permit(Packet):
    """What depended on the message with this id may leave (cumulative: and on all before it)."""

    __slots__ = ("sequence",)

    KIND: ClassVar[str] = "permit"

    def __init__(self, sequence: i64) -> None:
        self.sequence: Final[i64] = sequence

    @property
    def metadata_integers(self) -> int:
        """The id."""
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permit) and self.sequence == other.sequence

    def __hash__(self) -> int:
        return hash((self.KIND, int(self.sequence)))

    def __repr__(self) -> str:
        return f"Permit({self.sequence})"


@final
@mypyc_attr(acyclic=True)
class Ask(Packet):
    """Delivered up to `delivered`; still missing the permit of `lowest`: please send it again."""

    __slots__ = ("delivered", "lowest")

    KIND: ClassVar[str] = "ask"

    def __init__(self, delivered: i64, lowest: i64) -> None:
        self.delivered: Final[i64] = delivered
        self.lowest: Final[i64] = lowest

    @property
    def metadata_integers(self) -> int:
        """Both ids."""
        return 2

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ask)
            and self.delivered == other.delivered
            and self.lowest == other.lowest
        )

    def __hash__(self) -> int:
        return hash((self.KIND, int(self.delivered), int(self.lowest)))

    def __repr__(self) -> str:
        return f"Ask({self.delivered}, {self.lowest})"
