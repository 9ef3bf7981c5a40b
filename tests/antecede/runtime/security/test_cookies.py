"""Many hellos: those who have not shown where they are cost two hashes, and are not remembered."""

from random import Random

import pytest

from antecede.core.errors import RemoteError
from antecede.events import PeerMet
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant
from antecede.runtime.security import noise as primitives
from antecede.runtime.security.noise_handshake import (
    ANYBODY_PER_SECOND,
    COOKIE_NS,
    COOKIE_SIZE,
    HOST_PER_SECOND,
    PROOF_BYTES,
    PROVEN_PER_SECOND,
    Budget,
    CookieIssuer,
    NoiseCrypto,
    cookie_of,
    proof_of,
)
from antecede.wire.handshake import KEYED_COOKIE, KEYED_HELLO, KEYED_WELCOME
from tests.antecede.endpoint.endpoints import ANN, BOB, MS, SECOND, Group, address_of, session_of
from tests.antecede.runtime.security.guarded import (
    everybody,
    guard_of,
    keyed_pair,
    made_up_hello,
    state_of,
)

VICTIM = ("192.0.2.7", 9000)


def exhausted(guard: NoiseCrypto, now_ns: int) -> list[bytes]:
    """Say so many hellos at one instant that a guard asks for proofs; what it answers to ten."""
    random = Random(1)
    for _ in range(ANYBODY_PER_SECOND):
        made_up = made_up_hello(random, BOB, knows_the_key=True)
        assert guard.challenge(made_up, VICTIM, now_ns) == b""
    return [
        guard.challenge(made_up_hello(random, BOB, knows_the_key=True), VICTIM, now_ns)
        for _ in range(10)
    ]


def hello_of_ann(ann: NoiseCrypto, now_ns: int) -> bytes:
    (hello,) = ann.encrypt_hellos(BOB, bytes(ann.greeting_size()), now_ns)
    return hello


def both() -> tuple[NoiseCrypto, NoiseCrypto]:
    return guard_of(ANN, {BOB: [BOB]}), guard_of(BOB, {ANN: [ANN]})


def test_a_flood_costs_no_key_agreement_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """4,000 hellos in 0.4 s by somebody who knows the public key, as if from everywhere."""
    post, ann, bob = keyed_pair()
    post.pass_time(SECOND)
    agreed: list[bytes] = []
    agree = primitives.PrivateKey.agree

    def counted(self: primitives.PrivateKey, public: bytes) -> bytes:
        agreed.append(public)
        return agree(self, public)

    monkeypatch.setattr(primitives.PrivateKey, "agree", counted)
    random = Random(2)
    before = state_of(bob)
    answered = 0
    for _ in range(4_000):
        hello = made_up_hello(random, BOB, knows_the_key=True)
        post.now_ns += SECOND // 10_000
        bob.receive((f"198.51.100.{random.randrange(256)}", 1), hello, post.now_ns)
        assert all(d.data[0] == KEYED_COOKIE for d in bob.out)
        answered += sum(len(d.data) for d in bob.out)
        bob.out.clear()
    assert state_of(bob) == before
    assert len(agreed) <= 2 * ANYBODY_PER_SECOND + 1
    assert 0 < answered < 4_000 * COOKIE_SIZE
    assert session_of(ann, BOB).met


