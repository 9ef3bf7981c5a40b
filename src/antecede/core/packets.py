"""The packets of the hybrid family: a tagged message, pure control, and news of expulsions.

Their cost is the point of the family: two integers and a flag per message, one or two integers per
control packet, however many processes there are.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.values import Message, Packet


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class DataPacket(Packet):
    """A message, the id of its predecessor to the same process, and whether a permit follows."""

    __slots__ = ("carried", "flagged", "previous")

    KIND: ClassVar[str] = "message"
    FIELDS: ClassVar = ("carried", "previous", "flagged")

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


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Ack(Packet):
    """Delivered: the message with this id (and, where acks are cumulative, all before it)."""

    __slots__ = ("sequence",)

    KIND: ClassVar[str] = "ack"
    FIELDS: ClassVar = ("sequence",)

    def __init__(self, sequence: i64) -> None:
        self.sequence: Final[i64] = sequence

    @property
    def metadata_integers(self) -> int:
        """The id."""
        return 1


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Permit(Packet):
    """What depended on the message with this id may leave (cumulative: and on all before it)."""

    __slots__ = ("sequence",)

    KIND: ClassVar[str] = "permit"
    FIELDS: ClassVar = ("sequence",)

    def __init__(self, sequence: i64) -> None:
        self.sequence: Final[i64] = sequence

    @property
    def metadata_integers(self) -> int:
        """The id."""
        return 1


@final
@mypyc_attr(acyclic=True)
class Ask(Packet):
    """Delivered up to `delivered`; still missing the permit of `lowest`: please send it again."""

    __slots__ = ("delivered", "lowest")

    KIND: ClassVar[str] = "ask"
    FIELDS: ClassVar = ("delivered", "lowest")

    def __init__(self, delivered: i64, lowest: i64) -> None:
        self.delivered: Final[i64] = delivered
        self.lowest: Final[i64] = lowest


@final
class ExpulsionNotice(Packet):
    """`processes` are expelled: note that before you look at the packet inside, if there is one.

    Where nobody is expelled there are no notices, and a message is as small as ever.
    """

    __slots__ = ("inner", "processes")

    KIND: ClassVar[str] = "notice"
    FIELDS: ClassVar = ("processes", "inner")

    def __init__(self, processes: list[int], inner: Packet | None) -> None:
        self.processes: Final = processes
        self.inner: Final = inner

    @property
    def message(self) -> Message | None:
        return None if self.inner is None else self.inner.message

    @property
    def metadata_integers(self) -> int:
        """The ids, and what the packet inside has."""
        inner = self.inner
        return len(self.processes) + (0 if inner is None else inner.metadata_integers)


@final
@mypyc_attr(acyclic=True)
class ExpulsionAck(Packet):
    """We have expelled `processes`, too: no need to say it again."""

    __slots__ = ("processes",)

    KIND: ClassVar[str] = "noted"
    FIELDS: ClassVar = ("processes",)

    def __init__(self, processes: list[int]) -> None:
        self.processes: Final = processes

    @property
    def metadata_integers(self) -> int:
        """The ids."""
        return len(self.processes)


@final
@mypyc_attr(acyclic=True)
class YouAreExpelled(Packet):
    """You are expelled: stop."""

    __slots__ = ()

    KIND: ClassVar[str] = "expelled"
    FIELDS: ClassVar = ()
