"""What was given up is told, whenever a process crashes: before its report, or right after."""

import asyncio
from collections.abc import Callable

import pytest

from antecede.events import NodeFenced, PeerExpelled, Report, Undeliverable
from antecede.runtime.node import Node
from antecede.testing import TestNetwork
from tests.antecede.durability.crashing_group import run
from tests.antecede.durability.failing_disk import FailingDisk

REASON = "its disk smokes"


class Story:
    """Ann has a journal, and hears what is told; whoever else is opened has none."""

    def __init__(self) -> None:
        self.network = TestNetwork()
        self.disk = FailingDisk()
        self.told: list[Report] = []
        self.crashes = 0

    async def open_ann(self) -> Node:
        self.network.disks["ann"] = self.disk
        return await self.network.open_node("ann", journal="in-memory", on_event=self.told.append)

    async def ann_after_a_crash(self, kept_of_the_rest: float) -> Node:
        self.crashes += 1
        self.network.kill("ann")
        self.disk = self.disk.after_power_failure(kept_of_the_rest)
        return await self.open_ann()

    def has_crashed(self) -> bool:
        return self.disk.crash_at is not None and self.disk.steps >= self.disk.crash_at

    async def go_on(self, turns: int = 60) -> None:
        for _ in range(turns):
            self.network.go_on()
            await asyncio.sleep(0)

    def given_up(self, kind: type[Undeliverable] = Undeliverable) -> set[tuple[str, int]]:
        found = [report for report in self.told if isinstance(report, kind)]
        return {(report.name, sequence) for report in found for sequence in report.sequences}

    def tells_expulsion_of(self, name: str) -> bool:
        return any(isinstance(r, PeerExpelled) and r.name == name for r in self.told)


async def expel_the_dead(story: Story, crash_after: int | None, kept_of_the_rest: float) -> int:
    """Ann expels Bob, who never got her second message; how many steps her disk took for that."""
    ann = await story.open_ann()
    await story.network.open_node("bob")
    await story.network.open_node("carol")
    await ann.send("bob", b"one")
    await story.go_on()
    story.network.kill("bob")
    assert await ann.send(["bob", "carol"], b"two") == 2
    begun = story.disk.steps
    if crash_after is not None:
        story.disk.crash_at = begun + crash_after
    await ann.expel("bob", REASON)
    await story.go_on()
    steps = story.disk.steps - begun
    if story.has_crashed():
        ann = await story.ann_after_a_crash(kept_of_the_rest)
        await story.go_on()
        if not story.tells_expulsion_of("bob"):
            await ann.expel("bob", REASON)
            await story.go_on()
    story.disk.crash_at = None  # Commits may have been fewer and larger: then there was no crash.
    await story.network.close()
    return steps


def test_a_crash_at_any_step_of_an_expulsion_hides_no_loss() -> None:
    """The sync may be the last that a process did: all is on disk, and nobody was told."""
    steps = 0

    async def whole() -> None:
        nonlocal steps
        steps = await expel_the_dead(Story(), None, 0.0)

    run(whole())
    assert steps >= 2
    crashes = 0
    for crash_after in range(1, steps + 1):
        for kept_of_the_rest in (0.0, 1.0):
            story = Story()

            async def crashing(
                story: Story = story, after: int = crash_after, kept: float = kept_of_the_rest
            ) -> None:
                await expel_the_dead(story, after, kept)

            run(crashing())
            crashes += story.crashes
            assert story.given_up() == {("bob", 2)}, f"step {crash_after}, {kept_of_the_rest}"
            assert story.tells_expulsion_of("bob")
    assert crashes >= 2


async def leave_out_the_absent(story: Story, crash_after: int | None, kept: float) -> int:
    """Ann sends to Carol and Bob, who has left; how many steps her disk took for that."""
    ann = await story.open_ann()
    bob = await story.network.open_node("bob")
    carol = await story.network.open_node("carol")
    received: list[bytes] = []
    carol.on_message(lambda message: received.append(message.payload))
    await ann.send(["bob", "carol"], b"one")
    await story.go_on()
    closing = asyncio.ensure_future(bob.close())
    while ann.peers["bob"] != "away":
        await story.go_on(1)
    await closing
    begun = story.disk.steps
    if crash_after is not None:
        story.disk.crash_at = begun + crash_after
    # It returns when the message is on disk: never, if the disk fails before.
    sending = asyncio.ensure_future(ann.send(["bob", "carol"], b"two"))
    await story.go_on()
    sending.cancel()
    steps = story.disk.steps - begun
    if story.has_crashed():
        ann = await story.ann_after_a_crash(kept)
        await story.go_on(200)
    # The message and the word on whom it left out are one commit: both are there, or neither.
    assert received == ([b"one", b"two"] if ("bob", 2) in story.given_up() else [b"one"])
    ann.abandon()
    carol.abandon()
    return steps


