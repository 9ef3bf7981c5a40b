"""What has been delivered and waits for the application, and payloads that come in parts."""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr


@final
@mypyc_attr(acyclic=True)
class InboundMessage:
    """A message as its receiver sees it."""

    __slots__ = ("payload", "sender", "sequence")

    def __init__(self, sender: str, sequence: i64, payload: bytes) -> None:
        self.sender: Final = sender
        self.sequence: Final[i64] = sequence
        self.payload: Final = payload

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InboundMessage)
            and self.sender == other.sender
            and self.sequence == other.sequence
            and self.payload == other.payload
        )

    def __hash__(self) -> int:
        return hash((self.sender, int(self.sequence)))

    def __repr__(self) -> str:
        return f"Message(sender={self.sender!r}, sequence={self.sequence}, {self.payload!r})"


@final
class LargePayload:
    """A payload on its way into the core, part by part."""

    __slots__ = ("offset", "part_size", "payload", "sequence", "targets")

    def __init__(self, targets: list[int], payload: bytes, part_size: i64, first: i64) -> None:
        self.targets: list[int] = targets
        self.payload: Final = payload
        self.part_size: Final[i64] = part_size
        self.offset: i64 = 0
        # The id of the last part stands for the whole.
        self.sequence: Final[i64] = first + (len(payload) - 1) // part_size

    def next_part(self) -> bytes:
        """The next part; `advance` goes past it."""
        return self.payload[self.offset : self.offset + self.part_size]

    def is_last(self) -> bool:
        """Whether the next part is the last one."""
        return self.offset + self.part_size >= len(self.payload)

    def advance(self) -> None:
        """The next part has been taken."""
        self.offset += self.part_size
