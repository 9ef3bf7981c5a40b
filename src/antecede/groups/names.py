"""Who is who in rooms: ids of rooms and of members, where a member is, and all that as bytes."""

from typing import ClassVar, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Value
from antecede.wire.envelope import TEXT_LIMIT, read_short_text, write_short_text
from antecede.wire.varint import WireReader, write_varint

ADDRESSES_MAX: Final = 16
"""At most 16 addresses of one member."""

KEY_BYTES_MAX: Final = 64
"""At most 64 bytes in the public key of a member."""

MEMBERS_MAX: Final = 65_536
"""At most 65,536 members, those that have left among them, in one word."""


@final
@mypyc_attr(acyclic=True)
class RoomId(Value):
    """One room. Two rooms of one name differ in who created them, or in its number for them.

    Without a creator it is any room of this name: what somebody asks for who knows no more.
    """

    __slots__ = ("creator", "name", "number")

    FIELDS: ClassVar = ("name", "creator", "number")

    def __init__(self, name: str, creator: str = "", number: i64 = 0) -> None:
        self.name: Final = name
        self.creator: Final = creator
        self.number: Final[i64] = number


@final
@mypyc_attr(acyclic=True)
class MemberId(Value):
    """A node, one of its incarnations, and how many times that one has joined this room.

    Whoever leaves and joins again is another member.
    """

    __slots__ = ("_hash", "incarnation", "joins", "name")

    FIELDS: ClassVar = ("name", "incarnation", "joins")

    def __init__(self, name: str, incarnation: i64, joins: i64) -> None:
        self.name: Final = name
        self.incarnation: Final[i64] = incarnation
        self.joins: Final[i64] = joins
        # It is a key wherever a publication is looked at.
        self._hash: Final = hash((name, int(incarnation), int(joins)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MemberId)
            and self.joins == other.joins
            and self.incarnation == other.incarnation
            and self.name == other.name
        )

    def __hash__(self) -> int:
        return self._hash

    def is_later_than(self, other: "MemberId") -> bool:
        """Whether this is the same incarnation of the same node, which has joined again."""
        return (
            self.name == other.name
            and self.incarnation == other.incarnation
            and self.joins > other.joins
        )


@final
@mypyc_attr(acyclic=True)
class Contact(Value):
    """Where a member can be met, and the key that it must show. Nothing here reads either."""

    __slots__ = ("addresses", "key")

    FIELDS: ClassVar = ("addresses", "key")

    def __init__(self, addresses: tuple[str, ...] = (), key: bytes = b"") -> None:
        self.addresses: Final = addresses
        self.key: Final = key


def write_room(writer: BytesWriter, room: RoomId) -> None:
    """Append a room's id; `LocalError` if its name is too long, or there is none."""
    write_short_text(writer, room.name)
    write_varint(writer, 1 if room.creator else 0)
    if room.creator:
        write_short_text(writer, room.creator)
        write_varint(writer, room.number)
    elif room.number != 0:
        raise LocalError("a room without a creator has no number")


def read_room(reader: WireReader) -> RoomId:
    """What `write_room` wrote."""
    name = read_name(reader)
    flag = reader.byte()
    if flag > 1:
        raise RemoteError(f"the flag of a room's creator is {flag}")
    if flag == 0:
        return RoomId(name)
    creator = read_name(reader)
    return RoomId(name, creator, reader.varint())


def read_name(reader: WireReader) -> str:
    """A name that people may be shown."""
    name = read_short_text(reader)
    if not name.isprintable():
        raise RemoteError("a name that no terminal should show")
    return name


def write_member(writer: BytesWriter, member: MemberId) -> None:
    """Append a member's id."""
    write_short_text(writer, member.name)
    write_life(writer, member)


def read_member(reader: WireReader) -> MemberId:
    """What `write_member` wrote."""
    name = read_name(reader)
    return read_life(reader, name)


def write_life(writer: BytesWriter, member: MemberId) -> None:
    """Append a member's id without its name."""
    write_varint(writer, member.incarnation)
    write_varint(writer, member.joins)


