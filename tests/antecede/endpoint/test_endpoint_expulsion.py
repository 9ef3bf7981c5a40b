"""Going on without somebody: the dead mute nobody, the living are told, order is kept."""

from dataclasses import dataclass

import pytest

from antecede.core.errors import LocalError
from antecede.endpoint.endpoint import Endpoint
from antecede.events import NodeFenced, PeerExpelled, PeerRestarted
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    DAN,
    MTU,
    SECOND,
    Group,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    session_of,
    submit,
)


@dataclass
class Blocked:
    """Bob has died owing Cat a permit, so Cat's message to Dan waits."""

    post: Post
    nodes: dict[str, Endpoint]

    def payloads(self, name: str) -> list[bytes]:
        return [message.payload for message in self.nodes[name].take_inbox()]


def to_ann(letter: Letter) -> bool:
    return letter.target == address_of(ANN)


def blocked() -> Blocked:
    """Bob writes to Ann (lost) and then to Cat, and dies before Ann has what came first."""
    post = Post()
    names = (ANN, BOB, CAT, DAN)
    nodes = {name: post.add(name) for name in names}
    for name in names:
        for other in names:
            if other != name:
                introduce(nodes[name], other, post.now_ns)
    post.pass_time(SECOND)
    submit(nodes[BOB], [ANN], b"to ann", post.now_ns)
    submit(nodes[BOB], [CAT], b"to cat", post.now_ns)
    post.carry(lose=to_ann)
    assert [message.payload for message in nodes[CAT].take_inbox()] == [b"to cat"]
    del post.nodes[address_of(BOB)]
    submit(nodes[CAT], [DAN], b"after", post.now_ns)
    for name in names:
        nodes[name].reports.clear()
    post.pass_time(60 * SECOND)
    assert nodes[DAN].take_inbox() == []
    return Blocked(post, nodes)


def expulsions(endpoint: Endpoint) -> list[tuple[str, str, str]]:
    return [(r.name, r.by, r.reason) for r in endpoint.reports if isinstance(r, PeerExpelled)]


def test_who_waits_for_the_dead_goes_on_when_anybody_expels_it() -> None:
    """Not even the one who waits has to decide it: the news travels."""
    story = blocked()
    story.nodes[ANN].expel(BOB, "the disk died", story.post.now_ns)
    story.post.pass_time(5 * SECOND)
    assert story.payloads(DAN) == [b"after"]
    for name in (ANN, CAT, DAN):
        assert expulsions(story.nodes[name]) == [(BOB, ANN, "the disk died")]
        assert story.nodes[name].held_back() == []


def test_a_restart_heals_by_itself() -> None:
    """Nobody calls anything: whoever meets the new incarnation expels the former one."""
    story = blocked()
    bob = story.post.add(BOB, make_endpoint(BOB, incarnation=2))
    introduce(bob, CAT, story.post.now_ns)
    story.post.pass_time(10 * SECOND)
    assert story.payloads(DAN) == [b"after"]
    assert PeerRestarted(name=BOB) in story.nodes[CAT].reports
    submit(bob, [CAT], b"again", story.post.now_ns)
    story.post.pass_time(SECOND)
    assert story.payloads(CAT) == [b"again"]


def test_a_living_node_that_is_expelled_is_told_and_stops() -> None:
    post = Post()
    ann, bob = post.add(ANN), post.add(BOB)
    introduce(ann, BOB, 0)
    introduce(bob, ANN, 0)
    post.pass_time(SECOND)
    ann.expel(BOB, "too slow", post.now_ns)
    submit(bob, [ANN], b"in vain", post.now_ns)
    post.pass_time(5 * SECOND)
    assert bob.fenced == NodeFenced(name=BOB, by=ANN, reason="too slow", told_by=ANN)
    assert ann.take_inbox() == []
    bob.write(post.now_ns)
    assert bob.out == []


def test_a_message_to_a_dead_peer_is_reported_and_does_not_hold_up_others() -> None:
    post = Post()
    nodes = {name: post.add(name) for name in (ANN, BOB, CAT)}
    for name, node in nodes.items():
        for other in nodes:
            if other != name:
                introduce(node, other, 0)
    post.pass_time(SECOND)
    del post.nodes[address_of(BOB)]
    ann = nodes[ANN]
    sequence = submit(ann, [BOB, CAT], b"x", post.now_ns)
    post.pass_time(SECOND)
    assert ann.owes(session_of(ann, BOB)) == 1
    ann.expel(BOB, "", post.now_ns)
    post.pass_time(SECOND)
    assert ann.buffered() == 0
    [expelled] = [report for report in ann.reports if isinstance(report, PeerExpelled)]
    assert expelled.undelivered == (sequence,)


def test_nothing_of_the_expelled_is_taken_after_the_news_has_come() -> None:
    """Bob's datagram was under way when Ann expelled him: Cat hears of that first."""
    post = Post()
    nodes = {name: post.add(name) for name in (ANN, BOB, CAT)}
    for name, node in nodes.items():
        for other in nodes:
            if other != name:
                introduce(node, other, 0)
    post.pass_time(SECOND)
    submit(nodes[BOB], [CAT], b"slow", post.now_ns)
    slow = post.collect()
    post.waiting.clear()
    nodes[ANN].expel(BOB, "", post.now_ns)
    submit(nodes[ANN], [CAT], b"after the expulsion", post.now_ns)
    post.pass_time(2 * SECOND, lose=lambda letter: letter.source == address_of(BOB))
    for letter in slow:
        post.deliver(letter)
    post.pass_time(SECOND)
    assert [message.payload for message in nodes[CAT].take_inbox()] == [b"after the expulsion"]


