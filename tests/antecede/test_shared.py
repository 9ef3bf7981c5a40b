"""A dictionary and a counter that the members of a room share."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from random import Random

import pytest

from antecede import open_node
from antecede.core.errors import LocalError
from antecede.runtime.node import Node
from antecede.shared import SharedCounter, SharedDict
from tests.seeds import seeds

WAIT = 60.0


def with_nodes(names: str, work: Callable[..., Awaitable[None]]) -> None:
    """Run `work` with nodes of these names, of which all but the first know the first."""

    async def run() -> None:
        async with AsyncExitStack() as stack:
            nodes: list[Node] = []
            for name in names.split():
                peers = {nodes[0].name: nodes[0].address} if nodes else {}
                opening = open_node(name, peers=peers, accept_unknown="anybody")
                nodes.append(await stack.enter_async_context(opening))
            await asyncio.wait_for(work(*nodes), WAIT)

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_what_one_member_writes_all_read_and_a_late_one_too() -> None:
    async def work(alice: Node, bob: Node, carol: Node) -> None:
        at_alice = await SharedDict.join(alice, "prices")
        at_bob = await SharedDict.join(bob, "prices", via="alice")
        await at_alice.set("apple", 3)
        await at_alice.set("pear", [1, {"per": "kilo"}])
        await until(lambda: len(at_bob) == 2)
        await at_bob.set("apple", 4)
        await at_bob.delete("pear")
        assert dict(at_bob) == {"apple": 4}
        at_carol = await SharedDict.join(carol, "prices", via="alice")
        for shared in (at_alice, at_carol):
            await until(lambda shared=shared: dict(shared) == {"apple": 4})  # type: ignore[misc]
        assert "pear" not in at_carol
        with pytest.raises(KeyError):
            await at_carol.delete("pear")
        await at_carol.leave()
        assert dict(at_carol) == {"apple": 4}
        await until(lambda: at_alice.room.members == ("alice", "bob"))

    with_nodes("alice bob carol", work)


def test_of_two_writes_at_once_all_keep_the_same_one() -> None:
    """Each has its own write first and the other's second: the last to come must not win."""

    async def work(alice: Node, bob: Node) -> None:
        at_alice = await SharedDict.join(alice, "prices")
        at_bob = await SharedDict.join(bob, "prices", via="alice")
        crossed = 0
        for number in range(5):
            key = f"at once {number}"
            await asyncio.gather(at_alice.set(key, "alice's"), at_bob.set(key, "bob's"))
            crossed += (at_alice[key], at_bob[key]) == ("alice's", "bob's")
            await at_alice.set("done", number)
            await at_bob.set("done too", number)
            await until(lambda number=number: at_bob.get("done") == number)  # type: ignore[misc]
            await until(lambda number=number: at_alice.get("done too") == number)  # type: ignore[misc]
            assert at_alice[key] == at_bob[key]
        assert crossed > 0

    with_nodes("alice bob", work)


@pytest.mark.parametrize("seed", seeds(2))
def test_members_who_write_at_once_agree_in_the_end_late_joiners_included(seed: int) -> None:
    async def work(*nodes: Node) -> None:
        rng = Random(seed)
        prices = [await SharedDict.join(nodes[0], "prices")]
        counters = [await SharedCounter.join(nodes[0], "visits")]
        added = [0]

        async def write(member: int) -> None:
            for _ in range(60):
                key = rng.choice("abcde")
                if rng.random() < 0.2 and key in prices[member]:
                    await prices[member].delete(key)
                else:
                    await prices[member].set(key, rng.randrange(1000))
                amount = rng.randrange(-5, 10)
                added[0] += amount
                await counters[member].add(amount)
                await asyncio.sleep(rng.random() * 0.002)

        writers = [asyncio.create_task(write(0))]
        for number, node in enumerate(nodes[1:], start=1):
            prices.append(await SharedDict.join(node, "prices", via="alice"))
            counters.append(await SharedCounter.join(node, "visits", via="alice"))
            writers.append(asyncio.create_task(write(number)))
        await asyncio.gather(*writers)
        await until(lambda: {counter.value for counter in counters} == {added[0]})
        await until(lambda: all(dict(shared) == dict(prices[0]) for shared in prices))
        assert [shared.refused for shared in (*prices, *counters)] == [0] * 2 * len(nodes)

    with_nodes("alice bob carol dave", work)


def test_what_json_cannot_say_is_refused_before_anything_has_changed() -> None:
    async def work(alice: Node) -> None:
        prices = await SharedDict.join(alice, "prices")
        visits = await SharedCounter.join(alice, "visits")
        for value in (float("nan"), {1, 2}, b"bytes"):
            with pytest.raises(LocalError, match="JSON cannot say it"):
                await prices.set("apple", value)
        with pytest.raises(LocalError, match="is text"):
            await prices.set(1, 2)  # type: ignore[arg-type]
        with pytest.raises(LocalError, match="whole numbers"):
            await visits.add(True)
        assert dict(prices) == {}
        assert visits.value == 0

    with_nodes("alice", work)


def test_what_is_no_change_is_counted_and_changes_nothing() -> None:
    async def work(alice: Node, bob: Node) -> None:
        prices = await SharedDict.join(alice, "prices")
        room = await bob.join("prices", via="alice")
        bad = [b"\xff", b"[]", b'{"key": "a"}', b'{"key": "a", "stamp": [1], "value": [2]}']
        bad.append(b'{"key": "a", "stamp": [1, "bob", 1], "value": [2, 3]}')
        for data in bad:
            await room.send(data)
        await room.send(b'{"key": "a", "stamp": [1, "bob", 1], "value": [2]}')
        await until(lambda: dict(prices) == {"a": 2})
        assert prices.refused == len(bad)

    with_nodes("alice bob", work)
