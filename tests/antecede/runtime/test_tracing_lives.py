"""The logs of several lives of the same nodes in one folder."""

import asyncio
from pathlib import Path

import pytest

import antecede
from antecede.runtime.config.names import process_id
from antecede_audit.eventlog import read_events
from antecede_audit.judging import check_log, explain_verdict
from tests.antecede.runtime.killed_peers import meet_and_kill
from tests.antecede.runtime.processes.groups import free_address


async def exchange(folder: Path, alice_at: str, bob_at: str) -> None:
    """One life of Alice and Bob; she writes to him before they have met, and afterwards."""
    alice = await antecede.open_node("alice", bind=alice_at, peers={"bob": bob_at}, trace=folder)
    early = asyncio.create_task(alice.send(["bob", "alice"], b"early"))
    await asyncio.sleep(0)
    bob = await antecede.open_node("bob", bind=bob_at, peers={"alice": alice_at}, trace=folder)
    for node in (alice, bob):
        assert (await node.receive(30)).payload == b"early"
    assert await early == 1
    await alice.send("bob", b"late")
    await bob.receive(30)
    await asyncio.gather(alice.close(), bob.close())


@pytest.mark.parametrize("lives", [1, 3])
def test_everybody_may_live_again_and_write_into_the_same_folder(
    lives: int, tmp_path: Path
) -> None:
    for _ in range(lives):
        asyncio.run(exchange(tmp_path, free_address(), free_address()))

    verdict = check_log(read_events(tmp_path))

    assert verdict.ok, explain_verdict(verdict)
    assert (verdict.processes, verdict.deliveries) == (2 * lives, 3 * lives)


def test_what_is_sent_to_somebody_who_was_killed_is_in_the_log_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        alice = await antecede.open_node("alice", trace=tmp_path)
        await meet_and_kill(alice, "bob")
        await meet_and_kill(alice, "carol")
        await alice.send("bob", b"in vain")
        await alice.send(["carol", "alice"], b"to carol")
        alice.remove_peer("carol")
        alice.abandon()

    asyncio.run(story())
    rows = [(event.kind, event.sequence, event.target) for event in read_events(tmp_path)]
    me, bob, carol = (process_id(name) for name in ("alice", "bob", "carol"))
    submitted = [("submitted", 1, bob), ("submitted", 2, me), ("submitted", 2, carol)]
    assert rows == [*submitted, ("delivered", 2, me)]
