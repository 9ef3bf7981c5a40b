"""Journals that are older than what peers have seen: restored, cut off, or running twice."""

import asyncio
import logging
from collections.abc import Coroutine
from copy import deepcopy
from pathlib import Path
from shutil import copytree

import pytest

import antecede
from antecede.core.errors import AntecedeError, Fenced
from antecede.events import (
    NodeFenced,
    PeerExpelled,
    PeerRefused,
    PeerRestarted,
    Report,
    Undeliverable,
)
from antecede.runtime.node import Node
from antecede.runtime.security.keys import SecretKey
from antecede.testing import TestNetwork
from tests.antecede.durability.failing_disk import FailingDisk

ORDERS = ("hybrid", "hybrid-sps")
SHARED = SecretKey(bytes(range(32)))


def run(story: Coroutine[None, None, None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(story, 60)

    asyncio.run(bounded())


class Restored:
    """Ann, Bob and perhaps a third; Bob's disk can be put back to what it was."""

    def __init__(self, order: str = "hybrid", third: str = "", sealed: bool = False) -> None:
        self.network = TestNetwork()
        self.options: dict[str, object] = {"order": order}
        if sealed:
            self.options["cluster_key"] = SHARED
        self.told: dict[str, list[Report]] = {"ann": [], "bob": []}
        if third:
            self.told[third] = []
        self.backup: FailingDisk | None = None
        self.disk = FailingDisk()

    async def open(self, name: str) -> Node:
        options = dict(self.options)
        if name == "bob":
            self.network.disks["bob"] = self.disk
            options["journal"] = "in-memory"
        others = [other for other in self.told if other != name]
        return await self.network.open_node(
            name, peers=others, on_event=self.told[name].append, settings=options
        )

    def back_up(self) -> None:
        """Remember what is on Bob's disk."""
        self.backup = deepcopy(self.disk)

    async def restore(self) -> Node:
        """Bob is killed, and started from the backup."""
        assert self.backup is not None
        self.network.kill("bob")
        self.disk = deepcopy(self.backup)
        return await self.open("bob")

    async def until_fenced(self, node: Node) -> NodeFenced:
        """Why others go on without it."""
        while node.fenced is None:
            await self.network.pass_time(0.1)
        while not node.closed:
            await asyncio.sleep(0)
        return node.fenced

    async def begin_again(self) -> Node:
        """The next start after Bob was fenced."""
        return await self.open("bob")


async def exchange(source: Node, target: Node, count: int, text: str) -> list[bytes]:
    """So many messages, and what came of them."""
    for number in range(count):
        await source.send(target.name, f"{text} {number}".encode())
    return [(await target.receive(60)).payload for _ in range(count)]


def given_up(reports: list[Report]) -> list[int]:
    """The messages that were reported as given up."""
    lost = [report for report in reports if isinstance(report, Undeliverable)]
    return [sequence for report in lost for sequence in report.sequences]


async def try_to_send(node: Node, target: str, count: int) -> list[int]:
    """The ids of those that were accepted."""
    accepted: list[int] = []
    for number in range(count):
        try:
            accepted.append(await node.send(target, b"after %d" % number))
        except AntecedeError:
            break
    return accepted


async def is_well_again(scene: Restored, ann: Node) -> None:
    """A new life of Bob talks to Ann in both directions."""
    bob = await scene.begin_again()
    assert await exchange(bob, ann, 3, "anew") == [b"anew 0", b"anew 1", b"anew 2"]
    for number in range(3):
        await ann.send("bob", b"answer %d" % number)
    found: list[bytes] = []
    while len(found) < 3:  # What was not confirmed in the life before comes again, first.
        message = await bob.receive(60)
        if not message.again:
            found.append(message.payload)
    assert found == [b"answer 0", b"answer 1", b"answer 2"]
    assert PeerRestarted(name="bob") in scene.told["ann"]
    await scene.network.close()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sealed", [False, True])
def test_a_sender_whose_journal_went_back_stops_and_swallows_nothing(
    order: str, sealed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Every message that is accepted then is delivered, or reported."""

    async def story() -> None:
        scene = Restored(order, sealed=sealed)
        ann, bob = await scene.open("ann"), await scene.open("bob")
        await exchange(bob, ann, 10, "before")
        await scene.network.settle()
        scene.back_up()
        await exchange(bob, ann, 20, "lost")
        bob = await scene.restore()
        accepted = await try_to_send(bob, "ann", 30)
        fenced = await scene.until_fenced(bob)
        assert (fenced.by, fenced.name, fenced.told_by) == ("bob", "bob", "ann")
        assert all(word in fenced.reason for word in ("journal", "30", "10"))
        assert given_up(scene.told["bob"]) == accepted
        assert ann.receive_ready() == []
        with pytest.raises(Fenced, match="journal"):
            await bob.send("ann", b"more")
        assert bob.health().status == "failing"
        assert "journal" in str(bob.health())
        await is_well_again(scene, ann)

    with caplog.at_level(logging.WARNING):
        run(story())
    assert "older than what ann has seen" in caplog.text


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sealed", [False, True])
def test_a_receiver_whose_journal_went_back_is_expelled_by_who_sees_it(
    order: str, sealed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        scene = Restored(order, sealed=sealed)
        ann, bob = await scene.open("ann"), await scene.open("bob")
        await exchange(ann, bob, 10, "before")
        await scene.network.settle()
        scene.back_up()
        await exchange(ann, bob, 20, "lost")
        await scene.network.settle()
        bob = await scene.restore()
        fenced = await scene.until_fenced(bob)
        assert (fenced.by, fenced.name, fenced.told_by) == ("ann", "bob", "ann")
        assert all(word in fenced.reason for word in ("journal", "30", "10"))
        expelled = [event for event in scene.told["ann"] if isinstance(event, PeerExpelled)]
        assert [(event.name, event.reason) for event in expelled] == [("bob", fenced.reason)]
        await is_well_again(scene, ann)

    with caplog.at_level(logging.WARNING):
        run(story())
    assert "journal went back from 30 to 10" in caplog.text


@pytest.mark.parametrize("order", ORDERS)
def test_a_journal_from_before_two_nodes_met_is_noticed(order: str) -> None:
    async def story(sender: str) -> None:
        scene = Restored(order)
        bob = await scene.open("bob")
        scene.back_up()
        ann = await scene.open("ann")
        nodes = {"ann": ann, "bob": bob}
        await exchange(nodes.pop(sender), next(iter(nodes.values())), 5, "lost")
        await scene.network.settle()
        bob = await scene.restore()
        await try_to_send(bob, "ann", 7)
        assert "journal" in (await scene.until_fenced(bob)).reason
        assert ann.receive_ready() == []
        await is_well_again(scene, ann)

    run(story("ann"))
    run(story("bob"))


@pytest.mark.parametrize("order", ORDERS)
def test_crashes_before_the_peer_is_met_do_not_hide_that_a_journal_went_back(order: str) -> None:
    """What was sent since was never seen by the peer, whatever ids it has."""

    async def story() -> None:
        scene = Restored(order)
        ann, bob = await scene.open("ann"), await scene.open("bob")
        await exchange(bob, ann, 5, "before")
        await scene.network.settle()
        scene.back_up()
        await exchange(bob, ann, 5, "lost")
        scene.network.cut("ann", "bob")
        bob = await scene.restore()
        accepted: list[int] = []
        for _ in range(3):
            accepted += await try_to_send(bob, "ann", 5)
            scene.network.kill("bob")
            bob = await scene.open("bob")
        scene.network.heal("ann", "bob")
        assert "journal" in (await scene.until_fenced(bob)).reason
        assert set(given_up(scene.told["bob"])) >= set(accepted)
        assert ann.receive_ready() == []
        await is_well_again(scene, ann)

    run(story())


@pytest.mark.parametrize("order", ORDERS)
def test_a_third_node_hears_that_a_journal_went_back_and_goes_on(order: str) -> None:
    """Carol has exchanged nothing with Bob since; what Ann and Carol have to say is not held up."""

    async def story() -> None:
        scene = Restored(order, "carol")
        ann, carol, bob = [await scene.open(name) for name in ("ann", "carol", "bob")]
        await exchange(bob, carol, 3, "to carol")
        await exchange(ann, bob, 5, "before")
        await scene.network.settle()
        scene.back_up()
        await exchange(ann, bob, 5, "lost")
        await scene.network.settle()
        bob = await scene.restore()
        await scene.until_fenced(bob)
        assert await exchange(ann, carol, 2, "on") == [b"on 0", b"on 1"]
        assert await exchange(carol, ann, 2, "on") == [b"on 0", b"on 1"]
        await scene.network.settle()
        seen = {event.reason for event in scene.told["carol"] if isinstance(event, PeerExpelled)}
        assert any("journal went back" in reason for reason in seen)
        await is_well_again(scene, ann)

    run(story())


def test_a_journal_that_lost_only_what_nobody_saw_goes_on() -> None:
    """A backup of the last state is as good as the journal itself."""

    async def story() -> None:
        scene = Restored()
        ann, bob = await scene.open("ann"), await scene.open("bob")
        await exchange(bob, ann, 10, "before")
        await exchange(ann, bob, 10, "before")
        await scene.network.settle()
        scene.back_up()
        bob = await scene.restore()
        for _ in range(3):
            bob.receive_ready()
            assert await exchange(bob, ann, 3, "on") == [b"on 0", b"on 1", b"on 2"]
            scene.network.kill("bob")
            bob = await scene.open("bob")
        assert bob.fenced is None
        assert not given_up(scene.told["bob"])
        await scene.network.close()

    run(story())


def test_a_file_that_was_cut_off_is_noticed_and_the_warning_is_true(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On real sockets and a real disk: 200 bytes are gone, and with them commits."""
    told: list[Report] = []

    async def story() -> None:
        async with antecede.open_node("ann") as ann:
            options: dict[str, object] = {"peers": {"ann": ann.address}, "journal": tmp_path}
            bob = await antecede.open_node("bob", settings=options)
            ann.add_peer("bob", bob.address)
            await exchange(bob, ann, 10, "before")
            bob.abandon()
            file = sorted(tmp_path.glob("journal-*.log"))[-1]
            file.write_bytes(file.read_bytes()[:-200])
            bob = await antecede.open_node(
                "bob", bind=bob.address, on_event=told.append, settings=options
            )
            accepted = await try_to_send(bob, "ann", 30)
            while bob.fenced is None:
                await asyncio.sleep(0.01)
            while not bob.closed:
                await asyncio.sleep(0.01)
            assert given_up(told) == accepted
            async with antecede.open_node("bob", bind=bob.address, settings=options) as again:
                assert await exchange(again, ann, 1, "anew") == [b"anew 0"]

    with caplog.at_level(logging.WARNING):
        run(story())
    assert "nothing that anybody was told is lost" not in caplog.text
    assert "of a commit that was not finished" in caplog.text


# Copies that run at the same time.


@pytest.mark.parametrize("sealed", [False, True])
def test_a_copy_of_a_journal_that_runs_elsewhere_is_refused_loudly(
    tmp_path: Path, sealed: bool
) -> None:
    """Ann knows where Bob is, and goes on with him; his twin is told, and so is she."""
    seen: list[Report] = []
    told: list[Report] = []
    options: dict[str, object] = {"heartbeat": "100ms"}
    if sealed:
        options["cluster_key"] = SHARED

    async def story() -> None:
        async with antecede.open_node("ann", on_event=seen.append, settings=options) as ann:
            with_ann = {**options, "peers": {"ann": ann.address}}
            bob = await antecede.open_node("bob", journal=tmp_path / "one", settings=with_ann)
            ann.add_peer("bob", bob.address)
            await exchange(bob, ann, 3, "before")
            copytree(tmp_path / "one", tmp_path / "other")
            twin = await antecede.open_node(
                "bob", journal=tmp_path / "other", on_event=told.append, settings=with_ann
            )
            while not any(isinstance(event, PeerRefused) for event in told):
                await asyncio.sleep(0.05)
            assert "another copy of this journal" in str(told)
            assert "a copy of its journal" in str(seen)
            assert await exchange(bob, ann, 3, "on") == [b"on 0", b"on 1", b"on 2"]
            assert bob.fenced is None
            twin.abandon()
            await bob.close()

    run(story())


@pytest.mark.parametrize("sealed", [False, True])
def test_copies_of_a_journal_that_take_turns_are_expelled_both(
    tmp_path: Path, sealed: bool
) -> None:
    """Ann does not know where Bob is, so whoever of the two spoke last is he."""
    seen: list[Report] = []
    options: dict[str, object] = {"heartbeat": "100ms"}
    if sealed:
        options["cluster_key"] = SHARED

    async def story() -> None:
        async with antecede.open_node("ann", on_event=seen.append, settings=options) as ann:
            ann.add_peer("bob")
            with_ann = {**options, "peers": {"ann": ann.address}}
            bob = await antecede.open_node("bob", journal=tmp_path / "one", settings=with_ann)
            await exchange(bob, ann, 3, "before")
            copytree(tmp_path / "one", tmp_path / "other")
            twin = await antecede.open_node("bob", journal=tmp_path / "other", settings=with_ann)
            while bob.fenced is None or twin.fenced is None:
                await asyncio.sleep(0.05)
            expelled = [event for event in seen if isinstance(event, PeerExpelled)]
            assert [event.reason for event in expelled] == ["its journal runs twice, from copies"]
            while not (bob.closed and twin.closed):
                await asyncio.sleep(0.01)

    run(story())
