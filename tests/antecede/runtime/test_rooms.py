"""Rooms of real nodes on loopback: joining, speaking, leaving, and bringing joiners up to date."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from antecede import open_node
from antecede.core.errors import LocalError
from antecede.events import Joined, Left, Report
from antecede.runtime.errors import JoinFailed, NotInRoom, PayloadTooLarge, TimedOut
from antecede.runtime.node import Node
from antecede.runtime.room import Room

WAIT = 30.0
"""Seconds after which a test has failed; nothing here takes long."""


def with_nodes(names: str, work: Callable[..., Awaitable[None]], **settings: object) -> None:
    """Run `work` with nodes of these names; all but the first know the first, and nobody else."""

    async def run() -> None:
        async with AsyncExitStack() as stack:
            nodes: list[Node] = []
            for name in names.split():
                peers = {nodes[0].name: nodes[0].address} if nodes else {}
                opening = open_node(
                    name,
                    peers=peers,
                    accept_unknown="nobody" if nodes else "anybody",
                    settings=settings,
                )
                nodes.append(await stack.enter_async_context(opening))
            await asyncio.wait_for(work(*nodes), WAIT)

    asyncio.run(run())


class History:
    """What a member has read and said, as its application's state."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def snapshot(self) -> bytes:
        return "\n".join(self.words).encode()

    def restore(self, state: bytes) -> None:
        self.words = state.decode().split("\n") if state else []

    async def say(self, room: Room, text: str) -> None:
        await room.send(text.encode())
        self.words.append(text)

    async def read(self, room: Room) -> None:
        async for message in room:
            self.words.append(message.payload.decode())


async def until(condition: Callable[[], bool]) -> None:
    """Wait for it."""
    while not condition():
        await asyncio.sleep(0.005)


def test_members_read_what_is_said_and_nobody_reads_itself() -> None:
    async def work(alice: Node, bob: Node) -> None:
        of_alice = await alice.join("lobby")
        of_bob = await bob.join("lobby", via="alice")
        assert of_bob.members == ("bob", "alice")
        assert await of_alice.send(b"hello") == 1
        message = await of_bob.receive(timeout=5)
        assert (message.sender, message.room, message.payload) == ("alice", "lobby", b"hello")
        assert await of_bob.send(b"hello yourself") == 1
        assert (await of_alice.receive(timeout=5)).payload == b"hello yourself"
        assert of_alice.members == ("alice", "bob")
        with pytest.raises(TimedOut):
            await of_bob.receive(timeout=0.05)

    with_nodes("alice bob", work)


def test_messages_of_rooms_and_of_the_node_go_to_their_own_readers() -> None:
    async def work(alice: Node, bob: Node) -> None:
        first, second = await alice.join("first"), await alice.join("second")
        at_first = await bob.join("first", via="alice")
        at_second = await bob.join("second", via="alice")
        await alice.send("bob", b"direct")
        await second.send(b"to the second")
        await first.send(b"to the first")
        assert (await at_first.receive(timeout=5)).payload == b"to the first"
        direct = await bob.receive(timeout=5)
        assert (direct.room, direct.payload) == ("", b"direct")
        assert (await at_second.receive(timeout=5)).payload == b"to the second"

    with_nodes("alice bob", work)


def test_a_late_joiner_has_the_state_and_everything_after_it_once_and_in_order() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        histories = {name: History() for name in ("alice", "bob", "carol")}
        readers = []

        async def enter(node: Node, via: str | None) -> Room:
            history = histories[node.name]
            room = await node.join(
                "log", via=via, snapshot=history.snapshot, restore=history.restore
            )
            readers.append(asyncio.create_task(history.read(room)))
            return room

        async def talk(room: Room, name: str) -> None:
            for number in range(200):
                await histories[name].say(room, f"{name} {number}")
                if number % 20 == 0:
                    await asyncio.sleep(0.001)

        of_alice, of_bob = await enter(alice, None), await enter(bob, "alice")
        talking = [
            asyncio.create_task(talk(of_alice, "alice")),
            asyncio.create_task(talk(of_bob, "bob")),
        ]
        await asyncio.sleep(0.01)
        of_carol = await enter(carol, "alice")
        await asyncio.gather(*talking)
        await histories["carol"].say(of_carol, "carol 0")
        await until(lambda: all(len(one.words) == 401 for one in histories.values()))
        for history in histories.values():
            for name in ("alice", "bob"):
                said = [one for one in history.words if one.startswith(name)]
                assert said == [f"{name} {number}" for number in range(200)]
        await asyncio.gather(*(node.close() for node in (carol, bob, alice)))
        await asyncio.gather(*readers)

    with_nodes("alice bob carol", work)


def test_who_leaves_gets_nothing_more_and_may_come_back() -> None:
    async def work(alice: Node, bob: Node) -> None:
        events: list[Report] = []
        alice.on_event(events.append)
        of_alice = await alice.join("lobby")
        of_bob = await bob.join("lobby", via="alice")
        await of_bob.leave()
        assert of_bob.members == ()
        with pytest.raises(NotInRoom):
            await of_bob.send(b"too late")
        with pytest.raises(NotInRoom):
            await of_bob.receive()
        await until(lambda: of_alice.members == ("alice",))
        await of_alice.send(b"to nobody")
        again = await bob.join("lobby", via="alice")
        await of_alice.send(b"to bob")
        message = await again.receive(timeout=5)
        assert (message.payload, message.sequence) == (b"to bob", 2)
        seen = [one for one in events if isinstance(one, Joined | Left)]
        assert seen == [
            Joined("alice", "lobby"),
            Joined("bob", "lobby"),
            Left("bob", "lobby"),
            Joined("bob", "lobby"),
        ]

    with_nodes("alice bob", work)


def test_one_address_is_enough_and_members_introduce_each_other() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        await alice.join("lobby")
        of_bob = await bob.join("lobby", via=str(alice.address))
        of_carol = await carol.join("lobby", via="alice")
        assert set(of_carol.members) == {"alice", "bob", "carol"}
        await of_bob.send(b"we have never met before")
        assert (await of_carol.receive(timeout=5)).sender == "bob"
        assert bob.peers["carol"] == "here"

    with_nodes("alice bob carol", work)


def test_an_address_that_nobody_was_introduced_at_is_asked_who_it_is() -> None:
    async def run() -> None:
        async with open_node("alice", accept_unknown="anybody") as alice, open_node("bob") as bob:
            await alice.join("lobby")
            room = await bob.join("lobby", via=str(alice.address), timeout=WAIT)
            assert room.members == ("bob", "alice")
            assert set(bob.peers) == {"alice"}

    asyncio.run(run())


def test_a_room_that_is_not_there_cannot_be_joined() -> None:
    async def work(alice: Node, bob: Node) -> None:
        with pytest.raises(JoinFailed, match="alice: it is not in this room"):
            await bob.join("nowhere", via="alice")
        with pytest.raises(TimedOut, match="not in this room"):
            await bob.join("nowhere", via="alice", timeout=0.1)
        with pytest.raises(LocalError, match="name of a room"):
            await bob.join("")
        await bob.join("mine")
        with pytest.raises(LocalError, match="already"):
            await bob.join("mine")

    with_nodes("alice bob", work, meet_within=0.3)