def read_life(reader: WireReader, name: str) -> MemberId:
    """What `write_life` wrote of the member with this name."""
    incarnation = reader.positive()
    return MemberId(name, incarnation, reader.varint())


def write_members(writer: BytesWriter, members: list[MemberId]) -> None:
    """Append these."""
    write_varint(writer, len(members))
    for member in members:
        write_member(writer, member)


def read_members(reader: WireReader) -> list[MemberId]:
    """What `write_members` wrote."""
    return [read_member(reader) for _ in range(read_count(reader))]


def write_contact(writer: BytesWriter, contact: Contact) -> None:
    """Append where a member is; `LocalError` if that is beyond the limits."""
    if len(contact.addresses) > ADDRESSES_MAX or len(contact.key) > KEY_BYTES_MAX:
        raise LocalError(
            f"{len(contact.addresses)} addresses and a key of {len(contact.key)} bytes: "
            f"{ADDRESSES_MAX} and {KEY_BYTES_MAX} are allowed"
        )
    write_varint(writer, len(contact.addresses))
    for address in contact.addresses:
        write_short_text(writer, address)
    write_varint(writer, len(contact.key))
    writer.write(contact.key)


def read_contact(reader: WireReader) -> Contact:
    """What `write_contact` wrote."""
    count = reader.count()
    if count > ADDRESSES_MAX:
        raise RemoteError(f"{count} addresses of one member; {ADDRESSES_MAX} are allowed")
    addresses = [read_name(reader) for _ in range(count)]
    return Contact(tuple(addresses), read_bytes(reader, KEY_BYTES_MAX))


def write_known(writer: BytesWriter, known: dict[MemberId, Contact]) -> None:
    """Append members, and where they are."""
    write_varint(writer, len(known))
    for member, contact in known.items():
        write_member(writer, member)
        write_contact(writer, contact)


def read_known(reader: WireReader) -> dict[MemberId, Contact]:
    """What `write_known` wrote."""
    known: dict[MemberId, Contact] = {}
    for _ in range(read_count(reader)):
        member = read_member(reader)
        if member in known:
            raise RemoteError(f"{member.name} stands twice among the members of a room")
        known[member] = read_contact(reader)
    return known


def write_numbers(writer: BytesWriter, numbers: dict[MemberId, int]) -> None:
    """Append a number for each of these members."""
    write_varint(writer, len(numbers))
    for member, number in numbers.items():
        write_member(writer, member)
        write_varint(writer, number)


def read_numbers(reader: WireReader) -> dict[MemberId, int]:
    """What `write_numbers` wrote."""
    numbers: dict[MemberId, int] = {}
    for _ in range(read_count(reader)):
        member = read_member(reader)
        if member in numbers:
            raise RemoteError(f"{member.name} has two numbers")
        numbers[member] = reader.varint()
    return numbers


def write_expelled(writer: BytesWriter, expelled: dict[str, int]) -> None:
    """Append the highest incarnation of each name that has been expelled."""
    write_varint(writer, len(expelled))
    for name, incarnation in expelled.items():
        write_short_text(writer, name)
        write_varint(writer, incarnation)


def read_expelled(reader: WireReader) -> dict[str, int]:
    """What `write_expelled` wrote."""
    expelled: dict[str, int] = {}
    for _ in range(read_count(reader)):
        name = read_name(reader)
        if name in expelled:
            raise RemoteError(f"{name} is expelled twice")
        expelled[name] = reader.positive()
    return expelled


def read_count(reader: WireReader) -> i64:
    """How many items follow, within the limit."""
    count = reader.count()
    if count > MEMBERS_MAX:
        raise RemoteError(f"{count} members in one word; {MEMBERS_MAX} are allowed")
    return count


def read_bytes(reader: WireReader, limit: i64) -> bytes:
    """Bytes behind their length, which is within the limit."""
    size = reader.count()
    if size > limit:
        raise RemoteError(f"{size} bytes where {limit} are allowed")
    return reader.take(size)


def cut_reason(text: str) -> str:
    """As much of a reason as fits into a word."""
    shown = "".join([letter if letter.isprintable() else "?" for letter in text])
    return shown.encode(errors="replace")[:TEXT_LIMIT].decode(errors="ignore") or "?"
