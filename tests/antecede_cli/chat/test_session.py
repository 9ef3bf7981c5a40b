"""A chat between real nodes, on the real network and on a worse one."""

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable

import pytest

from antecede.events import LEFT_OUT, PeerMoved, PeerRefused, Undeliverable
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede.runtime.carriers.udp import UdpCarrier
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.settings import Settings
from antecede.runtime.opening import open_node
from antecede.transport.datagram import Datagram
from antecede_cli.messaging.chat_session import FaultyTransport, Line, converse, words_of

PATIENCE = 60.0
BAD = Faults(latency=Uniform(0, 30_000_000), loss=0.2, duplication=0.1)


class Paper:
    """A screen that keeps everything, and a keyboard to it."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.notes: list[str] = []
        self.typed = ""
        self._reading, self._writing = os.pipe()
        self._changed = asyncio.Event()

    def line(self, line: Line) -> None:
        self.lines.append(line)
        self._changed.set()

    def note(self, text: str) -> None:
        self.notes.append(text)
        self._changed.set()

    def typing(self, text: str) -> None:
        self.typed = text
        self._changed.set()

    @property
    def keyboard(self) -> int:
        return self._reading

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(line.sender, line.text) for line in self.lines]

    def press(self, keys: str) -> None:
        os.write(self._writing, keys.encode())

    def unplug(self) -> None:
        os.close(self._writing)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def address(self) -> Address:
        """Where the node behind this screen listens, as it says itself."""
        await self.until(lambda: bool(self.notes))
        found = re.search(r"listens at ([0-9.]+):([0-9]+)", self.notes[0])
        assert found is not None
        return Address(found[1], int(found[2]))


def with_two_people(
    faults: Faults | None, scene: Callable[[Paper, Paper], Awaitable[None]]
) -> list[list[str]]:
    """Play a scene with alice and bob, who knows her; whom each of them left stranded."""

    async def play() -> list[list[str]]:
        alice, bob = Paper(), Paper()
        loop = asyncio.get_running_loop()
        hers = Settings(name="alice", accept_unknown="anybody", linger=PATIENCE)
        first = loop.create_task(converse(hers, alice, alice.keyboard, faults, 1))
        peers = {"alice": await alice.address()}
        his = Settings(name="bob", peers=peers, linger=PATIENCE)
        second = loop.create_task(converse(his, bob, bob.keyboard, faults, 2))
        await alice.until(lambda: "bob is here" in alice.notes)
        await bob.until(lambda: "alice is here" in bob.notes)
        await scene(alice, bob)
        for paper in (alice, bob):
            paper.unplug()
        return list(await asyncio.gather(first, second))

    return asyncio.run(play())


@pytest.mark.parametrize("faults", [None, BAD])
def test_what_one_types_the_other_reads_in_order(faults: Faults | None) -> None:
    async def scene(alice: Paper, bob: Paper) -> None:
        bob.press("hello\n\n  how are you?  \n")
        await alice.until(lambda: len(alice.lines) == 2)
        alice.press("fine\nand y")
        await bob.until(lambda: len(bob.lines) == 3)
        assert alice.said == bob.said
        assert bob.said == [("bob", "hello"), ("bob", "how are you?"), ("alice", "fine")]
        assert [line.missing for line in alice.lines + bob.lines] == [None] * 6
        await alice.until(lambda: alice.typed == "and y")

    assert with_two_people(faults, scene) == [[], []]


def test_a_few_commands_are_understood() -> None:
    async def scene(alice: Paper, bob: Paper) -> None:
        bob.press("/who\n/why\n/dance\n")
        await bob.until(lambda: len(bob.notes) >= 5)
        assert bob.notes[2].startswith("alice (here, 0 messages on the way)")
        assert bob.notes[4].startswith("/who is here")
        bob.press("/quit\n")
        await alice.until(lambda: "bob has left" in alice.notes)
        alice.press("anybody?\n")
        await alice.until(lambda: "nobody is here to read that" in alice.notes)

    assert with_two_people(None, scene) == [[], []]


def test_nothing_is_said_to_somebody_who_does_not_come() -> None:
    async def play() -> list[str]:
        paper = Paper()
        settings = Settings(name="alice", peers={"bob": None}, meet_within=0.1)
        chat = asyncio.get_running_loop().create_task(
            converse(settings, paper, paper.keyboard, None, 1)
        )
        paper.press("hello?\n/who\n")
        await paper.until(lambda: "bob (away, 0 messages on the way)" in paper.notes)
        assert "nobody is here to read that" in paper.notes
        assert paper.lines == []
        paper.unplug()
        return await chat

    assert asyncio.run(play()) == []


def with_somebody_who_hears_nothing_more(
    linger: float, scene: Callable[[Paper], Awaitable[None]]
) -> list[str]:
    """Alice has met bob and says hello, which does not reach him; whom she left stranded."""

    async def play() -> list[str]:
        paper = Paper()
        settings = Settings(name="alice", accept_unknown="anybody", linger=linger)
        chat = asyncio.get_running_loop().create_task(
            converse(settings, paper, paper.keyboard, None, 1)
        )
        bob = await open_node("bob", peers={"alice": await paper.address()})
        await paper.until(lambda: "bob is here" in paper.notes)
        bob._endpoint.deaf = True
        paper.press("hello?\n")
        await paper.until(lambda: bool(paper.lines))
        await scene(paper)
        async with asyncio.timeout(PATIENCE):
            stranded = await chat
        bob.abandon()
        return stranded

    return asyncio.run(play())


def test_who_did_not_get_what_was_said_is_named_at_the_end() -> None:
    async def scene(paper: Paper) -> None:
        paper.unplug()

    assert with_somebody_who_hears_nothing_more(0.05, scene) == ["bob"]


def test_a_second_interrupt_does_not_wait_for_anybody() -> None:
    async def scene(paper: Paper) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await paper.until(lambda: "leaving" in paper.notes[-1])
        os.kill(os.getpid(), signal.SIGINT)

    assert with_somebody_who_hears_nothing_more(600, scene) == ["bob"]


def test_a_closed_faulty_transport_still_sends_what_is_under_way() -> None:
    async def play() -> None:
        loop = asyncio.get_running_loop()
        anywhere = Address("127.0.0.1", 0)
        heard: list[bytes] = []
        listener = UdpCarrier(anywhere, "auto", loop)
        listener.start(Ear(heard))
        faults = Faults(latency=Uniform(0, 50_000_000))
        faulty = FaultyTransport(anywhere, "auto", loop, faults=faults, seed=1)
        faulty.send([Datagram(listener.address, b"%d" % number) for number in range(20)])
        faulty.close()
        await asyncio.wait_for(faulty.wait_closed(), PATIENCE)
        async with asyncio.timeout(PATIENCE):
            while len(heard) < 20:
                await asyncio.sleep(0.001)
        listener.close()
        assert heard != sorted(heard, key=int)
        assert sorted(heard, key=int) == [b"%d" % number for number in range(20)]

    asyncio.run(play())


class Ear:
    """Remembers every datagram."""

    def __init__(self, heard: list[bytes]) -> None:
        self._heard = heard

    def on_datagram(self, address: object, data: bytes, now_ns: int) -> None:
        assert address is not None
        assert now_ns > 0
        self._heard.append(data)

    def on_joined(self, address: object, data: bytes, size: int, now_ns: int) -> None: ...

    def sender_of(self, _data: bytes) -> int:
        return -1

    def is_over(self, _session: int) -> bool:
        return False

    def is_queueing(self) -> bool:
        return False

    def on_input_end(self, now_ns: int) -> None: ...

    def on_time(self, now_ns: int) -> None: ...


def test_reports_are_told_in_words() -> None:
    gone = Undeliverable(name="bob", sequences=(1, 2))
    assert words_of(gone) == "2 messages perhaps never reached bob"
    left_out = Undeliverable(name="bob", sequences=(3,), why=LEFT_OUT)
    assert words_of(left_out) == "1 message never reached bob"
    refused = PeerRefused(name="eve", address="x", reason="another version")
    assert words_of(refused) == "eve cannot take part: another version"
    assert words_of(PeerMoved(name="bob", address="x")) == ""
