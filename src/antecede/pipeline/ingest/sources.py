"""Which files there are to read, and how they are cut into parts that tasks read on their own.

Paths are local, or URLs that pyarrow understands (`s3://…`, `hdfs://…`, `gs://…`). On a cluster
every executor opens the files itself, so a local path must be on a file system that all share.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeAlias, cast, final

from pyarrow import fs
from pyarrow import parquet as pq

from antecede.core.errors import LocalError
from antecede.pipeline.ingest.containers import HEAD_BYTES
from antecede.pipeline.ingest.formats.catalogue import PARQUET, can_be_cut

FileSystem: TypeAlias = Any
"""pyarrow has no types."""

PART_BYTES: Final = 64 << 20
"""Files of lines that are larger are read in parts of this size."""

SUFFIXES: Final = (
    *(".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet"),
    *(".pb", ".binpb", ".otlp"),
)
PACKINGS: Final = (".gz", ".bz2", ".xz", ".zst")
ARCHIVES: Final = (".tar", ".tgz", ".txz", ".tbz2", ".zip")
"""What the names of traces end in: in folders, other files are passed over."""

WHOLE: Final = -1
"""The end of a part that goes to the end of its file."""


class Part(NamedTuple):
    """A file to read, or a stretch of it: of bytes, or of the row groups of a Parquet file."""

    number: int
    """Parts come in the order of the names of their files."""
    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """The files that were found."""

    files: tuple[tuple[str, int], ...]
    """Path and size, by path."""
    passed_over: tuple[str, ...]
    """What lay in a folder and does not look like a trace."""


def find_files(paths: Sequence[str]) -> Found:
    """The files at these paths; in folders, those whose names look like traces."""
    files: dict[str, int] = {}
    passed_over: dict[str, None] = {}
    for path in paths:
        for info in files_at(path):
            name = address(path, info.path)
            if info.path == filesystem(path)[1] or looks_like_a_trace(info.base_name):
                files[name] = info.size or 0
            else:
                passed_over[name] = None
    if not files:
        raise LocalError(f"there is no trace in {', '.join(paths)}")
    return Found(tuple(sorted(files.items())), tuple(sorted(passed_over)))


def files_at(path: str) -> Iterator[Any]:
    """What the file system says about a file, or about all the files in a folder."""
    system, inner = filesystem(path)
    try:
        top = system.get_file_info(inner)
        if top.type == fs.FileType.NotFound:
            raise LocalError(f"cannot read {path}: there is no such file or directory")
        if top.type == fs.FileType.File:
            yield top
            return
        for info in system.get_file_info(fs.FileSelector(inner, recursive=True)):
            if info.type == fs.FileType.File and not is_hidden(info.path, inner):
                yield info
    except OSError as error:
        raise LocalError(f"cannot read {path}: {error}") from error


def is_hidden(path: str, folder: str) -> bool:
    """Whether a part of the path below the folder marks somebody's notes, not data."""
    return any(part[0] in "._" for part in Path(path).relative_to(folder).parts)


def looks_like_a_trace(name: str) -> bool:
    """Whether files of this name hold traces."""
    plain = name.lower()
    if plain.endswith(ARCHIVES):
        return True
    for packing in PACKINGS:
        plain = plain.removesuffix(packing)
    return plain.endswith((*SUFFIXES, *ARCHIVES))


def filesystem(path: str) -> tuple[FileSystem, str]:
    """The file system that a path is on, and what it is called there."""
    if "://" not in path:
        return fs.LocalFileSystem(), str(Path(path).absolute())
    try:
        system, inner = fs.FileSystem.from_uri(path)
    except (ValueError, OSError) as error:
        raise LocalError(f"cannot read {path}: {error}") from error
    return system, inner


def address(asked: str, inner: str) -> str:
    """The path of a file below one that was asked for."""
    if "://" not in asked:
        return inner
    _, top = filesystem(asked)
    return asked if inner == top else asked.rstrip("/") + inner.removeprefix(top.rstrip("/"))


def open_file(path: str, start: int = 0) -> IO[bytes]:
    """The file from this byte on."""
    system, inner = filesystem(path)
    file = system.open_input_file(inner)
    file.seek(start)
    return cast(IO[bytes], file)


def head_of(path: str) -> bytes:
    """How the file begins."""
    with open_file(path) as file:
        return file.read(HEAD_BYTES)


def parts_of(files: Sequence[tuple[str, int]], form: str, unit: str | None) -> list[Part]:
    """The parts of all these files, in order."""
    parts: list[Part] = []
    for path, size in files:
        for start, end in cuts_of(path, size, form, unit):
            parts.append(Part(len(parts), path, start, end))
    return parts


def cuts_of(path: str, size: int, form: str, unit: str | None) -> list[tuple[int, int]]:
    """Where a file is cut; most are not."""
    if size <= PART_BYTES:
        return [(0, WHOLE)]
    with open_file(path) as file:
        head = file.read(HEAD_BYTES)
        if head.startswith(PARQUET):
            groups = pq.ParquetFile(file).metadata.num_row_groups
            return [(group, group + 1) for group in range(groups)]
    if not can_be_cut(head, form, unit):
        return [(0, WHOLE)]
    starts = list(range(0, size, PART_BYTES))
    return list(zip(starts, [*starts[1:], WHOLE], strict=True))


@final
class Stretch:
    """The lines of a file that begin in a stretch of it."""

    def __init__(self, part: Part) -> None:
        # The line before may end right before the start: then it is the next that counts.
        before = max(0, part.start - 1)
        self._file: Final = io.BufferedReader(cast(io.RawIOBase, open_file(part.path, before)))
        self._end: Final = part.end
        skipped = self._file.readline() if part.start else b""
        self.offset = before + len(skipped)

    def readline(self, limit: int = -1, /) -> bytes:
        """The next line, if it begins before the end."""
        if self._end != WHOLE and self.offset >= self._end:
            return b""
        line = self._file.readline(limit)
        self.offset += len(line)
        return line

    def read(self, size: int = -1, /) -> bytes:  # noqa: ARG002 the protocol has it
        """Nothing: stretches are read by lines."""
        return b""
