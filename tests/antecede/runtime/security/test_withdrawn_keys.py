"""Keys that are withdrawn while their owner is talked to, and keys that are found out by use."""

import asyncio
from random import Random

import pytest

from antecede import Peer, Settings, open_node
from antecede.endpoint.endpoint import Endpoint
from antecede.errors import LocalError
from antecede.events import NodeFenced, PeerExpelled, PeerMet, PeerRestarted, Report
from antecede.membership.expulsions import KEY_WITHDRAWN
from antecede.runtime.security.keys import PeerRing, PublicKey, parse_public
from antecede.wire.handshake import KEYED_HELLO, KEYED_WELCOME
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    SECOND,
    Post,
    introduce,
    make_endpoint,
    session_of,
    submit,
)
from tests.antecede.runtime.security.guarded import (
    Ticks,
    guard_of,
    keyed_pair,
    met_keyed_pair,
    secret_of,
)

FIRST_USE = parse_public("first-use")


def ring_with(name: str, keys: dict[str, list[PublicKey]]) -> PeerRing:
    return PeerRing(secret_of(name), keys)


def payloads(endpoint: Endpoint) -> list[bytes]:
    return [message.payload for message in endpoint.take_inbox()]


def reload_bob(post: Post, bob: Endpoint, guard_keys: dict[str, list[PublicKey]]) -> None:
    guard = bob._crypto
    guard.use(ring_with(BOB, guard_keys))  # type: ignore[union-attr] # it is a NoiseCrypto
    bob.expel_revoked_keys(post.now_ns)


def test_a_session_under_a_key_that_is_withdrawn_is_over_at_once() -> None:
    post, ann, bob = met_keyed_pair()
    reload_bob(post, bob, {ANN: [secret_of("new").public]})
    submit(ann, [BOB], b"still me", post.now_ns)
    post.pass_time(3 * SECOND)
    assert payloads(bob) == []
    (expelled,) = [r for r in bob.reports if isinstance(r, PeerExpelled)]
    assert (expelled.name, expelled.reason) == (ANN, KEY_WITHDRAWN)
    assert any(isinstance(report, NodeFenced) for report in ann.reports)


def test_who_has_another_key_comes_back_with_it() -> None:
    post, _, bob = met_keyed_pair()
    reload_bob(post, bob, {ANN: [secret_of("new").public]})
    guard = guard_of(ANN, {BOB: [BOB]}, key="new", clock=Ticks(2_000_000))
    ann = post.add(ANN, make_endpoint(ANN, incarnation=2, guard=guard))
    introduce(ann, BOB, post.now_ns)
    post.pass_time(3 * SECOND)
    assert PeerRestarted(name=ANN) in bob.reports
    submit(ann, [BOB], b"with a new key", post.now_ns)
    post.pass_time(SECOND)
    assert payloads(bob) == [b"with a new key"]


def test_a_session_under_a_key_that_stays_goes_on() -> None:
    post, ann, bob = met_keyed_pair()
    reload_bob(post, bob, {ANN: [secret_of("new").public, secret_of(ANN).public]})
    submit(ann, [BOB], b"still me", post.now_ns)
    post.pass_time(SECOND)
    assert payloads(bob) == [b"still me"]
    assert bob.reports == []


def test_an_offer_to_a_key_that_is_withdrawn_is_void() -> None:
    """Ann's hello is answered, and her key withdrawn before she has used the answer."""
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, guard=guard_of(ANN, {BOB: [BOB]})))
    bob = post.add(BOB, make_endpoint(BOB, guard=guard_of(BOB, {ANN: [ANN]})))
    introduce(ann, BOB, post.now_ns)
    bob.add_peer(ANN, None, 1, 1400, post.now_ns)
    ann.expire(post.now_ns)
    (hello,) = post.collect()
    assert hello.data[0] == KEYED_HELLO
    post.deliver(hello)
    post.waiting.clear()
    (welcome,) = post.collect()
    assert welcome.data[0] == KEYED_WELCOME
    reload_bob(post, bob, {ANN: [secret_of("new").public]})
    submit(ann, [BOB], b"too late", post.now_ns)
    post.pass_time(5 * SECOND)
    assert not session_of(bob, ANN).met
    assert payloads(bob) == []


