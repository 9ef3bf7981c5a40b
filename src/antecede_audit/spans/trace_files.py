"""Which files there are to read, and how they are cut into parts that tasks read on their own.

Large files are cut by their size alone, without being opened. Whoever reads a part sees whether the
file can be read in parts; if not, its first part is all of it, and the others have nothing.

Files of this machine are opened by Python where they are read. On a cluster that is every executor,
so such a path must be on a file system that all share. Files elsewhere (`s3a://…`, `hdfs://…`, or
whatever `fs.defaultFS` names) are listed and read by Spark, each of them whole.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol, final
from urllib.parse import urlsplit

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede_audit.paths import local_path
from antecede_audit.spans.formats.containers import HEAD_BYTES

PART_BYTES: Final = 64 << 20
"""Files of more than 64 MiB are cut into parts of that size."""

READ_BYTES: Final = 1 << 18
"""256 KiB are read at a time."""

TASK_BYTES_MIN: Final = 4 << 20
TASK_BYTES_MAX: Final = 32 << 20
TASKS_WANTED: Final = 256
"""A task reads parts of 4 to 32 MiB together; in between it is what makes 256 tasks."""

PACKED_BYTES: Final = 8
"""A byte of a compressed file counts as 8."""

SUFFIXES: Final = (
    *(".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet"),
    *(".pb", ".binpb", ".otlp"),
)
PACKINGS: Final = (".gz", ".bz2", ".xz", ".zst")
ARCHIVES: Final = (".tar", ".tgz", ".txz", ".tbz2", ".zip")
"""What the names of traces end in: in folders, other files are passed over."""

WHOLE: Final = -1
"""The end of a part that goes to the end of its file."""


class FileSystems(Protocol):
    """What finds files that may be on other machines."""

    def local(self, path: str) -> Path | None:
        """The path on this machine's disk; None if it is elsewhere."""

    def files(self, path: str) -> list[tuple[str, int]]:
        """The files at a path elsewhere, and below it, with their sizes."""


class FilePart(NamedTuple):
    """A file to read, or a stretch of its bytes."""

    number: int
    """Parts come in the order of the names of their files."""
    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TraceFiles:
    """The files that were found."""

    files: tuple[tuple[str, int], ...]
    """Path and size, by path, of those on this machine."""
    passed_over: tuple[str, ...]
    """What lay in a folder and does not look like a trace."""
    elsewhere: tuple[tuple[str, int], ...] = ()
    """Those that only Spark can read."""
    skipped: tuple[str, ...] = ()
    """Files of this machine that an earlier batch had."""

    @property
    def count(self) -> int:
        """How many there are to read."""
        return len(self.files) + len(self.elsewhere)

    def without(self, known: Set[str]) -> "TraceFiles":
        """The same, but for files that were read before."""
        files = tuple(file for file in self.files if file[0] not in known)
        return replace(self, files=files, skipped=tuple(sorted(known)))


def find_files(paths: Sequence[str], storage: FileSystems | None = None) -> TraceFiles:
    """The files at these paths; in folders, those whose names look like traces.

    Without `storage` all of them are on this machine.
    """
    files: dict[str, int] = {}
    elsewhere: dict[str, int] = {}
    passed_over: dict[str, None] = {}
    for path in paths:
        here = local_path(path) if storage is None else storage.local(path)
        if here is None:
            assert storage is not None, "only Spark knows other storage"
            found, target = remote_files(path, storage), elsewhere
        else:
            found, target = local_files(here), files
        for name, size, is_named in found:
            if is_named or looks_like_a_trace(name.rpartition("/")[2]):
                target[name] = size
            else:
                passed_over[name] = None
    if not files and not elsewhere:
        raise LocalError(f"there is no trace in {', '.join(paths)}")
    return TraceFiles(
        tuple(sorted(files.items())), tuple(sorted(passed_over)), tuple(sorted(elsewhere.items()))
    )


def remote_files(path: str, storage: FileSystems) -> Iterator[tuple[str, int, bool]]:
    """The files at a path elsewhere: path, size, and whether it was itself asked for."""
    found = storage.files(path)
    if not found:
        raise LocalError(f"cannot read {path}: there is no such file or directory")
    for name, size in found:
        yield name, size, name.endswith(urlsplit(path).path.rstrip("/"))


