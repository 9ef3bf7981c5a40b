"""Documents of JSON that are too large for memory, cut between the entries of their lists.

A document is a list, or an object that has one under a name that is known. Everything else in it,
before and after that, is passed over. Entries are not looked into: where they begin and end follows
from brackets and quotes alone, so whoever reads a piece says what is wrong with it.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, final

from antecede_audit.spans.formats.lines import LineSource

KEYS: Final = (b"resourceSpans", b"batches", b"data")
"""What lists of traces are called: OpenTelemetry's, Tempo's and Jaeger's. Zipkin's have no name."""

PIECE_BYTES: Final = 4 << 20
"""A piece has entries of so many bytes, if one of them is not larger."""

READ_BYTES: Final = 1 << 20
EXCERPT_BYTES: Final = 240
TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{}]', re.DOTALL)
"""A text, a bracket, or a quote whose other one has not been read yet."""

BETWEEN: Final = b" \t\r\n,"
TOO_LARGE: Final = "an entry of a list that is too large"


class Piece(NamedTuple):
    """Some entries of a list."""

    offset: int
    """The byte at which the first of them begins."""
    key: bytes
    """What the list is called; empty if it is the document itself."""
    entries: bytes
    is_last: bool = False
    """Whether the document ended before the list did."""
    broken: str | None = None
    """Why they are not all there."""


def pieces_of(data: bytes, stream: LineSource, limit: int) -> Iterator[Piece]:
    """The entries of the lists in a document that begins with this and goes on in the stream.

    What is in memory is never more than `limit` bytes, and what was given: an entry that is larger
    is passed over, and told.
    """
    cutter = Cutter(limit)
    while data:
        yield from cutter.take(data)
        data = stream.read(READ_BYTES)
    yield from cutter.rest()


@final
class Cutter:
    """Where in a document one is, and what has been read of the piece at hand."""

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._data = b""
        self._offset = 0
        """That of the first byte of `data`."""
        self._depth = 0
        self._name = b""
        """The last text that was an entry of the outermost object."""
        self._key: bytes | None = None
        """Of the list at hand; None outside of lists."""
        self._list_depth = 0
        self._begin = 0
        """Where in `data` the piece begins."""
        self._scanned = 0
        self._too_large = False
        self._lost = False
        """Whether there was a text that is too large: nobody knows where it ends."""

    def take(self, data: bytes) -> Iterator[Piece]:
        """What is complete once this much more is there."""
        if self._lost:
            return
        self._data += data
        for token in TOKEN.finditer(self._data, self._scanned):
            text = token[0]
            if text == b'"':
                self._scanned = token.start()
                break
            self._scanned = token.end()
            if text[0] in b"[{":
                self._open(text, token.end())
            elif text[0] in b"]}":
                yield from self._close(token.start(), token.end())
            elif self._depth == 1:
                self._name = text[1:-1]
        else:
            self._scanned = len(self._data)
        yield from self._forget()

    def rest(self) -> Iterator[Piece]:
        """What is left where the document ends."""
        if self._key is not None and not self._lost:
            yield from self._cut(len(self._data), is_last=True)

    def _open(self, bracket: bytes, after: int) -> None:
        self._depth += 1
        if self._key is None and bracket == b"[":
            if self._depth == 1:
                self._key = b""
            elif self._depth == 2 and self._name in KEYS:
                self._key = self._name
            if self._key is not None:
                self._list_depth, self._begin = self._depth, after

    def _close(self, before: int, after: int) -> Iterator[Piece]:
        self._depth = max(0, self._depth - 1)
        if self._key is None:
            return
        if self._depth < self._list_depth:
            yield from self._cut(before)
            self._key = None
        elif self._depth == self._list_depth and (
            self._too_large or after - self._begin >= PIECE_BYTES
        ):
            yield from self._cut(after)

    def _cut(self, end: int, *, is_last: bool = False) -> Iterator[Piece]:
        """The piece up to here; the next begins here."""
        raw = self._data[self._begin : end]
        entries = raw.lstrip(BETWEEN)
        offset = self._offset + self._begin + len(raw) - len(entries)
        self._begin = end
        if self._too_large:
            self._too_large = False
        elif is_last or entries.strip():
            whole = entries if is_last else entries.rstrip(BETWEEN)
            yield Piece(offset, self._key or b"", whole, is_last)

    def _forget(self) -> Iterator[Piece]:
        """Let go of what is not needed any more, and of an entry that is too large."""
        gone = self._scanned if self._key is None else self._begin
        if len(self._data) - gone > self._limit:
            if not self._too_large and self._key is not None:
                excerpt = self._data[gone : gone + EXCERPT_BYTES]
                begun = excerpt.lstrip(BETWEEN)
                offset = self._offset + gone + len(excerpt) - len(begun)
                yield Piece(offset, self._key, begun, broken=TOO_LARGE)
                self._too_large = True
            gone = self._begin = self._scanned
            self._lost = len(self._data) - gone > self._limit
        self._data = self._data[gone:]
        self._offset += gone
        self._begin = max(0, self._begin - gone)
        self._scanned -= gone
