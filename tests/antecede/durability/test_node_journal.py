"""A node and its journal: what is refused, what comes again, what ends a life."""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

import antecede
from antecede import blocking
from antecede.core.errors import Fenced, LocalError
from antecede.durability.errors import JournalCorrupt, JournalFailed, JournalFull, JournalInUse
from antecede.events import NodeFenced, PeerMet, PeerRestarted, Report
from antecede.runtime.errors import BadConfiguration, PeerGone, Stranded
from antecede.runtime.node import Node
from antecede.runtime.observe.prometheus import exposition
from antecede.runtime.observe.stats import JournalStats
from antecede.runtime.security.keys import SecretKey
from antecede.runtime.typed_node import JsonCodec, TypedNode
from antecede.testing import TestNetwork
from antecede.transport.peer_lifecycle import STAYING
from antecede_cli.messaging.journal import command
from tests.antecede.durability.failing_disk import FailingDisk

SHARED = SecretKey(bytes(range(32)))


def run(story: Coroutine[None, None, None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(story, 30)

    asyncio.run(bounded())


def journal_file(folder: Path) -> Path:
    """The newest file of a journal."""
    return sorted(folder.glob("journal-*.log"))[-1]


async def reopened(network: TestNetwork, name: str, folder: Path, **options: object) -> Node:
    """The node again, after it was killed."""
    network.kill(name)
    return await network.open_node(name, journal=folder, **options)  # type: ignore[arg-type] # any settings


# What is refused.


def test_two_processes_cannot_share_a_journal(tmp_path: Path) -> None:
    async def story() -> None:
        async with antecede.open_node("ann", journal=tmp_path):
            with pytest.raises(JournalInUse, match="in use"):
                await antecede.open_node("ann", journal=tmp_path)

    run(story())


def test_the_journal_of_another_name_or_order_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with antecede.open_node("ann", journal=tmp_path):
            pass
        with pytest.raises(BadConfiguration, match="'ann''s, not 'bob''s"):
            await antecede.open_node("bob", journal=tmp_path)
        with pytest.raises(BadConfiguration, match="order 'hybrid', not 'hybrid-sps'"):
            await antecede.open_node("ann", journal=tmp_path, order="hybrid-sps")
        async with antecede.open_node("ann", journal=tmp_path):
            pass  # And both refusals have given the lock back.

    run(story())


def test_an_order_without_a_state_to_keep_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        with pytest.raises(BadConfiguration, match="'fifo' keeps no journal"):
            await antecede.open_node("ann", journal=tmp_path, order="fifo")

    run(story())


def test_a_torn_tail_is_cut_off_and_said_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        node = await antecede.open_node("ann", journal=tmp_path)
        await node.send("ann", b"note")
        node.abandon()
        with journal_file(tmp_path).open("ab") as file:
            file.write(b"\xa7\x4a\x4e\x4c half a commit")
        async with antecede.open_node("ann", journal=tmp_path) as again:
            assert (await again.receive(60)).payload == b"note"

    with caplog.at_level(logging.WARNING):
        run(story())
    assert "of a commit that was not finished" in caplog.text


def test_a_corrupted_middle_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        node = await antecede.open_node("ann", journal=tmp_path)
        await node.send("ann", b"first")
        await node.send("ann", b"second")
        node.abandon()
        content = journal_file(tmp_path).read_bytes()
        place = content.index(b"first")
        journal_file(tmp_path).write_bytes(content[:place] + b"F" + content[place + 1 :])
        with pytest.raises(JournalCorrupt, match="antecede journal check"):
            await antecede.open_node("ann", journal=tmp_path)

    run(story())


def test_without_a_journal_there_is_nothing_to_put_into() -> None:
    async def story() -> None:
        async with antecede.open_node("ann") as node:
            with pytest.raises(LocalError, match="journal=FOLDER"):
                node.journal.put("key", b"value")

    run(story())


# What comes again.


def test_what_was_not_confirmed_comes_again_and_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann")
            bob = await network.open_node("bob", journal=tmp_path, confirm="done")
            for number in range(4):
                await ann.send("bob", b"%d" % number)
            messages = [await bob.receive(60) for _ in range(4)]
            assert not any(message.again for message in messages)
            messages[0].done()
            messages[2].done()
            await bob.journal.sync()
            bob = await reopened(network, "bob", tmp_path)
            await ann.send("bob", b"4")
            found = [await bob.receive(60) for _ in range(3)]
            assert [(m.payload, m.again) for m in found] == [
                (b"1", True),
                (b"3", True),
                (b"4", False),
            ]

    run(story())


def test_asking_for_the_next_message_confirms_the_one_before(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path)
            for number in range(3):
                await bob.send("bob", b"%d" % number)
            await bob.receive(60)
            await bob.receive(60)
            await bob.journal.sync()
            bob = await reopened(network, "bob", tmp_path)
            assert (await bob.receive(60)).payload == b"1"

    run(story())


def test_a_handler_confirms_by_returning_and_not_by_failing(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path)

            def handle(message: antecede.Message) -> None:
                if message.payload == b"bad":
                    raise ValueError("of no use")

            bob.on_message(handle)
            for payload in (b"good", b"bad", b"fine"):
                await bob.send("bob", payload)
            await bob.journal.sync()
            bob = await reopened(network, "bob", tmp_path)
            assert (await bob.receive(60)).payload == b"bad"
            assert bob.receive_ready() == []

    run(story())


def test_what_is_put_during_a_message_counts_with_its_confirmation(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path, confirm="done")
            bob.journal.put("outside", b"at once")
            await bob.send("bob", b"note")
            message = await bob.receive(60)
            await bob.journal.put("inside", b"with the message")
            assert bob.journal.get("inside") == b"with the message"
            await bob.journal.sync()
            bob = await reopened(network, "bob", tmp_path, confirm="done")
            assert bob.journal.keys() == ["outside"]
            message = await bob.receive(60)
            await bob.journal.put("inside", b"with the message")
            message.done()
            await bob.journal.sync()
            bob = await reopened(network, "bob", tmp_path)
            assert bob.journal.keys() == ["inside", "outside"]
            await bob.journal.remove("inside")
            await bob.journal.sync()
            bob = await reopened(network, "bob", tmp_path)
            assert bob.journal.get("inside") is None
            assert bob.journal.get("inside", b"default") == b"default"

    run(story())


# Lives.


@pytest.mark.parametrize("sealed", [False, True])
def test_peers_notice_nothing_but_a_pause(tmp_path: Path, sealed: bool) -> None:
    """Also with keys: who comes back agrees on new ones."""
    told: list[Report] = []
    options: dict[str, object] = {"cluster_key": SHARED} if sealed else {}

    async def story() -> None:
        async with (
            antecede.open_node("ann", on_event=told.append, settings=options) as ann,
            antecede.open_node(
                "bob", peers={"ann": ann.address}, journal=tmp_path, settings=options
            ) as bob,
        ):
            ann.add_peer("bob", bob.address)
            for number in range(3):
                await ann.send("bob", b"%d" % number)
                assert (await bob.receive(60)).payload == b"%d" % number
            await bob.send("ann", b"before")
            bob.abandon()
            await ann.send("bob", b"while away")
            async with antecede.open_node(
                "bob",
                bind=bob.address,
                peers={"ann": ann.address},
                journal=tmp_path,
                settings=options,
            ) as again:
                await again.send("ann", b"after")
                found = [await again.receive(60) for _ in range(2)]
                assert [message.payload for message in found] == [b"2", b"while away"]
                answers = [await ann.receive(60) for _ in range(2)]
                assert [message.payload for message in answers] == [b"before", b"after"]
                found[-1].done()

    run(story())
    assert told.count(PeerMet(name="bob")) == 1
    assert PeerRestarted(name="bob") not in told


def test_who_left_politely_begins_a_new_life_with_what_it_kept(tmp_path: Path) -> None:
    told: list[Report] = []

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann", on_event=told.append)
            bob = await network.open_node("bob", journal=tmp_path)
            bob.journal.put("position", b"7")
            await ann.send("bob", b"unread")
            await network.settle()
            await bob.close()
            bob = await network.open_node("bob", journal=tmp_path)
            assert bob.journal.get("position") == b"7"
            message = await bob.receive(60)
            assert (message.payload, message.again) == (b"unread", True)
            assert await bob.send("ann", b"the first of this life") == 1
            assert (await ann.receive(60)).payload == b"the first of this life"

    run(story())
    assert PeerRestarted(name="bob") in told


def test_who_closes_too_early_goes_on_later(tmp_path: Path) -> None:
    """What is not delivered when the time is over is kept, and delivered in the next process."""

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann")
            bob = await network.open_node("bob", journal=tmp_path)
            await bob.send("ann", b"one")
            assert (await ann.receive(60)).payload == b"one"
            network.cut("ann", "bob")
            await bob.send("ann", b"two")
            with pytest.raises(Stranded):
                await bob.close(timeout=0.05)
            network.heal("ann", "bob")
            bob = await network.open_node("bob", journal=tmp_path)
            assert (await ann.receive(60)).payload == b"two"
            assert await bob.send("ann", b"three") == 3

    run(story())


def test_who_was_expelled_while_it_was_away_is_told_and_begins_anew(tmp_path: Path) -> None:
    told: list[Report] = []

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann")
            bob = await network.open_node("bob", journal=tmp_path)
            await bob.send("ann", b"one")
            assert (await ann.receive(60)).payload == b"one"
            network.kill("bob")
            await ann.expel("bob", "its disk smokes")
            bob = await network.open_node("bob", journal=tmp_path, on_event=told.append)
            while bob.fenced is None:
                await asyncio.sleep(0)
            with pytest.raises(Fenced, match="its disk smokes"):
                await bob.send("ann", b"two")
            while not bob.closed:
                await asyncio.sleep(0)
            bob = await network.open_node("bob", journal=tmp_path)
            assert await bob.send("ann", b"a new life") == 1
            assert (await ann.receive(60)).payload == b"a new life"

    run(story())
    assert [report.by for report in told if isinstance(report, NodeFenced)] == ["ann"]


def test_an_expulsion_survives_a_crash_of_the_one_who_decided_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann", journal=tmp_path)
            bob = await network.open_node("bob")
            await bob.send("ann", b"one")
            assert (await ann.receive(60)).payload == b"one"
            network.cut("ann", "bob")
            await ann.expel("bob", "silent")
            await ann.journal.sync()
            ann = await reopened(network, "ann", tmp_path)
            network.heal("ann", "bob")
            await bob.send("ann", b"two")
            while bob.fenced is None:
                await asyncio.sleep(0)
            assert bob.fenced.reason == "silent"
            assert [m.payload for m in ann.receive_ready()] in ([], [b"one"])

    run(story())


def test_after_a_crash_messages_to_the_expelled_are_refused_as_before(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann", journal=tmp_path)
            bob = await network.open_node("bob")
            cid = await network.open_node("cid")
            for peer in (bob, cid):
                await peer.send("ann", b"met")
                assert (await ann.receive(60)).payload == b"met"
            network.kill("bob")
            await ann.expel("bob", "silent")
            lost: list[Report] = []
            for _ in range(2):
                with pytest.raises(PeerGone, match="bob"):
                    await ann.send("bob", b"to nobody")
                await ann.send(["bob", "cid"], b"to one of two")
                assert (await cid.receive(60)).payload == b"to one of two"
                ann = await reopened(network, "ann", tmp_path, on_event=lost.append)
            bob = await network.open_node("bob")
            await bob.send("ann", b"another life")
            while (await ann.receive(60)).payload != b"another life":
                pass
            await ann.send("bob", b"welcome back")
            assert (await bob.receive(60)).payload == b"welcome back"
            # And who is met again is one who may be waited for.
            ann = await reopened(network, "ann", tmp_path)
            await ann.send("bob", b"still here")
            assert (await bob.receive(60)).payload == b"still here"

    run(story())


def test_after_a_crash_who_was_away_still_is(tmp_path: Path) -> None:
    """Cid says that Bob has restarted; Ann, who cannot reach him, does not wait for him."""

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann", journal=tmp_path, away="refuse")
            told: list[Report] = []
            cid = await network.open_node("cid", on_event=told.append)
            bob = await network.open_node("bob")
            for peer in ("ann", "cid"):
                await bob.send(peer, b"met")
            assert (await ann.receive(60)).payload == b"met"
            network.cut("ann", "bob")
            network.kill("bob")
            bob = await network.open_node("bob")
            while not any(isinstance(report, PeerRestarted) for report in told):
                await asyncio.sleep(0)
            await cid.send("ann", b"Bob has restarted")
            assert (await ann.receive(60)).payload == b"Bob has restarted"
            for _ in range(2):
                with pytest.raises(PeerGone, match="bob"):
                    await ann.send("bob", b"to nobody")
                await ann.journal.sync()
                ann = await reopened(network, "ann", tmp_path, away="refuse")

    run(story())


# The disk.


def test_a_full_disk_accepts_nothing_loses_nothing_and_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            disk = network.disks["ann"] = FailingDisk()
            ann = await network.open_node("ann", journal=tmp_path)
            bob = await network.open_node("bob")
            await ann.send("bob", b"one")
            assert (await bob.receive(60)).payload == b"one"
            await network.settle()
            disk.room = 0
            waiting = asyncio.create_task(ann.send("bob", b"two"))
            while ann.health().status == "ok":
                await asyncio.sleep(0)
            with pytest.raises(JournalFull, match="no room"):
                await ann.send("bob", b"refused")
            with pytest.raises(JournalFull, match="no room"):
                ann.journal.put("key", b"refused")
            assert not waiting.done()
            assert bob.receive_ready() == []
            disk.room = None
            assert await waiting == 2
            assert await ann.send("bob", b"three") == 3
            payloads = [(await bob.receive(60)).payload for _ in range(2)]
            assert payloads == [b"two", b"three"]

    run(story())


def test_a_disk_that_fails_stops_the_node(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            disk = network.disks["ann"] = FailingDisk()
            ann = await network.open_node("ann", journal=tmp_path)
            bob = await network.open_node("bob")
            disk.fail_sync = True
            with pytest.raises(JournalFailed, match="must not go on"):
                await ann.send("bob", b"never")
            assert ann.closed
            with pytest.raises(JournalFailed):
                await ann.send("bob", b"never")
            with pytest.raises(JournalFailed):
                ann.try_send("bob", b"never")
            assert bob.receive_ready() == []

    run(story())


def test_the_journal_follows_the_state_not_the_history(tmp_path: Path) -> None:
    async def story() -> None:
        async with antecede.open_node(
            "ann", journal=tmp_path, durable="process", journal_limit=64 << 20
        ) as ann:
            ann.on_message(lambda _: None)
            for _ in range(60):
                for _ in range(32):
                    ann.try_send("ann", bytes(20_000))
                await ann.journal.sync()
            assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 24 << 20

    run(story())


def test_a_journal_beyond_its_limit_accepts_nothing_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with antecede.open_node(
            "ann", journal=tmp_path, journal_limit="1MiB", durable="process", confirm="done"
        ) as ann:
            accepted = 0
            while ann.health().status == "ok":
                ann.try_send("ann", bytes(50_000))
                accepted += 1
                await asyncio.sleep(0)
            with pytest.raises(JournalFull, match="limit"):
                ann.try_send("ann", bytes(50_000))
            assert 5 < accepted < 25

    run(story())


def test_every_record_of_a_journal_has_a_name(tmp_path: Path) -> None:
    async def story() -> None:
        node = await antecede.open_node("ann", journal=tmp_path)
        await node.send("ann", bytes(200_000))
        node.journal.put("key", b"value")
        await node.journal.sync()
        node.abandon()

    run(story())
    shown = [line.split("  ")[1].strip() for line in shown_lines(tmp_path)]
    named = {"this life", "counts", "large payload", "inbound", "value"}
    assert named | {"fragment out", "fragment in"} <= {*shown}
    assert "?" not in shown


def shown_lines(folder: Path) -> list[str]:
    """What `antecede journal show` prints."""
    return CliRunner().invoke(command, ["show", str(folder)]).output.splitlines()


# Without asyncio, and with values.


def test_a_thread_confirms_by_asking_for_the_next_message(tmp_path: Path) -> None:
    """Though it takes several at a time from the loop, and hands them out one by one."""
    node = blocking.open_node("ann", journal=tmp_path)
    for number in range(4):
        node.send("ann", b"%d" % number)
    assert [node.receive(60).payload for _ in range(2)] == [b"0", b"1"]
    node.journal.put("position", b"with the second one")
    node.journal.sync()
    crash(node)
    node = blocking.open_node("ann", journal=tmp_path, confirm="done")
    assert node.journal.keys() == []
    found = [node.receive(60) for _ in range(3)]
    assert [(message.payload, message.again) for message in found] == [
        (b"1", True),
        (b"2", True),
        (b"3", True),
    ]
    found[1].done()
    node.journal.put("position", b"7")
    found[2].done()
    node.journal.sync()
    crash(node)
    with blocking.open_node("ann", journal=tmp_path) as node:
        assert node.journal.get("position") == b"7"
        assert [message.payload for message in [node.receive(60), *node.receive_ready()]] == [b"1"]
        node.journal.remove("position")
        assert node.journal.get("position", b"none") == b"none"


def test_a_handler_in_a_thread_confirms_by_returning(tmp_path: Path) -> None:
    handled = threading.Event()

    def handle(message: antecede.Message) -> None:
        if message.payload == b"last":
            handled.set()
        if message.payload == b"bad":
            raise ValueError("of no use")

    node = blocking.open_node("ann", journal=tmp_path)
    node.on_message(handle)
    for payload in (b"good", b"bad", b"last"):
        node.send("ann", payload)
    assert handled.wait(60)
    node.journal.sync()
    crash(node)
    with blocking.open_node("ann", journal=tmp_path) as again:
        assert again.receive(60).payload == b"bad"


def crash(node: blocking.BlockingNode) -> None:
    """Let a node vanish; its loop ends as usual."""
    node._in_loop(lambda inner: inner.abandon())
    node.close()


def test_values_can_be_confirmed_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            bob = await network.open_node("bob", journal=tmp_path, confirm="done")
            typed = TypedNode(bob, JsonCodec())
            await typed.send("bob", {"number": 1})
            await typed.send("bob", {"number": 2})
            (await typed.receive(60)).done()
            await bob.journal.sync()
            typed = TypedNode(await reopened(network, "bob", tmp_path), JsonCodec())
            message = await typed.receive(60)
            assert (message.value, message.again) == ({"number": 2}, True)

    run(story())


def test_a_crash_while_leaving_does_not_end_a_life(tmp_path: Path) -> None:
    """Who has said bye and waits for that of others may crash, too, and has still to be heard."""
    told: list[Report] = []

    async def story() -> None:
        async with TestNetwork() as network:
            ann = await network.open_node("ann", on_event=told.append)
            bob = await network.open_node("bob", journal=tmp_path)
            await bob.send("ann", b"one")
            assert (await ann.receive(60)).payload == b"one"
            leaving = asyncio.create_task(bob.close(linger="bye"))
            while not bob.closed and network.now_ns < 3_000_000_000:
                network.go_on()
                await asyncio.sleep(0)
                if ann._endpoint.sessions()[0].lifecycle.theirs != STAYING:
                    break
            network.kill("bob")
            with suppress(Stranded):
                await leaving
            await ann.send("bob", b"while it was away")
            for _ in range(50):
                network.go_on()
                await asyncio.sleep(0)
            bob = await network.open_node("bob", journal=tmp_path)
            assert (await bob.receive(60)).payload == b"while it was away"
            assert await bob.send("ann", b"two") == 2
            assert (await ann.receive(60)).payload == b"two"

    run(story())
    assert PeerRestarted(name="bob") not in told


# Figures.


def test_a_journal_has_figures(tmp_path: Path) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            assert (await network.open_node("ann")).stats().journal == JournalStats()
            bob = await network.open_node("bob", journal=tmp_path, confirm="done")
            before = bob.stats().journal
            await bob.send("bob", b"x" * 1000)
            message = await bob.receive(60)
            after = bob.stats().journal
            assert (before.files, before.unconfirmed, before.commits) == (1, 0, 0)
            assert after.size_bytes == journal_file(tmp_path).stat().st_size > 1000
            assert after.commits >= 1
            assert after.written_bytes - before.written_bytes == (
                after.size_bytes - before.size_bytes
            )
            assert after.write_seconds >= before.write_seconds
            assert (after.unconfirmed, after.waiting, after.accepting) == (1, 0, True)
            message.done()
            assert bob.stats().journal.unconfirmed == 0
            text = (await exposition(bob, per_peer=False)).decode()
            assert "antecede_journal_bytes{" in text

    run(story())
