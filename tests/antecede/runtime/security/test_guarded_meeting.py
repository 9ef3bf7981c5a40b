"""Nodes with keys meet, talk and restart; whoever has not the right key gets nothing."""

from random import Random

import pytest

from antecede.endpoint.endpoint import Endpoint
from antecede.events import PeerMet, PeerRefused, PeerRestarted
from antecede.network_model.faults import Faults
from antecede.runtime.security.keys import ClusterKey, ClusterRing
from antecede.runtime.security.noise_handshake import NoiseCrypto
from antecede.wire.frames import DATAGRAM
from antecede.wire.handshake import GREETING_SIZE, KEYED_HELLO, KEYED_WELCOME, write_unknown
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
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
from tests.antecede.runtime.security.guarded import (
    Ticks,
    everybody,
    guard_of,
    keyed_pair,
    met_keyed_pair,
    state_of,
)


def hellos(post: Post) -> list[Letter]:
    """The hellos that were carried so far."""
    return [letter for letter in post.carried if letter.data[0] == KEYED_HELLO]


def assert_talking(post: Post, one: Endpoint, other: Endpoint) -> None:
    """Each gets a message of the other."""
    submit(one, [BOB], b"from one", post.now_ns)
    submit(other, [ANN], b"from the other", post.now_ns)
    post.pass_time(SECOND)
    assert [m.payload for m in one.take_inbox()] == [b"from the other"]
    assert [m.payload for m in other.take_inbox()] == [b"from one"]


def test_nodes_with_keys_meet_and_talk() -> None:
    post, ann, bob = keyed_pair()
    post.pass_time(SECOND)
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert_talking(post, ann, bob)
    assert (ann.malformed, bob.malformed) == (0, 0)


def test_a_sealed_datagram_is_counted_once() -> None:
    post, ann, bob = met_keyed_pair()
    for _ in range(20):
        submit(ann, [BOB], b"x" * 1000, post.now_ns)
        post.pass_time(50 * MS)
    acks = session_of(bob, ANN).channel.acks
    assert int(acks.datagrams) == int(session_of(ann, BOB).datagrams_out) > 20
    again = next(letter for letter in reversed(post.carried) if letter.target == address_of(BOB))
    post.deliver(again)
    assert int(acks.duplicates) == 1


def test_a_node_meets_one_who_does_not_know_its_address() -> None:
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, guard=guard_of(ANN, {BOB: [BOB]})))
    bob = post.add(BOB, make_endpoint(BOB, guard=guard_of(BOB, {ANN: [ANN]})))
    introduce(ann, BOB, post.now_ns)
    bob.add_peer(ANN, None, 1, 1400, post.now_ns)
    post.pass_time(SECOND)
    assert_talking(post, ann, bob)


@pytest.mark.parametrize("seed", range(6))
def test_a_group_with_keys_on_a_bad_network_loses_and_reorders_nothing(seed: int) -> None:
    names = [ANN, BOB, CAT]
    faults = Faults(loss=0.2, duplication=0.1, reordering=0.2, reordering_ns=30 * MS)
    group = Group(names, faults, seed=seed, guards=everybody(names))
    random = Random(seed)
    for count in range(60):
        source = random.choice(names)
        group.send(source, [n for n in names if n != source], b"%d" % count)
        group.run_for(5 * MS)
    group.run_until(group.drained)
    group.run_for(5 * SECOND)
    group.assert_all_is_well()


def test_a_node_that_restarts_is_met_again_with_new_keys() -> None:
    post, ann, _ = met_keyed_pair()
    clock = Ticks(2_000_000)
    bob = post.add(
        BOB, make_endpoint(BOB, incarnation=2, guard=guard_of(BOB, {ANN: [ANN]}, clock=clock))
    )
    introduce(bob, ANN, post.now_ns)
    post.pass_time(3 * SECOND)
    assert PeerRestarted(name=BOB) in ann.reports
    assert_talking(post, ann, bob)


def test_a_node_that_restarts_and_waits_is_found_by_a_hint() -> None:
    """It knows no addresses: what the other goes on to send makes it say that it knows nothing."""
    post, ann, _ = met_keyed_pair()
    bob = post.add(BOB, make_endpoint(BOB, incarnation=2, guard=guard_of(BOB, {ANN: [ANN]})))
    bob.add_peer(ANN, None, 1, 1400, post.now_ns)
    submit(ann, [BOB], b"to the past", post.now_ns)
    post.pass_time(3 * SECOND)
    ann.take_inbox()
    bob.take_inbox()
    assert PeerRestarted(name=BOB) in ann.reports
    assert_talking(post, ann, bob)


