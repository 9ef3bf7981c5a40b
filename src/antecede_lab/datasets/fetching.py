"""Getting the public traces: from their addresses, or from a folder; kept if they are right.

Which sets there are, with addresses and checksums, is read from `traces.toml`. What is there
already and right is left as it is. A file appears under its name when it is complete and verified;
one that is not what it was says so, and is not kept.
"""

import gzip
import hashlib
import lzma
import shutil
import tarfile
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Final

from antecede.core.errors import LocalError, near_miss
from antecede.eventlog.atomic_files import read_note, write_atomically, write_note
from antecede.eventlog.ownership import check_owned

PACKED = ".gz"
ARCHIVED = ".tar.xz"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSet:
    """Files that belong together."""

    name: str
    about: str
    licence: str
    folder: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Names, as published, and the SHA-256 of each."""
    base: str = ""
    """Where single files are: this address and their names."""
    archive: str = ""
    """Or one archive with all of them: `files` are folders below `inside` in it."""
    inside: str = ""
    packed: bool = False
    """Whether files are compressed here that are not where they come from."""

    def place(self, folder: Path, name: str) -> Path:
        """Where a file is kept below a folder."""
        ending = ARCHIVED if self.archive else PACKED if self.packed else ""
        return folder / self.folder / (name + ending)


def known_sets() -> dict[str, TraceSet]:
    """All sets, by name."""
    here = resources.files(__package__).joinpath("traces.toml")
    tables = tomllib.loads(here.read_text(encoding="utf-8"))
    return {name: TraceSet(name=name, **fields) for name, fields in tables.items()}


def chosen_sets(names: tuple[str, ...], known: Mapping[str, TraceSet]) -> list[TraceSet]:
    """The sets of these names; all, if none is given."""
    for name in names:
        if name not in known:
            hint = near_miss(name, list(known)) or f"; there are {', '.join(known)}"
            raise LocalError(f"no set of traces is called {name!r}{hint}")
    return [known[name] for name in names or known]


SECONDS_MAX: Final = 60.0
"""A server that sends no byte for 60 s is given up."""

CHUNK: Final = 1 << 20

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """How many files there are now, and how many of them are new."""

    files: int
    new: int


def fetch(one: TraceSet, out: Path, source: Path | None, tell: Tell) -> Fetched:
    """Have all files of a set below `out`, from `source` or else from the network."""
    wanted = [name for name in one.files if not is_right(one, out, name)]
    claim_files(one, out, wanted)
    if wanted and source is not None:
        for name in wanted:
            copy(one, source, out, name)
    elif wanted and one.archive:
        fetch_archive(one, out, wanted, tell)
    else:
        for number, name in enumerate(wanted, start=1):
            tell(f"{one.name}: {number} of {len(wanted)}: {name}")
            fetch_file(one, out, name)
    return Fetched(files=len(one.files), new=len(wanted))


def claim_files(one: TraceSet, out: Path, wanted: list[str]) -> None:
    """Note which files will be ours; `LocalError` if somebody else has one in the way."""
    if wanted:
        places = [one.place(out, name).relative_to(out).as_posix() for name in wanted]
        note = read_note(out)
        check_owned(str(out), note, (place for place in places if (out / place).exists()))
        write_note(out, note.added(files=places))


def is_right(one: TraceSet, folder: Path, name: str) -> bool:
    """Whether a file is there, and is what was published."""
    path = one.place(folder, name)
    try:
        return path.is_file() and checksum(one, path) == one.files[name]
    except (OSError, EOFError, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError):
        return False


def checksum(one: TraceSet, path: Path) -> str:
    """The SHA-256 of what was published, however it is kept here."""
    if one.archive:
        with tarfile.open(path) as archive:
            return checksum_of_members(archive)
    if one.packed:
        with gzip.open(path) as unpacked:
            return digest_of(unpacked)
    with path.open("rb") as file:
        return digest_of(file)


def digest_of(file: IO[bytes] | gzip.GzipFile) -> str:
    """The SHA-256 of what follows in a file."""
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def checksum_of_members(archive: tarfile.TarFile) -> str:
    """The SHA-256 of a list of files, as sha256sum prints it."""
    lines = []
    for member in archive:
        file = archive.extractfile(member) if member.isfile() else None
        if file is not None:
            lines.append(f"{digest_of(file)}  {PurePosixPath(member.name).name}\n")
    ordered = sorted(lines, key=lambda line: line.partition("  ")[2])
    return hashlib.sha256("".join(ordered).encode()).hexdigest()


def copy(one: TraceSet, source: Path, out: Path, name: str) -> None:
    """Take a file from a folder that is laid out in the same way."""
    path = one.place(source, name)
    if not path.is_file():
        raise LocalError(f"{path} is not there; it is one of {one.name}")
    if not is_right(one, source, name):
        raise LocalError(f"{path} is not what was published: its checksum is another")
    with kept(one.place(out, name)) as target, path.open("rb") as file:
        shutil.copyfileobj(file, target, CHUNK)


def fetch_file(one: TraceSet, out: Path, name: str) -> None:
    """Get one file by its address."""
    address = f"{one.base}/{name}"
    with downloaded(address) as file:
        digest = digest_of(file)
        if digest != one.files[name]:
            raise LocalError(f"{address} is not what it was: its checksum is {digest}")
        file.seek(0)
        place = one.place(out, name)
        with kept(place) as target:
            if place.suffix == PACKED and one.packed:
                with gzip.GzipFile(fileobj=target, mode="wb", mtime=0) as packing:
                    shutil.copyfileobj(file, packing, CHUNK)
            else:
                shutil.copyfileobj(file, target, CHUNK)


def fetch_archive(one: TraceSet, out: Path, names: list[str], tell: Tell) -> None:
    """Get an archive, and of it the folders that are wanted, each as an archive of its own."""
    tell(f"{one.name}: one archive with everything, {one.archive}")
    with downloaded(one.archive) as file:
        for name in names:
            file.seek(0)
            with kept(one.place(out, name)) as target:
                repack(file, f"/{one.inside}/{name}/", target)
            if not is_right(one, out, name):
                one.place(out, name).unlink()
                raise LocalError(f"{name} in {one.archive} is not what it was")


def repack(archive: IO[bytes], part: str, target: IO[bytes]) -> None:
    """The files of one folder of an archive, as an archive."""
    with (
        tarfile.open(fileobj=archive, mode="r:*") as source,
        tarfile.open(fileobj=target, mode="w:xz") as packing,
    ):
        for member in source:
            content = source.extractfile(member) if member.isfile() else None
            if content is not None and part in f"/{member.name}":
                entry = tarfile.TarInfo(PurePosixPath(member.name).name)
                entry.size = member.size
                packing.addfile(entry, content)


@contextmanager
def kept(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name when everything is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as partial, partial.open("wb") as file:
        yield file


@contextmanager
def downloaded(address: str) -> Iterator[IO[bytes]]:
    """What is at an address, as a file to read."""
    with TemporaryFile() as file:
        try:
            with urllib.request.urlopen(address, timeout=SECONDS_MAX) as answer:
                shutil.copyfileobj(answer, file, CHUNK)
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise LocalError(
                f"cannot get {address}: {reason}; where there is no network, name a folder that "
                "has the traces with --from"
            ) from error
        file.seek(0)
        yield file
