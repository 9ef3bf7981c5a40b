"""The journal: groups of records that are durable when `commit` returns.

One file at a time, `journal-N.log`: a snapshot of what was known when it was begun, and every
commit since. When the commits outgrow the snapshot, a new file is begun with a new snapshot, and
the old one is deleted once the new one is safe; so the size follows the state, not the history.

Calls come from one thread at a time. `commit` and `rotate_file` touch the disk and may take as long
as disks take; whoever must not wait calls them from a thread.

Failures: no room (`JournalFull`) leaves everything as it was, and the same commit can be tried
again. Neither has anything changed if a file cannot even be opened (`JournalUnavailable`): where a
new one was to be begun, the present one goes on growing. A failed write or sync of any other kind
is `JournalFailed` and final: after a failed sync nobody knows what is on the disk, and asking again
would be answered with a lie.

One that nobody has open can be looked into (`check`, `contents`), and set aside where it cannot be
read (`repair`).
"""

import errno
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns
from typing import Final, Literal, TypeAlias

from antecede.core.records import join_records
from antecede.durability.disk import Disk
from antecede.durability.errors import (
    JournalCorrupt,
    JournalFailed,
    JournalFull,
    JournalUnavailable,
)
from antecede.durability.log_format import (
    LogBlock,
    encode_block,
    encode_body,
    file_header,
    read_blocks,
)
from antecede.units import counted

Durability: TypeAlias = Literal["sync", "process"]
"""`sync` survives a power failure; `process` only a crash of the process, not of the machine."""

GROWTH: Final = 4
"""A file may grow to 4 times its snapshot before a new one is begun."""

GROWTH_BYTES_MIN: Final = 64 << 20
"""No file of less than 64 MiB, or a quarter of the limit, is replaced."""

JOURNAL_BYTES_MAX: Final = 8 << 30
"""A journal has at most 8 GiB, unless the settings allow more."""

RESERVE: Final = 1 << 20
RESERVE_SHARE: Final = 8
"""With less room than 1 MiB, or than an eighth of the limit, nothing new should be begun: what is
left is for bringing to an end what has begun."""

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

UNFINISHED: Final = "unfinished.tmp"

PREPARE_NS: Final = 1_000_000_000
"""If a new file could not be begun, that is tried again after 1 s."""

log = logging.getLogger(__name__)


