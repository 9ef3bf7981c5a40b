"""What a process has to say to its application besides messages: who was expelled, at what cost.

Values like messages: made once, never changed. `NodeProcess.reports` hands them out in order.
"""

from typing import Final, TypeAlias, final

from mypy_extensions import i64


@final
class Expelled:
    """`process` is out: nothing of it will be delivered beyond its message `delivered`."""

    __slots__ = ("delivered", "process")

    def __init__(self, process: i64, delivered: i64) -> None:
        self.process: Final[i64] = process
        self.delivered: Final[i64] = delivered

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Expelled)
            and self.process == other.process
            and self.delivered == other.delivered
        )

    def __hash__(self) -> int:
        return hash(("expelled", int(self.process), int(self.delivered)))

    def __repr__(self) -> str:
        return f"Expelled({self.process}, {self.delivered})"


@final
class Unconfirmed:
    """Whether the expelled `process` has delivered our message `sequence` is not known."""

    __slots__ = ("process", "sequence")

    def __init__(self, sequence: i64, process: i64) -> None:
        self.sequence: Final[i64] = sequence
        self.process: Final[i64] = process

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Unconfirmed)
            and self.sequence == other.sequence
            and self.process == other.process
        )

    def __hash__(self) -> int:
        return hash(("unconfirmed", int(self.sequence), int(self.process)))

    def __repr__(self) -> str:
        return f"Unconfirmed({self.sequence}, {self.process})"


@final
class Refused:
    """Our message `sequence` does not go to `process`, which had been expelled before."""

    __slots__ = ("process", "sequence")

    def __init__(self, sequence: i64, process: i64) -> None:
        self.sequence: Final[i64] = sequence
        self.process: Final[i64] = process

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Refused)
            and self.sequence == other.sequence
            and self.process == other.process
        )

    def __hash__(self) -> int:
        return hash(("refused", int(self.sequence), int(self.process)))

    def __repr__(self) -> str:
        return f"Refused({self.sequence}, {self.process})"


@final
class Stopped:
    """We are expelled ourselves, as `by` has told us: this process has stopped for good."""

    __slots__ = ("by",)

    def __init__(self, by: i64) -> None:
        self.by: Final[i64] = by

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stopped) and self.by == other.by

    def __hash__(self) -> int:
        return hash(("stopped", int(self.by)))

    def __repr__(self) -> str:
        return f"Stopped({self.by})"


Report: TypeAlias = Expelled | Unconfirmed | Refused | Stopped