@pytest.mark.parametrize("knows_the_key", [False, True])
@pytest.mark.parametrize("per_second", [150, 10_000])
def test_a_join_over_a_long_way_survives_a_flood(per_second: int, knows_the_key: bool) -> None:
    """50 ms there and back; the flood is as if from the very peers that meet."""
    names = [ANN, BOB]
    group = Group(names, Faults(latency=Constant(25 * MS)), guards=everybody(names))
    random = Random(14)
    for count in range(60):
        group.send(ANN, [BOB], b"%d" % count)
    burst = max(1, per_second // 500)
    for _ in range(150):
        for source, target in ((ANN, BOB), (BOB, ANN)):
            for _ in range(burst):
                forged = made_up_hello(random, target, knows_the_key=knows_the_key)
                group.nodes[target].receive(address_of(source), forged, group.now_ns)
            group.network.collect(address_of(target))
        group.run_for(SECOND * burst // per_second)
    assert group.payloads(BOB) == [b"%d" % count for count in range(60)]
    assert [r for r in group.reports(BOB) if isinstance(r, PeerMet)] == [PeerMet(name=ANN)]


def test_who_brings_the_cookie_is_answered_and_only_from_its_own_address() -> None:
    ann, bob = both()
    now_ns = SECOND
    exhausted(bob, now_ns)
    hello = hello_of_ann(ann, now_ns)
    cookie = bob.challenge(hello, VICTIM, now_ns)
    assert (cookie[0], len(cookie)) == (KEYED_COOKIE, COOKIE_SIZE)
    assert ann.on_cookie(cookie, now_ns) == BOB
    again = hello_of_ann(ann, now_ns)
    assert again[:-PROOF_BYTES] == hello[:-PROOF_BYTES]
    assert bob.challenge(again, ("203.0.113.1", 9000), now_ns)[0] == KEYED_COOKIE
    assert bob.challenge(again, VICTIM, now_ns) == b""
    assert bob.decrypt(again) is not None


def test_a_cookie_makes_a_node_say_hello_again_once() -> None:
    """Or 42 bytes of somebody who reads hellos could make it send 1,200 all the time."""
    ann, bob = both()
    exhausted(bob, SECOND)
    cookie = bob.challenge(hello_of_ann(ann, SECOND), VICTIM, SECOND)
    assert [ann.on_cookie(cookie, SECOND) for _ in range(5)] == [BOB, "", "", "", ""]


def test_a_cookie_that_nobody_asked_for_or_that_was_changed_is_refused() -> None:
    ann, bob = both()
    exhausted(bob, SECOND)
    cookie = bob.challenge(hello_of_ann(ann, SECOND), VICTIM, SECOND)
    for at in range(1, len(cookie)):
        changed = bytearray(cookie)
        changed[at] ^= 1
        with pytest.raises(RemoteError):
            ann.on_cookie(bytes(changed), SECOND)
    for size in range(2, len(cookie)):
        with pytest.raises(RemoteError):
            ann.on_cookie(cookie[:size], SECOND)
    assert hello_of_ann(ann, SECOND)[-PROOF_BYTES:] == bytes(PROOF_BYTES)


def test_cookies_grow_old() -> None:
    cookies = CookieIssuer()
    cookie = cookies.cookie_for(VICTIM, 1)
    proof = proof_of(cookie, b"hello")
    assert cookies.is_proven(VICTIM, b"hello", proof, COOKIE_NS + 1)
    assert not cookies.is_proven(VICTIM, b"hullo", proof, COOKIE_NS + 1)
    assert not cookies.is_proven(VICTIM, b"hello", proof, 2 * COOKIE_NS + 2)


def test_a_host_that_is_really_there_gets_only_its_share() -> None:
    cookies = CookieIssuer(lambda size: bytes(size))
    ports = [("192.0.2.7", port) for port in range(2 * HOST_PER_SECOND)]
    assert [cookies.try_admit_proven(at, SECOND) for at in ports].count(True) == HOST_PER_SECOND
    secret = bytes(32)
    own = cookie_of(secret, "192.0.2.7")[0]
    other = next(h for h in map(str, range(999)) if cookie_of(secret, h)[0] != own)
    assert cookies.try_admit_proven((other, 1), SECOND)
    others = [(str(host), 1) for host in range(5 * PROVEN_PER_SECOND)]
    opened = [cookies.try_admit_proven(at, SECOND) for at in others].count(True)
    assert opened == PROVEN_PER_SECOND - HOST_PER_SECOND - 1


def test_a_budget_is_earned_again() -> None:
    budget = Budget(10)
    assert [budget.take(SECOND) for _ in range(12)] == [True] * 10 + [False] * 2
    assert [budget.take(SECOND + 250 * MS) for _ in range(3)] == [True, True, False]
    assert [budget.take(60 * SECOND) for _ in range(11)].count(True) == 10


def test_without_many_hellos_nobody_is_asked_for_a_cookie() -> None:
    post, _, _ = keyed_pair()
    post.pass_time(5 * SECOND)
    assert {letter.data[0] for letter in post.carried} & {KEYED_COOKIE} == set()


def test_a_handshake_takes_one_round_trip() -> None:
    """The message waits for the hello's answer, then goes: one and a half round trips in all."""
    names = [ANN, BOB]
    group = Group(names, Faults(latency=Constant(25 * MS)), guards=everybody(names))
    bob = group.nodes[BOB]
    bob.remove_peer(ANN, group.now_ns)
    bob.add_peer(ANN, None, 1, 1400, group.now_ns)
    began_ns = group.now_ns
    group.send(ANN, [BOB], b"first")
    group.run_until(lambda: session_of(group.nodes[ANN], BOB).met)
    assert group.now_ns - began_ns == 50 * MS
    group.run_until(lambda: group.payloads(BOB) == [b"first"])
    assert group.now_ns - began_ns == 75 * MS


def test_under_load_it_takes_one_more_and_the_first_welcome_is_the_last() -> None:
    post, ann, bob = keyed_pair()
    random = Random(5)
    post.now_ns += SECOND
    for _ in range(ANYBODY_PER_SECOND + 1):
        bob.receive("elsewhere", made_up_hello(random, BOB, knows_the_key=True), post.now_ns)
    bob.out.clear()
    post.pass_time(
        SECOND,
        lose=lambda letter: letter.target == address_of(ANN) and (letter.data[0] == KEYED_HELLO),
    )
    kinds = [letter.data[0] for letter in post.carried[:4]]
    assert kinds == [KEYED_HELLO, KEYED_COOKIE, KEYED_HELLO, KEYED_WELCOME]
    assert session_of(ann, BOB).met