class Journal:
    """An open journal; at most one process has it."""

    def __init__(
        self,
        disk: Disk,
        *,
        durable: Durability = "sync",
        limit_bytes: int = JOURNAL_BYTES_MAX,
        growth_bytes_min: int = GROWTH_BYTES_MIN,
    ) -> None:
        self._disk: Final = disk
        self._durable: Final = durable
        self._limit: Final = limit_bytes
        self._growth_min: Final = growth_bytes_min
        self._descriptor: int | None = None
        # The file that will be the next one, if it is open already; and when to try that again.
        self._prepared: int | None = None
        self._prepare_at_ns = 0
        self._file = 0
        self._next_block = 0
        self._size = 0
        self._snapshot_size = 0
        # Up to this size there was room when the file system was asked last.
        self._roomy_until = 0
        self._failed: str | None = None
        self.torn_bytes = 0
        self.commits = 0
        self.written_bytes = 0
        self.write_ns = 0
        """What was written since it was opened, and how long that took."""

    def open(self) -> list[bytes] | None:
        """Take the journal, and answer with everything in it; None if there is nothing yet.

        A torn tail is cut off (`torn_bytes` says how much). After None, `rotate_file` must be
        called before the first commit.
        """
        with named_errors(self._disk.folder):
            self._disk.lock()
            try:
                return self._recover()
            except BaseException:
                self.close()
                raise

    def _recover(self) -> list[bytes] | None:
        numbers = file_numbers(self._disk.names())
        self._disk.remove(UNFINISHED)
        if not numbers:
            return None
        newest = numbers[-1]
        for number in numbers[:-1]:  # A crash came between the new file and the old one's end.
            self._disk.remove(file_name(number))
        name = file_name(newest)
        reading = read_blocks(self._disk.read(name), name)
        self._descriptor = self._disk.open(name, new=False)
        if reading.torn:
            self._disk.truncate(self._descriptor, reading.good)
            self._sync(self._descriptor)
        self._file = newest
        self._size = reading.good
        self._snapshot_size = reading.blocks[0].stop
        self._next_block = len(reading.blocks)
        self.torn_bytes = reading.torn
        return [record for block in reading.blocks for record in block.records]

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._size

    def needs_rotation(self) -> bool:
        """Whether beginning anew would pay."""
        least = min(self._growth_min, self._limit // 4)
        most = (self._snapshot_size + self._limit) // 2
        return self._size > max(least, min(GROWTH * self._snapshot_size, most))

    def would_shrink(self) -> bool:
        """Whether beginning anew would make room."""
        return self._size > 2 * self._snapshot_size

    def shortage(self) -> str:
        """Why nothing new should be begun; empty if there is room. Asks the file system."""
        reserve = min(RESERVE, self._limit // RESERVE_SHARE)
        if self._size + reserve > self._limit:
            return self._beyond_limit()
        if self._roomy_until > self._size:
            return ""
        try:
            free = self._disk.free()
        except OSError:  # Nobody knows: the next write will tell.
            return ""
        if free < reserve:
            return f"no room for the journal {self._disk.folder}: make room on the disk"
        self._roomy_until = self._size + reserve // RESERVE_SHARE
        return ""

    def _beyond_limit(self) -> str:
        return (
            f"the journal {self._disk.folder} has reached its limit of {self._limit:,} bytes; "
            "raise journal_limit, or read what waits and let the peers do so"
        )

    def commit(self, records: Sequence[bytes]) -> None:
        """Make these records durable, all or none; `JournalFull` if there is no room for them."""
        self.commit_body(join_records(records))

    def commit_body(self, body: bytes) -> None:
        """The same, of records that are joined already."""
        self._check()
        assert self._descriptor is not None, "a new journal begins with a snapshot"
        block = encode_body(self._next_block, body)
        if self._size + len(block) > self._limit:
            raise JournalFull(self._beyond_limit())
        self._append(self._descriptor, block, self._size)
        self._size += len(block)
        self._next_block += 1
        self.commits += 1

    def prepare(self) -> bool:
        """Open the file that `rotate_file` will need; False if that is not possible just now.

        Then the present file goes on growing, and asking again is worth while after a second.
        """
        if self._prepared is not None:
            return True
        if monotonic_ns() < self._prepare_at_ns:
            return False
        try:
            self._prepared = self._disk.open(UNFINISHED, new=True)
        except OSError as error:
            if self._prepare_at_ns == 0:
                log.warning(
                    "no new file of the journal %s can be begun: %s; the present one goes on "
                    "growing until one can",
                    self._disk.folder,
                    error.strerror or error,
                )
            self._prepare_at_ns = monotonic_ns() + PREPARE_NS
            return False
        self._prepare_at_ns = 0
        return True

    def rotate_file(self, snapshot: Sequence[bytes]) -> None:
        """From now on the journal holds this, and what is committed after it."""
        self._check()
        content = file_header() + encode_block(0, snapshot)
        number = self._file + 1
        with named_errors(self._disk.folder):
            descriptor = self._prepared or self._disk.open(UNFINISHED, new=True)
        self._prepared = None
        try:
            self._append(descriptor, content, 0)
            self._finish(UNFINISHED, file_name(number))
        except BaseException:
            with suppress(OSError):
                self._disk.close(descriptor)
            raise
        self._replace(descriptor, number, len(content))

    def _replace(self, descriptor: int, number: int, size: int) -> None:
        former, former_number = self._descriptor, self._file
        self._descriptor = descriptor
        self._file = number
        self._size = self._snapshot_size = size
        self._roomy_until = 0
        self._next_block = 1
        if former is not None:
            with suppress(OSError):  # It is deleted at the next start, if not now.
                self._disk.close(former)
                self._disk.remove(file_name(former_number))

    @property
    def files(self) -> int:
        """How many files have been begun so far, in all lives."""
        return self._file

    def close(self) -> None:
        """Give the journal up; what was committed stays."""
        for descriptor in (self._descriptor, self._prepared):
            if descriptor is not None:
                with suppress(OSError):  # What was to be durable has been synced before.
                    self._disk.close(descriptor)
        self._descriptor = self._prepared = None
        self._disk.unlock()

    def _check(self) -> None:
        if self._failed is not None:
            raise JournalFailed(self._failed)

    def _append(self, descriptor: int, data: bytes, size: int) -> None:
        """Durable when it returns, if that is wanted."""
        begun_ns = monotonic_ns()
        try:
            if self._durable == "sync":
                self._disk.append_synced(descriptor, data)
            else:
                self._disk.append(descriptor, data)
        except OSError as error:
            if error.errno in NO_ROOM:
                self._take_back(descriptor, size)
                raise JournalFull(
                    f"no room for the journal {self._disk.folder}: {error.strerror}; make room on "
                    "the disk"
                ) from error
            raise self._fail("write", error) from error
        self.written_bytes += len(data)
        self.write_ns += monotonic_ns() - begun_ns

    def _take_back(self, descriptor: int, size: int) -> None:
        """Part of a block may have found room: the next one must begin where it began."""
        try:
            self._disk.truncate(descriptor, size)
        except OSError as error:
            raise self._fail("shorten", error) from error

    def _finish(self, unfinished: str, name: str) -> None:
        try:
            self._disk.rename(unfinished, name)
        except OSError as error:
            raise self._fail("rename", error) from error

    def _sync(self, descriptor: int) -> None:
        if self._durable == "process":
            return
        try:
            self._disk.sync(descriptor)
        except OSError as error:
            raise self._fail("sync", error) from error

    def _fail(self, verb: str, error: OSError) -> JournalFailed:
        self._failed = (
            f"cannot {verb} the journal {self._disk.folder}: {error.strerror or error}; what is on "
            "the disk is unknown, so this node must not go on. Mend the disk and start it again"
        )
        return JournalFailed(self._failed)


@contextmanager
def named_errors(folder: Path) -> Iterator[None]:
    """What the system refuses is `JournalUnavailable`, with the name of the journal."""
    try:
        yield
    except OSError as error:
        raise JournalUnavailable(
            f"the journal {folder} cannot be used: {os_reason(error, folder)}; mend that, or name "
            "another folder"
        ) from error


def os_reason(error: OSError, folder: Path) -> str:
    """Why the system refuses something, and for which file if it is not the folder itself."""
    said = error.strerror or str(error)
    named = error.filename
    return said if named is None or str(named) == str(folder) else f"{said}: {named}"


def file_name(number: int) -> str:
    """The name of the journal's N-th file."""
    return f"journal-{number:010}.log"


def file_numbers(names: Sequence[str]) -> list[int]:
    """Which files of a journal are among these, oldest first."""
    found: list[int] = []
    for name in names:
        digits = name.removeprefix("journal-").removesuffix(".log")
        if digits.isdecimal() and name == file_name(int(digits)):
            found.append(int(digits))
        elif name.startswith("journal-") and not name.endswith(".cut"):
            raise JournalCorrupt(
                f"{name}: a file that does not belong into a journal; move it elsewhere"
            )
    return sorted(found)


def open_journal(folder: Path, durable: Durability = "sync") -> tuple[Journal, list[bytes] | None]:
    """The journal in `folder`, and what is in it; the folder is made if need be."""
    journal = Journal(Disk(folder), durable=durable)
    return journal, journal.open()


@dataclass(frozen=True, slots=True)
class JournalReport:
    """What is in a journal's newest file."""

    file: str
    size: int
    commits: int
    records: int
    torn: int
    corrupt: str | None
    """What is wrong with it, if a node would refuse it."""

    def sentence(self) -> str:
        """The same, for people."""
        if self.corrupt is not None:
            return self.corrupt
        held = f"{counted(self.records, 'record')} in {counted(self.commits, 'commit')}"
        text = f"{self.file}: {held}, {counted(self.size, 'byte')}"
        if self.torn:
            text += f"; the last {self.torn:,} bytes are of a commit that was not finished"
        return text


def newest_file(folder: Path) -> str:
    """The file that counts; `JournalCorrupt` if there is none."""
    numbers = file_numbers(Disk(folder).names())
    if not numbers:
        raise JournalCorrupt(f"{folder}: there is no journal here; name the folder of one")
    return file_name(numbers[-1])


def check(folder: Path) -> JournalReport:
    """Whether a node could start from this journal, and what it would find."""
    with named_errors(folder):
        name = newest_file(folder)
        data = Disk(folder).read(name)
    try:
        reading = read_blocks(data, name)
    except JournalCorrupt as error:
        return JournalReport(name, len(data), 0, 0, 0, str(error))
    records = sum(len(block.records) for block in reading.blocks)
    return JournalReport(name, len(data), len(reading.blocks), records, reading.torn, None)


def contents(folder: Path) -> list[LogBlock]:
    """Every commit that can be read."""
    with named_errors(folder):
        name = newest_file(folder)
        return read_blocks(Disk(folder).read(name), name).blocks


def repair(folder: Path) -> str:
    """Make the journal one that a node accepts; says what was done.

    A torn tail is cut off, as a node does by itself when it starts. A corrupt journal is set aside,
    whole: going on from a part of it would send numbers again that were used before, so the node
    has to begin a new life instead, as one without a journal does.
    """
    disk = Disk(folder)
    with named_errors(folder):
        disk.lock()
        try:
            return repair_locked(disk, check(folder))
        finally:
            disk.unlock()


def repair_locked(disk: Disk, found: JournalReport) -> str:
    """Do what `repair` says; the journal is locked."""
    if found.corrupt is not None:
        for number in file_numbers(disk.names()):
            disk.rename(file_name(number), f"{file_name(number)}.cut")
        return (
            f"set aside as {found.file}.cut: the node will begin a new life, and its peers will "
            "expel the former one. What it had sent and not got acknowledged is lost to it"
        )
    if found.torn:
        descriptor = disk.open(found.file, new=False)
        try:
            disk.truncate(descriptor, found.size - found.torn)
            disk.sync(descriptor)
        finally:
            disk.close(descriptor)
        return (
            f"cut off {found.torn:,} bytes of a commit that was not finished. If a crash "
            "interrupted the write, nothing is lost; if the file was cut off later, what is "
            "missing is noticed when the node meets a peer that had seen it"
        )
    return "nothing to repair"
