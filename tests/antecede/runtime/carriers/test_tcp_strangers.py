"""Strangers at the door of a node on TCP: they cost little, and no peer is kept out by them."""

import asyncio
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import pytest

from antecede import Node, open_node
from antecede.runtime.carriers import tcp as over_tcp
from tests.free_ports import free_port

SECONDS = 60.0
"""Nothing here takes so long."""

STRANGERS = 200
FEW_FILES = 56
"""As many files as the node may have open: fewer than there are strangers."""

FEW_LINES = 20

RESET_AT_ONCE = struct.pack("ii", 1, 0)


@contextmanager
def strangers(address: tuple[str, int], count: int) -> Iterator[list[socket.socket]]:
    """So many connections that say nothing."""
    made = []
    try:
        for _ in range(count):
            with suppress(OSError):
                made.append(socket.create_connection(address, timeout=SECONDS))
        yield made
    finally:
        for one in made:
            one.close()


async def talks_with(bob: Node, name: str) -> None:
    """A message there, and one back."""
    await bob.send(name, b"hello")
    await bob.flush(SECONDS)


@contextmanager
def poor_node(told: Path, *options: str) -> Iterator[IO[bytes]]:
    """Alice, in a process that may not open many files; what she writes, after she is ready."""
    command = f'ulimit -n {FEW_FILES}; exec "$0" -m antecede node --name alice --peer bob "$@"'
    with told.open("wb") as stderr:
        process = subprocess.Popen(
            ["bash", "-c", command, sys.executable, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        assert process.stdout is not None
        try:
            assert b"ready" in process.stdout.readline()
            yield process.stdout
        finally:
            process.kill()
            process.communicate()


def test_a_peer_finds_room_although_strangers_hold_every_file(tmp_path: Path) -> None:
    port = free_port()
    place = f"tcp://127.0.0.1:{port}"

    async def story() -> None:
        async with open_node("bob", bind="tcp://127.0.0.1:0", peers={"alice": place}) as bob:
            await talks_with(bob, "alice")
            bob.remove_peer("alice")

    with poor_node(tmp_path / "told", "--bind", place) as lines:
        with strangers(("127.0.0.1", port), STRANGERS):
            asyncio.run(story())
        assert b"hello" in b"".join(lines.readline() for _ in range(2))
    assert len((tmp_path / "told").read_bytes().splitlines()) < FEW_LINES


def test_metrics_are_served_although_strangers_hold_every_file(tmp_path: Path) -> None:
    port = free_port()
    options = ("--bind", "127.0.0.1:0", "--metrics", f"127.0.0.1:{port}")
    with (
        poor_node(tmp_path / "told", *options),
        strangers(("127.0.0.1", port), STRANGERS),
        urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SECONDS) as answer,
    ):
        assert b"antecede" in answer.read()
    assert len((tmp_path / "told").read_bytes().splitlines()) < FEW_LINES


def test_strangers_are_few_however_many_call() -> None:
    async def story() -> tuple[int, int]:
        alice = await open_node("alice", bind="tcp://127.0.0.1:0", peers=["bob"])
        bob = await open_node("bob", bind="tcp://127.0.0.1:0", peers={"alice": alice.address})
        await talks_with(bob, "alice")
        ended = 0
        callers = [await asyncio.open_connection(*alice.address) for _ in range(STRANGERS)]
        async with asyncio.timeout(SECONDS):
            while ended < STRANGERS - over_tcp.STRANGERS_MAX:
                await asyncio.sleep(0.01)
                ended = sum(reader.at_eof() or bool(reader.exception()) for reader, _ in callers)
        await talks_with(bob, "alice")  # By the connection that it has.
        for _, writer in callers:
            writer.close()
        await asyncio.gather(alice.close(SECONDS), bob.close(SECONDS))
        return ended, len(callers)

    ended, called = asyncio.run(story())
    assert called - over_tcp.STRANGERS_MAX <= ended < called


def test_who_says_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_tcp, "STRANGER_SECONDS", 0.05)

    async def story() -> bytes:
        async with open_node("alice", bind="tcp://127.0.0.1:0") as alice:
            reader, writer = await asyncio.open_connection(*alice.address)
            answered = b""
            with suppress(ConnectionResetError):
                answered = await asyncio.wait_for(reader.read(), SECONDS)
            writer.close()
            return answered

    assert asyncio.run(story()) == b""