def test_a_key_is_taken_from_its_first_use_only_where_that_was_asked_for_by_name() -> None:
    guard = guard_of(BOB, {CAT: [CAT]})
    guard.ring.set_keys(ANN, [FIRST_USE])
    post, ann, bob = keyed_pair(None, guard)
    submit(ann, [BOB], b"hello", post.now_ns)
    post.pass_time(SECOND)
    assert payloads(bob) == [b"hello"]
    assert guard.ring.known_keys(ANN) == (secret_of(ANN).public,)
    assert list(guard.answered) == [secret_of(ANN).public.raw]

    mallory = post.add(
        ANN,
        make_endpoint(
            ANN, incarnation=2, guard=guard_of(ANN, {BOB: [BOB]}, key="m", clock=Ticks(2_000_000))
        ),
    )
    introduce(mallory, BOB, post.now_ns)
    post.pass_time(5 * SECOND)
    assert not session_of(mallory, BOB).met
    assert not any(isinstance(report, PeerRestarted) for report in bob.reports)


@pytest.mark.parametrize("key", [CAT, BOB])
def test_a_key_that_somebody_else_has_is_nobodys_first(key: str) -> None:
    ring = ring_with(BOB, {ANN: [FIRST_USE], CAT: [secret_of(CAT).public]})
    assert not ring.is_key_of(ANN, secret_of(key).public.raw)
    assert ring.is_key_of(ANN, secret_of("anybody").public.raw)
    assert ring.keys_of(ANN) == ()


def test_a_hello_that_is_not_answered_is_no_use() -> None:
    """It is for somebody else: that shows nothing about who ann is."""
    guard = guard_of(BOB, {})
    guard.ring.set_keys(ANN, [FIRST_USE])
    other = guard_of(ANN, {"bert": [BOB]})
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, guard=other))
    bob = post.add(BOB, make_endpoint(BOB, guard=guard))
    ann.add_peer("bert", "at bob", 2, 1400, post.now_ns)
    bob.add_peer(ANN, None, 1, 1400, post.now_ns)
    post.pass_time(SECOND)
    assert guard.ring.keys_of(ANN) == ()
    assert guard.answered == {}


def test_a_key_from_its_first_use_stays_when_settings_are_loaded_again() -> None:
    before = ring_with(BOB, {ANN: [FIRST_USE]})
    before.on_key_used(ANN, secret_of(ANN).public.raw)
    after = ring_with(BOB, {ANN: [FIRST_USE]})
    after.adopt(before, [])
    assert after.keys_of(ANN) == (secret_of(ANN).public.raw,)
    assert not after.is_key_of(ANN, secret_of("m").public.raw)


def test_first_use_beside_a_key_is_a_mistake() -> None:
    with pytest.raises(LocalError, match="not found out by first use"):
        ring_with(BOB, {ANN: [FIRST_USE, secret_of(ANN).public]})


def test_a_node_that_loads_new_settings_drops_who_has_no_key_any_more() -> None:
    asyncio.run(dropped_at_reload())


async def dropped_at_reload() -> None:
    events: list[Report] = []
    alice_key, bob_key, new = (secret_of(name) for name in ("alice", "bob", "new"))
    random = Random(1)
    async with open_node("bob", key=bob_key, peers={"alice": Peer(keys=[alice_key.public])}) as bob:
        bob.on_event(events.append)
        alice = await open_node(
            "alice", key=alice_key, peers={"bob": Peer(bob.address, [bob_key.public])}, linger=0
        )
        await alice.send("bob", random.randbytes(8))
        assert len((await bob.receive(timeout=60)).payload) == 8
        bob.reload(Settings(name="bob", key=bob_key, peers={"alice": Peer(keys=[new.public])}))
        names = [event.name for event in events if isinstance(event, PeerExpelled)]
        assert names == ["alice"]
        alice.abandon()
        async with open_node(
            "alice", key=new, peers={"bob": Peer(bob.address, [bob_key.public])}
        ) as later:
            await later.send("bob", b"again")
            assert (await bob.receive(timeout=60)).payload == b"again"
    assert [event for event in events if isinstance(event, PeerMet)] == [PeerMet(name="alice")]


def test_a_node_whose_key_was_withdrawn_is_told_though_it_only_pings() -> None:
    """Its hellos are not opened any more: it has to be told in the session that it had."""
    post, ann, bob = met_keyed_pair()
    reload_bob(post, bob, {ANN: [secret_of("new").public]})
    post.pass_time(20 * SECOND)
    (fenced,) = [report for report in ann.reports if isinstance(report, NodeFenced)]
    assert (fenced.by, fenced.reason) == (BOB, KEY_WITHDRAWN)
