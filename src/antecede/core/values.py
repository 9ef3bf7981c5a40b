"""What protocols talk about: messages and packets.

A *message* is what the application sends; a *packet* is what a protocol puts on a channel: a
message with its tag, or pure control. Both are values: made once, never changed, freely shared
between the sender's buffer, the network and the receiver.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Message:
    """What one process said: its `sequence` counts that sender's messages from 1."""

    __slots__ = ("payload", "sender", "sequence")

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

    def fields(self) -> tuple[object, ...]:
        """What it is made of; without a word of a subclass, each is like nothing but itself."""
        return (id(self),)

    def hashed(self) -> tuple[object, ...]:
        """Those of the fields that can be hashed."""
        return self.fields()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value) or type(other) is not type(self):
            return False
        return self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self.hashed())

    def __repr__(self) -> str:
        fields = self.fields()
        if fields == (id(self),):
            return f"<{type(self).__name__} at {id(self):#x}>"
        return f"{type(self).__name__}({', '.join([repr(field) for field in fields])})"


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
        """How many integers and process ids it carries beside the payload, as papers count them."""
        return 0
