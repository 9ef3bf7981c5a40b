"""Looks into compressed files and archives, however they are nested, by what they begin with.

What cannot be unpacked to its end is read as far as it goes, and the damage is put on a list.
"""

import bz2
import gzip
import io
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Final, NamedTuple, cast, final

import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_BYTES: Final = 1 << 16
"""How much of a file is looked at to see what it is."""

DEPTH_MAX: Final = 4
"""How many wrappings are undone: gzip around tar around gzip is three."""

GZIP: Final = b"\x1f\x8b"
BZIP2: Final = b"BZh"
XZ: Final = b"\xfd7zXZ\x00"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
TAR: Final = b"ustar"
TAR_OFFSET: Final = 257

FAILURES: Final = (
    EOFError,
    OSError,
    RuntimeError,  # what zipfile says of a member with a password
    lzma.LZMAError,
    pa.ArrowException,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What unpacking raises when a file is damaged."""


class DamagedFile(NamedTuple):
    """That a file could not be read to its end."""

    name: str
    reason: str
    is_unreadable: bool = False
    """Whether the system refuses to read on: what the file has there is not known."""


class Content(NamedTuple):
    """A file, or a file within an archive: its name, how it begins, and all of it as a stream."""

    name: str
    head: bytes
    stream: IO[bytes]


@final
class TruncationTolerantReader(io.RawIOBase):
    """A stream that ends where it is damaged, and puts that on the list."""

    def __init__(self, name: str, stream: IO[bytes], damages: list[DamagedFile]) -> None:
        self._name: Final = name
        # Unlike `read`, `read1` gives what it has got before it meets the damage.
        self._read: Final[Callable[[int], bytes]] = getattr(stream, "read1", stream.read)
        self._damages: Final = damages
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill the buffer, but for the end of the stream."""
        view = memoryview(buffer)
        filled = 0
        while filled < len(view) and not self._ended:
            try:
                data = self._read(len(view) - filled)
            except FAILURES as error:
                self._damages.append(damage_of(self._name, error))
                data = b""
            view[filled : filled + len(data)] = data
            filled += len(data)
            self._ended = not data
        return filled


def damage_of(name: str, error: Exception) -> DamagedFile:
    """What is wrong with a file, in a few words that other files share."""
    if isinstance(error, EOFError) or "unexpected end of data" in str(error):
        return DamagedFile(name, "truncated file")
    if isinstance(error, OSError) and error.errno is not None:
        return DamagedFile(name, f"cannot be read: {error.strerror}", is_unreadable=True)
    if "password" in str(error):
        return DamagedFile(name, "needs a password")
    return DamagedFile(name, f"damaged file ({type(error).__name__})")


def contents(
    name: str, stream: IO[bytes], damages: list[DamagedFile], depth: int = 0
) -> Iterator[Content]:
    """The files that are in a file: itself, or what is packed in it.

    Each must be used before the next is asked for; damage is on the list by then.
    """
    reader = io.BufferedReader(TruncationTolerantReader(name, stream, damages), HEAD_BYTES)
    head = reader.peek(HEAD_BYTES)
    buffered = cast(IO[bytes], reader)
    if depth == DEPTH_MAX:
        yield Content(name, head, buffered)
    elif (inner := decompressed(head, buffered)) is not None:
        yield from contents(name, inner, damages, depth + 1)
    elif head[TAR_OFFSET:].startswith(TAR):
        yield from tar_members(name, buffered, damages, depth)
    elif head.startswith(ZIP):
        yield from zip_members(name, buffered, damages, depth)
    else:
        yield Content(name, head, buffered)


def decompressed(head: bytes, stream: IO[bytes]) -> IO[bytes] | None:
    """What is inside a compressed file that begins like this, or None if it is not compressed."""
    if head.startswith(GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    if head.startswith(BZIP2):
        return cast(IO[bytes], bz2.BZ2File(stream))
    if head.startswith(XZ):
        return cast(IO[bytes], lzma.LZMAFile(stream))
    if head.startswith(ZSTD):
        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd"))
    return None


def tar_members(
    name: str, stream: IO[bytes], damages: list[DamagedFile], depth: int
) -> Iterator[Content]:
    """The files in a tar archive, in the order in which they stand there."""
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield from contents(f"{name}!{member.name}", file, damages, depth + 1)
    except FAILURES as error:
        damages.append(damage_of(name, error))


def zip_members(
    name: str, stream: IO[bytes], damages: list[DamagedFile], depth: int
) -> Iterator[Content]:
    """The files in a zip archive; as its list of files is at its end, it is copied to a disk."""
    try:
        with spooled(stream) as copy, zipfile.ZipFile(copy) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    with archive.open(member) as file:
                        yield from contents(f"{name}!{member.filename}", file, damages, depth + 1)
    except FAILURES as error:
        damages.append(damage_of(name, error))


def spooled(stream: IO[bytes]) -> IO[bytes]:
    """The rest of a stream as a file in which one can move about; it goes when it is closed."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 whoever asked for it closes it
    shutil.copyfileobj(stream, copy)
    copy.seek(0)
    return copy
