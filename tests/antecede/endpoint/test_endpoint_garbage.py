"""Datagrams that make no sense, from strangers or damaged on the way: counted, and harmless.

Nothing but UDP's own checksum guards a datagram yet, so what is *changed* in one that bears the
right token may mean something else. What no datagram can do is make a node raise; and one that is
seen to be damaged, or whose token is wrong, cannot keep anything from being delivered.
"""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.events import PeerMet, PeerRefused
from antecede.network_model.faults import Faults
from antecede.transport.peer_lifecycle import LEAVE_WHEN_RELEASED
from antecede.wire.frames import DATAGRAM, NO_KEY, NUMBER_AT, TOKEN_AT
from antecede.wire.handshake import HELLO, REFUSE, UNKNOWN, WELCOME, write_refusal, write_unknown
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
    met_pair,
    pair,
    session_of,
    submit,
)
from tests.antecede_lab.wire.test_fuzz import damaged

ROUNDS = 4_000
FIRST_BYTES = [DATAGRAM, HELLO, WELCOME, REFUSE, UNKNOWN]


def counted(node: Endpoint) -> int:
    """How often a node has noticed that something was wrong."""
    return int(node.malformed + node.directory.stale + node.directory.denials.count)


def real_datagrams() -> list[bytes]:
    """All kinds of datagrams, as two nodes that meet, talk and part send them to Ann.

    They are of other incarnations than those in the tests, so that no token fits.
    """
    post = Post()
    names = (ANN, BOB, CAT)
    limits = Limits(window=4_000, send_limit=50)
    nodes = {n: post.add(n, make_endpoint(n, incarnation=99, limits=limits)) for n in names}
    for name, node in nodes.items():
        for other in names:
            if other != name:
                introduce(node, other, post.now_ns)
    for number in range(30):
        for name, other in ((BOB, CAT), (CAT, BOB)):
            if nodes[name].sending.has_room():
                submit(nodes[name], [ANN, other], bytes(10 * number), post.now_ns)
        post.pass_time(20 * MS, lose=lambda letter: len(letter.data) % 7 == 0)
        for node in nodes.values():
            node.take_inbox()
    nodes[BOB].say_bye(LEAVE_WHEN_RELEASED, post.now_ns)
    post.pass_time(SECOND)
    return [letter.data for letter in post.carried if letter.target == address_of(ANN)]


# Strangers.


@given(st.binary(max_size=1_500), st.sampled_from([*FIRST_BYTES, None]))
@example(b"antecede\0\0", WELCOME)  # In versions that are not spoken.
def test_any_bytes_from_anywhere_are_counted(data: bytes, first: int | None) -> None:
    post, ann, _ = met_pair()
    if first is not None:
        data = bytes([first]) + data
    post.deliver(Letter("stranger", address_of(ANN), data))
    assert counted(ann) == 1
    assert ann.reports in ([], [PeerRefused(name="stranger", address="stranger", reason=ANY)])
    assert session_of(ann, BOB).met


@pytest.mark.parametrize("data", [write_refusal("nobody", "no reason"), write_unknown(4_711)])
def test_an_answer_to_nobody_is_counted(data: bytes) -> None:
    post, ann, _ = met_pair()
    post.deliver(Letter("stranger", address_of(ANN), data))
    assert counted(ann) == 1
    assert ann.reports == []


