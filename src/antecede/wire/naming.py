"""Who is meant by a number, on the wire.

Every node has numbers of its own for processes. Packets that name others carry those of their
sender; a frame before them says who has which number: the number, the incarnation, the name. 0 is
always the sender itself.
"""

from typing import ClassVar, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import RemoteError
from antecede.core.values import Value
from antecede.wire.frames import NAMES
from antecede.wire.greeting import NAME_LIMIT, read_text, write_text
from antecede.wire.varint import Reader, write_varint

NAMED_MOST: Final = 256
"""Processes in one frame."""


@final
@mypyc_attr(acyclic=True)
class Named(Value):
    """One incarnation, and the number that the sender has for it."""

    __slots__ = ("incarnation", "name", "number")

    FIELDS: ClassVar = ("number", "name", "incarnation")

    def __init__(self, number: i64, name: str, incarnation: i64) -> None:
        self.number: Final[i64] = number
        self.name: Final = name
        self.incarnation: Final[i64] = incarnation


def write_names(writer: BytesWriter, named: list[Named]) -> None:
    """Append a frame with these."""
    writer.append(u8(NAMES))
    write_varint(writer, len(named))
    for who in named:
        write_varint(writer, who.number)
        write_varint(writer, who.incarnation)
        write_text(writer, who.name)


def read_names(reader: Reader) -> list[Named]:
    """What `write_names` wrote after the kind."""
    count = reader.positive()
    if count > NAMED_MOST:
        raise RemoteError(f"the names of {count} processes at once; {NAMED_MOST} are allowed")
    named: list[Named] = []
    for _ in range(count):
        number = reader.positive()
        if number >= ID_LIMIT:
            raise RemoteError(f"a name for {number}, which is no process id")
        incarnation = reader.positive()
        name = read_text(reader, NAME_LIMIT)
        if not name:
            raise RemoteError("a process without a name")
        named.append(Named(number, name, incarnation))
    return named