def local_files(top: Path) -> Iterator[tuple[str, int, bool]]:
    """The files at a path of this machine: path, size, and whether it was itself asked for."""
    with os_errors_as_local(top, "read"):
        if not top.exists():
            raise LocalError(f"cannot read {top}: there is no such file or directory")
        if not top.is_dir():
            if not top.is_file():
                raise LocalError(f"cannot read {top}: it is no file. Save what a pipe has to one")
            yield str(top), top.stat().st_size, True
            return
        for folder, _, names in os.walk(top, onerror=raised):
            for name in names:
                file = Path(folder) / name
                if is_hidden(str(file), str(top)):
                    continue
                if file.is_file() or (file.is_symlink() and looks_like_a_trace(name)):
                    with os_errors_as_local(file, "read"):
                        size = file.stat().st_size
                    yield str(file), size, False


def raised(error: OSError) -> None:
    """A folder that cannot be listed is no empty one."""
    raise LocalError(f"cannot read {error.filename}: {error.strerror or error}") from error


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
    # Lines may be long: with the usual few kilobytes most of the time would go into joining pieces.
    file = Path(path).open("rb", READ_BYTES)  # noqa: SIM115 whoever asked for it closes it
    file.seek(start)
    return file


def head_of(path: str) -> bytes:
    """How the file begins."""
    with open_file(path) as file:
        return file.read(HEAD_BYTES)


def fingerprint_of(data: bytes) -> str:
    """What tells a file from all others: its size and a hash of its whole content."""
    return f"{len(data)}:{hashlib.sha256(data).hexdigest()}"


def file_fingerprint(path: str) -> str:
    """The fingerprint of a file of this machine."""
    with Path(path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{file.tell()}:{digest}"


def sizes_of(fingerprints: Iterable[str]) -> frozenset[int]:
    """The sizes of the files that have these fingerprints: no file of another size is one of
    them, and only those of these sizes have to be looked at."""
    return frozenset(int(one.partition(":")[0]) for one in fingerprints)


def parts_of(files: Sequence[tuple[str, int]]) -> list[FilePart]:
    """The parts of all these files, in order."""
    cuts = [(path, *cut) for path, size in files for cut in cuts_of(size)]
    return [FilePart(number, *cut) for number, cut in enumerate(cuts)]


def cuts_of(size: int) -> list[tuple[int, int]]:
    """Where a file of this size is cut."""
    starts = range(0, max(size, 1), PART_BYTES)
    return list(zip(starts, [*starts[1:], WHOLE], strict=True))


def tasks_of(files: Sequence[tuple[str, int]]) -> list[tuple[int, FilePart]]:
    """The parts of all these files, each with its task: all tasks have about as much to read."""
    sizes = dict(files)
    weights = [(part, uncompressed_size(part, sizes[part.path])) for part in parts_of(files)]
    wanted = sum(weight for _, weight in weights) // TASKS_WANTED
    limit = min(max(wanted, TASK_BYTES_MIN), TASK_BYTES_MAX)
    tasks: list[tuple[int, FilePart]] = []
    task, filled = 0, 0
    for part, weight in weights:
        if weight and filled and filled + weight > limit:
            task, filled = task + 1, 0
        tasks.append((task, part))
        filled += weight
    return tasks


def uncompressed_size(part: FilePart, size: int) -> int:
    """How much there is to read in a part of a file of this size; what is packed is not cut."""
    if is_packed(part.path):
        return 0 if part.start else weight_of_file(part.path, size)
    return min(size - part.start, PART_BYTES)


def weight_of_file(path: str, size: int) -> int:
    """How much there is to read in a file of this size."""
    return size * PACKED_BYTES if is_packed(path) else size


def is_packed(path: str) -> bool:
    """Whether there is more in a file than its size says."""
    return path.lower().endswith((*PACKINGS, *ARCHIVES))


@final
class ByteRange:
    """The lines of a file that begin in a stretch of it."""

    def __init__(self, part: FilePart) -> None:
        # The line before may end right before the start: then it is the next that counts.
        before = max(0, part.start - 1)
        self._file: Final = open_file(part.path, before)
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
