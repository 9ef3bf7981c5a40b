"""How two nodes get to know each other, and what greetings cannot do."""

from itertools import pairwise

import pytest
from librt.strings import BytesWriter

from antecede.core import LocalError
from antecede.core.process import NEVER_NS
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.events import PeerMet, PeerMoved, PeerRefused, StrangerSeen
from antecede.membership.contact import HELLO_DOUBLINGS_MAX, HELLO_NS
from antecede.membership.directory import PEERS_LIMIT
from antecede.network_model.faults import Faults
from antecede.wire.frames import DATAGRAM
from antecede.wire.handshake import (
    GREETING_SIZE,
    HELLO,
    MAGIC,
    REFUSE,
    UNKNOWN,
    VERSION,
    WELCOME,
    Greeting,
    write_greeting,
    write_refusal,
    write_unknown,
)
from antecede.wire.varint import write_varint
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


def test_peers_that_were_removed_take_no_place() -> None:
    ann = make_endpoint(ANN)
    for _ in range(PEERS_LIMIT + 1):
        ann.add_peer(BOB, None, 2, MTU, 0)
        ann.remove_peer(BOB, 0)


def test_strangers_that_have_left_make_room_for_others() -> None:
    """As many names as there may be have come and gone; those that stay, stay."""
    ann = make_endpoint(ANN)
    introduce(ann, BOB, SECOND)
    for number in range(PEERS_LIMIT - 1):
        name = f"stranger {number}"
        ann.add_peer(name, None, 2, MTU, SECOND, stranger=True)
        session_of(ann, name).lifecycle.meet(SECOND)
        if number != 7:
            session_of(ann, name).lifecycle.release()
    ann.add_peer(CAT, None, 3, MTU, SECOND, stranger=True)
    assert list(ann.directory.by_name) == [BOB, "stranger 7", CAT]


def greeting_of(name: str, target: str, incarnation: int, token: int) -> Greeting:
    """What a node with the usual order says."""
    greeting = Greeting(name, target, incarnation, token)
    greeting.order = "hybrid"
    return greeting


def is_kind(letter: Letter, *kinds: int) -> bool:
    return letter.data[0] in kinds


def kinds(post: Post) -> list[tuple[str, int]]:
    """Who was sent what kind of datagram so far."""
    return [(letter.source, letter.data[0]) for letter in post.carried]


def assert_talking(post: Post, one: Endpoint, other: Endpoint) -> None:
    """Both hear each other, and nothing was lost on the way there."""
    to_other = submit(one, [BOB], b"to bob", post.now_ns)
    to_one = submit(other, [ANN], b"to ann", post.now_ns)
    post.pass_time(3 * SECOND)
    assert [(m.sequence, m.payload) for m in other.take_inbox()][-1] == (to_other, b"to bob")
    assert [(m.sequence, m.payload) for m in one.take_inbox()][-1] == (to_one, b"to ann")
    assert one.buffered() == other.buffered() == 0


# Meeting.


def test_a_hello_a_welcome_and_a_datagram_are_enough() -> None:
    post = Post()
    ann, bob = post.add(ANN), post.add(BOB)
    introduce(ann, BOB, post.now_ns)
    bob.add_peer(ANN, None, process_of(ANN), MTU, post.now_ns)
    ann.expire(post.now_ns)
    post.carry()

    at_ann, at_bob = address_of(ANN), address_of(BOB)
    assert kinds(post)[:3] == [(at_ann, HELLO), (at_bob, WELCOME), (at_ann, DATAGRAM)]
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert session_of(ann, BOB).channel.path.round_trip.least_ns == 2 * MS
    assert_talking(post, ann, bob)


def test_a_peer_without_an_address_is_waited_for_quietly() -> None:
    ann = make_endpoint(ANN)
    ann.add_peer(BOB, None, process_of(BOB), MTU, SECOND)
    ann.expire(ann.wake_ns())  # It was not met in time.
    assert ann.wake_ns() == NEVER_NS
    ann.expire(2 * SECOND)
    ann.write(2 * SECOND)
    assert ann.out == []


def test_messages_wait_for_a_peer_that_starts_late() -> None:
    post = Post()
    ann = post.add(ANN)
    introduce(ann, BOB, post.now_ns)
    sent = [submit(ann, [BOB], b"%d" % number, post.now_ns) for number in range(50)]
    post.pass_time(20 * SECOND)
    assert ann.reports == []
    hellos = [letter for letter in post.carried if is_kind(letter, HELLO)]
    assert len(hellos) == len(post.carried)
    assert 10 < len(hellos) < 20, "they come less often as time goes by"

    bob = post.add(BOB)
    introduce(bob, ANN, post.now_ns)
    post.pass_time(3 * SECOND)
    assert [message.sequence for message in bob.take_inbox()] == sent
    assert ann.reports == [PeerMet(name=BOB)]


