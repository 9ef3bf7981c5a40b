"""What a journal asks of a file system, in one small class.

Tests put another one in its place, which tears writes, fills up and fails to sync as disks do.
"""

import fcntl
import os
from pathlib import Path
from typing import ClassVar

from antecede.durability.errors import JournalInUse


class Disk:
    """A folder on a real file system."""

    FLAGS: ClassVar = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None
        # Open as long as the lock is held: a new name becomes durable without a free descriptor.
        self._directory: int | None = None

    def lock(self) -> None:
        """Make this process the only one with this journal; `JournalInUse` if another has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._directory = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.unlock()
            raise JournalInUse(
                f"the journal {self.folder} is in use by another process; "
                "each node needs a journal of its own"
            ) from None
        except OSError:
            self.unlock()
            raise

    def unlock(self) -> None:
        """Let others have it."""
        for descriptor in (self._lock, self._directory):
            if descriptor is not None:
                os.close(descriptor)
        self._lock = self._directory = None

    def free(self) -> int:
        """How many bytes there is room for, as far as is known."""
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def names(self) -> list[str]:
        """The files there are."""
        return sorted(os.listdir(self.folder)) if self.folder.exists() else []

    def read(self, name: str) -> bytes:
        """A whole file."""
        return (self.folder / name).read_bytes()

    def open(self, name: str, *, new: bool) -> int:
        """A descriptor to append with; a new file must not exist yet."""
        flags = self.FLAGS | (os.O_CREAT | os.O_TRUNC if new else 0)
        return os.open(self.folder / name, flags, 0o600)

    def append(self, descriptor: int, data: bytes) -> None:
        """All of `data`, or an OSError after which any part of it may be in the file."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def sync(self, descriptor: int) -> None:
        """Returns when everything appended would survive a power failure."""
        os.fdatasync(descriptor)

    def append_synced(self, descriptor: int, data: bytes) -> None:
        """The two in one."""
        self.append(descriptor, data)
        self.sync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file off."""
        os.ftruncate(descriptor, size)

    def close(self, descriptor: int) -> None:
        """Give a descriptor back."""
        os.close(descriptor)

    def rename(self, old: str, new: str) -> None:
        """Let a finished file appear under its name, for good; only who has the lock may."""
        assert self._directory is not None, "the journal is locked"
        os.replace(self.folder / old, self.folder / new)
        os.fsync(self._directory)

    def remove(self, name: str) -> None:
        """Delete a file."""
        (self.folder / name).unlink(missing_ok=True)


class SyncedDisk(Disk):
    """The same, where a write returns when it would survive a power failure.

    So a commit is one call. A thread that makes two has to get hold of the interpreter in between,
    and while the loop is busy that takes as long as the disk.
    """

    FLAGS: ClassVar = Disk.FLAGS | os.O_DSYNC

    def append_synced(self, descriptor: int, data: bytes) -> None:
        self.append(descriptor, data)
