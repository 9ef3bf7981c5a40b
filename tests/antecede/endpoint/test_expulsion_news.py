"""What expelled nodes are told when they speak, and nodes that have expelled each other."""

from collections.abc import Callable

import pytest

from antecede.core.errors import LocalError
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.events import PeerExpelled, PeerRestarted, Split
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant
from antecede.wire.frames import DATAGRAM
from antecede.wire.handshake import UNKNOWN_SIZE
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    DAN,
    MS,
    SECOND,
    Group,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    met_pair,
    session_of,
    submit,
)
from tests.antecede.runtime.security.guarded import everybody, keyed_pair

Pair = Callable[[], tuple[Post, Endpoint, Endpoint]]

FOUR = (ANN, BOB, CAT, DAN)


def met_keyed_pair() -> tuple[Post, Endpoint, Endpoint]:
    """Two nodes with keys that have met."""
    post, ann, bob = keyed_pair()
    post.pass_time(SECOND)
    assert session_of(ann, BOB).met
    return post, ann, bob


PAIRS = pytest.mark.parametrize("pair", [met_pair, met_keyed_pair])


def of_token(token: int, size: int) -> bytes:
    """What somebody can make up who has seen a token."""
    return (bytes([DATAGRAM, 1]) + token.to_bytes(8, "little")).ljust(size, b"\x07")


@PAIRS
def test_an_expelled_node_may_be_told_many_times(pair: Pair) -> None:
    """Each time is a datagram with a number of its own: with keys a number is a nonce."""
    post, ann, bob = pair()
    submit(bob, [ANN], bytes(300), post.now_ns)
    bob.write(post.now_ns)
    said = [datagram.data for datagram in bob.out if len(datagram.data) > 300]
    bob.out.clear()
    ann.expel(BOB, "wrongly", post.now_ns)
    post.collect()
    told = []
    for _ in range(20):
        post.now_ns += 20 * MS
        ann.receive(address_of(BOB), said[0], post.now_ns)
        told += [letter.data for letter in post.collect() if letter.target == address_of(BOB)]
    assert len(told) >= 20
    assert len(set(told)) == len(told)
    post.pass_time(SECOND)
    assert bob.fenced is not None
    assert (bob.fenced.by, bob.fenced.reason) == (ANN, "wrongly")


@PAIRS
@pytest.mark.parametrize("size", [11, 16, 17, 18, 40, 60, 100, 500])
def test_who_has_seen_a_token_gets_no_more_bytes_than_it_sends(pair: Pair, size: int) -> None:
    post, ann, _ = pair()
    token = int(session_of(ann, BOB).token_in)
    ann.expel(BOB, "a reason of some length, of which there may be no room", post.now_ns)
    ann.write(post.now_ns)
    ann.out.clear()
    answered = 0
    for _ in range(50):
        post.now_ns += 20 * MS
        ann.receive("elsewhere", of_token(token, size), post.now_ns)
        ann.write(post.now_ns)
        sizes = [len(d.data) for d in ann.out if d.address == "elsewhere"]
        ann.out.clear()
        assert sum(sizes) <= size
        answered += len(sizes)
    assert (answered > 0) == (size >= UNKNOWN_SIZE)


@PAIRS
def test_an_expelled_node_that_only_pings_is_told(pair: Pair) -> None:
    """A ping is smaller than the word that it is expelled: it says hello, and is told then."""
    post, ann, bob = pair()
    ann.expel(BOB, "wrongly", post.now_ns)
    # Nothing that ann says of her own accord arrives: what is left are answers.
    ann.directory.by_name[BOB].address = None
    post.pass_time(20 * SECOND)
    assert bob.fenced is not None
    assert (bob.fenced.by, bob.fenced.reason) == (ANN, "wrongly")


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("latency_ns", [0, MS, 150 * MS])
def test_nodes_that_have_expelled_each_other_are_told_so_once(keyed: bool, latency_ns: int) -> None:
    guards = everybody(FOUR) if keyed else None
    group = Group(FOUR, Faults(latency=Constant(latency_ns)), guards=guards)
    group.run_for(5 * SECOND)
    for name in FOUR:
        for other in FOUR:
            if other != name:
                group.nodes[name].expel(other, "each other", group.now_ns)
    for name in FOUR:
        group.network.collect(address_of(name))
    group.run_for(60 * SECOND)
    for name in FOUR:
        reports = group.reports(name)
        assert group.nodes[name].fenced is None
        others = [other for other in FOUR if other != name]
        assert sorted(r.name for r in reports if isinstance(r, Split)) == others


