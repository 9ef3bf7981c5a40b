"""JSON as it comes out of files: whole documents, one document a line, and documents cut short.

Bytes that are not UTF-8 become lone surrogates. Where such text matters the record is rejected;
elsewhere, in the tags of a span say, nobody minds.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from antecede_audit.spans.formats.json_pieces import pieces_of
from antecede_audit.spans.formats.lines import BYTE_ORDER_MARK, LineSource
from antecede_audit.spans.formats.records import RejectRecord, excerpt_of

DOCUMENT_BYTES_MAX: Final = 256 << 20
"""A document is read as a whole, which takes about ten times its size; larger ones are read piece
by piece (`pieces`)."""

CUT: Final = "\x00cut"
"""Marks the objects that were still open where a document broke off."""

TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
CLOSERS: Final = {"[": "]", "{": ',"\\u0000cut":true}'}


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
