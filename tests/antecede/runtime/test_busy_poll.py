"""After sending, a loop stays awake where that has lately been worth it, and only there."""

import asyncio
import itertools
import socket
import time

import pytest

from antecede import open_node
from antecede.runtime.carriers.busy_poll import (
    AWAKE_NS,
    LOOK_EVERY,
    TRIAL_EVERY,
    VAIN_LOOKS,
    BusyPoll,
)
from antecede.runtime.carriers.udp import LITTLE, UdpCarrier, readable_probe
from antecede.runtime.config.addresses import Address
from antecede.transport.datagram import Datagram


class Watched:
    """A way in of which only a `BusyPoll` knows, and what comes there."""

    def __init__(self) -> None:
        self.looks = 0
        self.comes_at = 0
        """Which look sees that something has come, counted from now; 0: none does."""
        self.read = 0
        loop = asyncio.get_running_loop()
        self.busy_poll = BusyPoll(loop, self._has_come, self._read)

    def _has_come(self) -> bool:
        self.looks += 1
        return 0 < self.comes_at <= self.looks

    def _read(self) -> None:
        self.read += 1
        self.comes_at = 0
        self.busy_poll.heard()

    def ask(self, times: int = 1, *, alone: bool = True) -> None:
        for _ in range(times):
            self.busy_poll.sent(alone)

    async def answered(self, look: int) -> int:
        """Ask once more, and be answered after some looks; how often that was read."""
        self.read = self.looks = 0
        self.comes_at = look
        self.busy_poll.worthwhile = True
        self.ask()
        await until_asleep(self.busy_poll)
        return self.read


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A microsecond passes whenever somebody asks for the time, and at no other time."""
    times = itertools.count(0, 1_000)
    monkeypatch.setattr("antecede.runtime.carriers.busy_poll.monotonic_ns", lambda: next(times))


async def until_asleep(busy_poll: BusyPoll) -> None:
    while busy_poll.awake:
        await asyncio.sleep(0)


def test_one_send_in_so_many_is_a_trial() -> None:
    async def main() -> list[bool]:
        awake = []
        one = Watched()
        for _ in range(2 * TRIAL_EVERY):
            one.ask()
            awake.append(one.busy_poll.awake)
            await until_asleep(one.busy_poll)
        return awake

    alone = [False] * (TRIAL_EVERY - 1)
    assert asyncio.run(main()) == [*alone, True, *alone, True]


def test_a_trial_without_an_answer_ends_by_itself() -> None:
    async def main() -> tuple[int, bool]:
        one = Watched()
        one.ask(TRIAL_EVERY)
        begin_ns = time.monotonic_ns()
        await until_asleep(one.busy_poll)
        return time.monotonic_ns() - begin_ns, one.busy_poll.worthwhile

    took_ns, worthwhile = asyncio.run(main())
    assert took_ns > AWAKE_NS // 2
    assert not worthwhile


def test_as_long_as_answers_come_every_send_is_watched() -> None:
    async def main() -> list[bool]:
        one = Watched()
        busy_poll = one.busy_poll
        one.ask(TRIAL_EVERY)
        awake = []
        for _ in range(3):
            busy_poll.heard()
            one.ask()
            awake.append(busy_poll.awake and busy_poll.worthwhile)
        busy_poll.heard()
        await until_asleep(busy_poll)
        one.ask()
        awake.append(busy_poll.awake)
        await until_asleep(busy_poll)
        one.ask()
        return [*awake, busy_poll.awake]

    assert asyncio.run(main()) == [True, True, True, True, False]


def test_what_comes_while_nobody_waits_for_it_is_no_answer() -> None:
    async def main() -> bool:
        one = Watched()
        one.busy_poll.heard()
        one.ask()
        return one.busy_poll.awake

    assert not asyncio.run(main())


@pytest.mark.usefixtures("steady")
def test_the_answer_to_a_question_is_read_without_waiting_for_the_loop() -> None:
    async def main() -> list[int]:
        one = Watched()
        return [await one.answered(look) for look in (2, 3, 5)]

    assert asyncio.run(main()) == [1, 1, 1]


@pytest.mark.usefixtures("steady")
def test_what_the_loop_sees_without_help_is_left_to_it() -> None:
    async def main() -> int:
        return await Watched().answered(1)

    assert asyncio.run(main()) == 0


@pytest.mark.usefixtures("steady")
def test_what_comes_during_a_stream_is_left_to_the_loop() -> None:
    async def main() -> tuple[int, int]:
        one = Watched()
        one.comes_at = 2
        one.ask(TRIAL_EVERY, alone=False)
        await until_asleep(one.busy_poll)
        return one.looks, one.read

    assert asyncio.run(main()) == (0, 0)


@pytest.mark.usefixtures("steady")
def test_where_looking_is_in_vain_it_is_done_now_and_then() -> None:
    async def main() -> list[bool]:
        one = Watched()
        for _ in range(VAIN_LOOKS):  # It looks once at least.
            await one.answered(0)
        looked = []
        for _ in range(LOOK_EVERY):
            await one.answered(0)
            looked.append(one.looks > 0)
        one.ask(LOOK_EVERY - VAIN_LOOKS - 1)
        return [looked.count(True) == 1, *[await one.answered(2) == 1 for _ in range(2)]]

    assert asyncio.run(main()) == [True, True, True]


@pytest.mark.usefixtures("steady")
def test_a_closed_socket_is_not_looked_at() -> None:
    async def main() -> int:
        one = Watched()
        one.ask(TRIAL_EVERY)
        one.busy_poll.stop()
        await until_asleep(one.busy_poll)
        return one.looks

    assert asyncio.run(main()) == 0


def test_a_glance_tells_whether_something_has_come() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with here, there:
        has_come = readable_probe(here)
        assert not has_come()
        there.send(b"x")
        assert has_come()


def test_nobody_stays_awake_for_the_answer_to_an_acknowledgement() -> None:
    async def main() -> list[bool]:
        transport = UdpCarrier(Address("127.0.0.1", 0), 1400, asyncio.get_running_loop())
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


def test_only_a_lone_small_datagram_is_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> list[bool]:
        transport = UdpCarrier(Address("127.0.0.1", 0), 1400, asyncio.get_running_loop())
        told: list[bool] = []
        monkeypatch.setattr(BusyPoll, "sent", lambda _, alone: told.append(alone))
        target = transport.resolve(transport.address)
        small, large = (Datagram(target, bytes(size), True) for size in (LITTLE, LITTLE + 1))
        for datagrams in ([small], [large], [small, small]):
            transport.send(datagrams)
        transport.close()
        return told

    assert asyncio.run(main()) == [True, False, False]


def test_nodes_that_may_sleep_talk_all_the_same() -> None:
    async def main() -> list[bytes]:
        async with open_node("ann", busy_poll=False) as ann:
            bob = await open_node("bob", peers={"ann": ann.address}, busy_poll=False)
            ann.add_peer("bob", bob.address)
            got = []
            for number in range(2 * TRIAL_EVERY):
                await bob.send("ann", bytes([number]))
                got.append((await ann.receive()).payload)
            await bob.close()
        return got

    assert asyncio.run(main()) == [bytes([number]) for number in range(2 * TRIAL_EVERY)]