def test_one_secret_serves_a_whole_cluster() -> None:
    cluster, other = ClusterKey(bytes(32)), ClusterKey(bytes(31) + b"1")
    guards = {name: NoiseCrypto(ClusterRing(cluster, name), Ticks()) for name in (ANN, BOB)}
    guards[CAT] = NoiseCrypto(ClusterRing(other, CAT), Ticks())
    group = Group([ANN, BOB, CAT], guards=guards)
    group.send(ANN, [BOB], b"inside")
    group.send(CAT, [BOB], b"outside")
    group.run_for(20 * SECOND)
    assert group.payloads(BOB) == [b"inside"]
    assert not session_of(group.nodes[CAT], BOB).met


WRONG = {
    "another key than was given for it": (guard_of(ANN, {BOB: [BOB]}, key="mallory"), None),
    "another key of the other side": (guard_of(ANN, {BOB: ["robert"]}), None),
    "both swapped": (guard_of(ANN, {BOB: [ANN]}, key=BOB), None),
    "an old key": (guard_of(ANN, {BOB: [BOB]}, key="old"), guard_of(BOB, {ANN: ["new", ANN]})),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_with_a_wrong_key_nobody_is_met_and_nothing_changes(wrong: str) -> None:
    post, ann, bob = keyed_pair(*WRONG[wrong])
    submit(ann, [BOB], b"secret", post.now_ns)
    before = state_of(bob)[3:]
    post.pass_time(20 * SECOND)
    assert not session_of(ann, BOB).met
    assert state_of(bob)[3:] == before
    assert bob.take_inbox() == []
    assert not any(letter.data[0] == KEYED_WELCOME for letter in post.carried)
    assert [type(report) for report in bob.reports] in ([], [PeerRefused])


def test_a_peer_changes_its_key_while_both_are_known() -> None:
    post, ann, bob = keyed_pair(
        guard_of(ANN, {BOB: [BOB]}, key="new"), guard_of(BOB, {ANN: [ANN, "new"]})
    )
    post.pass_time(SECOND)
    assert_talking(post, ann, bob)


def test_plaintext_and_keys_do_not_mix_and_both_say_so() -> None:
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, guard=guard_of(ANN, {BOB: [BOB]})))
    bob = post.add(BOB)
    introduce(ann, BOB, post.now_ns)
    introduce(bob, ANN, post.now_ns)
    post.pass_time(5 * SECOND)
    assert not session_of(ann, BOB).met
    assert not session_of(bob, ANN).met
    assert [report.name for report in ann.reports if isinstance(report, PeerRefused)] == [BOB]
    assert [report.name for report in bob.reports if isinstance(report, PeerRefused)] == [ANN]


def test_a_plain_datagram_with_the_right_token_is_dropped() -> None:
    post, ann, bob = met_keyed_pair()
    token = int(session_of(bob, ANN).token_out).to_bytes(8, "little")
    before = state_of(ann)
    for mark in range(256):
        data = bytes([DATAGRAM, mark]) + token + bytes([5, 0, 0x85]) + bytes(20)
        post.deliver(Letter(address_of(BOB), address_of(ANN), data))
    assert state_of(ann) == before
    assert ann.malformed == 256


def test_the_wire_shows_neither_names_nor_payloads() -> None:
    post, ann, bob = keyed_pair()
    submit(ann, [BOB], b"a payload that nobody else should read" * 50, post.now_ns)
    submit(bob, [ANN], b"an answer that nobody else should read", post.now_ns)
    post.pass_time(5 * SECOND)
    assert len(ann.take_inbox()) == len(bob.take_inbox()) == 1
    captured = b"|".join(letter.data for letter in post.carried)
    for word in (b"nobody else", b"hybrid", b"\x03ann", b"\x03bob"):
        assert word not in captured, word


