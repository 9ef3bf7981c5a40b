"""What the members of a room say to each other, as values and as bytes.

Every word is a causal message like any other, of a kind that the runtime takes itself. It has the
room, and the member id of its sender: the name comes from the session, the rest from the word.

    kind | room | incarnation and joins of the sender | fields of the kind

A publication has the application's bytes at its end. Here nobody looks into them.
"""

from typing import ClassVar, Final, TypeAlias, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Value
from antecede.groups.names import (
    Contact,
    MemberId,
    RoomId,
    read_bytes,
    read_contact,
    read_expelled,
    read_known,
    read_life,
    read_member,
    read_members,
    read_name,
    read_numbers,
    read_room,
    write_contact,
    write_expelled,
    write_known,
    write_life,
    write_member,
    write_members,
    write_numbers,
    write_room,
)
from antecede.wire.envelope import write_short_text
from antecede.wire.varint import WireReader, write_varint

DIGEST_BYTES_MAX: Final = 64
"""At most 64 bytes in the digest of a snapshot."""

PUBLICATION: Final = 0
ASK: Final = 1
JOIN: Final = 2
SNAPSHOT: Final = 3
PASS: Final = 4
MARK: Final = 5
COMPLETE: Final = 6
REFUSE: Final = 7
LEAVE: Final = 8
GONE: Final = 9
"""The first byte of a word. `GONE` stands in a `PASS` only."""


@final
@mypyc_attr(acyclic=True)
class Publication(Value):
    """The `number`th that its sender says to the room."""

    __slots__ = ("number", "payload", "room", "sender")

    FIELDS: ClassVar = ("room", "sender", "number", "payload")

    def __init__(self, room: RoomId, sender: MemberId, number: i64, payload: bytes) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.number: Final[i64] = number
        self.payload: Final = payload


@final
@mypyc_attr(acyclic=True)
class Ask(Value):
    """ask(a): take me in, give me your state. To the one whom the sender wants for its sponsor."""

    __slots__ = ("attempt", "contact", "room", "sender")

    FIELDS: ClassVar = ("room", "sender", "contact", "attempt")

    def __init__(self, room: RoomId, sender: MemberId, contact: Contact, attempt: i64) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.contact: Final = contact
        self.attempt: Final[i64] = attempt


@final
@mypyc_attr(acyclic=True)
class Join(Value):
    """join(X, a): the sender has taken in `joiner`. To its view, the joiner included."""

    __slots__ = ("attempt", "contact", "joiner", "room", "sender")

    FIELDS: ClassVar = ("room", "sender", "joiner", "contact", "attempt")

    def __init__(
        self, room: RoomId, sender: MemberId, joiner: MemberId, contact: Contact, attempt: i64
    ) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.joiner: Final = joiner
        self.contact: Final = contact
        self.attempt: Final[i64] = attempt


@final
@mypyc_attr(acyclic=True)
class Snapshot(Value):
    """What stands before the bytes of a state: how much of whom it contains, and who is there.

    The bytes travel apart. `out` of the specification is `left` and `expelled` together.
    """

    __slots__ = (
        "_latest",
        "_left",
        "attempt",
        "cnt",
        "digest",
        "expelled",
        "joiner",
        "known",
        "left",
        "length",
        "room",
        "sender",
    )

    FIELDS: ClassVar = (
        "room",
        "sender",
        "joiner",
        "attempt",
        "cnt",
        "known",
        "left",
        "expelled",
        "length",
        "digest",
    )

    def __init__(
        self,
        room: RoomId,
        sender: MemberId,
        joiner: MemberId,
        attempt: i64,
        cnt: dict[MemberId, int],
        known: dict[MemberId, Contact],
        left: list[MemberId],
        expelled: dict[str, int],
        length: i64,
        digest: bytes,
    ) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.joiner: Final = joiner
        self.attempt: Final[i64] = attempt
        self.cnt: Final = cnt
        self.known: Final = known
        self.left: Final = left
        self.expelled: Final = expelled
        self.length: Final[i64] = length
        self.digest: Final = digest
        self._left: Final = dict.fromkeys(left)
        self._latest: Final[dict[tuple[str, int], int]] = {}
        for member in [*known, *left]:
            life = (member.name, int(member.incarnation))
            self._latest[life] = max(self._latest.get(life, 0), int(member.joins))

    def has_out(self, member: MemberId) -> bool:
        """Whether the sponsor counts this one out: all that it has of it is in the snapshot.

        Also if its incarnation has joined again since.
        """
        if member in self._left or is_expelled(self.expelled, member):
            return True
        return self._latest.get((member.name, int(member.incarnation)), 0) > member.joins


@final
@mypyc_attr(acyclic=True)
class Gone(Value):
    """gone M: for the sponsor `sender` is out, without having marked."""

    __slots__ = ("room", "sender")

    FIELDS: ClassVar = ("room", "sender")

    def __init__(self, room: RoomId, sender: MemberId) -> None:
        self.room: Final = room
        self.sender: Final = sender


