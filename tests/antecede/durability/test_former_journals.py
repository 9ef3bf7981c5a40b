"""A journal of a former version is read by this one: nothing in it is lost without a word.

It was written by commit 0af83f8, in which messages waited for the next node of a name: alice had
sent to bob and carol, bob had left, carol had been killed, and then alice was, too. Two messages
waited for the next bob alone, one for him and carol, one for carol. A message of carol's had been
delivered and not confirmed.
"""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path

import antecede
from antecede.events import PeerExpelled, Undeliverable
from antecede.runtime.node import Node

WRITTEN = """
QU5URUpSTkwBAAAAp0pOTC0AAADHnR+XAAAAAAAAAAAVAAAAQN/1ocXDkpgDBWFsaWNlaHlicmlkBAAAAEUAAAACAAAA
CQECAAAAAQCnSk5MMwAAAGK4LNsBAAAAAAAAAAgAAABBAQAAAGJvYgoAAABBAgAAAGNhcm9sBAAAAEUCAQANAAAAAgEB
AgECdG8gYm90aKdKTkwoAAAAsIOaXQIAAAAAAAAADwAAAEEB1ZeixcOSmAMAAGJvYhEAAABBAoCdosXDkpgDAABjYXJv
bKdKTkwuAAAAjqrCVAMAAAAAAAAAFAAAAEwBAgEFY2Fyb2xmcm9tIGNhcm9sAwAAAAQBAQMAAAAEAgEEAAAAAwIBAKdK
Tkw1AAAA9C4dJAQAAAAAAAAACAAAAEEDAAAEYm9iBAAAAEUDAgEdAAAAAgIBAQN3YWl0cyBmb3IgdGhlIG5leHQgYm9i
IDCnSk5MMAAAAAfrV8EFAAAAAAAAAAMAAAAEAQEEAAAARQMDAR0AAAACAwEBA3dhaXRzIGZvciB0aGUgbmV4dCBib2Ig
MadKTkwkAAAANwTyygYAAAAAAAAABAAAAEUDBAEYAAAAAgQBAgMCZm9yIGJvdGgsIG9uZSBhd2F5p0pOTB4AAACLbZnr
BwAAAAAAAAAEAAAARQMFARIAAAACBQEBAmNhcm9sIGlzIGRlYWQ=
"""
INCARNATION = 1_795_039_582_255_839


async def opened(folder: Path, told: list[object]) -> Node:
    """Alice, back with that journal."""
    folder.mkdir()
    (folder / "journal-0000000001.log").write_bytes(base64.b64decode(WRITTEN))
    node = await antecede.open_node("alice", journal=folder, expel="manual")
    node.on_event(told.append)
    return node


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is told when it is on disk."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_journal_from_before_the_rules_of_membership_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        told: list[object] = []
        alice = await opened(tmp_path / "journal", told)
        assert alice.incarnation == INCARNATION
        again = await alice.receive(10)
        assert (again.sender, again.payload, again.again) == ("carol", b"from carol", True)
        await until(lambda: len(told) == 1)
        # Whoever comes next under bob's name gets nothing that was meant for the one before.
        assert told == [Undeliverable(name="bob", sequences=(2, 3, 4))]
        # Carol was met, and may come back: what is for her is kept.
        assert dict(alice.peers) == {"carol": "here", "bob": "away"}
        await alice.expel("carol", "she is not coming back")
        await until(lambda: len(told) == 3)
        assert [type(report) for report in told[1:]] == [PeerExpelled, Undeliverable]
        assert told[-1] == Undeliverable(name="carol", sequences=(4, 5))
        alice.abandon()

    asyncio.run(story())
