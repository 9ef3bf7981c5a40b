"""The event log as JSON lines: one object per row, keys in schema order, nulls written out.
Trace and span ids are there only where an event has one.

Needs nothing but the standard library. A name that ends in `.gz` means gzip; equal logs give equal
files, because the time of writing is left out of the gzip header.
"""

import gzip
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final, TypeAlias, final

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.log import NULL, Contexts
from antecede.eventlog.rules import Fields
from antecede.eventlog.schema import KINDS
from antecede.eventlog.sinks import FileSink

ByteFile: TypeAlias = IO[bytes] | gzip.GzipFile

ROW: Final = struct.Struct("<11q")

LINE: Final = (
    '{"process":%d,"position":%d,"kind":"%s","sender":%s,"sequence":%s,"target":%s,"packet":%s,'
    '"packet_kind":%s,"time_ns":%d,"payload_bytes":%d,"metadata_bytes":%d}\n'
)


@final
class JsonLinesSink(FileSink):
    """Writes a log as JSON lines, block by block."""

    def _open(self, partial: Path, stack: ExitStack) -> None:
        self._file = stack.enter_context(open_for_writing(partial, self.path))

    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        """Append a line for each row."""
        lines = json_lines(rows, packet_kinds, contexts)
        with os_errors_as_local(self.path, "write"):
            self._file.write(lines)

    def push(self) -> None:
        """Flush to the operating system: complete lines can be read now."""
        with os_errors_as_local(self.path, "write"):
            self._file.flush()


def json_lines(rows: bytes, packet_kinds: Sequence[str], contexts: Contexts) -> bytes:
    """A line for each packed row."""
    quoted = [json.dumps(kind) for kind in packet_kinds]
    lines = [line_of(row, quoted) for row in ROW.iter_unpack(rows)]
    for number, context in contexts.items():
        trace_id, span_id = (json.dumps(identity) for identity in context)
        lines[number] = f'{lines[number][:-2]},"trace_id":{trace_id},"span_id":{span_id}}}\n'
    return "".join(lines).encode()


def line_of(row: tuple[int, ...], quoted_kinds: list[str]) -> str:
    """The line for one packed row; packet kinds come quoted."""
    process, position, kind, sender, sequence, target, packet, packet_kind, *rest = row
    return LINE % (
        process,
        position,
        KINDS[kind],
        "null" if sender == NULL else sender,
        "null" if sequence == NULL else sequence,
        "null" if target == NULL else target,
        "null" if packet == NULL else packet,
        "null" if packet_kind == NULL else quoted_kinds[packet_kind],
        *rest,
    )


def read_objects(path: Path) -> Iterator[tuple[int, Fields]]:
    """Every object of a JSON lines file with the number of its line, from 1; blank lines count."""
    with os_errors_as_local(path, "read"), path.open("rb") as raw:
        lines: Iterable[bytes] = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
        number = 0
        try:
            for number, line in enumerate(lines, start=1):
                if not line.isspace():
                    yield number, parsed(line, f"{path}, line {number}")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise LocalError(f"{path}, after line {number}: damaged gzip data: {error}") from error


def write_objects(path: Path, partial: Path, objects: Iterable[Fields]) -> None:
    """Write objects, one a line, to `partial`, which is to become `path`."""
    with os_errors_as_local(path, "write"), open_for_writing(partial, path) as file:
        for fields in objects:
            file.write(json.dumps(fields, separators=(",", ":")).encode() + b"\n")


@contextmanager
def open_for_writing(partial: Path, path: Path) -> Iterator[ByteFile]:
    """Open `partial` for bytes that are to become `path`, compressed if that name says so."""
    with ExitStack() as stack:
        with os_errors_as_local(path, "write"):
            file: ByteFile = stack.enter_context(partial.open("wb"))
        if path.suffix == ".gz":
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        yield file


def parsed(line: bytes, where: str) -> Fields:
    """The object on this line, or `LocalError`."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LocalError(f"{where}: not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise LocalError(f"{where}: expected a JSON object, not {type(fields).__name__}")
    return fields