Item: TypeAlias = Publication | Join | Gone
"""What is passed on; its `sender` is the one that had not marked."""


@final
@mypyc_attr(acyclic=True)
class Pass(Value):
    """pass(a, item): the sponsor hands `joiner` on what came from a member before its mark."""

    __slots__ = ("attempt", "item", "joiner", "room", "sender")

    FIELDS: ClassVar = ("room", "sender", "joiner", "attempt", "item")

    def __init__(
        self, room: RoomId, sender: MemberId, joiner: MemberId, attempt: i64, item: Item
    ) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.joiner: Final = joiner
        self.attempt: Final[i64] = attempt
        self.item: Final = item


@final
@mypyc_attr(acyclic=True)
class Mark(Value):
    """mark(X, a): from here on the sender's publications go to `joiner` itself. To the sponsor."""

    __slots__ = ("attempt", "joiner", "room", "sender")

    FIELDS: ClassVar = ("room", "sender", "joiner", "attempt")

    def __init__(self, room: RoomId, sender: MemberId, joiner: MemberId, attempt: i64) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.joiner: Final = joiner
        self.attempt: Final[i64] = attempt


@final
@mypyc_attr(acyclic=True)
class Complete(Value):
    """complete(a): all have marked. From the sponsor to the joiner."""

    __slots__ = ("attempt", "joiner", "room", "sender")

    FIELDS: ClassVar = ("room", "sender", "joiner", "attempt")

    def __init__(self, room: RoomId, sender: MemberId, joiner: MemberId, attempt: i64) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.joiner: Final = joiner
        self.attempt: Final[i64] = attempt


@final
@mypyc_attr(acyclic=True)
class Refuse(Value):
    """refuse(a, why): the sender does not sponsor this attempt, or does so no more."""

    __slots__ = ("attempt", "joiner", "room", "sender", "why")

    FIELDS: ClassVar = ("room", "sender", "joiner", "attempt", "why")

    def __init__(
        self, room: RoomId, sender: MemberId, joiner: MemberId, attempt: i64, why: str
    ) -> None:
        self.room: Final = room
        self.sender: Final = sender
        self.joiner: Final = joiner
        self.attempt: Final[i64] = attempt
        self.why: Final = why


@final
@mypyc_attr(acyclic=True)
class Leave(Value):
    """The sender has left, and says nothing more in this room. To its view."""

    __slots__ = ("room", "sender")

    FIELDS: ClassVar = ("room", "sender")

    def __init__(self, room: RoomId, sender: MemberId) -> None:
        self.room: Final = room
        self.sender: Final = sender


Word: TypeAlias = Publication | Ask | Join | Snapshot | Pass | Mark | Complete | Refuse | Leave


def is_expelled(expelled: dict[str, int], member: MemberId) -> bool:
    """Whether this incarnation, or a later one of its node, has been expelled."""
    return expelled.get(member.name, 0) >= member.incarnation


def named_in(word: Word) -> dict[MemberId, Contact]:
    """The members whom a word names together with where they are.

    Whoever takes the word meets them first, or expels them: rooms never skip a member.
    """
    if isinstance(word, Pass):
        return named_in(word.item) if isinstance(word.item, Join) else {}
    if isinstance(word, Join):
        return {word.joiner: word.contact}
    if isinstance(word, Ask):
        return {word.sender: word.contact}
    if isinstance(word, Snapshot):
        return {one: word.known[one] for one in word.known if not word.has_out(one)}
    return {}


def encode_word(word: Word) -> bytes:
    """The word as bytes; `LocalError` if something in it is beyond its limit."""
    writer = BytesWriter()
    writer.append(u8(kind_of(word)))
    write_room(writer, word.room)
    write_life(writer, word.sender)
    write_fields(writer, word)
    return writer.getvalue()


def decode_word(data: bytes, source: str) -> Word:
    """What `encode_word` was given, from the node `source`; `RemoteError` on anything else."""
    reader = WireReader(data)
    kind = reader.byte()
    room = read_room(reader)
    sender = read_life(reader, source)
    word = read_fields(reader, kind, room, sender)
    reader.end()
    return word


def kind_of(word: Word | Gone) -> i64:
    """Its first byte."""
    if isinstance(word, Publication):
        return PUBLICATION
    if isinstance(word, Ask):
        return ASK
    if isinstance(word, Join):
        return JOIN
    if isinstance(word, Snapshot):
        return SNAPSHOT
    if isinstance(word, Pass):
        return PASS
    if isinstance(word, Mark):
        return MARK
    if isinstance(word, Complete):
        return COMPLETE
    if isinstance(word, Refuse):
        return REFUSE
    return LEAVE if isinstance(word, Leave) else GONE


