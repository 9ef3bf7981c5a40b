"""What the system refuses around a journal: descriptors, folders, rights. Each has its sentence."""

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path

import pytest

import antecede
from antecede.durability.disk import Disk
from antecede.durability.journal import Journal, check, contents, repair
from antecede.errors import JournalUnavailable
from antecede.testing import TestNetwork
from tests.antecede.durability.failing_disk import FailingDisk

REFUSALS = [errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EIO, errno.ENOSPC, errno.EROFS]


def run(story: Coroutine[None, None, None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(story, 60)

    asyncio.run(bounded())


class RefusingDisk(FailingDisk):
    """Opens no new file as long as there is a reason not to."""

    refusal: int = 0
    refused: int = 0

    def open(self, name: str, *, new: bool) -> int:
        if self.refusal and new:
            self.refused += 1
            raise OSError(self.refusal, os.strerror(self.refusal), name)
        return super().open(name, new=new)

    def free(self) -> int:
        if self.refusal:
            raise OSError(self.refusal, os.strerror(self.refusal))
        return super().free()


OUT_OF_DESCRIPTORS = """
import asyncio, os, resource, sys
import antecede

async def main(folder, durable):
    resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
    node = await antecede.open_node("ann", journal=folder, durable=durable, journal_limit="1MiB")
    await node.send("ann", b"x" * 1000)
    await node.receive(60)
    files = node.stats().journal.files
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for _ in range(400):  # A new file would begin at 256 KiB.
        await asyncio.wait_for(node.send("ann", b"x" * 1000), 60)
        await node.receive(60)
    assert node.stats().journal.files == files, "no file could be begun"
    assert node.health(), node.health()
    for descriptor in taken:
        os.close(descriptor)
    while node.stats().journal.files == files:
        await asyncio.wait_for(node.send("ann", b"x" * 1000), 60)
        await node.receive(60)
        await asyncio.sleep(0.01)
    await node.close()

asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 120))
print("well")
"""


@pytest.mark.parametrize("durable", ["sync", "process"])
def test_a_node_out_of_descriptors_goes_on_with_the_file_it_has(
    tmp_path: Path, durable: str
) -> None:
    arguments = [sys.executable, "-c", OUT_OF_DESCRIPTORS, str(tmp_path), durable]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=180, check=False)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    assert "no new file of the journal" in done.stderr


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_new_file_that_cannot_be_begun_holds_nobody_up(refusal: int) -> None:
    async def story() -> None:
        disk = RefusingDisk()
        async with TestNetwork() as network:
            network.disks["ann"] = disk
            ann = await network.open_node("ann", journal="in-memory", journal_limit=1 << 20)
            disk.refusal = refusal
            for _ in range(400):
                await ann.send("ann", bytes(1000))
                await ann.receive(60)
            assert disk.refused > 0
            assert ann.health().status == "ok"

    run(story())


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_journal_that_cannot_be_begun_says_why(refusal: int) -> None:
    async def story() -> None:
        disk = RefusingDisk()
        disk.refusal = refusal
        network = TestNetwork()
        network.disks["ann"] = disk
        with pytest.raises(JournalUnavailable, match=os.strerror(refusal)):
            await network.open_node("ann", journal="in-memory")
        disk.refusal = 0
        ann = await network.open_node("ann", journal="in-memory")
        await ann.send("ann", b"note")
        await network.close()

    run(story())


def test_a_folder_that_cannot_be_made_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    folders = [Path("/proc/no/such/folder"), tmp_path / "file", tmp_path / "file" / "below"]

    async def story(folder: Path) -> None:
        with pytest.raises(JournalUnavailable, match=rf"the journal {folder} cannot be used: \w+"):
            await antecede.open_node("ann", journal=folder)

    for folder in folders:
        run(story(folder))
        command = [sys.executable, "-m", "antecede", "node", "--name", "ann"]
        command += ["--journal", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (1, 2)
        assert "cannot be used" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_read_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """A folder in its place: whoever runs the tests may be allowed to read every file."""
    (tmp_path / "journal-0000000001.log").mkdir()

    async def story() -> None:
        with pytest.raises(JournalUnavailable, match="Is a directory"):
            await antecede.open_node("ann", journal=tmp_path)

    run(story())
    for look in (check, contents, repair):
        with pytest.raises(JournalUnavailable, match="Is a directory"):
            look(tmp_path)


def test_a_refused_journal_gives_its_descriptors_back(tmp_path: Path) -> None:
    (tmp_path / "journal-0000000001.log").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(JournalUnavailable):
            Journal(Disk(tmp_path)).open()
    assert len(os.listdir("/proc/self/fd")) == before