class Anything(str):
    """Equal to every reason."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)


ANY = Anything()


@pytest.mark.parametrize("size", range(NUMBER_AT + 1))
def test_a_datagram_too_short_for_a_header_is_malformed(size: int) -> None:
    post, ann, _ = met_pair()
    data = (bytes([DATAGRAM, NO_KEY]) + bytes(20))[:size]
    post.deliver(Letter(address_of(BOB), address_of(ANN), data))
    assert (ann.malformed, ann.last_malformed) == (1, "a datagram too short for a header")


def test_a_datagram_protected_with_a_key_is_malformed_until_there_are_keys() -> None:
    post, ann, bob = met_pair()
    submit(bob, [ANN], b"secret", post.now_ns)
    (letter,) = post.collect()
    data = letter.data[:1] + b"\x05" + letter.data[2:]
    post.deliver(Letter(letter.source, letter.target, data))
    assert ann.last_malformed == "a sealed datagram, and there are no keys here"
    assert ann.take_inbox() == []


def test_a_datagram_older_than_the_first_is_malformed() -> None:
    post, ann, bob = met_pair()
    token = int(session_of(bob, ANN).token_out).to_bytes(8, "little")
    data = bytes([DATAGRAM, NO_KEY]) + token + bytes([3, 3])
    post.deliver(Letter(address_of(BOB), address_of(ANN), data))
    assert ann.last_malformed == "a datagram older than the first"


def test_a_stream_goes_on_among_garbage() -> None:
    random = Random(3)
    real = real_datagrams()
    group = Group([ANN, BOB], Faults(loss=0.1), seed=3)
    network = group.network
    for number in range(150):
        group.send(ANN, [BOB], b"%d" % number)
        for target in (ANN, BOB):
            junk = damaged(random.choice(real), random.choice(real), random)
            network.carry("stranger", address_of(target), random.randbytes(random.randrange(60)))
            network.carry(address_of(BOB), address_of(target), junk)
        group.run_for(5 * MS)
    group.run_until(group.drained)
    assert group.payloads(BOB) == [b"%d" % number for number in range(150)]
    for node in group.nodes.values():
        assert counted(node) > 100
        assert [report for report in node.reports if not isinstance(report, PeerRefused)] == [
            PeerMet(name=ANN if node is group.nodes[BOB] else BOB)
        ]


# Damage.


def test_a_wrong_token_is_a_strangers() -> None:
    """A bit of the token is flipped in everything that is sent, and the originals come after."""
    random = Random(5)
    group = Group([ANN, BOB], log=False)
    post = Post(nodes={address_of(name): node for name, node in group.nodes.items()})

    def flip(letter: Letter) -> bool:
        if letter.data[0] == DATAGRAM:
            data = bytearray(letter.data)
            data[TOKEN_AT + random.randrange(8)] ^= 1 << random.randrange(8)
            post.deliver(Letter(letter.source, letter.target, bytes(data)))
        return False

    for number in range(30):
        submit(group.nodes[ANN], [BOB], b"%d" % number, post.now_ns)
        post.pass_time(10 * MS, lose=flip)
    assert [message.payload for message in group.nodes[BOB].take_inbox()] == [
        b"%d" % number for number in range(30)
    ]
    assert group.nodes[BOB].directory.stale >= 30
    assert group.nodes[ANN].reports == [PeerMet(name=BOB)]


@pytest.mark.parametrize("seed", range(6))
def test_damaged_datagrams_keep_nothing_from_being_delivered(seed: int) -> None:
    """Half of all datagrams lose their end on the way: what was in there is sent again."""
    random = Random(seed)
    post = Post()
    limits = Limits(window=3_000)
    ann = post.add(ANN, make_endpoint(ANN, limits=limits))
    bob = post.add(BOB, make_endpoint(BOB, limits=limits))
    introduce(ann, BOB, post.now_ns)
    introduce(bob, ANN, post.now_ns)

    def damage(letter: Letter) -> bool:
        if random.random() < 0.5:
            # No frame but our messages has this byte where it ends or begins, so it is seen.
            data = letter.data[: random.randrange(len(letter.data) - 1)] + b"\xff"
            post.deliver(Letter(letter.source, letter.target, data))
            return True
        return False

    got: dict[str, list[bytes]] = {ANN: [], BOB: []}
    for number in range(60):
        submit(ann, [BOB], b"%d" % number + b"\xff" * 300, post.now_ns)
        submit(bob, [ANN], b"%d" % number + b"\xff" * 300, post.now_ns)
    for _ in range(400):
        post.pass_time(200 * MS, lose=damage)
        got[ANN] += [message.payload for message in ann.take_inbox()]
        got[BOB] += [message.payload for message in bob.take_inbox()]
        if ann.buffered() == bob.buffered() == 0:
            break
    everything = [b"%d" % number + b"\xff" * 300 for number in range(60)]
    assert got == {ANN: everything, BOB: everything}
    assert counted(ann) > 0
    for node in (ann, bob):
        node.say_bye(LEAVE_WHEN_RELEASED, post.now_ns)
    post.pass_time(30 * SECOND, lose=damage)
    assert (ann.awaited(), bob.awaited()) == ([], [])


def test_a_datagram_cut_short_is_not_acknowledged() -> None:
    post, ann, bob = met_pair()
    submit(bob, [ANN], b"first", post.now_ns)
    submit(bob, [ANN], b"second", post.now_ns)
    (letter,) = post.collect()
    post.waiting.clear()
    post.deliver(Letter(letter.source, letter.target, letter.data[:-3]))
    assert [message.payload for message in ann.take_inbox()] == [b"first"]
    largest = session_of(ann, BOB).channel.acks.numbers.largest
    post.deliver(letter)
    assert [message.payload for message in ann.take_inbox()] == [b"second"]
    assert session_of(ann, BOB).channel.acks.numbers.largest == largest + 1


@pytest.mark.parametrize("seed", range(2))
def test_no_damage_makes_a_node_raise(seed: int) -> None:
    """Real datagrams with pieces changed, cut out, inserted, repeated; the token stays right."""
    random = Random(seed)
    post, ann, bob = pair()
    submit(bob, [ANN], bytes(3_000), post.now_ns)
    post.pass_time(SECOND)
    corpus = [letter.data for letter in post.carried if letter.target == address_of(ANN)]
    corpus += real_datagrams()
    for round_ in range(ROUNDS):
        token = int(session_of(ann, BOB).token_in).to_bytes(8, "little")
        data = damaged(random.choice(corpus), random.choice(corpus), random)
        if round_ % 4 and data[:1] == bytes([DATAGRAM]):
            data = data[:TOKEN_AT] + token + data[NUMBER_AT:]
        post.deliver(Letter(address_of(BOB), address_of(ANN), data), after_ns=MS)
        if round_ % 10 == 0:
            ann.expire(post.now_ns)
            ann.take_inbox()
            submit(ann, [BOB], b"x", post.now_ns)
            post.collect()
            post.waiting.clear()
    assert ROUNDS // 10 < counted(ann) < ROUNDS
