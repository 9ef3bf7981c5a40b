"""What a process asks its driver to do, and what it reports of expulsions.

Effects are performed in the order in which they come: a `Deliver` takes place before the
acknowledgement that follows it leaves. Reports are values like messages: made once, never changed;
`NodeProcess.reports` hands them out in order.
"""

from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Message, Packet, Value


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


@final
class Expelled(Value):
    """`process` is out: nothing of it will be delivered beyond its message `delivered`."""

    __slots__ = ("delivered", "process")

    FIELDS: ClassVar = ("process", "delivered")

    def __init__(self, process: i64, delivered: i64) -> None:
        self.process: Final[i64] = process
        self.delivered: Final[i64] = delivered


@final
class DeliveryUnknown(Value):
    """Whether the expelled `process` has delivered our message `sequence` is not known."""

    __slots__ = ("process", "sequence")

    FIELDS: ClassVar = ("sequence", "process")

    def __init__(self, sequence: i64, process: i64) -> None:
        self.sequence: Final[i64] = sequence
        self.process: Final[i64] = process


@final
class NotSentTo(Value):
    """Our message `sequence` does not go to `process`, which had been expelled before."""

    __slots__ = ("process", "sequence")

    FIELDS: ClassVar = ("sequence", "process")

    def __init__(self, sequence: i64, process: i64) -> None:
        self.sequence: Final[i64] = sequence
        self.process: Final[i64] = process


@final
class SelfExpelled(Value):
    """`by` has notified us that we are expelled ourselves: this process has stopped for good."""

    __slots__ = ("by",)

    FIELDS: ClassVar = ("by",)

    def __init__(self, by: i64) -> None:
        self.by: Final[i64] = by


Report: TypeAlias = Expelled | DeliveryUnknown | NotSentTo | SelfExpelled
