"""What this node has sent and somebody has not delivered yet: how much it is, and what is in parts.

Payloads that do not fit a datagram are cut into consecutive messages. Until the last part has found
room nothing else is sent, so that the parts stay together.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.sliding import SlidingArray
from antecede.link.outgoing import MESSAGE_COST


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


@final
class Ledger:
    """The books of one sender."""

    __slots__ = ("_sizes", "bytes_held", "large", "next_sequence", "parts", "unwritten")

    def __init__(self) -> None:
        self._sizes: SlidingArray[int] = SlidingArray()
        self.next_sequence: i64 = 1
        self.bytes_held: i64 = 0
        # Bytes of payload submitted since datagrams were last written.
        self.unwritten: i64 = 0
        # Ids of messages that are parts, and not the last, of a large payload.
        self.parts: Final[dict[int, bool]] = {}
        self.large: LargePayload | None = None

    def enter(self, size: i64) -> i64:
        """A message of this size is sent; its id."""
        sequence = self.next_sequence
        self.next_sequence += 1
        self.unwritten += size
        self._sizes.add(size + MESSAGE_COST)
        self.bytes_held += size + MESSAGE_COST
        return sequence

    def withdraw(self, target: int, messages: list[int]) -> list[int]:
        """`target` gets nothing more: the ids of the payloads that `messages` to it belong to."""
        whole = [sequence for sequence in messages if sequence not in self.parts]
        large = self.large
        if large is not None and target in large.targets:
            large.targets.remove(target)
            whole.append(large.sequence)
        return whole

    def settle(self, oldest: i64) -> None:
        """Everything below `oldest` has been delivered everywhere, or given up."""
        sizes = self._sizes
        while sizes.first < oldest:
            if self.parts:
                self.parts.pop(sizes.first, None)
            self.bytes_held -= sizes.remove()