def test_hellos_are_repeated_at_growing_intervals() -> None:
    post = Post()
    ann = post.add(ANN)
    introduce(ann, BOB, post.now_ns)
    times = []
    for _ in range(9):
        post.now_ns = int(ann.wake_ns())
        ann.expire(post.now_ns)
        assert len(post.collect()) == 1
        times.append(post.now_ns)
    intervals = [after - before for before, after in pairwise(times)]
    assert intervals == [HELLO_NS << min(n, HELLO_DOUBLINGS_MAX) for n in range(8)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_hellos_that_cross_make_one_session(order: tuple[int, int]) -> None:
    post, ann, bob = pair()
    for node in (ann, bob):
        node.expire(post.now_ns)
    hellos = post.collect()
    assert [is_kind(letter, HELLO) for letter in hellos] == [True, True]
    post.waiting.clear()
    for index in order:
        post.deliver(hellos[index])
    post.carry()

    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert session_of(ann, BOB).token_out == session_of(bob, ANN).token_in
    assert session_of(bob, ANN).token_out == session_of(ann, BOB).token_in
    assert_talking(post, ann, bob)
    for hello in hellos:
        post.deliver(hello)
    assert_talking(post, ann, bob)
    assert (len(ann.reports), len(bob.reports)) == (1, 1)


@pytest.mark.parametrize("kind", [HELLO, WELCOME, DATAGRAM])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_lost_greetings_are_made_up_for(kind: int, count: int) -> None:
    post, ann, bob = pair()
    lost: list[Letter] = []

    def lose(letter: Letter) -> bool:
        if is_kind(letter, kind) and len(lost) < count:
            lost.append(letter)
            return True
        return False

    post.pass_time(10 * SECOND, lose=lose)
    assert len(lost) == count
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert_talking(post, ann, bob)


@pytest.mark.parametrize("seed", range(12))
def test_nodes_meet_once_on_a_network_that_loses_reorders_and_repeats(seed: int) -> None:
    faults = Faults(
        loss=0.4,
        duplication=0.4,
        reordering=0.5,
        reordering_ns=300 * MS,
        faults_until_ns=9 * SECOND,
    )
    group = Group([ANN, BOB, CAT], faults, seed=seed)
    group.run_for(15 * SECOND)
    for name, node in group.nodes.items():
        assert sorted(str(report) for report in node.reports) == [
            str(PeerMet(name=other)) for other in (ANN, BOB, CAT) if other != name
        ]


# Refusing.


def test_a_node_that_answers_to_another_name_refuses() -> None:
    post = Post()
    ann = post.add(ANN)
    post.add(CAT, address=address_of(BOB))
    introduce(ann, BOB, post.now_ns)
    post.pass_time(10 * SECOND)

    reason = "this is cat, not bob"
    assert ann.reports == [PeerRefused(name=BOB, address=address_of(BOB), reason=reason)]
    assert not session_of(ann, BOB).met


def test_a_stranger_is_refused_and_both_sides_are_told() -> None:
    post = Post()
    ann, bob = post.add(ANN), post.add(BOB)
    introduce(ann, BOB, post.now_ns)
    ann.expire(post.now_ns)
    post.carry()

    assert ann.reports == [
        PeerRefused(name=BOB, address=address_of(BOB), reason="ann is not one of bob's peers")
    ]
    told = "it is not one of our peers; add it with add_peer"
    assert bob.reports == [PeerRefused(name=ANN, address=address_of(ANN), reason=told)]
    assert bob.directory.denials.count == 1

    introduce(bob, ANN, post.now_ns)
    post.pass_time(3 * SECOND)
    assert ann.reports[-1] == PeerMet(name=BOB)
    assert_talking(post, ann, bob)


def test_somebody_who_is_refused_again_and_again_is_reported_once() -> None:
    post = Post()
    ann, bob = post.add(ANN), post.add(BOB)
    introduce(ann, BOB, post.now_ns)
    post.pass_time(10 * SECOND)
    assert bob.directory.denials.count > 1
    assert [type(report) for report in bob.reports] == [PeerRefused]

    introduce(bob, ANN, post.now_ns)
    post.pass_time(3 * SECOND)
    assert [type(report) for report in bob.reports] == [PeerRefused, PeerMet]


@pytest.mark.parametrize("others", ["none", "fifo", "hybrid-csps"])
def test_nodes_with_different_orders_refuse_each_other(others: str) -> None:
    post = Post()
    ann, bob = post.add(ANN), post.add(BOB, make_endpoint(BOB, order=others))
    introduce(ann, BOB, post.now_ns)
    introduce(bob, ANN, post.now_ns)
    post.pass_time(3 * SECOND)

    assert not session_of(ann, BOB).met
    assert not session_of(bob, ANN).met
    reasons = {report.reason for report in ann.reports if isinstance(report, PeerRefused)}
    assert reasons == {
        f"it has the order {others!r}, we 'hybrid'; set the same one on every node",
        f"bob has the order {others!r}; set the same one on every node",
    }


def test_where_strangers_are_welcome_they_are_reported_and_may_be_added() -> None:
    post = Post()
    ann = post.add(ANN)
    bob = post.add(BOB, make_endpoint(BOB, limits=Limits(open_to_strangers=True)))
    introduce(ann, BOB, post.now_ns)
    ann.expire(post.now_ns)
    post.carry()
    assert bob.reports == [StrangerSeen(name=ANN, address=address_of(ANN))]
    assert ann.reports == []

    bob.add_peer(ANN, None, process_of(ANN), MTU, post.now_ns)
    post.pass_time(3 * SECOND)
    assert bob.reports[-1] == PeerMet(name=ANN)
    assert_talking(post, ann, bob)


def greeting_of_the_future() -> bytes:
    """A hello in versions that are not spoken here, so that nothing after them can be read."""
    writer = BytesWriter()
    writer.write(bytes([HELLO]) + MAGIC)
    write_varint(writer, VERSION + 1)
    write_varint(writer, VERSION + 3)
    writer.write(b"\xff" * GREETING_SIZE)
    return writer.getvalue()


def test_a_hello_in_versions_not_spoken_here_is_refused_and_both_sides_are_told() -> None:
    post, ann, bob = pair()
    post.deliver(Letter(address_of(ANN), address_of(BOB), greeting_of_the_future()))
    assert bob.reports == [
        PeerRefused(
            name=ANN,
            address=address_of(ANN),
            reason="it speaks versions 5 to 7, we speak 2 to 4; upgrade the older one",
        )
    ]
    (answer,) = post.collect()
    assert is_kind(answer, REFUSE)
    post.deliver(answer)
    assert ann.reports == [
        PeerRefused(
            name=BOB,
            address=address_of(BOB),
            reason="bob speaks versions 2 to 4; upgrade the older one",
        )
    ]


def test_a_node_that_speaks_our_version_among_others_is_welcome() -> None:
    post, _, bob = pair()
    greeting = greeting_of(ANN, BOB, 77, 78)
    greeting.newest = VERSION + 5
    post.deliver(Letter(address_of(ANN), address_of(BOB), write_greeting(HELLO, greeting)))
    (answer,) = post.collect()
    assert is_kind(answer, WELCOME)
    assert bob.reports == []


def test_nobody_is_their_own_peer_or_a_peer_twice() -> None:
    ann = make_endpoint(ANN)
    introduce(ann, BOB, SECOND)
    with pytest.raises(LocalError, match="not its own peer"):
        introduce(ann, ANN, SECOND)
    with pytest.raises(LocalError, match="bob is a peer already"):
        introduce(ann, BOB, SECOND)
    with pytest.raises(LocalError, match="cat is not a peer"):
        ann.remove_peer(CAT, SECOND)


# What others may say about a session.


def test_a_forged_refusal_does_not_end_a_session() -> None:
    post, ann, bob = met_pair()
    forged = write_refusal(BOB, "go away")
    post.deliver(Letter(address_of(BOB), address_of(ANN), forged))
    assert ann.reports == []
    assert_talking(post, ann, bob)


def test_a_refusal_is_reported_once() -> None:
    post, ann, _ = pair()
    for _ in range(3):
        post.deliver(Letter(address_of(BOB), address_of(ANN), write_refusal(BOB, "go away")))
    assert ann.reports == [PeerRefused(name=BOB, address=address_of(BOB), reason="go away")]


def test_a_forged_word_that_a_token_is_unknown_does_not_end_a_session() -> None:
    post, ann, bob = met_pair()
    submit(ann, [BOB], b"on its way", post.now_ns)
    before = session_of(ann, BOB)
    for token in (int(before.token_out), 12345):
        for _ in range(3):
            post.deliver(Letter("anywhere", address_of(ANN), write_unknown(token)))
            post.pass_time(SECOND)
    assert session_of(ann, BOB) is before
    assert (ann.reports, bob.reports) == ([], [])
    assert_talking(post, ann, bob)
    assert [message.payload for message in bob.take_inbox()] == []


def test_a_datagram_with_a_token_that_means_nothing_is_answered_but_not_too_often() -> None:
    post, ann, _ = met_pair()
    data = bytes([DATAGRAM, 0]) + (77).to_bytes(8, "little") + bytes([1, 0]) + bytes(5)
    for _ in range(100):
        post.deliver(Letter("stranger", address_of(ANN), data), after_ns=MS // 10)
    answers = [letter for letter in post.collect() if letter.target == "stranger"]
    assert [answer.data for answer in answers] == [write_unknown(77)]
    assert ann.directory.stale == 100
    post.deliver(Letter("stranger", address_of(ANN), data[:-1]), after_ns=SECOND)
    assert [answer for answer in post.collect() if answer.target == "stranger"] == []
    assert ann.malformed == 0


@pytest.mark.parametrize("kind", [HELLO, WELCOME, REFUSE, UNKNOWN])
def test_greetings_repeated_by_the_network_change_nothing(kind: int) -> None:
    post, ann, bob = pair()
    post.pass_time(SECOND)
    greetings = [letter for letter in post.carried if is_kind(letter, kind)]
    sessions = session_of(ann, BOB), session_of(bob, ANN)
    for letter in greetings * 3:
        post.deliver(letter)
        post.pass_time(SECOND)
    assert (session_of(ann, BOB), session_of(bob, ANN)) == sessions
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)])
    assert_talking(post, ann, bob)


