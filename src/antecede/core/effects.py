"""What a protocol asks its driver to do.

Effects are performed in the order in which they come: a `Deliver` takes place before the
acknowledgement that follows it leaves.
"""

from typing import Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.values import Message, Packet


@final
@mypyc_attr(acyclic=True)
class Transmit:
    """Put `packet` on the network, towards `target`."""

    __slots__ = ("packet", "target")

    def __init__(self, target: i64, packet: Packet) -> None:
        self.target: Final[i64] = target
        self.packet: Final = packet

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Transmit)
            and self.target == other.target
            and self.packet == other.packet
        )

    def __hash__(self) -> int:
        return hash((int(self.target), self.packet))

    def __repr__(self) -> str:
        return f"Transmit({self.target}, {self.packet!r})"


@final
@mypyc_attr(acyclic=True)
class Deliver:
    """Hand `message` to the application."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message: Final = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Deliver) and self.message == other.message

    def __hash__(self) -> int:
        return hash(self.message)

    def __repr__(self) -> str:
        return f"Deliver({self.message!r})"


Effect: TypeAlias = Transmit | Deliver
