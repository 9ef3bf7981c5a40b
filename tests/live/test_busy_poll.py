"""After sending, a loop stays awake where that has lately been worth it, and only there."""

import asyncio
import time

from antecede import open_node
from antecede.link.writer import Datagram
from antecede.live.addresses import Address
from antecede.live.busy_poll import AWAKE_NS, TRIAL_EVERY, BusyPoll
from antecede.live.udp import UdpTransport


async def until_asleep(busy_poll: BusyPoll) -> None:
    while busy_poll.awake:
        await asyncio.sleep(0)


def test_one_send_in_so_many_is_a_trial() -> None:
    async def main() -> list[bool]:
        busy_poll = BusyPoll(asyncio.get_running_loop())
        awake = []
        for _ in range(2 * TRIAL_EVERY):
            busy_poll.sent()
            awake.append(busy_poll.awake)
            await until_asleep(busy_poll)
        return awake

    alone = [False] * (TRIAL_EVERY - 1)
    assert asyncio.run(main()) == [*alone, True, *alone, True]


def test_a_trial_without_an_answer_ends_by_itself() -> None:
    async def main() -> tuple[int, bool]:
        busy_poll = BusyPoll(asyncio.get_running_loop())
        for _ in range(TRIAL_EVERY):
            busy_poll.sent()
        begin_ns = time.monotonic_ns()
        await until_asleep(busy_poll)
        return time.monotonic_ns() - begin_ns, busy_poll.worthwhile

    took_ns, worthwhile = asyncio.run(main())
    assert took_ns > AWAKE_NS // 2
    assert not worthwhile


def test_as_long_as_answers_come_every_send_is_watched() -> None:
    async def main() -> list[bool]:
        busy_poll = BusyPoll(asyncio.get_running_loop())
        for _ in range(TRIAL_EVERY):
            busy_poll.sent()
        awake = []
        for _ in range(3):
            busy_poll.heard()
            busy_poll.sent()
            awake.append(busy_poll.awake and busy_poll.worthwhile)
        busy_poll.heard()
        await until_asleep(busy_poll)
        busy_poll.sent()
        awake.append(busy_poll.awake)
        await until_asleep(busy_poll)
        busy_poll.sent()
        return [*awake, busy_poll.awake]

    assert asyncio.run(main()) == [True, True, True, True, False]


def test_what_comes_while_nobody_waits_for_it_is_no_answer() -> None:
    async def main() -> bool:
        busy_poll = BusyPoll(asyncio.get_running_loop())
        busy_poll.heard()
        busy_poll.sent()
        return busy_poll.awake

    assert not asyncio.run(main())


def test_nobody_stays_awake_for_the_answer_to_an_acknowledgement() -> None:
    async def main() -> list[bool]:
        transport = UdpTransport(Address("127.0.0.1", 0), 1400, asyncio.get_running_loop())
        target = transport.resolve(transport.address)
        awake = []
        for answerable in (False, True):
            for _ in range(TRIAL_EVERY):
                transport.send([Datagram(target, b"x", answerable), Datagram(target, b"y")])
            assert transport._busy_poll is not None
            awake.append(transport._busy_poll.awake)
        transport.close()
        return awake

    assert asyncio.run(main()) == [False, True]


def test_nodes_that_may_sleep_talk_all_the_same() -> None:
    async def main() -> list[bytes]:
        async with open_node("ann", stay_awake=False) as ann:
            bob = await open_node("bob", peers={"ann": ann.address}, stay_awake=False)
            ann.add_peer("bob", bob.address)
            got = []
            for number in range(2 * TRIAL_EVERY):
                await bob.send("ann", bytes([number]))
                got.append((await ann.receive()).payload)
            await bob.close()
        return got

    assert asyncio.run(main()) == [bytes([number]) for number in range(2 * TRIAL_EVERY)]