def test_a_welcome_that_answers_no_hello_of_ours_is_not_believed() -> None:
    post, ann, _ = pair()
    ann.expire(post.now_ns)
    post.collect()
    post.waiting.clear()
    greeting = greeting_of(BOB, ANN, 66, 67)
    for echo in (0, 1, 2**61):
        greeting.echo = echo
        forged = write_greeting(WELCOME, greeting)
        post.deliver(Letter(address_of(BOB), address_of(ANN), forged))
    assert not session_of(ann, BOB).met
    assert ann.reports == []


def test_a_hello_with_a_forged_address_is_answered_at_the_configured_one() -> None:
    post, ann, bob = met_pair()
    forged = write_greeting(HELLO, greeting_of(ANN, BOB, 66, 67))
    post.deliver(Letter("the forger", address_of(BOB), forged))
    (answer,) = post.collect()
    assert is_kind(answer, WELCOME)
    assert answer.target == address_of(ANN)
    assert_talking(post, ann, bob)
    assert (ann.reports, bob.reports) == ([], [])


# Moving.


def moved(post: Post, node: Endpoint, old: str, new: str) -> None:
    """From now on a node sends from, and is found at, another address."""
    del post.nodes[old]
    post.nodes[new] = node


def learnt_pair() -> tuple[Post, Endpoint, Endpoint]:
    """Ann knows where Bob is; Bob has learnt where Ann is."""
    post = Post()
    ann, bob = post.add(ANN), post.add(BOB)
    introduce(ann, BOB, post.now_ns)
    bob.add_peer(ANN, None, process_of(ANN), MTU, post.now_ns)
    post.pass_time(SECOND)
    bob.reports.clear()
    return post, ann, bob


