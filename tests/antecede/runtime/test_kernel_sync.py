"""A journal that the kernel syncs, a thread, or nobody: a node survives with each."""

import asyncio
import ctypes
import errno
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

import antecede
from antecede.durability.disk import Disk
from antecede.durability.errors import JournalFailed
from antecede.durability.journal import Journal
from antecede.runtime import kernel_sync as kernel_sync_module
from antecede.runtime.commit_thread import CommitWriter
from antecede.runtime.kernel_sync import EVENT, KernelSync, call, kernel_sync


def run(story: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 60))


def synced_by_kernel() -> KernelSync:
    found = kernel_sync(asyncio.get_running_loop())
    if found is None:
        pytest.skip("the kernel cannot be asked to sync here")
    return found


class BrokenKernel(KernelSync):
    """A kernel that cannot sync, and says so."""

    def sync(self, descriptor: int, then: Callable[[int], None]) -> None:  # noqa: ARG002 whatever it is
        asyncio.get_running_loop().call_soon(then, errno.EIO)


class RefusingKernel(KernelSync):
    """A kernel that does not begin."""

    def sync(self, descriptor: int, then: Callable[[int], None]) -> None:  # noqa: ARG002 as above
        raise OSError(errno.EAGAIN, "not now")


async def came_of(put: Callable[[Callable[[str | Exception], None]], None]) -> str | Exception:
    """What a commit is answered with."""
    answer: asyncio.Future[str | Exception] = asyncio.get_running_loop().create_future()
    put(answer.set_result)
    return await answer


def test_what_the_kernel_says_went_wrong_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file here fails to sync, so what the kernel wrote about one that did not is exchanged."""

    async def story() -> None:
        kernel = synced_by_kernel()
        told = kernel_sync_module.call_numbers().events

        def failing(number: int, *arguments: object) -> int:
            result = call(number, *arguments)
            if number == told and result == 1:
                event = arguments[3]
                assert isinstance(event, ctypes.Array)
                EVENT.pack_into(event, 0, 0, 0, -errno.EIO, 0)
            return result

        monkeypatch.setattr(kernel_sync_module, "call", failing)
        file = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
        result: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        kernel.sync(file, result.set_result)
        assert await result == errno.EIO
        kernel.stop()
        os.close(file)

    run(story())


def test_the_kernel_says_when_a_file_is_synced(tmp_path: Path) -> None:
    async def story() -> None:
        kernel = synced_by_kernel()
        file = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
        for _ in range(3):
            os.write(file, b"something")
            result: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            kernel.sync(file, result.set_result)
            assert await result == 0
        kernel.stop()
        os.close(file)

    run(story())


def test_what_cannot_be_synced_is_refused_and_the_next_is_not(tmp_path: Path) -> None:
    async def story() -> None:
        kernel = synced_by_kernel()
        read_end, write_end = os.pipe()
        with pytest.raises(OSError, match="Invalid argument"):
            kernel.sync(write_end, lambda _: pytest.fail("nothing was begun"))
        file = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
        result: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        kernel.sync(file, result.set_result)
        assert await result == 0
        kernel.stop()
        for descriptor in (read_end, write_end, file):
            os.close(descriptor)

    run(story())


def test_nothing_is_said_after_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        kernel = synced_by_kernel()
        file = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
        os.write(file, bytes(1 << 20))
        kernel.sync(file, lambda _: pytest.fail("nobody listens any more"))
        kernel.stop()
        await asyncio.sleep(0)
        os.close(file)

    run(story())


def test_it_ends_also_when_its_loop_has(tmp_path: Path) -> None:
    async def story() -> KernelSync:
        kernel = synced_by_kernel()
        file = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
        kernel.sync(file, lambda _: None)
        os.close(file)
        return kernel

    asyncio.run(story()).stop()


def test_a_processor_whose_calls_are_not_known_has_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "maxsize", (1 << 31) - 1)

    async def story() -> None:
        assert kernel_sync(asyncio.get_running_loop()) is None

    run(story())


def test_a_kernel_that_cannot_sync_is_the_end_of_a_journal(tmp_path: Path) -> None:
    async def story() -> None:
        synced_by_kernel().stop()
        journal = Journal(Disk(tmp_path))
        journal.open()
        journal.rotate_file([b"snapshot"])
        loop = asyncio.get_running_loop()
        committer = CommitWriter(journal, loop, threaded=True, kernel=BrokenKernel(loop))
        for _ in range(2):
            answer = await came_of(lambda then: committer.put(b"", None, then))
            assert isinstance(answer, JournalFailed)
            assert "must not go on" in str(answer)
        committer.stop()
        journal.close()

    run(story())


def test_if_the_kernel_does_not_begin_the_thread_syncs(tmp_path: Path) -> None:
    async def story() -> None:
        synced_by_kernel().stop()
        journal = Journal(Disk(tmp_path))
        journal.open()
        journal.rotate_file([b"snapshot"])
        loop = asyncio.get_running_loop()
        committer = CommitWriter(journal, loop, threaded=True, kernel=RefusingKernel(loop))
        body = (3).to_bytes(4, "little") + b"two"
        assert await came_of(lambda then: committer.put(body, None, then)) == ""
        committer.stop()
        journal.close()
        assert Journal(Disk(tmp_path)).open() == [b"snapshot", b"two"]

    run(story())


@pytest.mark.parametrize("by_kernel", [True, False])
@pytest.mark.parametrize("durable", ["sync", "process"])
def test_a_node_survives_with_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_kernel: bool, durable: str
) -> None:
    """What was sent, and not taken, is there again; whoever syncs it."""
    if not by_kernel:
        monkeypatch.setattr(kernel_sync_module, "kernel_sync", lambda _: None)

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

    run(story())
