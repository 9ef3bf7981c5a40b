"""The packets of `hybrid-facts`: messages that say what they depend on, within a budget.

A message names what its receiver must deliver first, and reports which messages of its past may
still be undelivered elsewhere: as facts while they fit, as a filter of destinations where they do
not, and as a few destinations by name where one is stalled. Without a report it is clean, which is
the same as a permit. Every packet may carry watermarks: how far all messages of a process are known
to be delivered. Lists in packets are never changed once the packet is made.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Message, MessagePacket, Packet, Value


@final
@mypyc_attr(acyclic=True)
class Mark(Value):
    """Message `sequence` of `sender`."""

    __slots__ = ("sender", "sequence")

    FIELDS: ClassVar = ("sender", "sequence")

    def __init__(self, sender: i64, sequence: i64) -> None:
        self.sender: Final[i64] = sender
        self.sequence: Final[i64] = sequence


@final
@mypyc_attr(acyclic=True)
class Fact(Value):
    """Message `sequence` of `sender` to `target` comes before this one, and may be undelivered."""

    __slots__ = ("sender", "sequence", "target")

    FIELDS: ClassVar = ("sender", "target", "sequence")

    def __init__(self, sender: i64, target: i64, sequence: i64) -> None:
        self.sender: Final[i64] = sender
        self.target: Final[i64] = target
        self.sequence: Final[i64] = sequence


@final
@mypyc_attr(acyclic=True)
class PastReportField(Value):
    """What the past of a message may still have undelivered elsewhere.

    `facts` is complete for every destination that is neither in `filter` nor in `exceptions`.
    `hops` is 1 if it rests on the sender's own messages only, else one more than what it rests on.
    """

    __slots__ = ("exceptions", "facts", "filter", "hops")

    FIELDS: ClassVar = ("filter", "exceptions", "facts", "hops")

    def __init__(
        self, filter_: i64, exceptions: tuple[int, ...], facts: list[Fact], hops: i64
    ) -> None:
        self.filter: Final[i64] = filter_
        self.exceptions: Final = exceptions
        self.facts: Final = facts
        self.hops: Final[i64] = hops


SENDER_ITSELF: Final = -1
"""Instead of a process, in a watermark: whoever sends the packet."""


@final
@mypyc_attr(acyclic=True)
class Watermark(Value):
    """All messages of `process` up to `low` are delivered everywhere.

    Those up to `low_except` are delivered everywhere but at `exceptions`; 0 says nothing. The
    first watermark in a packet is that of its sender.
    """

    __slots__ = ("exceptions", "low", "low_except", "process")

    FIELDS: ClassVar = ("process", "low", "low_except", "exceptions")

    def __init__(
        self, process: i64, low: i64, low_except: i64 = 0, exceptions: tuple[int, ...] = ()
    ) -> None:
        self.process: Final[i64] = process
        self.low: Final[i64] = low
        self.low_except: Final[i64] = low_except
        self.exceptions: Final = exceptions


NO_WATERMARKS: Final[list[Watermark]] = []
"""What a packet without watermarks carries."""


@final
@mypyc_attr(acyclic=True)
class FactsMessage(MessagePacket):
    """A message, its predecessor to the same process, what must come first, and its report."""

    __slots__ = ("must", "previous", "report", "watermarks")

    FIELDS: ClassVar = ("carried", "previous", "must", "report", "watermarks")

    def __init__(
        self,
        carried: Message,
        previous: i64,
        must: list[Mark],
        report: PastReportField | None,
        watermarks: list[Watermark] = NO_WATERMARKS,
    ) -> None:
        super().__init__(carried)
        self.previous: Final[i64] = previous
        self.must: Final = must
        self.report: Final = report
        self.watermarks: Final = watermarks

    @property
    def metadata_integers(self) -> int:
        """Two ids, two integers per mark, three per fact, and what the watermarks count."""
        integers = 2 + 2 * len(self.must) + count_integers(self.watermarks)
        if self.report is not None:
            integers += 1 + len(self.report.exceptions) + 3 * len(self.report.facts)
            integers += 0 if self.report.filter == 0 else 1
        return integers


@final
@mypyc_attr(acyclic=True)
class FactsAck(Packet):
    """Delivered: all messages up to this id."""

    __slots__ = ("sequence", "watermarks")

    KIND: ClassVar[str] = "ack"
    FIELDS: ClassVar = ("sequence", "watermarks")

    def __init__(self, sequence: i64, watermarks: list[Watermark] = NO_WATERMARKS) -> None:
        self.sequence: Final[i64] = sequence
        self.watermarks: Final = watermarks

    @property
    def metadata_integers(self) -> int:
        """The id, and what the watermarks count."""
        return 1 + count_integers(self.watermarks)


@final
@mypyc_attr(acyclic=True)
class FactsPermit(Packet):
    """Everything before my messages up to this id is delivered, except at `exceptions`."""

    __slots__ = ("exceptions", "sequence", "watermarks")

    KIND: ClassVar[str] = "permit"
    FIELDS: ClassVar = ("sequence", "exceptions", "watermarks")

    def __init__(
        self,
        sequence: i64,
        exceptions: tuple[int, ...] = (),
        watermarks: list[Watermark] = NO_WATERMARKS,
    ) -> None:
        self.sequence: Final[i64] = sequence
        self.exceptions: Final = exceptions
        self.watermarks: Final = watermarks

    @property
    def metadata_integers(self) -> int:
        """The id, the exceptions, and what the watermarks count."""
        return 1 + len(self.exceptions) + count_integers(self.watermarks)


@final
@mypyc_attr(acyclic=True)
class FactsAsk(Packet):
    """Delivered up to `delivered`; please repeat permits from `lowest` on.

    Permits with exceptions are of use from `lowest_except` on.
    """

    __slots__ = ("delivered", "lowest", "lowest_except", "watermarks")

    KIND: ClassVar[str] = "ask"
    FIELDS: ClassVar = ("delivered", "lowest", "lowest_except", "watermarks")

    def __init__(
        self,
        delivered: i64,
        lowest: i64,
        lowest_except: i64,
        watermarks: list[Watermark] = NO_WATERMARKS,
    ) -> None:
        self.delivered: Final[i64] = delivered
        self.lowest: Final[i64] = lowest
        self.lowest_except: Final[i64] = lowest_except
        self.watermarks: Final = watermarks

    @property
    def metadata_integers(self) -> int:
        """Three ids, and what the watermarks count."""
        return 3 + count_integers(self.watermarks)


def sorted_marks(marks: list[Mark]) -> list[Mark]:
    """Marks in the order of a packet: by sender."""
    return sorted(marks, key=mark_key)


def mark_key(mark: Mark) -> int:
    """Marks stand by sender."""
    return mark.sender


def count_integers(watermarks: Sequence[Watermark]) -> int:
    """Two integers a watermark, and one for each exception and the mark that excepts them."""
    integers = 0
    for watermark in watermarks:
        integers += 2
        if watermark.low_except > watermark.low:
            integers += 1 + len(watermark.exceptions)
    return integers
