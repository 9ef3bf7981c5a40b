"""Attackers: those off the path make things up, those on it have all that was ever said."""

from random import Random

import pytest

from antecede.link.faults import Faults
from antecede.link.latency import Constant
from antecede.link.reports import PeerMet
from antecede.wire.greeting import KEYED_HELLO, KEYED_WELCOME
from tests.link.endpoints import ANN, BOB, MS, SECOND, Group, address_of, submit
from tests.live.security.guarded import everybody, keyed_pair, made_up_hello, state_of

CAMPAIGN = 1_000_000
"""Datagrams in all that a long campaign disturbs."""


@pytest.mark.parametrize("knows_the_key", [False, True])
def test_forged_hellos_do_not_disturb_a_join(knows_the_key: bool) -> None:
    """150 a second to each of two nodes that meet over 50 ms, as if from each other."""
    names = [ANN, BOB]
    group = Group(names, Faults(latency=Constant(25 * MS)), guards=everybody(names))
    random = Random(14)
    for count in range(60):
        group.send(ANN, [BOB], b"%d" % count)
    for _ in range(150):
        for source, target in ((ANN, BOB), (BOB, ANN)):
            forged = made_up_hello(random, target, knows_the_key=knows_the_key)
            group.nodes[target].receive(address_of(source), forged, group.now_ns)
            group.network.collect(address_of(target))
        group.run_for(1000 * MS // 150)
    assert group.payloads(BOB) == [b"%d" % count for count in range(60)]
    assert [r for r in group.reports(BOB) if isinstance(r, PeerMet)] == [PeerMet(name=ANN)]


def attack(count: int, seed: int) -> None:
    """Two nodes talk; somebody on the path changes, cuts, redirects and makes up datagrams.

    None of that may change anything, and everything arrives.
    """
    post, ann, bob = keyed_pair()
    random = Random(seed)
    got: list[bytes] = []
    sent: list[bytes] = []
    for turn in range(count):
        if turn % 100 == 0:
            sent.append(b"message %d" % turn)
            node, peer = random.choice([(ann, BOB), (bob, ANN)])
            submit(node, [peer], sent[-1], post.now_ns)
            post.pass_time(20 * MS)
            got += [message.payload for node in (ann, bob) for message in node.take_inbox()]
            del post.carried[:-300]
        letter = random.choice(post.carried)
        node = post.nodes[letter.target]
        before = state_of(node)
        source = random.choice([letter.source, letter.target, "elsewhere"])
        node.receive(source, disturbed(letter.data, random), post.now_ns)
        assert state_of(node) == before, (seed, turn)
        node.out.clear()
    post.pass_time(20 * SECOND)
    got += [message.payload for node in (ann, bob) for message in node.take_inbox()]
    assert sorted(got) == sorted(sent)
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])


def disturbed(data: bytes, random: Random) -> bytes:
    """Changed, cut, grown, of another kind, or made up."""
    changed = bytearray(data)
    how = random.randrange(6)
    if how == 0:
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    elif how == 1:
        del changed[random.randrange(len(changed)) :]
    elif how == 2:
        changed += random.randbytes(1 + random.randrange(40))
    elif how == 3:
        changed[0] = random.choice([0xA1, 0xA2, 0xA3, KEYED_HELLO, KEYED_WELCOME]) ^ (
            changed[0] == KEYED_HELLO
        )
    elif how == 4:
        changed[1] = (changed[1] + 1 + random.randrange(255)) % 256
    else:
        changed = bytearray(random.randbytes(random.randrange(1, 1300)))
    return bytes(changed) if bytes(changed) != data else b"\xa5"


def test_nothing_that_was_changed_on_the_way_changes_anything() -> None:
    attack(6_000, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_a_campaign_of_changed_datagrams_changes_nothing(seed: int) -> None:
    attack(CAMPAIGN // 4, seed)
