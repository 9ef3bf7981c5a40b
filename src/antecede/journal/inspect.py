"""Looking into a journal that nobody has open, and setting aside one that cannot be read."""

from dataclasses import dataclass
from pathlib import Path

from antecede.journal.blocks import Block, read_blocks
from antecede.journal.disk import Disk
from antecede.journal.errors import JournalCorrupt
from antecede.journal.journal import file_name, file_numbers


@dataclass(frozen=True, slots=True)
class Findings:
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
        counted = f"{self.records:,} records in {self.commits:,} commits"
        text = f"{self.file}: {counted}, {self.size:,} bytes"
        if self.torn:
            text += f"; the last {self.torn:,} bytes are of a commit that a crash interrupted"
        return text


def newest_file(folder: Path) -> str:
    """The file that counts; `JournalCorrupt` if there is none."""
    numbers = file_numbers(Disk(folder).names())
    if not numbers:
        raise JournalCorrupt(f"{folder}: there is no journal here")
    return file_name(numbers[-1])


def check(folder: Path) -> Findings:
    """Whether a node could start from this journal, and what it would find."""
    name = newest_file(folder)
    data = Disk(folder).read(name)
    try:
        reading = read_blocks(data, name)
    except JournalCorrupt as error:
        return Findings(name, len(data), 0, 0, 0, str(error))
    records = sum(len(block.records) for block in reading.blocks)
    return Findings(name, len(data), len(reading.blocks), records, reading.torn, None)


def contents(folder: Path) -> list[Block]:
    """Every commit that can be read."""
    name = newest_file(folder)
    return read_blocks(Disk(folder).read(name), name).blocks


def repair(folder: Path) -> str:
    """Make the journal one that a node accepts; says what was done.

    A torn tail is cut off: nothing promised is lost. A corrupt journal is set aside, whole: going
    on from a part of it would send numbers again that were used before, so the node has to begin a
    new life instead, as one without a journal does.
    """
    disk = Disk(folder)
    disk.lock()
    try:
        return mend(disk, check(folder))
    finally:
        disk.unlock()


def mend(disk: Disk, found: Findings) -> str:
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
        return f"cut off {found.torn:,} bytes of a commit that a crash interrupted; nothing is lost"
    return "nothing to repair"
