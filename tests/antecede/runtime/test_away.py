"""Targets that are not here: new ones are waited for, others left out, waited for, or refused."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

import pytest

from antecede.events import PeerLeft, PeerRestarted, Report, Undeliverable
from antecede.runtime.errors import (
    BufferFull,
    PayloadTooLarge,
    PeerAway,
    PeerGone,
    TimedOut,
    UnknownPeer,
)
from antecede.runtime.listeners import Listeners
from antecede.runtime.node import Node
from antecede.testing import TestNetwork

SECONDS = 60.0

Story = Callable[[TestNetwork, Node, list[Report]], Awaitable[None]]


def play(story: Story, away: str = "skip", **settings: object) -> None:
    """Let alice, whose events are listed, meet bob and carol; bob then leaves politely."""

    async def stage() -> None:
        async with TestNetwork() as network:
            reports: list[Report] = []
            alice = await network.open_node(
                "alice", on_event=reports.append, settings={"away": away, **settings}
            )
            bob = await network.open_node("bob")
            await network.open_node("carol")
            await network.settle()
            await bob.close()
            await network.settle()
            assert PeerLeft(name="bob") in reports
            assert alice.peers == {"bob": "away", "carol": "here"}
            assert alice.online == ("carol",)
            await story(network, alice, reports)

    asyncio.run(asyncio.wait_for(stage(), SECONDS))


def ready(network: TestNetwork, name: str) -> list[bytes]:
    """The payloads that a node has not received yet."""
    return [message.payload for message in network.nodes()[name].receive_ready()]


def left_out(reports: Iterable[Report]) -> list[tuple[str, tuple[int, ...]]]:
    """Who was left out of which messages."""
    return [
        (report.name, report.sequences)
        for report in reports
        if isinstance(report, Undeliverable) and report.why == "left out"
    ]


async def waits(task: "asyncio.Task[int]") -> bool:
    """Whether a send still waits after some turns of the loop."""
    for _ in range(20):
        await asyncio.sleep(0)
    return not task.done()


# Peers that have left.


def test_who_has_left_is_left_out_and_that_is_reported_for_every_message() -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        sent = [await alice.send(["bob", "carol"], b"%d" % number) for number in range(300)]
        assert left_out(reports) == [("bob", (sequence,)) for sequence in sent]
        await alice.flush(SECONDS)  # It says nothing of who was left out.
        await network.settle()
        assert ready(network, "carol") == [b"%d" % number for number in range(300)]
        assert str(alice.explain()) == "nothing is waiting"
        assert str(alice.health()) == "ok"

        await network.open_node("bob")
        await network.settle()
        assert PeerRestarted(name="bob") in reports
        assert alice.peers == {"bob": "here", "carol": "here"}
        await alice.send(["bob", "carol"], b"together again")
        await network.settle()
        assert ready(network, "bob") == ready(network, "carol") == [b"together again"]
        assert len(left_out(reports)) == 300

    play(story)


def test_that_a_peer_is_left_out_is_counted_and_logged_once_in_a_while(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("antecede.runtime.listeners.time.monotonic", lambda: clock[0])

    async def story(_: TestNetwork, alice: Node, __: list[Report]) -> None:
        listeners: Listeners = alice._listeners
        for _number in range(3):
            await alice.send(["bob", "carol"], b"x")
        clock[0] += 5.0
        await alice.send(["bob", "carol"], b"x")
        assert listeners.left_out == {"bob": 4}
        assert listeners.undeliverable == {}

    caplog.set_level(logging.WARNING)
    play(story)
    said = [record.message for record in caplog.records if "left out" in record.message]
    assert said == [
        "alice: bob is away: left out of 1 message",
        "alice: bob is away: left out of 3 messages",
    ]


def test_a_message_for_nobody_who_is_here_is_an_error() -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        for targets in ("bob", ["bob"]):
            with pytest.raises(PeerAway, match="'bob' is away"):
                await alice.send(targets, b"x")
            with pytest.raises(PeerGone):  # The former name.
                alice.try_send(targets, b"x")
        assert left_out(reports) == []
        assert await alice.send("carol", b"the first") == 1
        # Whoever sends it is here.
        assert await alice.send(["bob", "alice"], b"to myself") == 2
        assert left_out(reports) == [("bob", (2,))]
        await network.settle()
        assert ready(network, "alice") == [b"to myself"]

    play(story)


def test_a_message_can_be_refused_because_of_one_who_is_away() -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        with pytest.raises(PeerAway, match="'bob' is away"):
            await alice.send(["carol", "bob"], b"x")
        with pytest.raises(PeerAway):
            alice.try_send(["carol", "bob"], b"x")
        assert await alice.send("carol", b"the first") == 1
        await network.settle()
        assert ready(network, "carol") == [b"the first"]
        assert left_out(reports) == []

    play(story, "refuse")


def test_a_message_can_wait_for_one_who_is_away_and_holds_up_only_its_own_targets() -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        await network.open_node("dave")
        await network.settle()
        sends = [
            asyncio.create_task(alice.send(targets, payload))
            for targets, payload in (
                ("bob", b"0"),
                (["bob", "carol"], b"1"),
                ("carol", b"2"),
                (["carol", "bob"], b"3"),
            )
        ]
        await asyncio.sleep(0)
        with pytest.raises(BufferFull, match="bob is away"):
            alice.try_send("bob", b"x")
        assert await alice.send("dave", b"at once") == 1
        assert alice.try_send(["dave", "alice"], b"at once") == 2
        await network.settle()
        assert ready(network, "dave") == [b"at once"] * 2
        assert [await waits(task) for task in sends] == [True] * 4
        assert ready(network, "carol") == []

        await network.open_node("bob")
        assert await asyncio.gather(*sends) == [3, 4, 5, 6], "in the order of the calls"
        await network.settle()
        assert ready(network, "bob") == [b"0", b"1", b"3"]
        assert ready(network, "carol") == [b"1", b"2", b"3"]
        assert left_out(reports) == []

    play(story, "wait")


def test_the_return_of_a_name_that_was_expelled_is_waited_for_too() -> None:
    async def story(network: TestNetwork, alice: Node, reports: list[Report]) -> None:
        await alice.expel("carol")
        assert alice.peers == {"bob": "away", "carol": "away"}
        sending = asyncio.create_task(alice.send(["bob", "carol"], b"to both"))
        await network.settle()
        for name in ("bob", "carol"):
            assert await waits(sending)
            if name == "carol":
                assert network.nodes()["carol"].closed, "it was told"
            await network.open_node(name)
            await network.settle()
        await sending
        await network.settle()
        assert ready(network, "bob") == ready(network, "carol") == [b"to both"]
        assert left_out(reports) == []

    play(story, "wait", expel="manual")


def test_a_send_that_waits_gives_up_in_time_and_those_behind_it_go_on() -> None:
    async def story(network: TestNetwork, alice: Node, _: list[Report]) -> None:
        first = asyncio.create_task(alice.send(["bob", "carol"], b"never", timeout=0.05))
        cancelled = asyncio.create_task(alice.send("bob", b"never"))
        behind = asyncio.create_task(alice.send("carol", b"behind"))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(TimedOut, match=r"send did not finish within 50\.0 ms.*'bob'"):
            await first
        assert await behind == 1
        await network.open_node("bob")
        await network.settle()
        assert await alice.send("bob", b"now", timeout=SECONDS) == 2
        await network.settle()
        assert (ready(network, "bob"), ready(network, "carol")) == ([b"now"], [b"behind"])

    play(story, "wait")


def test_a_send_ends_when_the_peer_that_it_waits_for_is_removed() -> None:
    async def story(_: TestNetwork, alice: Node, __: list[Report]) -> None:
        sending = asyncio.create_task(alice.send(["bob", "carol"], b"x"))
        assert await waits(sending)
        alice.remove_peer("bob")
        with pytest.raises(UnknownPeer):
            await sending

    play(story, "wait")


# Peers that are new.


async def alone(network: TestNetwork, *peers: str, **settings: object) -> tuple[Node, list[Report]]:
    """Alice, with peers that are not there yet, and her events."""
    reports: list[Report] = []
    alice = await network.open_node(
        "alice", peers=list(peers), on_event=reports.append, settings=settings
    )
    return alice, reports


def test_who_is_new_is_waited_for_and_sends_leave_in_the_order_of_the_calls() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice, reports = await alone(network, "bob", "carol", meet_within=600)
            assert alice.peers == {"bob": "new", "carol": "new"}
            early = [
                asyncio.create_task(alice.send(targets, b"%d" % number))
                for number, targets in enumerate(("bob", ["carol", "bob"], "carol", "bob"))
            ]
            await asyncio.sleep(0)
            with pytest.raises(BufferFull, match="bob has not been met yet; try later"):
                alice.try_send("bob", b"x")
            await network.open_node("bob")
            assert await early[0] == 1
            assert not any(task.done() for task in early[1:]), "carol is in front of the others"
            await network.open_node("carol")
            assert await asyncio.gather(*early[1:]) == [2, 3, 4]
            late = alice.try_send("bob", b"4")
            assert late == 5
            await network.settle()
            assert ready(network, "bob") == [b"0", b"1", b"3", b"4"]
            assert ready(network, "carol") == [b"1", b"2"]
            assert left_out(reports) == []

    asyncio.run(asyncio.wait_for(story(), SECONDS))


@pytest.mark.parametrize("away", ["skip", "refuse", "wait"])
def test_who_is_not_met_in_time_is_away(away: str) -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice, reports = await alone(network, "bob", meet_within=2, away=away)
            begun_ns = network.now_ns
            await network.open_node("carol")
            sending = asyncio.create_task(alice.send(["carol", "bob"], b"x"))
            meeting = asyncio.create_task(alice.meet("bob"))
            while alice.peers["bob"] == "new":
                assert not sending.done()
                assert not meeting.done()
                await asyncio.sleep(0)
            assert 2_000_000_000 <= network.now_ns - begun_ns < 2_100_000_000
            assert alice.peers == {"bob": "away", "carol": "here"}
            await meeting
            await alice.meet()  # Nobody is new.
            if away == "skip":
                assert await sending == 1
                assert left_out(reports) == [("bob", (1,))]
            elif away == "refuse":
                with pytest.raises(PeerAway):
                    await sending
            else:
                assert await waits(sending)
            await network.open_node("bob")
            await network.settle()
            assert alice.peers["bob"] == "here"
            assert ready(network, "bob") == ([b"x"] if away == "wait" else [])
            assert ready(network, "carol") == ([] if away == "refuse" else [b"x"])
            await alice.send("bob", b"welcome")
            await network.settle()
            assert ready(network, "bob") == [b"welcome"]

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_all_targets_are_looked_at_again_after_a_wait() -> None:
    """One leaves while another is waited for; all are given as an iterator, which serves once."""

    async def story() -> None:
        async with TestNetwork() as network:
            alice, reports = await alone(network, "bob", meet_within=600)
            carol = await network.open_node("carol")
            await alice.meet("carol")
            names = iter(["bob", "carol", "alice"])
            sending = asyncio.create_task(alice.send(names, b"x"))  # type: ignore[arg-type] # works
            assert await waits(sending)
            await carol.close()
            assert await waits(sending)
            await network.open_node("bob")
            assert await sending == 1
            assert left_out(reports) == [("carol", (1,))]
            await network.settle()
            assert ready(network, "bob") == ready(network, "alice") == [b"x"]

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_what_turns_out_to_be_too_large_for_a_new_peer_is_refused_when_it_is_met() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice, reports = await alone(network, "bob", meet_within=600)
            sending = asyncio.create_task(alice.send(["bob", "alice"], bytes(100)))
            assert await waits(sending)
            await network.open_node("bob", payload_limit=10)
            with pytest.raises(PayloadTooLarge):
                await sending
            await network.settle()
            assert ready(network, "alice") == []
            assert not [report for report in reports if isinstance(report, Undeliverable)]

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_meeting_can_be_waited_for_by_name_and_only_so_long() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice, _ = await alone(network, "bob", "carol", meet_within=600)
            await network.open_node("bob")
            await alice.meet("bob")
            assert alice.peers == {"bob": "here", "carol": "new"}
            for names in ((), ("carol",), ("bob", "carol")):
                with pytest.raises(
                    TimedOut, match=r"meet did not finish .*: carol has never been met\. Call"
                ):
                    await alice.meet(*names, timeout=0.01)
            with pytest.raises(UnknownPeer, match="'dave'"):
                await alice.meet("dave")
            meeting = asyncio.create_task(alice.meet("carol"))
            await asyncio.sleep(0)
            alice.remove_peer("carol")
            await meeting

    asyncio.run(asyncio.wait_for(story(), SECONDS))


def test_with_no_time_to_meet_a_new_peer_is_away_until_it_comes() -> None:
    async def story() -> None:
        async with TestNetwork() as network:
            alice, _ = await alone(network, "bob", meet_within=0)
            with pytest.raises(PeerAway):
                await alice.send("bob", b"x", timeout=SECONDS)
            await network.open_node("bob")
            await network.settle()
            assert await alice.send("bob", b"y") == 1

    asyncio.run(asyncio.wait_for(story(), SECONDS))
