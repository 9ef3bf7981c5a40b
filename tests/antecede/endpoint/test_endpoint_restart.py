"""A peer that dies and comes back is somebody else: its past is never taken for its present."""

from dataclasses import dataclass
from itertools import permutations

import pytest

from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.events import (
    PeerBack,
    PeerExpelled,
    PeerMet,
    PeerRestarted,
    PeerSilent,
    Undeliverable,
)
from antecede.membership.contact import ContactState
from antecede.network_model.faults import Faults
from antecede.wire.frames import DATAGRAM
from antecede.wire.handshake import HELLO, WELCOME, write_unknown
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    MTU,
    SECOND,
    Group,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    met_pair,
    pair,
    process_of,
    session_of,
    submit,
)


@dataclass
class Story:
    """Ann talks with Bob, who is killed; `past` is everything that was on the way until then."""

    post: Post
    ann: Endpoint
    past: list[Letter]

    def restart(self, *, knows_ann: bool = True) -> Endpoint:
        """Bob again, at the same address, remembering nothing."""
        bob = self.post.add(BOB, make_endpoint(BOB, incarnation=2))
        if knows_ann:
            introduce(bob, ANN, self.post.now_ns)
        else:
            bob.add_peer(ANN, None, process_of(ANN), MTU, self.post.now_ns)
        return bob


def killed() -> Story:
    """Messages were exchanged; some of Ann's, and some of Bob's, never arrived."""
    post, ann, bob = pair()
    post.pass_time(SECOND)
    submit(ann, [BOB], b"a1", post.now_ns)
    submit(bob, [ANN], b"b1", post.now_ns)
    post.pass_time(SECOND)
    submit(bob, [ANN], b"b2", post.now_ns)
    submit(ann, [BOB], b"a2", post.now_ns)
    submit(ann, [BOB], b"a3", post.now_ns)
    past = post.carried + post.collect()
    post.waiting.clear()
    del post.nodes[address_of(BOB)]
    assert [message.payload for message in ann.take_inbox()] == [b"b1"]
    ann.reports.clear()
    return Story(post, ann, past)


def payloads(endpoint: Endpoint) -> list[bytes]:
    return [message.payload for message in endpoint.take_inbox()]


@pytest.mark.parametrize("knows_ann", [True, False], ids=["says hello", "is found"])
def test_a_peer_that_restarts_is_recognised_and_reported(knows_ann: bool) -> None:
    story = killed()
    story.post.pass_time(3 * SECOND)
    assert story.ann.buffered() == 2
    bob = story.restart(knows_ann=knows_ann)
    story.post.pass_time(20 * SECOND)

    assert story.ann.reports == [
        PeerRestarted(name=BOB),
        Undeliverable(name=BOB, sequences=(2, 3)),
    ]
    assert bob.reports == [PeerMet(name=ANN)]
    assert story.ann.buffered() == 0
    assert payloads(bob) == [], "what was for the old one is not for the new one"

    submit(story.ann, [BOB], b"a4", story.post.now_ns)
    submit(bob, [ANN], b"new b1", story.post.now_ns)
    story.post.pass_time(SECOND)
    assert (payloads(bob), payloads(story.ann)) == ([b"a4"], [b"new b1"])


@pytest.mark.parametrize("order", ["hybrid", "hybrid-sps", "hybrid-csps", "fifo", "none"])
def test_what_the_dead_one_missed_is_reported_whatever_the_order(order: str) -> None:
    limits = Limits(send_bytes=1 << 16)
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, order=order, limits=limits))
    for name in (BOB, CAT):
        other = post.add(name, make_endpoint(name, order=order))
        introduce(ann, name, 0)
        introduce(other, ANN, 0)
    post.pass_time(SECOND)
    submit(ann, [BOB], b"a1", post.now_ns)
    post.pass_time(SECOND)
    del post.nodes[address_of(BOB)]
    submit(ann, [BOB, CAT], b"a2", post.now_ns)
    submit(ann, [BOB], bytes(3 * MTU), post.now_ns)
    post.pass_time(SECOND)
    large = int(ann.sending.last_sequence())
    assert ann.owes(session_of(ann, BOB)) == large - 1
    assert ann.sending.bytes_held > 3 * MTU
    assert not ann.sending.is_delivered(2)

    bob = post.add(BOB, make_endpoint(BOB, incarnation=2, order=order))
    introduce(bob, ANN, post.now_ns)
    post.pass_time(3 * SECOND)
    assert Undeliverable(name=BOB, sequences=(2, 3)) in ann.reports
    assert (ann.buffered(), ann.sending.bytes_held) == (0, 0)
    assert ann.sending.is_delivered(large)
    submit(ann, [BOB], b"to the new one", post.now_ns)
    post.pass_time(SECOND)
    assert payloads(bob) == [b"to the new one"]


