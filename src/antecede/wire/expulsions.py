"""Expulsions on the wire: who was expelled, by whom, and why.

A list of incarnations, each a name and a number; a notice adds the name of the node that decided,
and its reason. An acknowledgement has neither.
"""

from typing import ClassVar, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from antecede.core.errors import LocalError, RemoteError
from antecede.core.packets import Value
from antecede.wire.handshake import NAME_LIMIT, cut_text, escape_controls, read_text, write_text
from antecede.wire.varint import WireReader, varint_size, write_varint

FENCE_REASON_LIMIT: Final = 200
"""At most 200 bytes of the reason of an expulsion."""

EXPULSIONS_MAX: Final = 256
"""At most 256 incarnations in one frame."""


@final
class ExpulsionRecord(Value):
    """An expelled incarnation: it does not come back."""

    __slots__ = ("by", "incarnation", "name", "reason")

    FIELDS: ClassVar = ("name", "incarnation", "by", "reason")

    def __init__(self, name: str, incarnation: i64, by: str, reason: str) -> None:
        self.name: Final = name
        self.incarnation: Final[i64] = incarnation
        self.by: Final = by
        self.reason: Final = reason


def check_reason(reason: str, name: str) -> None:
    """`LocalError` if the reason to expel somebody cannot be sent."""
    try:
        reason.encode()
    except UnicodeEncodeError as error:
        raise LocalError(
            f"the reason to expel {name} cannot be sent: {reason!r} has half of a surrogate pair "
            f"at {error.start}, which is no character; leave it out"
        ) from None


def expulsion_records_size(records: list[ExpulsionRecord]) -> i64:
    """How many bytes at most a frame with these takes."""
    size: i64 = 4
    for record in records:
        size += 6 + len(record.name.encode()) + varint_size(record.incarnation)
        size += len(record.by.encode()) + len(record.reason.encode())
    return size


def write_expulsion_records(
    writer: BytesWriter, kind: i64, records: list[ExpulsionRecord], with_reason: bool
) -> None:
    """Append a frame with these; `with_reason`: also who decided, and why."""
    writer.append(u8(kind))
    if not with_reason:
        write_incarnations(writer, records)
        return
    write_varint(writer, len(records))
    for record in records:
        write_text(writer, record.name)
        write_varint(writer, record.incarnation)
        write_text(writer, record.by)
        write_text(writer, record.reason)


def write_incarnations(writer: BytesWriter, records: list[ExpulsionRecord]) -> None:
    """Append names and numbers, without reasons."""
    write_varint(writer, len(records))
    for record in records:
        write_text(writer, record.name)
        write_varint(writer, record.incarnation)


def read_expulsion_records(reader: WireReader, with_reason: bool) -> list[ExpulsionRecord]:
    """What `write_expulsion_records` wrote after the kind."""
    count = reader.varint()
    if count > EXPULSIONS_MAX:
        raise RemoteError(f"news of {count} expulsions at once; {EXPULSIONS_MAX} are allowed")
    records: list[ExpulsionRecord] = []
    for _ in range(count):
        name = read_text(reader, NAME_LIMIT)
        if not name.isprintable():
            raise RemoteError("a name that no terminal should show")
        incarnation = reader.positive()
        by = read_text(reader, NAME_LIMIT) if with_reason else ""
        reason = read_text(reader, FENCE_REASON_LIMIT) if with_reason else ""
        # Escaped text is longer, and this node passes it on to others.
        by = cut_text(escape_controls(by), NAME_LIMIT)
        reason = cut_text(escape_controls(reason), FENCE_REASON_LIMIT)
        records.append(ExpulsionRecord(name, incarnation, by, reason))
    return records
