"""Rooms of real nodes on loopback: joining, speaking, leaving, and bringing joiners up to date."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from antecede import Peer, blocking, open_node
from antecede.core.errors import AntecedeError, LocalError, RemoteError
from antecede.durability.unconfirmed import InboundMessage
from antecede.events import Joined, Left, Report, SnapshotProgress
from antecede.groups import MemberId
from antecede.runtime.errors import JoinFailed, NotInRoom, TimedOut
from antecede.runtime.node import Node
from antecede.runtime.room import Room
from antecede.runtime.room_states import Fetching
from antecede.runtime.room_streams import SECRET_BYTES, StateStream, fetch_stream
from antecede.runtime.security.keys import new_secret
from antecede.runtime.typed_node import JsonCodec, TypedNode
from antecede.testing import TestNetwork

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


def test_an_address_that_nobody_was_introduced_at_is_asked_who_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        async with open_node("alice", accept_unknown="anybody") as alice, open_node("bob") as bob:
            await alice.join("lobby")
            room = await bob.join("lobby", via=str(alice.address), timeout=WAIT)
            assert room.members == ("bob", "alice")
            assert set(bob.peers) == {"alice"}

    asyncio.run(run())
    assert caplog.messages == [], "nobody has to mend anything"


def test_a_room_that_is_not_there_cannot_be_joined() -> None:
    async def work(_: Node, bob: Node) -> None:
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


async def killed(node: Node) -> None:
    """Stop a node as if its process had been killed."""
    node.abandon()
    await asyncio.sleep(0)


def test_a_member_that_is_killed_is_expelled_and_the_others_go_on() -> None:
    async def work(alice: Node, bob: Node, carol: Node, dave: Node) -> None:
        rooms = [await alice.join("lobby")]
        rooms += [await node.join("lobby", via="alice") for node in (bob, carol, dave)]
        await until(lambda: all(len(room.members) == 4 for room in rooms))
        await killed(dave)
        await rooms[0].send(b"one")
        await until(lambda: all(len(room.members) == 3 for room in rooms[:3]))
        await rooms[1].send(b"two")
        assert [(await rooms[2].receive(timeout=5)).payload for _ in range(2)] == [b"one", b"two"]

    with_nodes("alice bob carol dave", work, expel="majority:1s", heartbeat="200ms")


def test_a_joiner_whose_sponsor_is_killed_asks_another_member() -> None:
    async def work(alice: Node, bob: Node, carol: Node, dave: Node) -> None:
        asked = asyncio.Event()

        async def never() -> bytes:
            asked.set()
            await asyncio.Event().wait()
            return b""

        states: list[bytes] = []
        await alice.join("log", snapshot=lambda: b"of alice")
        await bob.join("log", via="alice", snapshot=never)
        await carol.join("log", via="alice", snapshot=lambda: b"of carol")
        dave.add_peer("bob", bob.address)
        bob.add_peer("dave")
        joining = asyncio.create_task(dave.join("log", via="bob", restore=states.append))
        await asked.wait()
        await killed(bob)
        room = await joining
        assert set(room.members) == {"alice", "carol", "dave"}
        assert states == [b"of alice"]

    with_nodes("alice bob carol dave", work, expel="majority:1s", heartbeat="200ms")


def test_who_closes_its_node_leaves_its_rooms() -> None:
    async def work(alice: Node, bob: Node) -> None:
        events: list[Report] = []
        alice.on_event(events.append)
        of_alice = await alice.join("lobby")
        await bob.join("lobby", via="alice")
        await bob.close()
        await until(lambda: of_alice.members == ("alice",))
        assert Left("bob", "lobby") in events

    with_nodes("alice bob", work)


def test_an_application_that_does_not_read_delays_joins_and_nothing_else() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        of_alice = await alice.join("log", snapshot=lambda: b"")
        of_bob = await bob.join("log", via="alice")
        await of_bob.send(b"unread")
        joining = asyncio.create_task(carol.join("log", via="alice"))
        for number in range(10):
            await of_alice.send(b"%d" % number)
            assert (await of_bob.receive(timeout=5)).payload == b"%d" % number
        assert not joining.done()
        assert "log" in str(alice.explain())
        async for message in of_alice:
            assert message.payload == b"unread"
            break
        assert set((await joining).members) == {"alice", "bob", "carol"}

    with_nodes("alice bob carol", work)


def test_a_snapshot_that_fails_sends_the_joiner_to_another_member() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        def fail() -> bytes:
            raise ValueError("no state today")

        await alice.join("log", snapshot=fail)
        with pytest.raises(TimedOut, match="failed to give its state"):
            await bob.join("log", via="alice", timeout=0.3)
        assert alice.stats().callback_failures > 0
        del carol

    with_nodes("alice bob carol", work)


def test_a_large_state_comes_in_parts_and_is_restored_before_the_first_message() -> None:
    async def work(alice: Node, bob: Node) -> None:
        state = bytes(range(256)) * (1 << 13)
        order: list[bytes] = []
        of_alice = await alice.join("log", snapshot=lambda: state)

        async def talk() -> None:
            for number in range(50):
                await of_alice.send(b"%d" % number)
                await asyncio.sleep(0.001)

        talking = asyncio.create_task(talk())
        room = await bob.join("log", via="alice", restore=order.append)
        assert order == [state]
        await talking
        last = b""
        while last != b"49":
            last = (await room.receive(timeout=5)).payload
            order.append(last)
        numbers = [int(one) for one in order[1:]]
        assert numbers == list(range(numbers[0], 50))

    with_nodes("alice bob", work)


def test_a_state_beyond_the_limit_is_refused() -> None:
    async def work(alice: Node, bob: Node) -> None:
        await alice.join("log", snapshot=lambda: bytes(2000))
        with pytest.raises(TimedOut, match="beyond"):
            await bob.join("log", via="alice", timeout=0.3)

    with_nodes("alice bob", work, snapshot_limit=1000)


def test_rooms_read_with_the_node_stand_in_one_order_with_direct_messages() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        of_alice = await alice.join("lobby")
        of_bob = await bob.join("lobby", via="alice")
        await carol.join("lobby", via="alice", in_node=True)
        bob.on_message(lambda _: None)
        await until(lambda: len(of_bob.members) == 3)

        async def relay() -> None:
            async for message in of_bob:
                await bob.send("carol", b"after " + message.payload)

        relaying = asyncio.create_task(relay())
        for number in range(50):
            await of_alice.send(b"%d" % number)
        seen: list[InboundMessage] = []
        while len(seen) < 100:
            seen.append(await carol.receive(timeout=5))
        places = {message.payload: place for place, message in enumerate(seen)}
        assert {message.room for message in seen} == {"", "lobby"}
        for number in range(50):
            assert places[b"%d" % number] < places[b"after %d" % number]
        relaying.cancel()

    with_nodes("alice bob carol", work)


def test_members_introduce_newcomers_with_their_keys() -> None:
    async def run() -> None:
        keys = {name: new_secret() for name in ("alice", "bob", "carol")}
        public = {name: key.public for name, key in keys.items()}
        others = {name: Peer(None, [public[name]]) for name in ("bob", "carol")}
        async with open_node("alice", key=keys["alice"], peers=others) as alice:
            known = {"alice": Peer(alice.address, [public["alice"]])}
            async with (
                open_node("bob", key=keys["bob"], peers=known) as bob,
                open_node("carol", key=keys["carol"], peers=known) as carol,
            ):
                await alice.join("lobby")
                of_bob = await bob.join("lobby", via="alice")
                of_carol = await carol.join("lobby", via="alice")
                await of_carol.send(b"hello")
                assert (await of_bob.receive(timeout=5)).sender == "carol"

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_with_a_cluster_key_a_member_is_named_with_its_address() -> None:
    async def run() -> None:
        key = new_secret()
        async with (
            open_node("alice", cluster_key=key, accept_unknown="anybody") as alice,
            open_node("bob", cluster_key=key) as bob,
            open_node("carol", cluster_key=key) as carol,
        ):
            await alice.join("lobby")
            via = f"alice={alice.address}"
            of_bob = await bob.join("lobby", via=via)
            of_carol = await carol.join("lobby", via=via)
            await of_carol.send(b"hello")
            assert (await of_bob.receive(timeout=5)).sender == "carol"

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_who_joins_and_cannot_be_met_by_a_member_is_expelled() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        of_alice = await alice.join("lobby")
        of_bob = await bob.join("lobby", via="alice")
        # What carol says reaches alice alone: bob never hears of it in time.
        bob.add_peer("carol", "127.0.0.1:9")
        joining = asyncio.create_task(carol.join("lobby", via="alice"))
        await until(lambda: carol.fenced is not None)
        with pytest.raises(AntecedeError):
            await joining
        await until(lambda: of_alice.members == ("alice", "bob"))
        await of_alice.send(b"we go on")
        assert (await of_bob.receive(timeout=5)).payload == b"we go on"

    with_nodes("alice bob carol", work, meet_within=3)


def test_after_a_restart_with_a_journal_a_member_joins_again(tmp_path: Path) -> None:
    async def work(alice: Node) -> None:
        of_alice = await alice.join("log", snapshot=lambda: b"the state")
        states: list[bytes] = []
        for number in range(2):
            bob = await open_node("bob", peers={"alice": alice.address}, journal=tmp_path)
            room = await bob.join("log", via="alice", restore=states.append, timeout=10)
            await of_alice.send(b"%d" % number)
            assert (await room.receive(timeout=5)).payload == b"%d" % number
            await (killed(bob) if number == 0 else bob.close())
        assert states == [b"the state"] * 2

    with_nodes("alice", work)


def test_a_member_that_restarts_and_does_not_join_again_is_no_member(tmp_path: Path) -> None:
    async def work(alice: Node) -> None:
        of_alice = await alice.join("log")
        bob = await open_node("bob", peers={"alice": alice.address}, journal=tmp_path)
        await bob.join("log", via="alice")
        await killed(bob)
        bob = await open_node("bob", peers={"alice": alice.address}, journal=tmp_path)
        assert bob.journal.keys() == []
        await of_alice.send(b"are you there?")
        await until(lambda: of_alice.members == ("alice",))
        await bob.close()

    with_nodes("alice", work)


def test_rooms_without_asyncio() -> None:
    with (
        blocking.open_node("alice", accept_unknown="anybody") as alice,
        blocking.open_node("bob", peers={"alice": alice.address}) as bob,
    ):
        states: list[bytes] = []
        of_alice = alice.join("lobby", snapshot=lambda: b"state")
        of_bob = bob.join("lobby", via="alice", restore=states.append)
        assert states == [b"state"]
        assert of_bob.members == ("bob", "alice")
        assert of_alice.send(b"hello") == 1
        assert of_bob.receive(timeout=5).payload == b"hello"
        of_bob.leave()
        assert list(of_bob) == []


def test_rooms_of_values() -> None:
    async def work(alice: Node, bob: Node) -> None:
        of_alice = await TypedNode(alice, JsonCodec()).join("lobby")
        of_bob = await TypedNode(bob, JsonCodec()).join("lobby", via="alice")
        await of_alice.send({"n": 1})
        async for message in of_bob:
            assert (message.sender, message.value) == ("alice", {"n": 1})
            break
        await of_alice.send([2])
        assert (await of_bob.receive(timeout=5)).value == [2]
        assert of_bob.members == ("bob", "alice")
        await of_bob.leave()

    with_nodes("alice bob", work)


def test_rooms_are_counted() -> None:
    async def work(alice: Node, bob: Node) -> None:
        await alice.join("one")
        await alice.join("two")
        await bob.join("one", via="alice")
        await until(lambda: alice.stats().room_members == 3)
        assert (alice.stats().rooms, bob.stats().rooms, alice.stats().joiners) == (2, 1, 0)

    with_nodes("alice bob", work)


LARGE = bytes(range(256)) * (1 << 11)
"""512 KiB: worth a connection of its own."""


def test_a_large_state_is_sealed_where_nodes_have_keys() -> None:
    async def run() -> None:
        key = new_secret()
        async with (
            open_node("alice", cluster_key=key, accept_unknown="anybody") as alice,
            open_node("bob", cluster_key=key, peers={"alice": alice.address}) as bob,
        ):
            states: list[bytes] = []
            progress: list[Report] = []
            bob.on_event(progress.append)
            await alice.join("log", snapshot=lambda: LARGE)
            await bob.join("log", via="alice", restore=states.append)
            assert states == [LARGE]
            assert [one for one in progress if isinstance(one, SnapshotProgress)]
            await until(lambda: alice._rooms.states.bytes_held() == 0)

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_where_no_connection_can_be_made_a_large_state_comes_in_messages() -> None:
    async def run() -> None:
        async with TestNetwork() as network:
            alice, bob = await network.open_node("alice"), await network.open_node("bob")
            states: list[bytes] = []
            await alice.join("log", snapshot=lambda: LARGE)
            await bob.join("log", via="alice", restore=states.append)
            assert states == [LARGE]

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_wrong_secret_gets_no_state() -> None:
    async def run() -> None:
        stream = StateStream(LARGE, sealed=True, ended=lambda: None)
        port = await stream.listen("127.0.0.1")
        for secret, sealed in ((bytes(SECRET_BYTES), True), (stream.secret, False)):
            with pytest.raises((EOFError, OSError, RemoteError)):
                await fetch_stream(
                    "127.0.0.1", port, secret, len(LARGE), lambda _: None, sealed=sealed
                )
        stream.close()

    asyncio.run(asyncio.wait_for(run(), WAIT))


def test_a_node_that_closes_gives_its_state_to_whom_it_has_taken_in() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        states: list[bytes] = []
        await alice.join("log", snapshot=lambda: LARGE)
        await bob.join("log", via="alice", snapshot=lambda: LARGE)
        joining = asyncio.create_task(carol.join("log", via="alice", restore=states.append))
        await until(lambda: alice.stats().joiners > 0 or joining.done())
        await alice.close()
        await joining
        assert states == [LARGE]


def test_a_member_that_crashed_comes_back_at_another_address_through_any_member() -> None:
    """The others know where it was, and only the one that it asks where it is."""

    async def work(alice: Node, bob: Node, carol: Node) -> None:
        await alice.join("lobby")
        at_bob = await bob.join("lobby", via="alice")
        await carol.join("lobby", via="alice")
        while set(at_bob.members) != {"alice", "bob", "carol"}:
            await asyncio.sleep(0.005)
        carol.abandon()
        async with open_node("carol", peers={"alice": alice.address}) as again:
            at_carol = await again.join("lobby", via="alice")
            assert set(at_carol.members) == {"alice", "bob", "carol"}
            await at_bob.send(b"welcome back")
            assert (await at_carol.receive(timeout=5)).payload == b"welcome back"

    with_nodes("alice bob carol", work)


def test_a_joiner_to_which_nothing_comes_asks_another_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antecede.runtime.rooms.STALL_SECONDS", 0.2)

    async def work(alice: Node, bob: Node, carol: Node) -> None:
        first = True

        async def once() -> bytes:
            nonlocal first
            if not first:
                await asyncio.Event().wait()
            first = False
            return b"of alice"

        states: list[bytes] = []
        await alice.join("log", snapshot=once)
        await bob.join("log", via="alice", snapshot=lambda: b"of bob")
        carol.add_peer("bob", bob.address)
        bob.add_peer("carol")
        room = asyncio.create_task(carol.join("log", via="alice", restore=states.append))
        # Alice never answers, nor does she mark what bob does for carol, so she is expelled.
        await until(lambda: "joining the room 'log' waits for bob" in str(carol.explain()))
        await bob.expel("alice", "she hangs")
        assert set((await room).members) == {"bob", "carol"}
        assert states == [b"of bob"]
        await killed(alice)

    with_nodes("alice bob carol", work)


def test_a_member_that_has_forgotten_a_state_says_so() -> None:
    async def work(alice: Node, bob: Node) -> None:
        await bob.meet()
        lost: list[bytes | None] = []
        key = ("log", MemberId("bob", bob.incarnation, 1), 1)
        fetching = Fetching("alice", 10, lambda _, __: None, lost.append)
        bob._rooms.states.fetch(key, fetching)
        await until(lambda: lost == [None])
        del alice

    with_nodes("alice bob", work)
