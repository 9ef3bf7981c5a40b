"""What a recorder leaves that was killed: a file under another name, with the last rows in it.

JSON lines can be read as far as they go; Parquet cannot, since it is the end of a file that says
what is in it. One that is killed between two files, or before its first, leaves only a claim that
it never released. Either way the log of that process breaks off, and a reader should know.
"""

import gzip
import json
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.layout import CLAIM, PARTITION, UNFINISHED, is_open_claim, suffix_of
from antecede.eventlog.processes import FOLDER as PROCESSES
from antecede.eventlog.processes import read_files


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedLog:
    """The last rows of a recorder that did not end well, or has not ended yet."""

    path: Path
    process: int | None
    """Whose log it is; None if nobody can tell."""
    lines: bytes
    """The rows that can be read, as JSON lines."""


def find_leftovers(folder: Path) -> list[UnfinishedLog]:
    """What was left unfinished in a folder with the files of one run."""
    found, stems = [], set()
    for path in sorted(folder.glob(".*.partial")):
        name = UNFINISHED.fullmatch(path.name)
        if name is not None:
            lines = whole_lines(path) if name["suffix"] != ".parquet" else b""
            process = process_in(lines)
            if process is None:
                process = process_called(folder, name["stem"])
            found.append(UnfinishedLog(path=path, process=process, lines=lines))
            stems.add(name["stem"])
    for path in sorted(folder.glob(f".*{CLAIM}")):
        stem = path.name[1:].removesuffix(CLAIM)
        if is_open_claim(path) and stem not in stems:
            process = process_called(folder, stem)
            found.append(UnfinishedLog(path=path, process=process, lines=b""))
    return found


def torn_file(file: Path) -> UnfinishedLog | None:
    """The same for a file of JSON lines whose last line breaks off; None if it does not."""
    if suffix_of(file) != ".jsonl":
        return None
    with os_errors_as_local(file, "read"), file.open("rb") as stream:
        end = stream.seek(0, 2)
        stream.seek(max(0, end - 1))
        if stream.read(1) in (b"", b"\n"):
            return None
    lines = whole_lines(file)
    return UnfinishedLog(path=file, process=process_in(lines), lines=lines)


def whole_lines(path: Path) -> bytes:
    """The lines of a file that end, and are JSON, up to the first that is not."""
    with os_errors_as_local(path, "read"):
        data = path.read_bytes()
    if ".gz." in path.name or path.suffix == ".gz":
        data = unpacked(data)
    lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    for number, line in enumerate(lines):
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return b"".join(lines[:number])
    return b"".join(lines)


def unpacked(data: bytes) -> bytes:
    """As much of compressed data as can be read."""
    whole = bytearray()
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            whole += member.decompress(data)
        except (zlib.error, gzip.BadGzipFile):
            break
        data = member.unused_data
    return bytes(whole)


def process_in(lines: bytes) -> int | None:
    """Whose lines these are."""
    first = lines.partition(b"\n")[0]
    row = json.loads(first) if first.strip() else None
    process = row.get("process") if isinstance(row, dict) else None
    return process if type(process) is int else None


def process_called(folder: Path, stem: str) -> int | None:
    """The process whose recorder names its files so, as the table beside the events has it."""
    dataset = folder.parent if folder.name.startswith(PARTITION) else folder
    names = dataset / PROCESSES / folder.name
    tables = [names / f"{stem}{suffix}" for suffix in (".parquet", ".jsonl")]
    with suppress(LocalError):
        return next(iter(read_files([table for table in tables if table.exists()])), None)
    return None