def test_a_crash_at_any_step_of_a_message_hides_nobody_whom_it_left_out() -> None:
    steps = 0

    async def whole() -> None:
        nonlocal steps
        steps = await leave_out_the_absent(Story(), None, 0.0)

    run(whole())
    assert steps >= 2
    told = 0
    for crash_after in range(1, steps + 1):
        for kept_of_the_rest in (0.0, 1.0):
            story = Story()

            async def crashing(
                story: Story = story, after: int = crash_after, kept: float = kept_of_the_rest
            ) -> None:
                await leave_out_the_absent(story, after, kept)

            run(crashing())
            assert story.crashes == 1
            told += len(story.given_up())
    assert told >= 1


def test_what_was_told_is_not_told_again() -> None:
    async def whole() -> None:
        story = Story()
        await expel_the_dead(story, None, 0.0)
        told = len(story.told)
        assert story.given_up() == {("bob", 2)}
        ann = await story.ann_after_a_crash(0.0)
        await story.go_on()
        assert not [r for r in story.told[told:] if isinstance(r, Undeliverable | PeerExpelled)]
        ann.abandon()

    run(whole())


def test_what_was_told_to_somebody_who_did_not_take_it_is_told_again() -> None:
    """As when a line of output was still waiting for its reader."""

    async def whole() -> None:
        story = Story()
        ann = await story.open_ann()
        waiting: list[Callable[[], None]] = []
        ann.journal.report_with(waiting.append)
        await story.network.open_node("bob")
        await ann.send("bob", b"one")
        await story.go_on()
        story.network.kill("bob")
        await ann.send("bob", b"two")
        await ann.expel("bob", REASON)
        await story.go_on()
        assert story.given_up() == {("bob", 2)}
        story.told.clear()
        ann = await story.ann_after_a_crash(0.0)
        await story.go_on()
        assert story.given_up() == {("bob", 2)}
        await ann.journal.sync()
        story.told.clear()
        ann = await story.ann_after_a_crash(0.0)
        await story.go_on()
        assert story.given_up() == set()
        ann.abandon()

    run(whole())


def test_nobody_is_told_before_somebody_listens() -> None:
    async def whole() -> None:
        story = Story()
        ann = await story.open_ann()
        never: list[Callable[[], None]] = []
        ann.journal.report_with(never.append)
        await story.network.open_node("bob")
        await ann.send("bob", b"one")
        await story.go_on()
        story.network.kill("bob")
        await ann.send("bob", b"two")
        await ann.expel("bob", REASON)
        await story.go_on()
        story.network.kill("ann")
        story.told.clear()
        ann = await story.network.open_node("ann", journal="in-memory")
        await story.go_on()
        ann.on_event(story.told.append)
        await story.go_on()
        assert story.given_up() == {("bob", 2)}
        ann.abandon()

    run(whole())


@pytest.mark.parametrize("kept_of_the_rest", [0.0, 1.0])
def test_what_a_life_that_was_expelled_had_not_delivered_is_told(kept_of_the_rest: float) -> None:
    """By itself when it hears of it; if it crashes right then, by the one that comes after it."""

    async def whole() -> None:
        story = Story()
        ann = await story.open_ann()
        bob = await story.network.open_node("bob")
        await story.network.open_node("carol")
        await ann.send(["bob", "carol"], b"one")
        await story.go_on()
        story.network.cut("ann", "carol")
        life = ann.incarnation
        await ann.send("carol", b"two")
        await story.go_on()
        story.disk.crash_at = story.disk.steps + 2  # The sync of what comes next.
        await bob.expel("ann", REASON)
        await story.go_on(200)
        assert story.has_crashed()
        assert story.given_up() == set()
        ann = await story.ann_after_a_crash(kept_of_the_rest)
        await story.go_on(200)
        assert story.given_up() == {("carol", 2)}
        if kept_of_the_rest == 1.0:
            assert ann.incarnation != life
            assert Undeliverable(name="carol", sequences=(2,), life=life) in story.told
        else:
            assert ann.incarnation == life
            assert isinstance(story.told[-1], NodeFenced)
        ann.abandon()

    run(whole())
