"""Discovery: nodes follow a source that says who there is, and forget nobody too early."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from antecede import Node, Peer, open_node
from antecede.events import PeerExpelled, Report
from antecede.runtime.config.settings import AddressLike
from antecede.runtime.discovery import Discovery, Found, dns_peers, peer_name, toml_peers
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.security.keys import new_secret

SECONDS = 60.0
QUICK = {"heartbeat": 0.05, "silent_after": 0.2}


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not true():
            await asyncio.sleep(0.005)


def met(node: Node) -> set[str]:
    return {peer.name for peer in node.stats().peers if peer.met}


def test_a_function_says_who_comes_and_who_has_gone() -> None:
    there: dict[str, AddressLike | None] = {}

    async def story() -> None:
        async with (
            open_node("alice", accept_unknown="anybody") as alice,
            Discovery(alice, lambda: there, every=0.01),
        ):
            bob = await open_node("bob", accept_unknown="anybody")
            there["bob"] = bob.address
            await until(lambda: met(alice) == {"bob"})
            await alice.send("bob", b"hello")
            assert (await bob.receive(SECONDS)).payload == b"hello"
            await bob.close()
            await until(lambda: alice.stats().peers[0].left)
            # Still listed: another node of that name may come.
            assert alice.peers == {"bob": "away"}
            del there["bob"]
            await until(lambda: not alice.peers)

    asyncio.run(story())


def test_a_silent_peer_is_kept_unless_somebody_decides_otherwise() -> None:
    there: dict[str, AddressLike | None] = {}

    async def story(expel_after: float | None) -> bool:
        alice = await open_node("alice", settings=QUICK)
        bob = await open_node("bob", peers={"alice": alice.address}, settings=QUICK)
        there["bob"] = bob.address
        discovery = Discovery(alice, lambda: there, every=0.01, expel_after=expel_after)
        async with discovery:
            await until(lambda: met(alice) == {"bob"})
            bob.abandon()
            there.clear()
            await until(lambda: bool(alice.stats().silent_peers) or not alice.peers)
            for _ in range(10):
                await discovery.look()
            kept = "bob" in alice.peers
        alice.abandon()
        return kept

    assert asyncio.run(story(None))
    assert not asyncio.run(story(0.0))


def test_whoever_was_never_met_is_forgotten_when_it_is_no_longer_listed() -> None:
    there: dict[str, AddressLike | None] = {"bob": "127.0.0.1:9"}

    async def story() -> tuple[str, ...]:
        async with open_node("alice") as alice, Discovery(alice, lambda: there, every=60) as found:
            assert alice.peers == {"bob": "new"}
            there.clear()
            await found.look()
            return tuple(alice.peers)

    assert asyncio.run(story()) == ()


def test_the_file_is_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "peers.toml"
    file.write_text('[peers]\nbob = "127.0.0.1:9"\n', encoding="utf-8")

    async def story() -> list[tuple[str, ...]]:
        seen = []
        async with (
            open_node("alice") as alice,
            Discovery(alice, toml_peers(file), every=60) as found,
        ):
            seen.append(tuple(alice.peers))
            file.write_text('[peers]\ncarol = "127.0.0.1:9"\nalice = "127.0.0.1:8"\n', "utf-8")
            await found.look()
            seen.append(tuple(alice.peers))
            file.unlink()
            with caplog.at_level(logging.WARNING):
                await found.look()
                await found.look()
            seen.append(tuple(alice.peers))
            file.write_text("[peers]\n", encoding="utf-8")
            await found.look()
        return seen

    assert asyncio.run(story()) == [("bob",), ("carol",), ("carol",)]
    assert len([record for record in caplog.records if "cannot find out" in record.message]) == 1


def test_a_name_with_several_addresses_is_several_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nodes behind one name, each named after its address, as pods of a service are."""
    addresses = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    port = free_port_on(addresses)

    async def answer(
        _loop: object, host: str, port: int, **_: object
    ) -> list[tuple[object, object, object, str, tuple[str, int]]]:
        assert host == "shop.default.svc"
        return [(None, None, None, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", answer)

    async def story() -> list[set[str]]:
        source = dns_peers(f"shop.default.svc:{port}")
        nodes = [
            await open_node(peer_name("shop", address), bind=f"{address}:{port}")
            for address in addresses
        ]
        discoveries = [await Discovery(node, source).__aenter__() for node in nodes]
        await until(lambda: all(len(met(node)) == 2 for node in nodes))
        found = [met(node) | {node.name} for node in nodes]
        for discovery in discoveries:
            await discovery.__aexit__(None, None, None)
        await asyncio.gather(*(node.close() for node in nodes))
        return found

    assert asyncio.run(story()) == [{"shop-127-0-0-1", "shop-127-0-0-2", "shop-127-0-0-3"}] * 3


def free_port_on(addresses: list[str]) -> int:
    """A port that is free on all of them."""
    for _ in range(50):
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in addresses]
        try:
            sockets[0].bind((addresses[0], 0))
            port = int(sockets[0].getsockname()[1])
            for one, address in zip(sockets[1:], addresses[1:], strict=True):
                one.bind((address, port))
            return port
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no port is free on all of them")


def test_a_source_may_be_asynchronous() -> None:
    async def ask() -> dict[str, AddressLike | None]:
        await asyncio.sleep(0)
        return {"bob": "127.0.0.1:9"}

    async def story() -> tuple[str, ...]:
        source: Callable[[], Awaitable[dict[str, AddressLike | None]]] = ask
        async with open_node("alice") as alice, Discovery(alice, source, every=60):
            alice_knows = tuple(alice.peers)
            alice.remove_peer("bob")
            return alice_knows

    assert asyncio.run(story()) == ("bob",)


def test_the_file_may_bring_keys_along(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nodes with keys of their own find each other, and a peer without one is not let in."""
    keys = {name: new_secret() for name in ("alice", "bob")}
    file = tmp_path / "peers.toml"

    async def story() -> bytes:
        async with open_node("bob", key=keys["bob"]) as bob:
            line = f'bob = {{ address = "{bob.address}", keys = ["{keys["bob"].public}"] }}\n'
            file.write_text(f"[peers]\n{line}", encoding="utf-8")
            async with (
                open_node("alice", key=keys["alice"]) as alice,
                Discovery(alice, toml_peers(file), every=60) as found,
            ):
                bob.add_peer("alice", alice.address, keys["alice"].public)
                await alice.send("bob", b"sealed")
                payload = (await bob.receive(SECONDS)).payload
                file.write_text(f'[peers]\n{line}carol = "127.0.0.1:9"\n', encoding="utf-8")
                with caplog.at_level(logging.WARNING):
                    await found.look()
                assert tuple(alice.peers) == ("bob",)
                changed = line.replace(str(keys["bob"].public), str(keys["alice"].public))
                file.write_text(f"[peers]\n{changed}", encoding="utf-8")
                with caplog.at_level(logging.WARNING):
                    await found.look()
                    await found.look()
            return payload

    assert asyncio.run(story()) == b"sealed"
    said = [record.message for record in caplog.records if record.name.endswith("discovery")]
    assert ["carol cannot be introduced: there is no key" in said[0], len(said)] == [True, 2]
    assert "the keys of bob stay as they are: the key given for bob is this node's own" in said[1]


def test_keys_that_change_count_from_now_on() -> None:
    """Bob's key is withdrawn: he is expelled, and comes back with another."""
    keys = {name: new_secret() for name in ("alice", "bob", "bob's next")}
    there: dict[str, Peer] = {}
    told: list[Report] = []

    async def story() -> bytes:
        async with (
            open_node("alice", key=keys["alice"]) as alice,
            Discovery(alice, lambda: there, every=60) as found,
        ):
            alice.on_event(told.append)
            peers = {"alice": Peer(alice.address, keys=keys["alice"].public)}
            bob = await open_node("bob", key=keys["bob"], peers=peers)
            there["bob"] = Peer(bob.address, keys=keys["bob"].public)
            await found.look()
            await until(lambda: met(alice) == {"bob"})
            there["bob"] = Peer(bob.address, keys=[keys["bob"].public, keys["bob's next"].public])
            await found.look()
            assert not alice.stats().peers[0].left, "the key that is in use is still one of his"
            there["bob"] = Peer(bob.address, keys=keys["bob's next"].public)
            await found.look()
            await until(lambda: bob.fenced is not None)
            address = bob.address
            bob.abandon()
            async with open_node("bob", bind=address, key=keys["bob's next"], peers=peers) as bob:
                await bob.send("alice", b"with another key")
                return (await alice.receive(SECONDS)).payload

    assert asyncio.run(story()) == b"with another key"
    assert [report.name for report in told if isinstance(report, PeerExpelled)] == ["bob"]


def test_a_list_without_keys_takes_none_away(caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise whoever cuts a file short would make everybody leave."""
    key, other = new_secret(), new_secret().public
    there: dict[str, Peer] = {"bob": Peer("127.0.0.1:9", keys=other)}

    async def story() -> None:
        async with (
            open_node("alice", key=key) as alice,
            Discovery(alice, lambda: there, every=60) as found,
        ):
            there["bob"] = Peer("127.0.0.1:9")
            await found.look()
            await found.look()
            assert [peer.left for peer in alice.stats().peers] == [False]
            alice.remove_peer("bob")

    asyncio.run(story())
    said = [record.message for record in caplog.records if record.name.endswith("discovery")]
    assert said == [
        "alice: the keys of bob stay as they are: there is no key of bob: give it with "
        "keys=[...]; trying again"
    ]


def test_who_is_listed_elsewhere_stays_where_it_was(caplog: pytest.LogCaptureFixture) -> None:
    there: dict[str, AddressLike | None] = {"bob": "127.0.0.1:9"}

    async def story() -> None:
        async with open_node("alice") as alice, Discovery(alice, lambda: there, every=60) as found:
            there["bob"] = "127.0.0.1:10"
            await found.look()
            await found.look()
            alice.remove_peer("bob")

    asyncio.run(story())
    (said,) = [record.message for record in caplog.records if record.name.endswith("discovery")]
    assert "bob is listed at 127.0.0.1:10, but a peer cannot move from 127.0.0.1:9" in said


def test_a_function_may_return_peers_with_keys() -> None:
    key, other = new_secret(), new_secret().public

    async def story() -> tuple[str, ...]:
        source = lambda: {"bob": Peer("127.0.0.1:9", keys=other)}  # noqa: E731 - a function in place
        async with open_node("alice", key=key) as alice, Discovery(alice, source, every=60):
            known = tuple(alice.peers)
            alice.remove_peer("bob")
            return known

    assert asyncio.run(story()) == ("bob",)


def test_dns_tells_no_keys_and_says_so() -> None:
    async def story(**keys: object) -> None:
        async with open_node("alice", **keys) as alice:  # type: ignore[arg-type] # any settings
            Discovery(alice, dns_peers("shop.default.svc:9000"))

    with pytest.raises(BadConfiguration, match="DNS tells no keys"):
        asyncio.run(story(key=new_secret()))
    asyncio.run(story(cluster_key=new_secret()))
    asyncio.run(story())


@pytest.mark.parametrize(
    "failure",
    [KeyError("shop"), RuntimeError("no such service"), AttributeError("x"), TimeoutError()],
    ids=str,
)
def test_a_source_that_raises_anything_is_asked_again(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def source() -> dict[str, AddressLike | None]:
        nonlocal asked
        asked += 1
        if asked in (2, 3):
            raise failure
        return {} if asked < 4 else {"bob": None}

    async def story() -> int:
        async with open_node("alice") as alice, Discovery(alice, source, every=0.01) as discovery:
            await until(lambda: "bob" in alice.peers)
            return discovery.failures

    assert asyncio.run(story()) == 2
    assert caplog.text.count("cannot find out who there is") == 1
    assert type(failure).__name__ in caplog.text


@pytest.mark.parametrize("nonsense", [None, ["bob"], {"bob": 7}, {7: "127.0.0.1:1"}], ids=str)
def test_a_source_that_answers_nonsense_is_asked_again(
    nonsense: object, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def source() -> Found:
        nonlocal asked
        asked += 1
        return cast(Found, nonsense) if asked < 3 else {"bob": None}

    async def story() -> None:
        async with open_node("alice") as alice, Discovery(alice, source, every=0.01):
            await until(lambda: "bob" in alice.peers)

    asyncio.run(story())
    assert "trying again" in caplog.text
