"""Two living nodes of one name: the later one is talked to, the earlier one told why it is not."""

from antecede.events import PeerMet, PeerRestarted, Undeliverable
from antecede.membership.contact import PAST_INCARNATIONS_MAX, RESTART_NS
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    MTU,
    SECOND,
    Post,
    introduce,
    make_endpoint,
    met_pair,
    process_of,
    submit,
)


def test_of_two_living_nodes_of_one_name_the_later_one_stays() -> None:
    """The earlier one is refused and told why; nobody is taken for the other, nobody flaps."""
    post = Post()
    ann = post.add(ANN)
    ann.add_peer(BOB, None, process_of(BOB), MTU, post.now_ns)
    earlier = post.add(BOB, address="bob's first address")
    introduce(earlier, ANN, post.now_ns)
    submit(earlier, [ANN], b"of the earlier", post.now_ns)
    post.pass_time(SECOND)
    later = post.add(BOB, make_endpoint(BOB, incarnation=2), address="bob's second address")
    introduce(later, ANN, post.now_ns)
    post.pass_time(SECOND)
    for _ in range(3):
        if earlier.fenced is None:
            submit(earlier, [ANN], b"in vain", post.now_ns)
        submit(later, [ANN], b"of the later", post.now_ns)
        post.pass_time(10 * SECOND)

    assert [message.payload for message in ann.take_inbox()] == [b"of the earlier"] + [
        b"of the later"
    ] * 3
    assert ann.reports == [PeerMet(name=BOB), PeerRestarted(name=BOB)]
    assert later.reports == [PeerMet(name=ANN)]
    assert earlier.fenced is not None
    assert (earlier.fenced.by, earlier.fenced.reason) == (ANN, "restarted")
    in_vain = Undeliverable(name=ANN, sequences=(2,))
    assert earlier.reports == [PeerMet(name=ANN), in_vain, earlier.fenced]


def test_replaced_incarnations_are_remembered_up_to_a_limit() -> None:
    post, ann, _ = met_pair()
    for incarnation in range(2, PAST_INCARNATIONS_MAX + 10):
        bob = post.add(BOB, make_endpoint(BOB, incarnation=incarnation))
        introduce(bob, ANN, post.now_ns)
        post.pass_time(RESTART_NS)
    assert ann.reports == [PeerRestarted(name=BOB)] * (PAST_INCARNATIONS_MAX + 8)
    assert len(ann.directory.by_name[BOB].past_incarnations) == PAST_INCARNATIONS_MAX


def test_incarnations_that_are_over_take_no_room() -> None:
    post, ann, bob = met_pair()
    for incarnation in range(2, 30):
        submit(ann, [BOB], b"x", post.now_ns)
        submit(bob, [ANN], b"y", post.now_ns)
        post.pass_time(SECOND)
        bob = post.add(BOB, make_endpoint(BOB, incarnation=incarnation))
        introduce(bob, ANN, post.now_ns)
        post.pass_time(SECOND)
    assert len(ann.sessions()) == 1
    assert [len(sessions) for sessions in (ann._table.by_id, ann.directory.by_token)] == [1, 1]