def test_nodes_that_have_split_do_not_go_on_telling_each_other() -> None:
    post, ann, bob = met_pair()
    ann.expel(BOB, "", post.now_ns)
    bob.expel(ANN, "", post.now_ns)
    post.pass_time(60 * SECOND)
    carried = len(post.carried)
    post.pass_time(60 * SECOND)
    # Hellos, which are said for ever, and what each leads to: a welcome and the news, both ways.
    hellos = 2 * 60 * SECOND // (1600 * MS)
    assert len(post.carried) - carried <= 4 * (hellos + 2)


def test_of_two_that_split_also_the_one_that_knows_no_address_is_told() -> None:
    post = Post()
    ann, bob = post.add(ANN), post.add(BOB)
    ann.add_peer(BOB, None, 2, 1400, post.now_ns)
    introduce(bob, ANN, post.now_ns)
    post.pass_time(SECOND)
    ann.expel(BOB, "", post.now_ns)
    bob.expel(ANN, "", post.now_ns)
    post.pass_time(10 * SECOND)
    assert Split(name=BOB) in ann.reports
    assert Split(name=ANN) in bob.reports


def test_a_split_ends_when_one_of_the_two_is_restarted() -> None:
    post, ann, bob = met_pair()
    ann.expel(BOB, "", post.now_ns)
    bob.expel(ANN, "", post.now_ns)
    post.pass_time(10 * SECOND)
    again = post.add(BOB, make_endpoint(BOB, incarnation=2))
    introduce(again, ANN, post.now_ns)
    post.pass_time(10 * SECOND)
    assert PeerRestarted(name=BOB) in ann.reports
    submit(again, [ANN], b"together again", post.now_ns)
    post.pass_time(SECOND)
    assert [message.payload for message in ann.take_inbox()] == [b"together again"]
    assert ann.directory.splits() == []


def test_who_is_just_expelled_is_no_split() -> None:
    group = Group(FOUR, limits=Limits(heartbeat_ns=SECOND))
    group.run_for(5 * SECOND)
    group.nodes[ANN].expel(BOB, "", group.now_ns)
    group.network.collect(address_of(ANN))
    group.run_for(20 * SECOND)
    assert group.nodes[BOB].fenced is not None
    for name in FOUR:
        assert not [r for r in group.reports(name) if isinstance(r, Split)]


# Reasons that cannot be sent on.


def test_a_reason_that_cannot_be_encoded_is_refused_before_anything_changes() -> None:
    group = Group([ANN, BOB, CAT])
    group.run_for(SECOND)
    ann = group.nodes[ANN]
    group.reports(ANN)
    with pytest.raises(LocalError, match="reason"):
        ann.expel(BOB, "bad \ud800", group.now_ns)
    assert group.reports(ANN) == []
    for number in range(10):
        group.send(ANN, [BOB, CAT], b"%d" % number)
    group.run_until(group.drained)
    assert group.payloads(BOB) == group.payloads(CAT) == [b"%d" % n for n in range(10)]


@pytest.mark.parametrize("letter", ["\u202e", "\x1b", "\U000e0001", "ä", "x"])
def test_news_with_any_reason_is_told_on(letter: str) -> None:
    """What is escaped becomes longer, and must not be too long for those who hear of it later."""
    group = Group([ANN, BOB, CAT])
    group.run_for(SECOND)
    ann, cat = group.nodes[ANN], group.nodes[CAT]
    ann.expel(BOB, letter * 300, group.now_ns)
    group.network.collect(address_of(ANN))
    group.run_for(SECOND)
    dan = make_endpoint(DAN)
    group.add(DAN, dan)
    introduce(dan, CAT, group.now_ns)
    introduce(cat, DAN, group.now_ns)
    group.run_for(SECOND)
    group.send(CAT, [DAN], b"after the news")
    group.run_for(SECOND)
    assert group.payloads(DAN) == [b"after the news"]
    assert (dan.malformed, cat.malformed) == (0, 0)
    (heard,) = [report for report in group.reports(CAT) if isinstance(report, PeerExpelled)]
    assert heard.reason.isprintable()
    assert heard.reason


def test_a_letter_from_the_past_of_a_split_changes_nothing() -> None:
    """What the two told each other is repeated: nobody stops, and nobody is told again."""
    post, ann, bob = met_pair()
    ann.expel(BOB, "", post.now_ns)
    bob.expel(ANN, "", post.now_ns)
    post.pass_time(10 * SECOND)
    ann.reports.clear()
    bob.reports.clear()
    for letter in list(post.carried):
        post.deliver(Letter(letter.source, letter.target, letter.data))
    post.pass_time(SECOND)
    assert (ann.fenced, bob.fenced) == (None, None)
    assert (ann.reports, bob.reports) == ([], [])