def write_fields(writer: BytesWriter, word: Word) -> None:
    """Append all but room and sender."""
    if isinstance(word, Publication):
        write_publication(writer, word)
    elif isinstance(word, Ask):
        write_contact(writer, word.contact)
        write_varint(writer, word.attempt)
    elif isinstance(word, Join):
        write_join(writer, word)
    elif isinstance(word, Snapshot):
        write_snapshot(writer, word)
    elif isinstance(word, Pass):
        write_try(writer, word.joiner, word.attempt)
        write_item(writer, word.item)
    elif isinstance(word, Mark | Complete):
        write_try(writer, word.joiner, word.attempt)
    elif isinstance(word, Refuse):
        write_try(writer, word.joiner, word.attempt)
        write_short_text(writer, word.why)


def read_fields(reader: WireReader, kind: i64, room: RoomId, sender: MemberId) -> Word:
    """A word of this kind."""
    if kind == PUBLICATION:
        return read_publication(reader, room, sender)
    if kind == ASK:
        contact = read_contact(reader)
        return Ask(room, sender, contact, reader.positive())
    if kind == JOIN:
        return read_join(reader, room, sender)
    if kind == LEAVE:
        return Leave(room, sender)
    if kind > LEAVE:
        raise RemoteError(f"a room word of kind {kind}")
    # All others are about one attempt of one joiner.
    joiner = read_member(reader)
    attempt = reader.positive()
    if kind == SNAPSHOT:
        return read_snapshot(reader, room, sender, joiner, attempt)
    if kind == PASS:
        return Pass(room, sender, joiner, attempt, read_item(reader, room))
    if kind == MARK:
        return Mark(room, sender, joiner, attempt)
    if kind == COMPLETE:
        return Complete(room, sender, joiner, attempt)
    return Refuse(room, sender, joiner, attempt, read_name(reader))


def write_try(writer: BytesWriter, joiner: MemberId, attempt: i64) -> None:
    """Append whose attempt it is, and which."""
    write_member(writer, joiner)
    write_varint(writer, attempt)


def write_publication(writer: BytesWriter, word: Publication) -> None:
    """Append its number, and the application's bytes, which end a word."""
    write_varint(writer, word.number)
    writer.write(word.payload)


def read_publication(reader: WireReader, room: RoomId, sender: MemberId) -> Publication:
    """What `write_publication` wrote, up to the end."""
    number = reader.positive()
    return Publication(room, sender, number, reader.rest())


def write_join(writer: BytesWriter, word: Join) -> None:
    """Append who joins."""
    write_try(writer, word.joiner, word.attempt)
    write_contact(writer, word.contact)


def read_join(reader: WireReader, room: RoomId, sender: MemberId) -> Join:
    """What `write_join` wrote."""
    joiner = read_member(reader)
    attempt = reader.positive()
    return Join(room, sender, joiner, read_contact(reader), attempt)


def write_item(writer: BytesWriter, item: Item) -> None:
    """Append what is passed on; its sender is not the sender of the word."""
    writer.append(u8(kind_of(item)))
    write_member(writer, item.sender)
    if isinstance(item, Publication):
        write_publication(writer, item)
    elif isinstance(item, Join):
        write_join(writer, item)


def read_item(reader: WireReader, room: RoomId) -> Item:
    """What `write_item` wrote."""
    kind = reader.byte()
    sender = read_member(reader)
    if kind == PUBLICATION:
        return read_publication(reader, room, sender)
    if kind == JOIN:
        return read_join(reader, room, sender)
    if kind == GONE:
        return Gone(room, sender)
    raise RemoteError(f"a word of kind {kind} is never passed on")


def write_snapshot(writer: BytesWriter, word: Snapshot) -> None:
    """Append all that stands before the state."""
    if len(word.digest) > DIGEST_BYTES_MAX:
        raise LocalError(f"a digest of {len(word.digest)} bytes; {DIGEST_BYTES_MAX} are allowed")
    write_try(writer, word.joiner, word.attempt)
    write_numbers(writer, word.cnt)
    write_known(writer, word.known)
    write_members(writer, word.left)
    write_expelled(writer, word.expelled)
    write_varint(writer, word.length)
    write_varint(writer, len(word.digest))
    writer.write(word.digest)


def read_snapshot(
    reader: WireReader, room: RoomId, sender: MemberId, joiner: MemberId, attempt: i64
) -> Snapshot:
    """What `write_snapshot` wrote after whose attempt it is."""
    cnt = read_numbers(reader)
    known = read_known(reader)
    left = read_members(reader)
    expelled = read_expelled(reader)
    length = reader.varint()
    digest = read_bytes(reader, DIGEST_BYTES_MAX)
    return Snapshot(room, sender, joiner, attempt, cnt, known, left, expelled, length, digest)