def test_every_nonce_is_used_once() -> None:
    """The header of a datagram begins with its key's mark, its token and its number."""
    post, ann, bob = keyed_pair()
    lossy = Random(14)
    for _ in range(200):
        submit(ann, [BOB], b"x" * 300, post.now_ns)
        submit(bob, [ANN], b"y" * 300, post.now_ns)
        post.pass_time(20 * MS, lose=lambda _letter: lossy.random() < 0.2)
        ann.take_inbox()
        bob.take_inbox()
    seen: dict[bytes, bytes] = {}
    for letter in post.carried:
        if letter.data[0] == DATAGRAM:
            assert seen.setdefault(letter.data[:12], letter.data) == letter.data
    assert len(seen) > 200


def test_recorded_hellos_change_nothing_and_get_no_new_answer() -> None:
    post, ann, bob = met_keyed_pair()
    recorded = list(post.carried)
    assert hellos(post)
    for letter in recorded * 2:
        before = state_of(ann), state_of(bob)
        post.deliver(letter)
        assert (state_of(ann), state_of(bob)) == before
        answers = [a for a in post.collect() if a.data[0] == KEYED_WELCOME]
        assert all(answer in recorded for answer in answers)
    assert_talking(post, ann, bob)


def test_hellos_recorded_before_a_restart_of_their_sender_are_refused() -> None:
    """The answer, one in a while, tells nobody anything but who made the hello."""
    post, ann, _ = met_keyed_pair()
    recorded = [letter for letter in hellos(post) if letter.target == address_of(ANN)]
    clock = Ticks(2_000_000)
    bob = post.add(
        BOB, make_endpoint(BOB, incarnation=2, guard=guard_of(BOB, {ANN: [ANN]}, clock=clock))
    )
    introduce(bob, ANN, post.now_ns)
    post.pass_time(3 * SECOND)
    before = state_of(ann)
    for letter in recorded * 5:
        post.deliver(letter)
        assert state_of(ann) == before
    answers = [letter for letter in post.collect() if letter.data[0] == KEYED_WELCOME]
    assert len(answers) <= 1
    before = state_of(bob)
    for letter in answers:
        assert len(letter.data) < GREETING_SIZE
        post.deliver(letter)
        assert state_of(bob) == before


def test_a_handshake_reflected_to_its_sender_is_nothing() -> None:
    post, ann, bob = keyed_pair()
    letters = post.collect()
    for letter in letters:
        own = ann if letter.source == address_of(ANN) else bob
        before = state_of(own)[3:]
        post.deliver(Letter(letter.target, letter.source, letter.data))
        assert state_of(own)[3:] == before
    assert [letter for letter in post.collect() if letter.data[0] == KEYED_WELCOME] == []


def test_a_forged_hint_costs_no_more_than_a_hello_a_second() -> None:
    post, ann, bob = met_keyed_pair()
    token = int(session_of(ann, BOB).token_out)
    post.carried.clear()
    for _ in range(500):
        post.deliver(Letter("anywhere", address_of(ANN), write_unknown(token)), after_ns=10 * MS)
        post.carry()
    assert 1 <= len(hellos(post)) <= 7
    assert (ann.reports, bob.reports) == ([], [])
    assert_talking(post, ann, bob)


def test_no_answer_is_larger_than_its_hello() -> None:
    post, _, _ = keyed_pair()
    post.pass_time(SECOND)
    sizes = {letter.data[0]: len(letter.data) for letter in post.carried}
    assert sizes[KEYED_HELLO] == GREETING_SIZE
    assert sizes[KEYED_WELCOME] < GREETING_SIZE


def test_mutated_and_cut_datagrams_change_nothing() -> None:
    """Whatever was carried, with a bit flipped or an end missing, wherever it comes from."""
    post, ann, bob = met_keyed_pair()
    submit(ann, [BOB], b"payload" * 30, post.now_ns)
    submit(bob, [ANN], b"payload" * 30, post.now_ns)
    post.pass_time(SECOND)
    ann.take_inbox()
    bob.take_inbox()
    recorded = list(post.carried)
    random = Random(14)
    before = state_of(ann), state_of(bob)
    for count in range(4000):
        letter = random.choice(recorded)
        data = bytearray(letter.data)
        if count % 3:
            # A token that means nothing is answered with a hint: that is no change either.
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        else:
            del data[random.randrange(len(data)) :]
        source = random.choice([letter.source, "elsewhere"])
        post.deliver(Letter(source, letter.target, bytes(data)))
        assert (state_of(ann), state_of(bob)) == before, (count, bytes(data))
    assert_talking(post, ann, bob)