def test_what_was_already_delivered_is_not_reported() -> None:
    story = killed()
    story.restart()
    story.post.pass_time(SECOND)
    (report,) = [r for r in story.ann.reports if isinstance(r, Undeliverable)]
    assert 1 not in report.sequences


@pytest.mark.parametrize("lost", range(5))
@pytest.mark.parametrize("knows_ann", [True, False], ids=["says hello", "is found"])
def test_a_restart_is_recognised_although_a_greeting_is_lost(lost: int, knows_ann: bool) -> None:
    """The first, the second, … of what follows is lost, whatever it is."""
    story = killed()
    bob = story.restart(knows_ann=knows_ann)
    seen = []

    def lose(letter: Letter) -> bool:
        seen.append(letter)
        return len(seen) == lost + 1

    story.post.pass_time(20 * SECOND, lose=lose)
    assert story.ann.reports[0] == PeerRestarted(name=BOB)
    assert len(story.ann.reports) == 2
    submit(story.ann, [BOB], b"a4", story.post.now_ns)
    story.post.pass_time(5 * SECOND)
    assert payloads(bob) == [b"a4"]


def test_nothing_of_a_dead_incarnation_is_taken_for_the_new_one() -> None:
    story = killed()
    bob = story.restart()
    story.post.pass_time(3 * SECOND)
    reports = list(story.ann.reports)
    for letter in story.past:
        story.post.deliver(letter)
        story.post.carry()
    story.post.pass_time(5 * SECOND)

    assert payloads(story.ann) == []
    assert payloads(bob) == []
    assert story.ann.reports == reports
    assert bob.reports == [PeerMet(name=ANN)]
    assert story.ann.directory.stale > 0
    submit(story.ann, [BOB], b"a4", story.post.now_ns)
    submit(bob, [ANN], b"new b1", story.post.now_ns)
    story.post.pass_time(SECOND)
    assert (payloads(bob), payloads(story.ann)) == ([b"a4"], [b"new b1"])


