"""Event logs on disk: the name chooses the format.

`.jsonl`, `.jsonl.gz` and `.parquet` are files that hold one run; any other name is a dataset, a
directory that holds runs by their ids. Everything is written under another name first and then
renamed, so no reader sees half a log.

A log may also be written while the run goes on, in a form that survives a crash of the writer:
`PartFileWriter` writes a dataset part by part, each of which appears when it is complete;
`AppendingFileWriter` appends to one file of JSON lines. In both, `finish_part` makes the rows so
far survive a crash, so the time between two calls bounds what a crash can lose.
"""

import fcntl
import gzip
import os
import zlib
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, final

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.jsonl import JsonLinesSink, json_lines
from antecede.eventlog.layout import SUFFIXES, AnyPath, partition_folder, release_claim, suffix_of
from antecede.eventlog.log import ROW_BYTES, Contexts, EventLog, RowSink
from antecede.eventlog.parquet import ParquetSink
from antecede.eventlog.sinks import FileSink

PART_NAME: Final = "events.parquet"


def write_events(path: AnyPath, log: EventLog, run_id: str | None = None) -> None:
    """Write a log to a file or, under `run_id`, into a dataset; one already there is replaced."""
    blocks = list(zip(log.blocks(), log.contexts(), strict=True))
    with open_sink(path, run_id) as sink:
        for block, contexts in blocks:
            sink.write_rows(block, log.packet_kinds, contexts)


@contextmanager
def record_events(path: AnyPath, run_id: str | None = None) -> Iterator[EventLog]:
    """A log that goes to `path` block by block as it grows; it appears there if all went well."""
    with open_sink(path, run_id) as sink:
        log = EventLog(sink)
        yield log
        log.flush()


def open_sink(path: AnyPath, run_id: str | None = None) -> FileSink:
    """A sink that writes where and how the name says; enter it before giving it to a log."""
    file = Path(path)
    suffix = suffix_of(file)
    if not suffix and run_id is None:
        raise LocalError(
            f"{file} ends in none of {', '.join(SUFFIXES)}: give it one of these endings "
            "(a dataset of several runs has none, and needs a run id)"
        )
    if run_id is not None:
        if suffix:
            raise LocalError(
                f"{file} holds one run: a run id needs a dataset, a name without suffix"
            )
        folder = partition_folder(file, run_id)
        with os_errors_as_local(folder, "write"):
            folder.mkdir(parents=True, exist_ok=True)
        return ParquetSink(folder / PART_NAME)
    return ParquetSink(file) if suffix == ".parquet" else JsonLinesSink(file)


CHUNK_BYTES: Final = 1 << 20
GZIP_BITS: Final = 31
"""The window bits with which zlib reads and writes gzip."""


class LogWriter(RowSink):
    """A log being written to disk."""

    unsettled_rows: int = 0
    """Rows that were written and would be lost if this process ended now."""

    @abstractmethod
    def finish_part(self) -> None:
        """Make everything written so far survive the end of this process, and readable."""

    @abstractmethod
    def close(self) -> None:
        """Finish the part, and write no more."""

    @abstractmethod
    def abandon(self) -> None:
        """Write no more, after a failure: finished parts stay. Never fails itself."""


@final
class PartFileWriter(LogWriter):
    """Numbered files in a folder; one is finished by `finish_part`, or when it has enough rows."""

    def __init__(self, folder: Path, stem: str, suffix: str, rotate_rows: int) -> None:
        self._folder = folder
        self._stem = stem
        self._suffix = suffix
        self._rotate_rows = rotate_rows
        self._part: FileSink | None = None
        self._parts = 0

    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        """Write to the file that is open, or to the next one."""
        self.unsettled_rows += len(rows) // ROW_BYTES
        if self._part is None:
            self._part = self._open_part()
        self._part.write_rows(rows, packet_kinds, contexts)
        self._part.push()
        if self.unsettled_rows >= self._rotate_rows:
            self.finish_part()

    def finish_part(self) -> None:
        """Finish the file that is being written, if there is one: it appears."""
        part, self._part = self._part, None
        if part is not None:
            part.__exit__(None, None, None)
        self.unsettled_rows = 0

    def close(self) -> None:
        self.finish_part()
        release_claim(self._folder, self._stem)

    def abandon(self) -> None:
        """Drop the file that is being written; for readers the log ends before it."""
        part, self._part = self._part, None
        self.unsettled_rows = 0
        if part is not None:
            # It may fail again for the same reason, which was reported already.
            with suppress(LocalError):
                part.__exit__(LocalError, LocalError("abandoned"), None)

    def _open_part(self) -> FileSink:
        self._parts += 1
        path = self._folder / f"{self._stem}-{self._parts:06d}{self._suffix}"
        sink = ParquetSink(path) if self._suffix == ".parquet" else JsonLinesSink(path)
        return sink.__enter__()


@final
class AppendingFileWriter(LogWriter):
    """One file of JSON lines that rows are appended to; nobody else may write to it meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with os_errors_as_local(path, "write"):
            self._file = path.open("ab")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise LocalError(
                    f"cannot write {path}: somebody else is writing it; give every recorder a "
                    "file of its own, or all of them the same folder"
                ) from None
        self.torn_bytes: Final = self._cut_torn_end()
        """The bytes of an incomplete line that an earlier writer left, and that were cut off."""
        self._settled_bytes = self._file.seek(0, os.SEEK_END)

    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        """Append a line for each row."""
        lines = json_lines(rows, packet_kinds, contexts)
        self.unsettled_rows += len(rows) // ROW_BYTES
        with os_errors_as_local(self.path, "write"):
            self._file.write(gzip.compress(lines, 6, mtime=0) if self._compressed else lines)

    def finish_part(self) -> None:
        """Hand everything to the operating system."""
        with os_errors_as_local(self.path, "write"):
            self._file.flush()
            self._settled_bytes = self._file.tell()
        self.unsettled_rows = 0

    def close(self) -> None:
        self.finish_part()
        self._file.close()

    def abandon(self) -> None:
        """Cut off a line that was not written as a whole."""
        self.unsettled_rows = 0
        with suppress(OSError):
            os.ftruncate(self._file.fileno(), self._settled_bytes)
            self._file.detach().close()

    @property
    def _compressed(self) -> bool:
        return suffix_of(self.path) == ".jsonl.gz"

    def _cut_torn_end(self) -> int:
        """Remove an incomplete line or gzip member, which a killed writer may leave."""
        with os_errors_as_local(self.path, "write"), self.path.open("rb") as existing:
            whole = whole_members(existing) if self._compressed else whole_lines(existing)
            torn = existing.seek(0, os.SEEK_END) - whole
            if torn:
                os.ftruncate(self._file.fileno(), whole)
        return torn


def whole_lines(file: IO[bytes]) -> int:
    """How many bytes of the file are complete lines."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - CHUNK_BYTES)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def whole_members(file: IO[bytes]) -> int:
    """How many bytes of the file are complete gzip members."""
    whole = read = 0
    member = zlib.decompressobj(wbits=GZIP_BITS)
    while chunk := file.read(CHUNK_BYTES):
        read += len(chunk)
        while chunk:
            try:
                member.decompress(chunk)
            except zlib.error:
                return whole
            if not member.eof:
                break
            chunk = member.unused_data
            whole = read - len(chunk)
            member = zlib.decompressobj(wbits=GZIP_BITS)
    return whole