def test_one_that_has_only_greeted_is_not_met_after_the_news_of_its_expulsion() -> None:
    """Bob has Cat's token already when she hears of it."""
    post = Post()
    ann, bob, cat = (post.add(name) for name in (ANN, BOB, CAT))
    for one, other in ((ann, BOB), (bob, ANN), (ann, CAT), (cat, ANN)):
        introduce(one, other, post.now_ns)
    post.pass_time(SECOND)
    introduce(bob, CAT, post.now_ns)
    cat.add_peer(BOB, None, 2, 1_400, post.now_ns)
    bob.expire(post.now_ns)
    for letter in post.collect():
        post.deliver(letter)  # Bob's hello.
    post.waiting.clear()
    [welcome] = [letter for letter in post.collect() if letter.target == address_of(BOB)]
    post.waiting.clear()
    ann.expel(BOB, "", post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: BOB in letter.source + letter.target)
    post.deliver(welcome)
    submit(bob, [CAT], b"of the expelled", post.now_ns)
    post.pass_time(SECOND, lose=lambda letter: ANN in letter.source + letter.target)
    assert cat.take_inbox() == []
    assert not session_of(cat, BOB).met


def test_only_those_that_were_met_can_be_expelled() -> None:
    post = Post()
    ann = post.add(ANN)
    introduce(ann, BOB, 0)
    with pytest.raises(LocalError, match="never been met"):
        ann.expel(BOB, "", 0)
    with pytest.raises(LocalError, match="not a peer"):
        ann.expel(CAT, "", 0)


def test_news_of_many_expulsions_leaves_in_pieces_that_fit() -> None:
    """Forty lives of Bob are over; of each name only the newest is told, in datagrams that fit."""
    post = Post()
    ann, cat = post.add(ANN), post.add(CAT)
    introduce(ann, CAT, 0)
    introduce(cat, ANN, 0)
    ann.add_peer(BOB, None, 2, 1_400, 0)
    for life in range(1, 40):
        bob = post.add(BOB, make_endpoint(BOB, incarnation=life))
        introduce(bob, ANN, post.now_ns)
        post.pass_time(SECOND)
    submit(ann, [CAT], b"x", post.now_ns)
    post.pass_time(SECOND)
    assert [message.payload for message in cat.take_inbox()] == [b"x"]
    assert session_of(ann, CAT).notices.is_empty()


@pytest.mark.parametrize("seed", range(6))
def test_random_traffic_with_deaths_and_expulsions_keeps_its_order(seed: int) -> None:
    """Whoever is killed is expelled by somebody; the rest is delivered, in causal order."""
    group = Group((ANN, BOB, CAT, DAN), seed=seed)
    group.run_for(SECOND)
    names = [ANN, BOB, CAT, DAN]
    for turn in range(40):
        source = names[(turn * 7 + seed) % len(names)]
        others = [name for name in names if name != source]
        group.send(source, others[: 1 + turn % 2], b"%d" % turn)
        group.run_for(5_000_000)
        if turn == 20:
            group.kill(BOB)
            names.remove(BOB)
            group.run_for(50_000_000)
            group.nodes[ANN].expel(BOB, "killed", group.now_ns)
    group.run_until(lambda: all(group.nodes[name].buffered() == 0 for name in names), 60 * SECOND)
    for name in names:
        assert BOB in [report.name for report in group.reports(name)]
    group.assert_all_is_well()


@pytest.mark.parametrize("knows_the_way", [True, False])
@pytest.mark.parametrize("lives", [1, 2])
def test_who_was_expelled_is_told_by_one_that_it_never_met(knows_the_way: bool, lives: int) -> None:
    """Whoever decided it is gone; another one has only heard of it, of a later life perhaps."""
    post = Post()
    ann, bob, cat = (post.add(name) for name in (ANN, BOB, CAT))
    for one, other in ((ann, BOB), (bob, ANN), (ann, CAT), (cat, ANN), (cat, BOB)):
        introduce(one, other, post.now_ns)
    bob.add_peer(CAT, address_of(CAT) if knows_the_way else None, 3, MTU, post.now_ns)
    apart = {address_of(BOB), address_of(CAT)}
    post.pass_time(SECOND, lose=lambda letter: {letter.source, letter.target} == apart)
    for incarnation in range(2, lives + 1):
        later = post.add(BOB, make_endpoint(BOB, incarnation=incarnation))
        introduce(later, ANN, post.now_ns)
        post.pass_time(SECOND, lose=lambda letter: {letter.source, letter.target} == apart)
    del post.nodes[address_of(BOB)]
    ann.expel(BOB, "suspected", post.now_ns)
    post.pass_time(SECOND)
    assert cat._expulsions.is_expelled(BOB, lives)
    del post.nodes[address_of(ANN)]
    post.add(BOB, bob)
    post.pass_time(60 * SECOND)
    assert bob.fenced == NodeFenced(name=BOB, by=ANN, reason="suspected", told_by=CAT)
    assert cat.session_of(BOB) is not None
    assert not session_of(cat, BOB).met
