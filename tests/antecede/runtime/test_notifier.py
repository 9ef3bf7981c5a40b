"""Who waits goes on in the next turn, or at once where the loop itself calls."""

import asyncio
import contextlib
from contextvars import ContextVar

import pytest

from antecede import open_node
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.errors import TimedOut
from antecede.runtime.notifier import Notifier

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


async def turns(number: int = 3) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def by_the_loop(notifier: Notifier) -> None:
    """Let the loop itself, not a task, resume whoever waits."""
    done = asyncio.get_running_loop().create_future()

    def resume() -> None:
        notifier.resume()
        done.set_result(None)

    asyncio.get_running_loop().call_soon(resume)
    await done


def test_who_is_resumed_has_gone_on_when_that_returns() -> None:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        notifier = Notifier(loop)
        seen: list[str] = []

        async def waits(name: str) -> None:
            WHO.set(name)
            await notifier.wait()
            seen.append(WHO.get())

        def resume() -> None:
            notifier.resume()
            seen.append(WHO.get())

        tasks = [asyncio.create_task(waits(name)) for name in ("ann", "bob")]
        await turns()
        loop.call_soon(resume)
        await asyncio.gather(*tasks)
        return seen

    assert asyncio.run(main()) == ["ann", "bob", "nobody"]


def test_who_is_woken_goes_on_in_the_next_turn() -> None:
    async def main() -> list[str]:
        notifier = Notifier(asyncio.get_running_loop())
        seen: list[str] = []

        async def waits() -> None:
            await notifier.wait()
            seen.append("woken")

        task = asyncio.create_task(waits())
        await turns()
        notifier.notify()
        seen.append("notified")
        await task
        return seen

    assert asyncio.run(main()) == ["notified", "woken"]


def test_who_was_cancelled_waits_no_more_and_is_not_resumed() -> None:
    async def main() -> tuple[bool, int]:
        notifier = Notifier(asyncio.get_running_loop())
        task = asyncio.create_task(notifier.wait())
        await turns()
        task.cancel()
        await by_the_loop(notifier)
        with contextlib.suppress(asyncio.CancelledError):
            await task
        other = asyncio.create_task(notifier.wait())
        await turns()
        other.cancel()
        await turns()
        return task.cancelled(), len(notifier.waiters)

    assert asyncio.run(main()) == (True, 0)


def test_who_is_resumed_may_wait_again_and_fail() -> None:
    async def main() -> list[int]:
        notifier = Notifier(asyncio.get_running_loop())
        seen: list[int] = []

        async def waits() -> None:
            for number in range(3):
                await notifier.wait()
                seen.append(number)
            raise ValueError("enough")

        task = asyncio.create_task(waits())
        await turns()
        for _ in range(3):
            await by_the_loop(notifier)
        with pytest.raises(ValueError, match="enough"):
            await task
        return seen

    assert asyncio.run(main()) == [0, 1, 2]


def test_waiting_ends_in_time_though_nobody_notifies() -> None:
    async def main() -> int:
        notifier = Notifier(asyncio.get_running_loop())
        with pytest.raises(TimedOut):
            await notifier.wait_until(lambda: False, 0.001, "wait", str)
        return len(notifier.waiters)

    assert asyncio.run(main()) == 0


def test_a_task_that_gets_a_message_may_close_the_node_at_once() -> None:
    async def main() -> tuple[bytes, bool]:
        async with open_node("ann") as ann:
            bob = await open_node("bob", peers={"ann": ann.address})
            ann.add_peer("bob", bob.address)

            async def takes_one() -> InboundMessage:
                message = await bob.receive()
                bob.abandon()
                return message

            task = asyncio.create_task(takes_one())
            await turns()
            await ann.send("bob", b"hello")
            got = await task
            ann.remove_peer("bob")
            return got.payload, bob.closed

    assert asyncio.run(main()) == (b"hello", True)


def test_several_tasks_share_the_messages() -> None:
    async def main() -> list[bytes]:
        async with open_node("ann") as ann, open_node("bob", peers={"ann": ann.address}) as bob:
            ann.add_peer("bob", bob.address)
            takers = [asyncio.create_task(bob.receive()) for _ in range(3)]
            await turns()
            for number in range(3):
                await ann.send("bob", bytes([number]))
            got = await asyncio.gather(*takers)
            return sorted(message.payload for message in got)

    assert asyncio.run(main()) == [b"\0", b"\1", b"\2"]
