"""What is left of incarnations that are over: little, bounded, and nothing that comes back."""

import pytest

from antecede.core.expulsion import EXPELLED_LIMIT
from antecede.endpoint.endpoint import Endpoint
from antecede.events import PeerMet
from antecede.membership.contact import PAST_INCARNATIONS_MAX, RESTART_NS
from antecede.membership.sessions import FORMER_MAX
from antecede.transport.notices import newest_records
from antecede.wire.expulsions import EXPULSIONS_MAX, ExpulsionRecord, expulsion_records_size
from antecede.wire.frames import DATAGRAM
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
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
from tests.antecede.endpoint.test_endpoint_away import leave

LIVES = 60
THOUSANDS = 3_000


def live_again(group: Group, incarnation: int) -> None:
    node = make_endpoint(BOB, incarnation=incarnation)
    for other in group.nodes:
        introduce(node, other, group.now_ns)
    group.add(BOB, node)
    group.network.collect(address_of(BOB))
    group.run_for(RESTART_NS)


@pytest.mark.parametrize("polite", [True, False])
def test_many_lives_of_one_name_leave_little(polite: bool) -> None:
    group = Group([ANN, BOB, CAT], log=False)
    group.run_for(SECOND)
    for incarnation in range(2, LIVES + 2):
        if polite:
            leave(group, BOB)
        else:
            group.kill(BOB)
        live_again(group, incarnation)
    ann = group.nodes[ANN]
    contact = ann.directory.by_name[BOB]
    assert len(ann.directory.by_name) == len(ann.directory.by_token) == 2
    assert len(ann._table.by_id) == 2
    assert len(contact.past_incarnations) <= PAST_INCARNATIONS_MAX
    assert contact.candidates == []
    assert len(ann._table._former) <= FORMER_MAX
    for session in ann.sessions():
        assert session.notices.is_empty(), "everything was told, and acknowledged"
    group.send(ANN, [BOB, CAT], b"to the last of them")
    group.run_for(SECOND)
    assert group.payloads(BOB) == group.payloads(CAT) == [b"to the last of them"]


def test_whoever_is_met_later_is_told_one_line_for_each_name() -> None:
    """However many lives a name has had, its newest record stands for all before it."""
    group = Group([ANN, BOB], log=False)
    group.run_for(SECOND)
    for incarnation in range(2, LIVES + 2):
        group.kill(BOB)
        live_again(group, incarnation)
    ann = group.nodes[ANN]
    records = newest_records(list(ann._expulsions._records.values()))
    assert [record.name for record in records] == [BOB]
    assert expulsion_records_size(records) < 100
    introduce(ann, CAT, group.now_ns)
    cat = make_endpoint(CAT)
    introduce(cat, ANN, group.now_ns)
    group.add(CAT, cat)
    group.network.collect(address_of(CAT))
    group.network.collect(address_of(ANN))
    group.run_for(SECOND)
    assert len(cat._expulsions._records) == 1
    group.send(ANN, [CAT], b"after the news")
    group.run_for(SECOND)
    assert group.payloads(CAT) == [b"after the news"]


def recorded_life(post: Post, incarnation: int) -> list[Letter]:
    """A life of Bob's that talks with Ann; everything that it said."""
    bob = post.add(BOB, make_endpoint(BOB, incarnation=incarnation))
    introduce(bob, ANN, post.now_ns)
    begun = len(post.carried)
    post.pass_time(SECOND)
    submit(bob, [ANN], b"life %d" % incarnation, post.now_ns)
    post.pass_time(SECOND)
    return [letter for letter in post.carried[begun:] if letter.source == address_of(BOB)]


def test_nothing_that_a_former_life_said_brings_it_back() -> None:
    """All of its datagrams again, in any later life: nothing of them is taken."""
    post = Post()
    ann = post.add(ANN)
    introduce(ann, BOB, post.now_ns)
    said: list[Letter] = []
    got: list[bytes] = []
    for incarnation in range(1, 6):
        said += recorded_life(post, incarnation)
        got += [message.payload for message in ann.take_inbox()]
        before = state_of(ann)
        for letter in said:
            if letter.data[0] != DATAGRAM or incarnation > 1:
                post.deliver(letter)
        post.pass_time(SECOND)
        assert [message.payload for message in ann.take_inbox()] == []
        assert state_of(ann) == before
    assert got == [b"life %d" % number for number in range(1, 6)]
    assert ann.reports.count(PeerMet(name=BOB)) == 1


def state_of(ann: Endpoint) -> list[object]:
    session = session_of(ann, BOB)
    return [session.incarnation, session.token_in, session.token_out, session.met, session.ended]


@pytest.mark.parametrize("mtu", [1_400, 60_000])
def test_who_comes_after_thousands_were_expelled_is_told_and_listens(mtu: int) -> None:
    """A service whose processes have a new name each time loses a few thousand of them."""
    group = Group([ANN, BOB], log=False)
    group.run_for(SECOND)
    ann = group.nodes[ANN]
    told = [ExpulsionRecord(f"worker-{number}", 7, BOB, "crashed") for number in range(THOUSANDS)]
    for first in range(0, THOUSANDS, EXPULSIONS_MAX):
        batch = told[first : first + EXPULSIONS_MAX]
        ann._core.on_expulsions(session_of(ann, BOB), batch, group.now_ns)
    introduce(ann, CAT, group.now_ns, mtu=mtu)
    cat = make_endpoint(CAT)
    introduce(cat, ANN, group.now_ns, mtu=mtu)
    group.add(CAT, cat)
    group.network.collect(address_of(CAT))
    group.network.collect(address_of(ANN))
    group.send(ANN, [CAT], b"after the news")
    group.run_for(SECOND)
    assert group.payloads(CAT) == [b"after the news"]
    assert len(cat._expulsions._records) == THOUSANDS
    assert session_of(ann, CAT).notices.is_empty()
    assert cat.malformed == 0
    for number in (0, THOUSANDS - 1):
        assert cat._expulsions.is_expelled(f"worker-{number}", 7)
        assert not cat._expulsions.is_expelled(f"worker-{number}", 8)


def test_a_node_that_takes_no_news_says_so() -> None:
    group = Group([ANN, BOB], log=False)
    group.run_for(SECOND)
    ann = group.nodes[ANN]
    expulsions = ann._expulsions
    for number in range(EXPELLED_LIMIT):
        assert not ann.refuses_expulsions()
        expulsions._put(1_000 + number, ExpulsionRecord(f"n{number}", 7, BOB, ""))
    assert ann.refuses_expulsions()
