"""Text files line by line, whole or a part of them, with the name of every line's place."""

import csv
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol, final

from antecede_audit.spans.formats.records import InvalidRecordError

LINE_BYTES_MAX: Final = 1 << 20
"""No line of a table is longer; what is goes on as another line, which cannot be read."""


BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class LineSource(Protocol):
    """Where lines of bytes come from."""

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line with its end, or as much of it as the limit allows; empty at the end."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, as many as asked for or left."""


@final
class PushbackSource:
    """A source of which the first line has been read already."""

    def __init__(self, first: bytes, rest: LineSource) -> None:
        self._first = first
        self._rest: Final = rest

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line."""
        first, self._first = self._first, b""
        return first or self._rest.readline(limit)

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        first, self._first = self._first, b""
        return first or self._rest.read(size)


class Line(NamedTuple):
    """One line without its end, and what to call its place in the file."""

    position: str
    number: int
    """From 1; counted from the start of a part, so only whole files can refer to it."""
    text: str


def lines_of(
    stream: LineSource, *, number: int = 1, first_byte: int | None = None
) -> Iterator[Line]:
    """The lines that are not empty; amid a file they are called by their first byte.

    Bytes that are not UTF-8 become lone surrogates, which no name may have.
    """
    offset = first_byte
    while data := stream.readline(LINE_BYTES_MAX):
        if number == 1 and offset is None:
            data = data.removeprefix(BYTE_ORDER_MARK)
        text = data.decode("utf-8", "surrogateescape").rstrip("\r\n")
        if text and not text.isspace():
            position = f"line {number}" if offset is None else f"byte {offset}"
            yield Line(position, number, text)
        number += 1
        offset = None if offset is None else offset + len(data)


def cells_of(text: str, delimiter: str | None) -> list[str]:
    """The cells of a line; without a delimiter any white space parts them."""
    if delimiter is None:
        return text.split()
    if '"' not in text:
        return [cell.strip() for cell in text.split(delimiter)]
    if text.count('"') % 2:
        # A quoted cell that goes on in the next line, say: neither line makes sense alone.
        raise InvalidRecordError("quotes do not match")
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter))]
    except csv.Error:
        raise InvalidRecordError("quotes do not match") from None
