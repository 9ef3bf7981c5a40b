"""What was given up and the application may not know yet: after a crash it is told again.

A report is a promise kept ("neither delivered nor lost without a word"), so it must survive like a
delivery. It is written down in the commit of what it tells of, and struck out once the application
has been told; who crashes in between tells it once more.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.records import RecordReader, encode_record
from antecede.durability.record_kinds import LEFT_OUT, LOSS

UNREPORTED_MAX: Final = 4096
"""4,096 reports wait for somebody to be told; the oldest gives way."""


@final
class LossRecord:
    """Messages of ours that a peer may never deliver, and perhaps its expulsion."""

    __slots__ = ("expelled", "left_out", "life", "name", "number", "sequences", "unreceived")

    def __init__(
        self,
        number: i64,
        name: str,
        sequences: list[int],
        expelled: i64 = 0,
        unreceived: i64 = 0,
        life: i64 = 0,
        left_out: bool = False,
    ) -> None:
        self.number: Final[i64] = number
        self.name: Final = name
        self.sequences: Final = sequences
        # The id in the core of the incarnation whose expulsion is told; 0 if none is.
        self.expelled: Final[i64] = expelled
        self.unreceived: Final[i64] = unreceived
        # The incarnation of this node that had sent the messages; 0: the one that runs.
        self.life: Final[i64] = life
        # Whether they were never submitted to that peer, because it was away.
        self.left_out: Final = left_out

    def of_life(self, life: i64) -> "LossRecord":
        """The same, seen from a later life, which has expelled nobody."""
        first = self.life or life
        return LossRecord(self.number, self.name, self.sequences, 0, 0, first, self.left_out)


@final
class UnreportedLosses:
    """The losses of one node that were not told yet."""

    __slots__ = ("_fresh", "_last", "by_number")

    def __init__(self) -> None:
        self.by_number: dict[int, LossRecord] = {}
        self._last: i64 = 0
        # Those that the next commit makes durable, and that may be told then.
        self._fresh: list[int] = []

    def add(
        self, name: str, sequences: list[int], expelled: i64, unreceived: i64, left_out: bool
    ) -> LossRecord:
        """Something is given up in this turn."""
        loss = LossRecord(self._last + 1, name, sequences, expelled, unreceived, 0, left_out)
        self.put(loss)
        self._fresh.append(int(loss.number))
        return loss

    def take_fresh(self) -> list[int]:
        """The numbers of those that were added since the last call."""
        fresh = self._fresh
        self._fresh = []
        return fresh

    def put(self, loss: LossRecord) -> None:
        """As `add`, for one that was written down before."""
        self.by_number[int(loss.number)] = loss
        if loss.number > self._last:
            self._last = loss.number
        if len(self.by_number) > UNREPORTED_MAX:
            del self.by_number[next(iter(self.by_number))]

    def remove(self, numbers: list[int]) -> None:
        """The application has been told of these."""
        for number in numbers:
            self.by_number.pop(number, None)

    def of_former_life(self, former: i64) -> "UnreportedLosses":
        """The same as a new life tells it; not whom the one before had expelled."""
        losses = UnreportedLosses()
        for loss in self.by_number.values():
            if loss.sequences:
                losses.put(loss.of_life(former))
        return losses


def loss_record(loss: LossRecord) -> bytes:
    """Something that was given up."""
    kind = LEFT_OUT if loss.left_out else LOSS
    numbers = [int(loss.number), int(loss.life), int(loss.expelled), int(loss.unreceived)]
    return encode_record(kind, [*numbers, len(loss.sequences), *loss.sequences], loss.name.encode())


def read_loss(reader: RecordReader) -> LossRecord:
    """What `loss_record` wrote."""
    number, life, expelled, unreceived, count = [reader.number() for _ in range(5)]
    sequences = [reader.number() for _ in range(count)]
    name, left_out = reader.rest().decode(), reader.kind == LEFT_OUT
    return LossRecord(number, name, sequences, expelled, unreceived, life, left_out)
