"""A journal that a thread syncs, or nobody: a node survives with each."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import antecede
from antecede.durability.disk import SyncedDisk
from antecede.durability.errors import JournalFailed
from antecede.durability.journal import Journal
from antecede.runtime import opening
from antecede.runtime.commit_thread import CommitWriter
from tests.antecede.durability.failing_disk import FailingDisk

BODY = (3).to_bytes(4, "little") + b"two"


async def came_of(put: Callable[[Callable[[str | Exception], None]], None]) -> str | Exception:
    """What a commit is answered with."""
    answer: asyncio.Future[str | Exception] = asyncio.get_running_loop().create_future()
    put(answer.set_result)
    return await answer


@pytest.mark.parametrize("threaded", [True, False])
def test_what_was_committed_is_read_again(tmp_path: Path, threaded: bool) -> None:
    async def story() -> None:
        journal = Journal(SyncedDisk(tmp_path))
        journal.open()
        writer = CommitWriter(journal, asyncio.get_running_loop(), threaded=threaded)
        assert await came_of(lambda then: writer.put(b"", [b"snapshot"], then)) == ""
        assert await came_of(lambda then: writer.put(BODY, None, then)) == ""
        writer.stop()
        journal.close()
        assert Journal(SyncedDisk(tmp_path)).open() == [b"snapshot", b"two"]

    asyncio.run(asyncio.wait_for(story(), 60))


@pytest.mark.parametrize("threaded", [True, False])
def test_a_disk_that_cannot_sync_is_the_end_of_a_journal(threaded: bool) -> None:
    async def story() -> None:
        disk = FailingDisk()
        journal = Journal(disk)
        journal.open()
        journal.rotate_file([b"snapshot"])
        writer = CommitWriter(journal, asyncio.get_running_loop(), threaded=threaded)
        disk.fail_sync = True
        for _ in range(2):
            answer = await came_of(lambda then: writer.put(BODY, None, then))
            assert isinstance(answer, JournalFailed)
            assert "must not go on" in str(answer)
            disk.fail_sync = False
        writer.stop()
        journal.close()

    asyncio.run(asyncio.wait_for(story(), 60))


def test_nothing_is_said_when_the_loop_has_ended(tmp_path: Path) -> None:
    journal = Journal(SyncedDisk(tmp_path))
    journal.open()
    journal.rotate_file([b"snapshot"])

    async def story() -> CommitWriter:
        writer = CommitWriter(journal, asyncio.get_running_loop(), threaded=True)
        writer.put(BODY, None, lambda _: None)
        return writer

    asyncio.run(story()).stop()
    journal.close()
    assert Journal(SyncedDisk(tmp_path)).open() == [b"snapshot", b"two"]


@pytest.mark.parametrize("durable", ["sync", "process"])
def test_a_node_survives_with_each(tmp_path: Path, durable: str) -> None:
    """What was sent, and not taken, is there again; whoever syncs it."""

    async def story() -> None:
        ann = await antecede.open_node("ann", journal=tmp_path, durable=durable)  # type: ignore[arg-type] # one of the two
        for number in range(100):
            await ann.send_buffered("ann", b"%d" % number)
        await ann.journal.sync()
        assert ann.stats().journal.commits > 0
        ann.abandon()
        async with antecede.open_node("ann", journal=tmp_path) as again:
            found = [await again.receive(30) for _ in range(100)]
            assert [message.payload for message in found] == [b"%d" % n for n in range(100)]
            assert all(message.again for message in found)

    asyncio.run(asyncio.wait_for(story(), 60))


class SlowDisk(SyncedDisk):
    """A disk that takes its time."""

    has_time = threading.Event()

    def append_synced(self, descriptor: int, data: bytes) -> None:
        self.has_time.wait(60)
        super().append_synced(descriptor, data)


def test_a_node_that_is_abandoned_while_the_disk_is_slow_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waited for its end goes on: what is being written will never be told."""
    monkeypatch.setattr(opening, "SyncedDisk", SlowDisk)

    async def story() -> None:
        SlowDisk.has_time.set()
        ann = await antecede.open_node("ann", journal=tmp_path)
        await asyncio.sleep(0)
        SlowDisk.has_time.clear()
        closing = asyncio.create_task(ann.close())
        while ann.stats().journal.waiting == 0:
            await asyncio.sleep(0)
        threading.Timer(0.1, SlowDisk.has_time.set).start()
        ann.abandon()
        await closing

    asyncio.run(asyncio.wait_for(story(), 60))
