"""What of a room must survive a crash of its node, as one value and as bytes."""

from typing import ClassVar, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from antecede.core.errors import RemoteError
from antecede.core.packets import Value
from antecede.groups.names import (
    Contact,
    MemberId,
    RoomId,
    read_expelled,
    read_known,
    read_member,
    read_members,
    read_name,
    read_numbers,
    read_room,
    write_expelled,
    write_known,
    write_member,
    write_members,
    write_numbers,
    write_room,
)
from antecede.wire.envelope import write_short_text
from antecede.wire.varint import WireReader, write_varint

JOINING: Final = 0
MEMBER: Final = 1
IS_OVER: Final = 2
CATCHING_UP: Final = 3
"""How far a node is with a room. A member that is catching up has not shown all of its backlog."""

IS_LEAVING: Final = 4
"""Added to the phase: the node leaves as soon as it may."""


@final
@mypyc_attr(acyclic=True)
class RoomState(Value):
    """A room at one node, between two items of its queue."""

    __slots__ = (
        "att",
        "attempt",
        "cnt",
        "expelled",
        "is_leaving",
        "known",
        "left",
        "me",
        "phase",
        "room",
        "sponsor",
    )

    FIELDS: ClassVar = (
        "room",
        "me",
        "phase",
        "is_leaving",
        "sponsor",
        "attempt",
        "known",
        "left",
        "expelled",
        "att",
        "cnt",
    )

    def __init__(
        self,
        room: RoomId,
        me: MemberId,
        phase: i64,
        is_leaving: bool,
        sponsor: str,
        attempt: i64,
        known: dict[MemberId, Contact],
        left: list[MemberId],
        expelled: dict[str, int],
        att: dict[MemberId, int],
        cnt: dict[MemberId, int],
    ) -> None:
        self.room: Final = room
        self.me: Final = me
        self.phase: Final[i64] = phase
        self.is_leaving: Final = is_leaving
        self.sponsor: Final = sponsor
        self.attempt: Final[i64] = attempt
        self.known: Final = known
        self.left: Final = left
        self.expelled: Final = expelled
        self.att: Final = att
        self.cnt: Final = cnt

    def with_cnt(self, member: MemberId, number: i64) -> "RoomState":
        """The same with another count: all that changes when a publication has been taken, or one
        was made. A journal may write this instead of the whole."""
        cnt = {**self.cnt, member: int(number)}
        return RoomState(
            self.room,
            self.me,
            self.phase,
            self.is_leaving,
            self.sponsor,
            self.attempt,
            self.known,
            self.left,
            self.expelled,
            self.att,
            cnt,
        )

    def to_bytes(self) -> bytes:
        """As a record of a journal."""
        writer = BytesWriter()
        write_room(writer, self.room)
        write_member(writer, self.me)
        writer.append(u8(self.phase + (IS_LEAVING if self.is_leaving else 0)))
        write_varint(writer, 1 if self.sponsor else 0)
        if self.sponsor:
            write_short_text(writer, self.sponsor)
        write_varint(writer, self.attempt)
        write_known(writer, self.known)
        write_members(writer, self.left)
        write_expelled(writer, self.expelled)
        write_numbers(writer, self.att)
        write_numbers(writer, self.cnt)
        return writer.getvalue()


def room_state(data: bytes) -> RoomState:
    """What `RoomState.to_bytes` made; `RemoteError` on anything else."""
    reader = WireReader(data)
    room = read_room(reader)
    me = read_member(reader)
    phase = reader.byte()
    is_leaving = phase >= IS_LEAVING
    if is_leaving:
        phase -= IS_LEAVING
    has_sponsor = reader.byte()
    if phase > CATCHING_UP or has_sponsor > 1:
        raise RemoteError(f"a room in phase {phase}, with {has_sponsor} sponsors")
    sponsor = read_name(reader) if has_sponsor else ""
    attempt = reader.varint()
    known = read_known(reader)
    left = read_members(reader)
    expelled = read_expelled(reader)
    att = read_numbers(reader)
    cnt = read_numbers(reader)
    reader.end()
    return RoomState(room, me, phase, is_leaving, sponsor, attempt, known, left, expelled, att, cnt)
