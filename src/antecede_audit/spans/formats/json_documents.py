"""JSON documents as they come out of files: whole, one on each line, cut short, or too large.

A document that is too large for memory is cut between the entries of its list, and read piece by
piece: it is a list, or an object that has one under a name that is known. Everything else in it is
passed over. Where entries begin and end follows from brackets and quotes alone, so whoever reads a
piece says what is wrong with it.

Bytes that are not UTF-8 become lone surrogates. Where such text matters the record is rejected;
elsewhere, in the tags of a span say, nobody minds.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple, final

import msgspec

from antecede_audit.spans.formats.lines import BYTE_ORDER_MARK, LineSource
from antecede_audit.spans.formats.records import RejectRecord, excerpt_of

DOCUMENT_BYTES_MAX: Final = 256 << 20
"""A document is read as a whole, which takes about ten times its size; larger ones are read piece
by piece."""

CUT: Final = "\x00cut"
"""Marks the objects that were still open where a document broke off."""

TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
CLOSERS: Final = {"[": "]", "{": ',"\\u0000cut":true}'}

KEYS: Final = (b"resourceSpans", b"batches", b"data")
"""What lists of traces are called: OpenTelemetry's, Tempo's and Jaeger's. Zipkin's have no name."""

PIECE_BYTES: Final = 4 << 20
"""A piece has entries of 4 MiB, if one of them is not larger."""

READ_BYTES: Final = 1 << 20
EXCERPT_BYTES: Final = 240
BYTE_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{}]', re.DOTALL)
"""A text, a bracket, or a quote whose other one has not been read yet."""

BETWEEN: Final = b" \t\r\n,"
TOO_LARGE: Final = "an entry of a list that is too large"


def documents(stream: LineSource, first_byte: int | None = None) -> Iterator[tuple[str, object]]:
    """Every document with the prefix of positions in it, or a `RejectRecord` in its place.

    A file whose first line is a document has one on each line; any other file is one document.
    `first_byte` is where in its file the stream begins, if that is not the start of it.
    """
    first = stream.readline(DOCUMENT_BYTES_MAX)
    while first and not first.strip():
        first = stream.readline(DOCUMENT_BYTES_MAX)
    if not first:
        return
    document = parsed(first)
    if document is None and first_byte is None:
        data = first + stream.read(DOCUMENT_BYTES_MAX - len(first))
        if more := stream.read(1):
            yield from pieces(data + more, stream)
        else:
            yield from whole_document(data)
        return
    following = stream.readline(DOCUMENT_BYTES_MAX)
    if document is not None and not following and first_byte is None:
        yield "", document
        return
    yield from on_line(first, document, line_name(1, first_byte))
    yield from later_lines(following, stream, len(first), first_byte)


def later_lines(
    line: bytes, stream: LineSource, length: int, first_byte: int | None
) -> Iterator[tuple[str, object]]:
    """A document from each line after the first, which had this length."""
    number, offset = 2, first_byte
    while line:
        offset = None if offset is None else offset + length
        if line.strip():
            yield from on_line(line, parsed(line), line_name(number, offset))
        number, length = number + 1, len(line)
        line = stream.readline(DOCUMENT_BYTES_MAX)


def line_name(number: int, offset: int | None) -> str:
    """What to call a line: by its number, or, amid a file, by its first byte."""
    return f"line {number}" if offset is None else f"byte {offset}"


def on_line(line: bytes, document: object, where: str) -> Iterator[tuple[str, object]]:
    """The document of one line; what is left of the last line of a file that broke off."""
    if document is not None:
        yield f"{where}: ", document
    elif line.endswith(b"\n"):
        yield "", RejectRecord(where, "not JSON", excerpt_of(text_of(line)))
    else:
        yield from remains(line, where)


def whole_document(data: bytes) -> Iterator[tuple[str, object]]:
    """The document, or those lines of it that are documents, or as much of it as there is."""
    document = parsed(data)
    if document is not None:
        yield "", document
        return
    lines = data.splitlines(keepends=True)
    by_line = [parsed(line) for line in lines]
    if any(isinstance(line, dict | list) and line for line in by_line):
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield from on_line(line, by_line[number - 1], line_name(number, None))
    else:
        yield from remains(data, "")


def pieces(data: bytes, stream: LineSource) -> Iterator[tuple[str, object]]:
    """A document that is too large, of which this much has been read: as documents that have a few
    entries of its list each. Places in them are counted from the byte at which they begin."""
    found = False
    for piece in pieces_of(data, stream, DOCUMENT_BYTES_MAX):
        found = True
        where = f"byte {piece.offset}"
        before, after = (b'{"%b":[' % piece.key, b"]}") if piece.key else (b"[", b"]")
        document = None if piece.broken else parsed(before + piece.entries + after)
        if piece.is_last:
            end = f"byte {piece.offset + len(piece.entries)}"
            for place, rest in remains(before + piece.entries, where):
                if isinstance(rest, RejectRecord):
                    rest = RejectRecord(end, "truncated", rest.excerpt)
                yield place, rest
        elif document is not None:
            yield f"{where}: ", document
        else:
            yield (
                "",
                RejectRecord(where, piece.broken or "not JSON", excerpt_of(text_of(piece.entries))),
            )
    if not found:
        size = f"{DOCUMENT_BYTES_MAX >> 20} MiB"
        yield "", RejectRecord("", f"a document of more than {size} that is no list", "")


def remains(data: bytes, where: str) -> Iterator[tuple[str, object]]:
    """As much of a broken document as there is, and that it is broken."""
    text = text_of(data)
    rest = completed(text)
    salvaged = None if rest is None else parsed(rest.encode("utf-8", "surrogateescape"))
    if salvaged is None:
        yield "", RejectRecord(where, "not JSON", excerpt_of(text))
        return
    prefix = f"{where}: " if where else ""
    yield prefix, salvaged
    yield "", RejectRecord(f"{prefix}byte {len(data)}", "truncated", excerpt_of(text[-120:]))


def text_of(data: bytes) -> str:
    """The text, with lone surrogates for what is not UTF-8."""
    return data.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")


def parsed(data: bytes) -> object:
    """The document in these bytes, or None if there is none (`null` is none either)."""
    try:
        plain: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # It may still be what Python takes for JSON.
    else:
        return plain
    try:
        document: object = json.loads(text_of(data))
    except (ValueError, RecursionError):
        return None
    return document


def completed(text: str) -> str | None:
    """A document that broke off, cut back to the last list or object that was complete, and closed.

    None if no such thing was complete, or if it is not for being cut short that it is no JSON.
    """
    still_open: list[str] = []
    end = 0
    open_at_end: list[str] = []
    for token in TOKEN.finditer(text):
        character = token[0]
        if character in "[{":
            still_open.append(character)
        elif character in "]}":
            if not still_open or (still_open.pop() == "[") != (character == "]"):
                return None
            end, open_at_end = token.end(), still_open.copy()
    if not still_open or not end:
        return None
    return text[:end] + "".join(CLOSERS[bracket] for bracket in reversed(open_at_end))


def is_cut(fields: dict[str, object]) -> bool:
    """Whether the document broke off inside this object, so that fields may be missing."""
    return CUT in fields


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
        for token in BYTE_TOKEN.finditer(self._data, self._scanned):
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