def test_a_learnt_address_follows_the_peer() -> None:
    post, ann, bob = learnt_pair()
    moved(post, ann, address_of(ANN), "elsewhere")
    submit(ann, [BOB], b"I have moved", post.now_ns)
    post.pass_time(SECOND)
    assert bob.reports == [PeerMoved(name=ANN, address="elsewhere")]
    assert_talking(post, ann, bob)


def test_a_late_or_repeated_datagram_from_the_old_address_moves_nobody_back() -> None:
    post, ann, bob = learnt_pair()
    submit(ann, [BOB], b"late", post.now_ns)
    (late,) = post.collect()
    post.waiting.clear()
    moved(post, ann, address_of(ANN), "elsewhere")
    submit(ann, [BOB], b"I have moved", post.now_ns)
    post.carry()

    post.deliver(late)
    for letter in list(post.carried):
        if letter.target == address_of(BOB):
            post.deliver(Letter("the forger", letter.target, letter.data))
    post.pass_time(SECOND)
    assert bob.reports == [PeerMoved(name=ANN, address="elsewhere")]
    assert_talking(post, ann, bob)


def test_a_configured_address_wins_over_where_datagrams_come_from() -> None:
    post, ann, bob = met_pair()
    submit(ann, [BOB], b"from elsewhere", post.now_ns)
    for letter in post.collect():
        post.deliver(Letter("elsewhere", letter.target, letter.data))
    post.waiting.clear()
    answers = post.collect()
    assert {answer.target for answer in answers} == {address_of(ANN)}
    assert bob.reports == []
    assert [message.payload for message in bob.take_inbox()] == [b"from elsewhere"]