def test_a_peer_that_is_quiet_stays_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that only ever calls: the hub has no other way to it."""
    monkeypatch.setattr(over_tcp, "STRANGER_SECONDS", 0.05)
    quiet = {"heartbeat": "1h", "silent_after": "2h"}

    async def story() -> bytes:
        hub = await open_node("hub", bind="tcp://127.0.0.1:0", peers=["phone"], settings=quiet)
        phone = await open_node(
            "phone", bind="tcp://127.0.0.1:0", peers={"hub": hub.address}, settings=quiet
        )
        await talks_with(phone, "hub")
        reader, writer = await asyncio.open_connection(*hub.address)
        with suppress(ConnectionResetError):
            await asyncio.wait_for(reader.read(), SECONDS)  # The stranger's time is over.
        writer.close()
        await asyncio.sleep(0.3)
        await hub.send("phone", b"are you there?")
        heard = await phone.receive(SECONDS)
        await asyncio.gather(phone.close(SECONDS), hub.close(SECONDS))
        return heard.payload

    assert asyncio.run(story()) == b"are you there?"


def test_a_peer_that_hangs_up_at_once_is_dialled_less_and_less() -> None:
    dialled = 0

    def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal dialled
        dialled += 1
        writer.transport.abort()

    async def story() -> None:
        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        place = "tcp://{}:{}".format(*server.sockets[0].getsockname())
        async with open_node("alice", bind="tcp://127.0.0.1:0", peers={"bob": place}) as alice:
            await asyncio.sleep(2)  # All the while it says hello to bob.
            alice.remove_peer("bob")
        server.close()

    asyncio.run(story())
    # After 0.1 s, 0.2 s, 0.4 s, ..., and every 5 s in the end: fewer even in a minute.
    assert 1 <= dialled < 30


def test_nobody_dials_a_peer_that_was_removed() -> None:
    async def story() -> tuple[set[str], set[str]]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            place = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        async with open_node("alice", bind="tcp://127.0.0.1:0") as alice:
            before = asyncio.all_tasks()
            alice.add_peer("bob", place)
            async with asyncio.timeout(SECONDS):
                while "cannot connect" not in "; ".join(alice._obstacles(["bob"])):
                    await asyncio.sleep(0.01)
            dialling = asyncio.all_tasks() - before
            alice.remove_peer("bob")
            await asyncio.sleep(0.1)
            return set(map(str, dialling)), set(map(str, asyncio.all_tasks() - before))

    while_dialling, afterwards = asyncio.run(story())
    assert while_dialling
    assert not afterwards


def test_a_peer_that_is_removed_and_added_again_is_dialled_again() -> None:
    async def story() -> bytes:
        bob = await open_node("bob", bind="tcp://127.0.0.1:0", peers=["alice"])
        async with open_node("alice", bind="tcp://127.0.0.1:0") as alice:
            alice.add_peer("bob", bob.address)
            alice.remove_peer("bob")
            alice.add_peer("bob", bob.address)
            await alice.send("bob", b"once more")
            heard = await bob.receive(SECONDS)
            await asyncio.gather(alice.close(SECONDS), bob.close(SECONDS))
        return heard.payload

    assert asyncio.run(story()) == b"once more"


def test_callers_that_are_gone_before_they_are_answered_do_no_harm() -> None:
    async def story() -> list[str]:
        troubles: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: troubles.append(str(context)))
        alice = await open_node("alice", bind="tcp://127.0.0.1:0", peers=["bob"])
        for _ in range(50):
            caller = socket.create_connection((alice.address.host, alice.address.port))
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
            caller.close()
        bob = await open_node("bob", bind="tcp://127.0.0.1:0", peers={"alice": alice.address})
        await talks_with(bob, "alice")
        await asyncio.gather(alice.close(SECONDS), bob.close(SECONDS))
        return troubles

    assert asyncio.run(story()) == []
