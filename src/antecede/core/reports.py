"""What a process has to say to its application besides messages: who was expelled, at what cost.

Values like messages: made once, never changed. `NodeProcess.reports` hands them out in order.
"""

from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import i64

from antecede.core.values import Value


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
    """We are expelled ourselves, as `by` has told us: this process has stopped for good."""

    __slots__ = ("by",)

    FIELDS: ClassVar = ("by",)

    def __init__(self, by: i64) -> None:
        self.by: Final[i64] = by


Report: TypeAlias = Expelled | DeliveryUnknown | NotSentTo | SelfExpelled
