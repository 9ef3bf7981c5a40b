"""Nodes with keys, without sockets: every name has a key that follows from it."""

from collections.abc import Mapping, Sequence
from hashlib import blake2s
from random import Random

from antecede.endpoint.endpoint import Endpoint
from antecede.runtime.security.keys import PeerRing, SecretKey
from antecede.runtime.security.noise_handshake import (
    CHECK_BYTES,
    PROOF_BYTES,
    NoiseCrypto,
    check_key,
    check_of,
)
from antecede.wire.handshake import GREETING_SIZE, KEYED_HELLO
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    MS,
    Post,
    introduce,
    make_endpoint,
    session_of,
)


def secret_of(name: str) -> SecretKey:
    """The key of a node, the same in every run; any text makes another."""
    return SecretKey(blake2s(name.encode()).digest())


class Ticks:
    """A wall clock that a test can set."""

    def __init__(self, now_ns: int = 1_000_000) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def guard_of(
    name: str,
    knows: Mapping[str, Sequence[str]],
    *,
    key: str = "",
    clock: Ticks | None = None,
) -> NoiseCrypto:
    """The guard of a node whose key is that of `key`, or of its name, and that knows these."""
    ring = PeerRing(
        secret_of(key or name),
        {peer: [secret_of(k).public for k in keys] for peer, keys in knows.items()},
    )
    # Not secret, but the same in every run.
    return NoiseCrypto(ring, clock or Ticks(), fresh=Random(f"guard of {name}").randbytes)


def everybody(names: Sequence[str]) -> dict[str, NoiseCrypto]:
    """Guards of nodes that all know each other's keys."""
    return {
        name: guard_of(name, {other: [other] for other in names if other != name}) for name in names
    }


def keyed_pair(
    ann_guard: NoiseCrypto | None = None, bob_guard: NoiseCrypto | None = None
) -> tuple[Post, Endpoint, Endpoint]:
    """Two nodes with keys that know each other's addresses and have not met."""
    post = Post()
    ann = post.add(ANN, make_endpoint(ANN, guard=ann_guard or guard_of(ANN, {BOB: [BOB]})))
    bob = post.add(BOB, make_endpoint(BOB, guard=bob_guard or guard_of(BOB, {ANN: [ANN]})))
    introduce(ann, BOB, post.now_ns)
    introduce(bob, ANN, post.now_ns)
    return post, ann, bob


def met_keyed_pair() -> tuple[Post, Endpoint, Endpoint]:
    """Two nodes with keys that have met, and have nothing to say."""
    post, ann, bob = keyed_pair()
    post.pass_time(200 * MS)
    assert session_of(ann, BOB).met
    assert session_of(bob, ANN).met
    ann.reports.clear()
    bob.reports.clear()
    return post, ann, bob


def made_up_hello(random: Random, target: str, *, knows_the_key: bool) -> bytes:
    """A keyed hello by somebody who has no key, and perhaps knows the public one of its target."""
    room = GREETING_SIZE - 2 - CHECK_BYTES - PROOF_BYTES
    start = bytes([KEYED_HELLO, 1]) + random.randbytes(room)
    check = check_of(check_key(secret_of(target).public.raw), start)
    if not knows_the_key:
        check = random.randbytes(CHECK_BYTES)
    return start + check + random.randbytes(PROOF_BYTES)


def state_of(endpoint: Endpoint) -> list[object]:
    """Everything about a node's peers that a stranger must not be able to change."""
    directory = endpoint.directory
    state: list[object] = [
        sorted(directory.by_token),
        sorted(directory.by_name),
        list(endpoint.reports),
    ]
    for contact in directory.by_name.values():
        session = contact.session
        state.append(
            (
                session.id,
                session.met,
                session.ended,
                session.address,
                session.incarnation,
                session.token_in,
                session.token_out,
                int(session.lifecycle.ours),
                int(session.lifecycle.theirs),
                int(session.lifecycle.heard_ns),
                int(session.channel.acks.numbers.largest),
                int(session.channel.path.in_flight.size),
                [candidate.token_in for candidate in contact.candidates],
                [offer.token for offer in contact.offers],
                int(contact.hello_token),
                int(contact.hello_for),
                list(contact.past_incarnations),
                contact.refusal,
                endpoint.expected(session),
            )
        )
    return state
