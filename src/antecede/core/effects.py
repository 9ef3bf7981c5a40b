"""What a protocol asks its driver to do.

Effects are performed in the order in which they come: a `Deliver` takes place before the
acknowledgement that follows it leaves.
"""

from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.values import Message, Packet, Value


@final
@mypyc_attr(acyclic=True)
class Transmit(Value):
    """Put `packet` on the network, towards `target`."""

    __slots__ = ("packet", "target")

    FIELDS: ClassVar = ("target", "packet")

    def __init__(self, target: i64, packet: Packet) -> None:
        self.target: Final[i64] = target
        self.packet: Final = packet


@final
@mypyc_attr(acyclic=True)
class Deliver(Value):
    """Put `message` into the application's inbox: it is its turn."""

    __slots__ = ("message",)

    FIELDS: ClassVar = ("message",)

    def __init__(self, message: Message) -> None:
        self.message: Final = message


Effect: TypeAlias = Transmit | Deliver
