"""As much of Protocol Buffers as traces need: messages as nested objects, fields by their numbers.

A layout says which fields of a message are wanted, and what each is; all others are passed over
without being looked at. Where something is wrong the whole message is, since lengths cannot be
trusted any more. Many small messages of one kind are looked into together, with numpy: their first
fields, then their second ones, and so on (`ProtobufColumns`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from struct import unpack_from
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from antecede_audit.columns.arrow_rows import Flags, Integers
from antecede_audit.spans.formats.records import InvalidRecordError

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

NOWHERE: Final = -1
SIZES: Final = np.array([0, 8, 0, -1, -1, 4, -1, -1])
"""By wire type: how many bytes there are; of those with a 0 that is seen in the message."""


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
    """The wanted fields of the message in this stretch; `InvalidRecordError` if it is damaged."""
    if depth > DEPTH_MAX:
        raise InvalidRecordError("messages nested too deeply")
    found: dict[str, object] = {}
    for number, wire, place, after in fields_in(data, start, len(data) if end is None else end):
        field = layout.get(number)
        if field is not None:
            value = value_of(data, place, after, wire, field.kind, depth)
            if field.repeated:
                entries = found.setdefault(field.name, [])
                assert isinstance(entries, list), "a name is either repeated or not"
                entries.append(value)
            else:
                found[field.name] = value
    return found


def fields_in(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of the message in this stretch: number, wire type, where each begins and ends."""
    place = start
    while place < end:
        key, place = varint(data, place, end)
        wire = key & 7
        length = 0
        if wire == LENGTH:
            length, place = varint(data, place, end)
        after = after_value(data, place, end, wire, length)
        yield key >> 3, wire, place, after
        place = after


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
        raise InvalidRecordError(DAMAGED)
    if after > end:
        raise InvalidRecordError(DAMAGED)
    return after


def value_of(
    data: bytes, start: int, end: int, wire: int, kind: "str | Layout", depth: int
) -> object:
    """What is in a field of this kind."""
    if not isinstance(kind, str):
        if wire != LENGTH:
            raise InvalidRecordError(DAMAGED)
        return decoded(data, kind, start, end, depth + 1)
    if wire != WIRE[kind]:
        raise InvalidRecordError(DAMAGED)
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
    raise InvalidRecordError(DAMAGED)


class ProtobufColumns:
    """Many messages of one kind, and where each has the fields that are wanted.

    `wanted` says by the number of a field which wire type it has. What is damaged anywhere, or has
    a number of more than 63 bits, is an `InvalidRecordError`: then none of them can be read like
    this.
    """

    def __init__(
        self, data: bytes, start: Integers, end: Integers, wanted: Mapping[int, int]
    ) -> None:
        # Whoever looks for the end of a number may look a little too far.
        self._data: Final = np.frombuffer(data + bytes(VARINT_BYTES_MAX), np.uint8)
        self._end: Final = end
        self.count: Final = len(start)
        nowhere = np.full(self.count, NOWHERE)
        self.start: Final = {number: nowhere.copy() for number in wanted}
        """By field: where it begins in each message, the last time it is there."""
        self.length: Final = {number: np.zeros(self.count, np.int64) for number in wanted}
        self.number: Final = {
            number: np.zeros(self.count, np.int64) for number, wire in wanted.items() if not wire
        }
        """The values of those that are numbers."""
        place, which = start.copy(), np.flatnonzero(start < end)
        while len(which):
            place[which] = self._next_fields(which, place[which], wanted)
            which = which[place[which] < end[which]]

    def has(self, number: int) -> Flags:
        """Which messages have a field."""
        there: Flags = self.start[number] != NOWHERE
        return there

    def bytes_of(self, number: int, width: int) -> npt.NDArray[np.uint8]:
        """The first bytes of a field, as rows of so many; any bytes where it is missing."""
        places = np.maximum(self.start[number], 0)[:, np.newaxis] + np.arange(width)
        found: npt.NDArray[np.uint8] = self._data[places]
        return found

    def all_bytes_of(self, number: int) -> tuple[Integers, bytes]:
        """The bytes of a field in all messages, one after the other, and where each of them ends;
        the first of the ends is 0."""
        length = self.length[number]
        ends = np.append(0, np.cumsum(length))
        places = np.arange(ends[-1]) + np.repeat(self.start[number] - ends[:-1], length)
        return ends, self._data[places].tobytes()

    def _next_fields(self, which: Integers, place: Integers, wanted: Mapping[int, int]) -> Integers:
        """Look at the fields of these messages that begin here; where they end."""
        end = self._end[which]
        key, place = self._varints(place)
        wire = key & 7
        after: Integers = place + SIZES[wire]
        value = np.zeros(len(which), np.int64)
        long = np.flatnonzero((wire == LENGTH) | (wire == VARINT))
        value[long], after[long] = self._varints(place[long])
        sized = long[wire[long] == LENGTH]
        place[sized] = after[sized]
        after[sized] += np.minimum(value[sized], len(self._data))
        if (SIZES[wire] < 0).any() or (after > end).any():
            raise InvalidRecordError(DAMAGED)
        field = key >> 3
        for number, kind in wanted.items():
            here = np.flatnonzero(field == number)
            if (wire[here] != kind).any():
                raise InvalidRecordError(DAMAGED)
            self.start[number][which[here]] = place[here]
            self.length[number][which[here]] = (after - place)[here]
            if kind == VARINT:
                self.number[number][which[here]] = value[here]
        return after

    def _varints(self, place: Integers) -> tuple[Integers, Integers]:
        """The numbers that begin here, and where they end."""
        first = self._data[place]
        number, after = (first & 0x7F).astype(np.int64), place + 1
        rest = np.flatnonzero(first >= 0x80)
        for turn in range(1, VARINT_BYTES_MAX):
            if not len(rest):
                return number, after
            byte = self._data[np.minimum(after[rest], len(self._data) - 1)]
            if turn == VARINT_BYTES_MAX - 1:
                break
            number[rest] |= (byte & 0x7F).astype(np.int64) << (7 * turn)
            after[rest] += 1
            rest = rest[byte >= 0x80]
        raise InvalidRecordError(DAMAGED)
