"""A disk in memory that loses power, tears writes, fills up and fails to sync, as told."""

import errno
import os
from pathlib import Path

from antecede.durability.disk import Disk
from antecede.durability.log_format import FILE_HEADER, encode_block, read_blocks


class FailingDisk(Disk):
    """Keeps what was synced apart from what was only written."""

    def __init__(self) -> None:
        super().__init__(Path("disk-in-memory"))
        self.files: dict[str, bytearray] = {}
        self.safe: dict[str, bytes] = {}
        self.room: int | None = None
        """How many more bytes there is room for; None: for all."""
        self.fail_sync = False
        self.fail_write = False
        self.steps = 0
        self.crash_at: int | None = None
        """At which step the power fails; a write is cut in half there."""
        self._open: dict[int, str] = {}

    def lock(self) -> None:
        """Nobody else has it."""

    def unlock(self) -> None:
        """Nobody else wants it."""

    def step(self) -> bool:
        """Whether the power fails now."""
        self.steps += 1
        return self.crash_at is not None and self.steps >= self.crash_at

    def free(self) -> int:
        return 1 << 40 if self.room is None else self.room

    def names(self) -> list[str]:
        return sorted(self.files)

    def read(self, name: str) -> bytes:
        return bytes(self.files[name])

    def open(self, name: str, *, new: bool) -> int:
        if self.step():
            raise PowerFailure
        if new:
            self.files[name] = bytearray()
        descriptor = len(self._open) + 1
        self._open[descriptor] = name
        return descriptor

    def append(self, descriptor: int, data: bytes) -> None:
        file = self.files[self._open[descriptor]]
        if self.step():
            file += data[: len(data) // 2]
            raise PowerFailure
        if self.fail_write:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.room is not None and len(data) > self.room:
            file += data[: self.room]
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        file += data

    def sync(self, descriptor: int) -> None:
        if self.step():
            raise PowerFailure
        if self.fail_sync:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        name = self._open[descriptor]
        self.safe[name] = bytes(self.files[name])

    def truncate(self, descriptor: int, size: int) -> None:
        if self.step():
            raise PowerFailure
        del self.files[self._open[descriptor]][size:]

    def close(self, descriptor: int) -> None:
        """Nothing to give back."""

    def rename(self, old: str, new: str) -> None:
        if self.step():
            raise PowerFailure
        self.files[new] = self.files.pop(old)
        self.safe[new] = self.safe.pop(old, b"")
        self._open = {number: new if name == old else name for number, name in self._open.items()}

    def remove(self, name: str) -> None:
        if self.step():
            raise PowerFailure
        self.files.pop(name, None)
        self.safe.pop(name, None)

    def after_power_failure(self, kept_of_the_rest: float = 0.0) -> "FailingDisk":
        """What is there when the power is back: all that was synced, and some of the rest."""
        disk = FailingDisk()
        for name, content in self.files.items():
            safe = self.safe.get(name, b"")
            cut = len(safe) + int((len(content) - len(safe)) * kept_of_the_rest)
            disk.files[name] = bytearray(content[:cut] if len(content) >= len(safe) else safe)
        disk.safe = {name: bytes(content) for name, content in disk.files.items()}
        return disk


class PowerFailure(BaseException):
    """Nothing runs any more."""


class ForgetfulDisk(FailingDisk):
    """A disk on which records of one kind are never found again."""

    def __init__(self, kind: int) -> None:
        super().__init__()
        self.kind = kind

    def read(self, name: str) -> bytes:
        data = super().read(name)
        left = data[: FILE_HEADER.size]
        for block in read_blocks(data, name).blocks:
            records = [record for record in block.records if record[0] != self.kind]
            left += encode_block(block.number, records)
        self.files[name] = bytearray(left)
        return left

    def after_power_failure(self, kept_of_the_rest: float = 0.0) -> "ForgetfulDisk":
        disk = ForgetfulDisk(self.kind)
        found = super().after_power_failure(kept_of_the_rest)
        disk.files, disk.safe = found.files, found.safe
        return disk
