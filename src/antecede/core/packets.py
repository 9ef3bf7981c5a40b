"""What protocols talk about: messages, and packets of the hybrid family.

A *message* is what the application sends; a *packet* is what a protocol puts on a channel: a
message with its tag, or pure control. Both are values: made once, never changed, freely shared
between the sender's buffer, the network and the receiver.

The cost of its packets is the point of the family: two integers and a flag per message, one or two
integers per control packet, however many processes there are.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Message:
    """What one process said: its `sequence` counts that sender's messages from 1."""

    __slots__ = ("payload", "sender", "sequence")

    FIELDS: ClassVar = ("sender", "sequence", "payload")

    def __init__(self, sender: i64, sequence: i64, payload: bytes) -> None:
        self.sender: Final[i64] = sender
        self.sequence: Final[i64] = sequence
        self.payload: Final = payload

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Message)
            and self.sender == other.sender
            and self.sequence == other.sequence
            and self.payload == other.payload
        )

    def __hash__(self) -> int:
        return hash((int(self.sender), int(self.sequence)))

    def __repr__(self) -> str:
        return f"Message({self.sender}, {self.sequence}, {self.payload!r})"

    def __reduce__(self) -> tuple[type["Message"], tuple[int, int, bytes]]:
        return Message, (int(self.sender), int(self.sequence), self.payload)


@mypyc_attr(acyclic=True, allow_interpreted_subclasses=True)
class Value:
    """Compared, hashed and shown by its fields, in the order in which it is made of them."""

    __slots__ = ()

    # The attributes that its constructor takes, in order; None: like nothing but itself.
    FIELDS: ClassVar[tuple[str, ...] | None] = None

    def fields(self) -> tuple[object, ...]:
        """What it is made of; without a word of a subclass, each is like nothing but itself."""
        names = type(self).FIELDS
        if names is None:
            return (id(self),)
        return tuple([getattr(self, name) for name in names])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or type(other) is not type(self):
            return False
        return self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(tuple([hashable(field) for field in self.fields()]))

    def __repr__(self) -> str:
        fields = self.fields()
        if fields == (id(self),):
            return f"<{type(self).__name__} at {id(self):#x}>"
        return f"{type(self).__name__}({', '.join([canonical_text(field) for field in fields])})"


def hashable(field: object) -> object:
    """Something of a field that can be hashed: equal fields, equal somethings."""
    if isinstance(field, list):
        return tuple(field)
    return len(field) if isinstance(field, dict) else field


def canonical_text(field: object) -> str:
    """A field in words: equal fields, equal words, so mappings are in the order of their keys."""
    if isinstance(field, dict):
        return repr({key: field[key] for key in sorted(field)})
    return repr(field)


@mypyc_attr(acyclic=True, allow_interpreted_subclasses=True)
class Packet(Value):
    """What a protocol puts on a channel; a subclass sets `KIND` and, if it has one, `message`."""

    __slots__ = ()

    KIND: ClassVar[str] = "packet"

    @property
    def kind(self) -> str:
        """What sort of packet this is: "message", "ack", "permit", and so on."""
        return type(self).KIND

    @property
    def message(self) -> Message | None:
        """The message it carries, or None for pure control."""
        return None

    @property
    def metadata_integers(self) -> int:
        """How many integers and process ids it carries beside the payload, as papers count them.

        One for each field, the id of a message among them, unless a subclass says otherwise.
        """
        names = type(self).FIELDS
        return 0 if names is None else len(names)


@mypyc_attr(acyclic=True, allow_interpreted_subclasses=True)
class MessagePacket(Packet):
    """A message, which is the first of its fields, and what a subclass adds to it."""

    __slots__ = ("carried",)

    KIND: ClassVar[str] = "message"
    FIELDS: ClassVar[tuple[str, ...] | None] = ("carried",)

    def __init__(self, carried: Message) -> None:
        self.carried: Final = carried

    @property
    def message(self) -> Message | None:
        return self.carried

    @property
    def metadata_integers(self) -> int:
        """The id."""
        return 1


@mypyc_attr(acyclic=True, allow_interpreted_subclasses=True)
class IdPacket(Packet):
    """Nothing but the id of a message; what is said of that one is the subclass."""

    __slots__ = ("sequence",)

    FIELDS: ClassVar[tuple[str, ...] | None] = ("sequence",)

    def __init__(self, sequence: i64) -> None:
        self.sequence: Final[i64] = sequence

    @property
    def metadata_integers(self) -> int:
        """The id."""
        return 1


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
