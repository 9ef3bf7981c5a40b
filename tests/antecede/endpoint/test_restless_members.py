"""Members that restart all the time, or send what nobody takes: so much, and no more."""

import gc
import sys

from antecede.endpoint.endpoint import Endpoint
from antecede.events import PeerRestarted, TooLarge
from antecede.membership.contact import RESTART_NS, RESTARTS_AT_ONCE
from antecede.transport.rate_limiter import RateLimiter
from antecede.transport.session import TOO_LARGE_AT_ONCE, TOO_LARGE_NS
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    SECOND,
    Group,
    Post,
    introduce,
    make_endpoint,
    session_of,
    submit,
)


def restarted(post: Post, incarnation: int) -> Endpoint:
    """Bob once more, who forgets everything and greets at once."""
    bob = post.add(BOB, make_endpoint(BOB, incarnation=incarnation))
    introduce(bob, ANN, post.now_ns)
    return bob


def trio() -> tuple[Post, Endpoint]:
    """Ann has met bob and cat."""
    post = Post()
    ann = post.add(ANN)
    for name in (BOB, CAT):
        introduce(post.add(name), ANN, post.now_ns)
        introduce(ann, name, post.now_ns)
    post.pass_time(300 * MS)
    ann.reports.clear()
    return post, ann


def restarts(endpoint: Endpoint) -> int:
    return sum(isinstance(report, PeerRestarted) for report in endpoint.reports)


def test_an_allowance_is_so_many_at_once_and_then_one_in_so_long() -> None:
    allowance = RateLimiter(3, SECOND)
    taken = [allowance.try_acquire(at) for at in (7 * SECOND,) * 5]
    assert taken == [True, True, True, False, False]
    assert [allowance.try_acquire(7 * SECOND + at) for at in (SECOND - 1, SECOND)] == [False, True]
    assert [allowance.try_acquire(60 * SECOND) for _ in range(4)] == [True, True, True, False]


def test_a_peer_that_restarts_all_the_time_is_followed_now_and_then() -> None:
    """Each life that is followed leaves a tombstone with everybody; the others leave nothing."""
    post, ann = trio()
    began_ns = post.now_ns
    for incarnation in range(2, 702):
        restarted(post, incarnation)
        post.pass_time(MS)
    allowed = RESTARTS_AT_ONCE + (post.now_ns - began_ns) // RESTART_NS + 1
    assert RESTARTS_AT_ONCE <= restarts(ann) <= allowed
    assert len(ann._expulsions._records) <= allowed
    assert len(ann._table.by_id) == 2
    assert session_of(ann, CAT).notices.is_empty()


def test_restarts_that_are_not_followed_take_no_memory() -> None:
    post, ann = trio()

    def blocks_after(first: int, last: int) -> int:
        for incarnation in range(first, last):
            restarted(post, incarnation)
            post.pass_time(MS)
            post.carried.clear()
        ann.reports.clear()
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after(2, 2 + 5 * RESTARTS_AT_ONCE)
    known = len(ann._expulsions._records)
    before = blocks_after(1_000, 1_100)
    grown = blocks_after(2_000, 2_400) - before
    followed = len(ann._expulsions._records) - known
    assert followed <= 2
    # A life that is followed leaves some hundred blocks, and four hundred lives were not.
    assert grown < 400 * 20


def test_the_last_of_many_lives_is_met_in_the_end_and_served() -> None:
    post, ann = trio()
    for incarnation in range(2, 4 * RESTARTS_AT_ONCE):
        bob = restarted(post, incarnation)
        post.pass_time(MS)
    submit(bob, [ANN], b"still here", post.now_ns)
    post.pass_time(MS)
    assert ann.take_inbox() == []
    post.pass_time(RESTART_NS + 10 * SECOND)
    assert [message.payload for message in ann.take_inbox()] == [b"still here"]
    submit(ann, [BOB], b"good", post.now_ns)
    post.pass_time(SECOND)
    assert [message.payload for message in bob.take_inbox()] == [b"good"]


def test_the_others_are_served_while_one_restarts_all_the_time() -> None:
    post, ann = trio()
    cat = post.nodes["at cat"]
    for incarnation in range(2, 202):
        restarted(post, incarnation)
        submit(cat, [ANN], b"%d" % incarnation, post.now_ns)
        post.pass_time(MS)
    post.pass_time(SECOND)
    served = [message.payload for message in ann.take_inbox() if message.sender == CAT]
    assert served == [b"%d" % incarnation for incarnation in range(2, 202)]


def group_with_limit(limit: int) -> Group:
    group = Group([])
    group.add(ANN, make_endpoint(ANN))
    group.add(BOB, make_endpoint(BOB, payload_limit=limit))
    introduce(group.nodes[ANN], BOB, group.now_ns)
    introduce(group.nodes[BOB], ANN, group.now_ns)
    group.run_for(SECOND)
    return group


def test_payloads_that_are_too_large_are_all_counted_and_told_of_now_and_then() -> None:
    group = group_with_limit(100)
    began_ns = group.now_ns
    for _ in range(300):
        group.send(ANN, [BOB], bytes(101))
        group.run_for(10 * MS)
    group.run_until(group.drained)
    told = [report for report in group.reports(BOB) if isinstance(report, TooLarge)]
    seconds = (group.now_ns - began_ns) // TOO_LARGE_NS
    assert group.nodes[BOB].inbox.too_large == 300
    assert TOO_LARGE_AT_ONCE <= len(told) <= TOO_LARGE_AT_ONCE + seconds + 1
    assert group.payloads(BOB) == []


def test_a_payload_beyond_the_limit_is_refused_in_one_part_as_well() -> None:
    group = group_with_limit(100)
    group.send(ANN, [BOB], bytes(101))
    group.send(ANN, [BOB], bytes(100))
    group.run_until(group.drained)
    assert group.payloads(BOB) == [bytes(100)]
    assert group.nodes[BOB].inbox.too_large == 1


def test_a_name_goes_on_after_a_million_lives() -> None:
    """No number runs out: what came before cost a number each, and nothing else."""
    post, ann = trio()
    ann._table._last_id = 1 << 21
    bob = restarted(post, 1 << 21)
    post.pass_time(3 * SECOND)
    submit(ann, [BOB], b"still here?", post.now_ns)
    submit(bob, [ANN], b"again", post.now_ns)
    post.pass_time(3 * SECOND)
    assert [message.payload for message in bob.take_inbox()] == [b"still here?"]
    assert [message.payload for message in ann.take_inbox()] == [b"again"]
