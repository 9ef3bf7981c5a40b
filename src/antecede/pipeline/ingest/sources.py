"""Which files there are to read, and how they are cut into parts that tasks read on their own.

Files of this machine are opened by Python where they are read. On a cluster that is every executor,
so such a path must be on a file system that all share. Files elsewhere (`s3a://…`, `hdfs://…`, or
whatever `fs.defaultFS` names) are listed and read by Spark, each of them whole.
"""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple, cast, final
from urllib.parse import urlsplit

from pyarrow import parquet as pq

from antecede.core.errors import LocalError
from antecede.pipeline.ingest.containers import HEAD_BYTES
from antecede.pipeline.ingest.formats.catalogue import PARQUET, can_be_cut
from antecede.pipeline.places import Places, path_here
from antecede.trace.atomic import blaming

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
    """Path and size, by path, of those on this machine."""
    passed_over: tuple[str, ...]
    """What lay in a folder and does not look like a trace."""
    elsewhere: tuple[tuple[str, int], ...] = ()
    """Those that only Spark can read."""


def find_files(paths: Sequence[str], places: Places | None = None) -> Found:
    """The files at these paths; in folders, those whose names look like traces.

    Without `places` all of them are on this machine.
    """
    files: dict[str, int] = {}
    elsewhere: dict[str, int] = {}
    passed_over: dict[str, None] = {}
    for path in paths:
        here = path_here(path) if places is None else places.local(path)
        if here is None:
            assert places is not None, "only Spark knows other places"
            found, target = remote_files(path, places), elsewhere
        else:
            found, target = local_files(here), files
        for name, size, is_named in found:
            if is_named or looks_like_a_trace(name.rpartition("/")[2]):
                target[name] = size
            else:
                passed_over[name] = None
    if not files and not elsewhere:
        raise LocalError(f"there is no trace in {', '.join(paths)}")
    return Found(
        tuple(sorted(files.items())), tuple(sorted(passed_over)), tuple(sorted(elsewhere.items()))
    )


def remote_files(path: str, places: Places) -> Iterator[tuple[str, int, bool]]:
    """The files at a path elsewhere: path, size, and whether it was itself asked for."""
    found = places.files(path)
    if not found:
        raise LocalError(f"cannot read {path}: there is no such file or directory")
    for name, size in found:
        yield name, size, name.endswith(urlsplit(path).path.rstrip("/"))


def local_files(top: Path) -> Iterator[tuple[str, int, bool]]:
    """The files at a path of this machine: path, size, and whether it was itself asked for."""
    with blaming(top, "read"):
        if not top.exists():
            raise LocalError(f"cannot read {top}: there is no such file or directory")
        if not top.is_dir():
            yield str(top), top.stat().st_size, True
            return
        for folder, _, names in os.walk(top):
            for name in names:
                file = Path(folder) / name
                if file.is_file() and not is_hidden(str(file), str(top)):
                    yield str(file), file.stat().st_size, False


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


def open_file(path: str, start: int = 0) -> IO[bytes]:
    """The file from this byte on."""
    file = Path(path).open("rb")  # noqa: SIM115 whoever asked for it closes it
    file.seek(start)
    return file


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

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

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
