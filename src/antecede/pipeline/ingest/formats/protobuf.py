"""As much of Protocol Buffers as traces need: messages as nested objects, fields by their numbers.

A layout says which fields of a message are wanted, and what each is; all others are passed over
without being looked at. Where something is wrong the whole message is, since lengths cannot be
trusted any more.
"""

from dataclasses import dataclass
from struct import unpack_from
from typing import Final, TypeAlias

from antecede.pipeline.ingest.formats.records import UnreadableError

TEXT: Final = "text"
IDENTITY: Final = "identity"
"""Bytes, written in hexadecimal digits."""
NUMBER: Final = "number"
"""A varint of 64 bits with a sign."""
FLAG: Final = "flag"
TIME: Final = "time"
"""Eight bytes that are a number without a sign."""
REAL: Final = "real"
"""Eight bytes that are a number with a fraction."""

VARINT: Final = 0
EIGHT_BYTES: Final = 1
LENGTH: Final = 2
FOUR_BYTES: Final = 5

VARINT_BYTES_MAX: Final = 10
DEPTH_MAX: Final = 32
"""Messages within messages; attributes may nest without end."""

WIRE: Final = {
    TEXT: LENGTH,
    IDENTITY: LENGTH,
    NUMBER: VARINT,
    FLAG: VARINT,
    TIME: EIGHT_BYTES,
    REAL: EIGHT_BYTES,
}

DAMAGED: Final = "damaged message"


@dataclass(frozen=True, slots=True)
class Field:
    """A field that is wanted: what to call it, and what is in it."""

    name: str
    kind: "str | Layout"
    repeated: bool = False


Layout: TypeAlias = dict[int, Field]
"""By the number of the field."""


def decoded(
    data: bytes, layout: Layout, start: int = 0, end: int | None = None, depth: int = 0
) -> dict[str, object]:
    """The wanted fields of the message in this stretch; `UnreadableError` if it is damaged."""
    place, end = start, len(data) if end is None else end
    if depth > DEPTH_MAX:
        raise UnreadableError("messages nested too deeply")
    found: dict[str, object] = {}
    while place < end:
        key, place = varint(data, place, end)
        wire = key & 7
        length = 0
        if wire == LENGTH:
            length, place = varint(data, place, end)
        after = after_value(data, place, end, wire, length)
        field = layout.get(key >> 3)
        if field is not None:
            value = value_of(data, place, after, wire, field.kind, depth)
            if field.repeated:
                entries = found.setdefault(field.name, [])
                assert isinstance(entries, list), "a name is either repeated or not"
                entries.append(value)
            else:
                found[field.name] = value
        place = after
    return found


def after_value(data: bytes, place: int, end: int, wire: int, length: int) -> int:
    """Where the value that begins here ends."""
    if wire == LENGTH:
        after = place + length
    elif wire == VARINT:
        _, after = varint(data, place, end)
    elif wire == EIGHT_BYTES:
        after = place + 8
    elif wire == FOUR_BYTES:
        after = place + 4
    else:
        raise UnreadableError(DAMAGED)
    if after > end:
        raise UnreadableError(DAMAGED)
    return after


def value_of(
    data: bytes, start: int, end: int, wire: int, kind: "str | Layout", depth: int
) -> object:
    """What is in a field of this kind."""
    if not isinstance(kind, str):
        if wire != LENGTH:
            raise UnreadableError(DAMAGED)
        return decoded(data, kind, start, end, depth + 1)
    if wire != WIRE[kind]:
        raise UnreadableError(DAMAGED)
    if kind == TIME:
        return int.from_bytes(data[start:end], "little")
    if kind == IDENTITY:
        return data[start:end].hex()
    if kind == TEXT:
        return data[start:end].decode("utf-8", "surrogateescape")
    if kind == REAL:
        (real,) = unpack_from("<d", data, start)
        return real
    number, _ = varint(data, start, end)
    if kind == FLAG:
        return number != 0
    return number - (1 << 64) if number >> 63 else number


def varint(data: bytes, place: int, end: int) -> tuple[int, int]:
    """The number that begins here, seven bits to a byte, and where it ends."""
    if place < end and data[place] < 0x80:
        return data[place], place + 1
    number = 0
    for turn in range(VARINT_BYTES_MAX):
        if place + turn >= end:
            break
        byte = data[place + turn]
        number |= (byte & 0x7F) << (7 * turn)
        if byte < 0x80:
            return number & ((1 << 64) - 1), place + turn + 1
    raise UnreadableError(DAMAGED)