@pytest.mark.parametrize("greets", [True, False], ids=["Ann greets too", "Ann is greeted"])
@pytest.mark.parametrize("before", [HELLO, DATAGRAM], ids=["hello", "data"])
def test_the_past_may_come_back_while_a_new_incarnation_is_being_met(
    before: int, greets: bool
) -> None:
    """All datagrams of the dead one again, just before a certain kind from the living arrives."""
    story = killed()
    story.ann.remove_peer(BOB, story.post.now_ns)
    address = address_of(BOB) if greets else None
    story.ann.add_peer(BOB, address, process_of(BOB), MTU, story.post.now_ns)
    story.ann.reports.clear()
    bob = story.restart()
    replayed: list[Letter] = []

    def replay(letter: Letter) -> bool:
        if letter.data[0] == before and letter.target == address_of(ANN) and not replayed:
            for old in story.past:
                replayed.append(old)
                story.post.deliver(old)
        return False

    story.post.pass_time(SECOND, lose=replay)
    sessions = session_of(story.ann, BOB), session_of(bob, ANN)
    assert replayed
    story.post.pass_time(30 * SECOND)
    assert (story.ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert (session_of(story.ann, BOB), session_of(bob, ANN)) == sessions
    submit(story.ann, [BOB], b"a4", story.post.now_ns)
    submit(bob, [ANN], b"new b1", story.post.now_ns)
    story.post.pass_time(SECOND)
    assert (payloads(bob), payloads(story.ann)) == ([b"a4"], [b"new b1"])


def test_an_old_hello_and_a_forged_unknown_do_not_end_a_session() -> None:
    """The hello of a dead one makes a candidate; the unknown makes us greet the living one."""
    story = killed()
    bob = story.restart()
    story.post.pass_time(3 * SECOND)
    hello = next(
        letter
        for letter in story.past
        if letter.data[0] == HELLO and letter.target == address_of(ANN)
    )
    reports = list(story.ann.reports)
    submit(story.ann, [BOB], b"a4", story.post.now_ns)
    story.post.deliver(hello)
    token = int(session_of(story.ann, BOB).token_out)
    for _ in range(3):
        story.post.deliver(Letter("forger", address_of(ANN), write_unknown(token)))
        story.post.pass_time(SECOND)

    assert story.ann.reports == reports
    assert bob.reports == [PeerMet(name=ANN)]
    assert payloads(bob) == [b"a4"]


def test_a_late_welcome_of_a_dead_incarnation_does_not_end_a_session() -> None:
    """Both incarnations of Bob answered the same hello of Ann's."""
    post, ann, _ = pair()
    ann.expire(post.now_ns)
    (hello,) = [letter for letter in post.collect() if letter.source == address_of(ANN)]
    post.waiting.clear()
    post.deliver(hello)
    late = next(letter for letter in post.collect() if letter.data[0] == WELCOME)
    post.waiting.clear()

    bob = post.add(BOB, make_endpoint(BOB, incarnation=2))
    introduce(bob, ANN, post.now_ns)
    post.deliver(hello)
    post.pass_time(SECOND)
    assert session_of(ann, BOB).met
    submit(ann, [BOB], b"a1", post.now_ns)
    post.deliver(late)
    post.pass_time(20 * SECOND)
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert payloads(bob) == [b"a1"]


def test_what_a_dead_incarnation_sent_with_our_token_is_not_taken_for_the_next_ones() -> None:
    """Bob was told Ann's token and died before Ann heard of him; his datagrams come too late."""
    post, ann, bob = pair()
    submit(bob, [ANN], b"of the dead", post.now_ns)
    ann.expire(post.now_ns)
    bob.expire(post.now_ns)
    to_ann = [letter for letter in post.collect() if letter.target == address_of(ANN)]
    hello = next(letter for letter in post.waiting if letter.target == address_of(BOB))
    post.waiting.clear()
    for letter in to_ann:
        post.deliver(letter)
    for letter in post.collect():
        post.deliver(letter)
    late = [letter for letter in post.collect() if letter.data[0] == DATAGRAM]
    assert late
    assert not session_of(ann, BOB).met

    post.waiting.clear()
    bob = post.add(BOB, make_endpoint(BOB, incarnation=2))
    bob.add_peer(ANN, None, process_of(ANN), MTU, post.now_ns)
    submit(bob, [ANN], b"of the living", post.now_ns)
    post.deliver(hello)
    (welcome,) = post.collect()
    post.deliver(welcome)
    for letter in late:
        post.deliver(letter)
    assert ann.reports == [PeerMet(name=BOB)], "the dead one"
    post.pass_time(3 * SECOND)
    assert ann.reports == [PeerMet(name=BOB), PeerRestarted(name=BOB)]
    assert payloads(ann) == [b"of the dead", b"of the living"], "each the first of its sender"


ORDERS = list(permutations(["live", "dead", "deader"]))


def hello_of(name: str, incarnation: int, target: str) -> Letter:
    """The first hello of a node."""
    post = Post()
    node = post.add(name, make_endpoint(name, incarnation=incarnation))
    introduce(node, target, post.now_ns)
    node.expire(post.now_ns)
    (letter,) = post.collect()
    return letter


@pytest.mark.parametrize("greets", [True, False], ids=["Ann greets too", "Ann is greeted"])
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_old_hellos_among_new_ones_change_nothing(order: tuple[str, ...], greets: bool) -> None:
    """Bob's first hello, and those of two of his former lives, in any order."""
    post = Post()
    ann = post.add(ANN)
    bob = post.add(BOB, make_endpoint(BOB, incarnation=3))
    ann.add_peer(BOB, address_of(BOB) if greets else None, process_of(BOB), MTU, post.now_ns)
    introduce(bob, ANN, post.now_ns)
    ann.expire(post.now_ns)
    bob.expire(post.now_ns)
    post.collect()
    live = next(letter for letter in post.waiting if letter.source == address_of(BOB))
    post.waiting.remove(live)
    letters = {"live": live, "dead": hello_of(BOB, 2, ANN), "deader": hello_of(BOB, 1, ANN)}
    for which in order:
        post.deliver(letters[which])
    submit(ann, [BOB], b"a1", post.now_ns)
    submit(bob, [ANN], b"b1", post.now_ns)
    post.pass_time(20 * SECOND)

    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert (payloads(bob), payloads(ann)) == ([b"a1"], [b"b1"])


def test_many_old_hellos_take_no_memory() -> None:
    post, ann, bob = met_pair()
    for incarnation in range(10, 60):
        post.deliver(hello_of(BOB, incarnation, ANN))
    assert len(ann.directory.by_name[BOB].candidates) <= 4
    post.waiting.clear()
    post.pass_time(SECOND)
    submit(bob, [ANN], b"b1", post.now_ns)
    post.pass_time(SECOND)
    assert payloads(ann) == [b"b1"]
    assert ann.reports == []


def test_a_living_peer_that_was_removed_is_fenced_and_comes_back_as_another() -> None:
    """Forgetting somebody who has not left is an expulsion: nothing of him is taken any more."""
    post, ann, bob = met_pair()
    submit(bob, [ANN], b"b1", post.now_ns)
    post.collect()
    post.waiting.clear()
    ann.remove_peer(BOB, post.now_ns)
    introduce(ann, BOB, post.now_ns)
    post.pass_time(10 * SECOND)
    assert bob.fenced is not None
    assert (bob.fenced.by, bob.fenced.reason) == (ANN, "removed")

    bob = post.add(BOB, make_endpoint(BOB, incarnation=2))
    introduce(bob, ANN, post.now_ns)
    post.pass_time(10 * SECOND)
    submit(bob, [ANN], b"b2", post.now_ns)
    submit(ann, [BOB], b"a1", post.now_ns)
    post.pass_time(SECOND)
    assert (payloads(bob), payloads(ann)) == ([b"a1"], [b"b2"])


def test_a_removed_peer_is_reported_undeliverable_and_refused() -> None:
    post, ann, bob = met_pair()
    sent = [submit(ann, [BOB], b"x", post.now_ns) for _ in range(3)]
    ann.remove_peer(BOB, post.now_ns)
    expelled, undeliverable = ann.reports
    assert isinstance(expelled, PeerExpelled)
    assert undeliverable == Undeliverable(name=BOB, sequences=tuple(sent))
    assert (expelled.by, expelled.undelivered) == (ANN, tuple(sent))
    assert (ann.buffered(), ann.sessions()) == (0, [])
    submit(bob, [ANN], b"b1", post.now_ns)
    post.pass_time(5 * SECOND)
    assert payloads(ann) == []
    assert bob.fenced is not None


def test_a_restart_frees_others_from_waiting() -> None:
    """What Cat may do with a message that was for Bob too depended on Bob, who is gone."""
    group = Group([ANN, BOB, CAT], log=False)
    group.run_for(SECOND)
    group.kill(BOB)
    group.send(ANN, [BOB, CAT], b"to both")
    group.run_for(SECOND)
    group.send(CAT, [ANN], b"free at once")
    group.send(CAT, [CAT, ANN], b"held back?")
    group.run_for(SECOND)
    assert [held.missing for held in group.nodes[CAT].held_back()] == []

    bob = make_endpoint(BOB, incarnation=2)
    for name in (ANN, CAT):
        introduce(bob, name, group.now_ns)
    group.add(BOB, bob)
    group.run_for(5 * SECOND)
    assert group.drained()
    assert group.reports(ANN)[-1] == Undeliverable(name=BOB, sequences=(1,))
    assert group.payloads(CAT) == [b"to both", b"held back?"]


def test_permits_that_a_dead_peer_owed_stay_missing() -> None:
    """Waiving them without fencing would be unsafe; what waits for them is told."""
    group = Group([ANN, BOB, CAT], log=False)
    group.run_for(SECOND)
    group.kill(ANN)
    group.send(BOB, [ANN], b"not delivered")
    group.send(BOB, [CAT], b"flagged, because of Ann")
    group.run_for(SECOND)
    group.kill(BOB)
    ann = make_endpoint(ANN, incarnation=2)
    introduce(ann, CAT, group.now_ns)
    group.add(ANN, ann)
    group.run_for(3 * SECOND)
    group.send(CAT, [ANN], b"waits")
    group.run_for(10 * SECOND)

    (held,) = group.nodes[CAT].held_back()
    assert repr(held.missing) == "[2 of 2]", "message 2 of Cat's session 2, which is Bob"
    assert group.payloads(ANN) == []


@pytest.mark.parametrize("targets", [[BOB], [BOB, CAT]], ids=["alone", "among others"])
def test_a_large_payload_to_a_peer_that_dies_is_reported_as_one(targets: list[str]) -> None:
    group = Group([ANN, BOB, CAT], limits=Limits(send_limit=5), log=False)
    group.run_for(SECOND)
    group.kill(BOB)
    payload = bytes(range(256)) * 400
    sequence = group.send(ANN, targets, payload)
    assert not group.nodes[ANN].sending.large_is_done(), "the parts do not fit at once"
    bob = make_endpoint(BOB, incarnation=2)
    introduce(bob, ANN, group.now_ns)
    group.add(BOB, bob)
    group.run_for(5 * SECOND)

    assert group.reports(ANN)[-2:] == [
        PeerRestarted(name=BOB),
        Undeliverable(name=BOB, sequences=(sequence,)),
    ]
    assert group.drained()
    assert group.payloads(BOB) == []
    assert group.payloads(CAT) == ([payload] if CAT in targets else [])
    group.send(ANN, [BOB], b"small")
    group.run_for(SECOND)
    assert group.payloads(BOB) == [b"small"]


@pytest.mark.parametrize("seed", range(8))
def test_restarts_on_a_bad_network_are_always_recognised(seed: int) -> None:
    """Bob is killed and restarted again and again; Ann hears of every one of his lives she met."""
    faults = Faults(
        loss=0.25,
        duplication=0.25,
        reordering=0.4,
        reordering_ns=400 * MS,
        faults_until_ns=40 * SECOND,
    )
    group = Group([ANN, BOB], faults, seed=seed, log=False)
    for life in range(2, 8):
        for number in range(5):
            group.send(ANN, [BOB], b"a%d in life %d" % (number, life - 1))
            group.send(BOB, [ANN], b"b%d in life %d" % (number, life - 1))
            group.run_for(100 * MS)
        group.kill(BOB)
        bob = make_endpoint(BOB, incarnation=life)
        introduce(bob, ANN, group.now_ns)
        group.add(BOB, bob)
        group.run_for(10 * MS)
    group.run_for(60 * SECOND)
    assert group.drained()

    lives = [payload.split()[-1] for payload in group.payloads(ANN)]
    assert lives == sorted(lives), "no life comes back after a later one"
    for payloads_at in (group.payloads(ANN), group.payloads(BOB)):
        assert len(set(payloads_at)) == len(payloads_at)
    for each in set(lives):
        of_life = [p for p in group.payloads(ANN) if p.endswith(b" " + each)]
        assert of_life == [b"b%d in life %s" % (n, each) for n in range(len(of_life))]
    reports = group.reports(ANN)
    assert reports[0] == PeerMet(name=BOB)
    assert 1 <= reports.count(PeerRestarted(name=BOB)) <= 6

    group.send(ANN, [BOB], b"last")
    group.send(BOB, [ANN], b"last")
    group.run_for(SECOND)
    assert group.payloads(ANN)[-1] == group.payloads(BOB)[-1] == b"last"


def test_a_peer_that_is_met_again_and_falls_silent_at_once_is_reported_again() -> None:
    """Its welcome arrives, and nothing that it says afterwards."""
    post, ann, bob = met_pair()
    del post.nodes[address_of(BOB)]
    post.pass_time(20 * SECOND)
    assert [type(report) for report in ann.reports] == [PeerSilent]
    ann.reports.clear()

    bob = post.add(BOB, make_endpoint(BOB))  # From its journal: the same incarnation.
    introduce(bob, CAT, post.now_ns)  # So Ann gets another token than before.
    introduce(bob, ANN, post.now_ns)
    former = session_of(ann, BOB).token_out
    post.pass_time(
        20 * SECOND,
        lose=lambda letter: letter.source == address_of(BOB) and letter.data[0] == DATAGRAM,
    )
    assert session_of(ann, BOB).token_out != former
    assert [type(report) for report in ann.reports] == [PeerBack, PeerSilent]
    assert ann.directory.by_name[BOB].state == ContactState.SILENT
