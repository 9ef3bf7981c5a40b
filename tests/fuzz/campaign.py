"""Attacks by the million: `python -m tests.fuzz.campaign [--datagrams 1e8] [--jobs 2] [--seed 1]`.

Four attackers, in turn. A *stranger* on the path of two nodes with keys changes, cuts, grows,
repeats, reflects and makes up what they say: nothing of their state may change, and all they say
arrives. A *meddler* does the same while they meet for the first time, again and again. A *member*
says whatever it likes under its own session: that must not raise, nor take memory without limit.
And a stranger who has seen every datagram speaks to a *restless node* without keys, or with, whose
peers come, go and expel each other: it is answered with no more bytes than it has sent.

A find is printed with the seed and the turn that repeat it, and ends the campaign.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from random import Random

from librt.strings import BytesWriter

from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.events import PeerMet
from antecede.runtime.security.noise_handshake import NoiseCrypto
from antecede.wire.expulsions import ExpulsionRecord, write_expulsion_records
from antecede.wire.frames import (
    DATAGRAM,
    EXPULSIONS,
    EXPULSIONS_ACKED,
    NO_KEY,
    NUMBER_AT,
    TOKEN_AT,
    write_header,
)
from antecede.wire.handshake import KEYED_COOKIE, KEYED_HELLO, KEYED_WELCOME, write_unknown
from antecede.wire.varint import write_varint
from antecede_lab.wire.codec import encode
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    DAN,
    MS,
    MTU,
    SECOND,
    Post,
    address_of,
    introduce,
    make_endpoint,
    session_of,
    submit,
)
from tests.antecede.endpoint.test_strangers import forged_hello, forged_ping, let_in
from tests.antecede.runtime.security.guarded import Ticks, everybody, guard_of, keyed_pair, state_of
from tests.antecede_lab.wire.packet_strategies import sample_packets
from tests.antecede_lab.wire.test_fuzz import damaged
from tests.fuzz.datagram_target import KNOWS_TOKEN, Target, sample_inputs

TURNS = 50_000
"""Datagrams of one attack; then the next one begins, with new nodes."""

PAUSE = 100
"""After so many datagrams the nodes say something of their own."""

ORDERS = ("hybrid", "hybrid", "hybrid-sps", "fifo", "none")

MEDDLING = 100
"""Datagrams of a meddler's while two nodes meet."""

BLOCKS_MOST = 3_000
"""So many blocks of memory more may be in use after an attack than after its first quarter."""


def attack_by_a_stranger(turns: int, seed: int) -> None:
    """Two nodes with keys talk, and somebody on the path has all that they ever said."""
    post, ann, bob = keyed_pair()
    random = Random(seed)
    got: list[bytes] = []
    sent: list[bytes] = []
    memory = Memory(turns)
    known: dict[str, list[object]] = {}
    for turn in range(turns):
        if turn % PAUSE == 0:
            known.clear()
            sent.append(b"message %d" % turn)
            node, peer = random.choice([(ann, BOB), (bob, ANN)])
            submit(node, [peer], sent[-1], post.now_ns)
            post.pass_time(20 * MS)
            got += taken(ann) + taken(bob)
            del post.carried[:-300]
            memory.check(turn, seed)
        suffer(post, random, known, f"stranger, seed {seed}, turn {turn}")
    post.pass_time(20 * SECOND)
    got += taken(ann) + taken(bob)
    assert sorted(got) == sorted(sent), f"stranger, seed {seed}: {len(got)} of {len(sent)} arrived"
    assert (ann.reports, bob.reports) == ([PeerMet(name=BOB)], [PeerMet(name=ANN)]), seed


def attack_by_a_meddler(turns: int, seed: int) -> None:
    """The same before they have met: what is changed counts for nothing, and they meet."""
    random = Random(seed)
    guards: list[NoiseCrypto] = []
    clock = Ticks()
    for turn in range(turns // MEDDLING):
        if turn % 50 == 0:
            # Making guards takes longer than all the rest; these have answered others before.
            guards = [guard_of(ANN, {BOB: [BOB]}, clock=clock), guard_of(BOB, {ANN: [ANN]})]
        post, ann, bob = keyed_pair(*guards)
        clock.now_ns += SECOND
        submit(ann, [BOB], b"%d" % turn, post.now_ns)
        for node in (ann, bob):
            node.expire(post.now_ns)
        for letter in post.collect():
            post.deliver(letter)
        post.collect()
        known: dict[str, list[object]] = {}
        for _ in range(MEDDLING):
            suffer(post, random, known, f"meddler, seed {seed}, turn {turn}", kept=3)
        post.pass_time(3 * SECOND)
        assert taken(bob) == [b"%d" % turn], f"meddler, seed {seed}, turn {turn}"
        assert session_of(ann, BOB).met, f"meddler, seed {seed}, turn {turn}"


def attack_by_a_member(turns: int, seed: int) -> None:
    """Damaged frames under a session that is known: survived, and forgotten."""
    random = Random(seed)
    corpus = sample_inputs()
    packets = sample_frames()
    target = Target()
    memory = Memory(turns)
    for turn in range(turns):
        if turn % 2_000 == 0 or (turn % 20 == 0 and target.is_over()):
            target = Target(random.choice(ORDERS))
            memory.check(turn, seed)
        data = random.choice(corpus) if turn % 2 else written(packets, turn, random)
        for _ in range(random.randrange(3)):
            data = damaged(data, random.choice(corpus), random)
        try:
            target.receive(data)
        except Exception as error:
            where = f"member, seed {seed}, turn {turn}"
            raise AssertionError(f"{where}: {data.hex()}: {error!r}") from error


@cache
def sample_frames() -> list[bytes]:
    """A few packets of every kind that there is; making them takes longer than a short attack."""
    return [encode(packet) for packet in sample_packets()]


def written(packets: list[bytes], number: int, random: Random) -> bytes:
    """A datagram of a member that writes it right, and puts into it whatever comes to its mind."""
    writer = BytesWriter()
    write_header(writer, 0, 1000 + number, NO_KEY)
    write_varint(writer, random.choice([0, 0, 3, 900]))
    for _ in range(1 + random.randrange(3)):
        how = random.randrange(4)
        if how == 0:
            names = random.choices([ANN, BOB, "cat", "dan"], k=1 + random.randrange(3))
            stones = [
                ExpulsionRecord(name, random.choice([1, 1, 2, 7]), BOB, "why") for name in names
            ]
            told = random.random() < 0.5
            write_expulsion_records(writer, EXPULSIONS if told else EXPULSIONS_ACKED, stones, told)
        elif how == 1:
            writer.append(random.randrange(0x80, 0x90))
            writer.write(random.randbytes(random.randrange(12)))
        else:
            writer.write(random.choice(packets))
    data = writer.getvalue()
    return bytes([DATAGRAM ^ KNOWS_TOKEN]) + data[1:]


def attack_on_a_restless_node(turns: int, seed: int) -> None:
    """Ann meets, removes and expels peers and is expelled, and lets anybody in; somebody has seen
    every token. She never raises, and answers strangers with no more than they said."""
    random = Random(seed)
    import_what_nodes_need()
    memory = Memory(turns)
    for turn in range(0, turns, RESTLESS):
        speak_to_a_restless_node(random, f"restless node, seed {seed}, turn {turn}")
        memory.check(turn, seed)


@cache
def import_what_nodes_need() -> None:
    """The first node with keys, and of each order, takes memory that is not its own."""
    for seed in range(20):
        RestlessNode(Random(seed))


def speak_to_a_restless_node(random: Random, where: str) -> None:
    """As many datagrams as one node hears before the next one takes its place."""
    scene = RestlessNode(random)
    for turn in range(RESTLESS):
        said = b""
        try:
            if turn % 10 == 0 and scene.ann.fenced is None:
                scene.act()
            said = scene.datagram()
            before = len(scene.ann.out)
            scene.ann.receive(ELSEWHERE, said, scene.post.now_ns)
        except Exception as error:
            raise AssertionError(f"{where} + {turn}: {said.hex()}: {error!r}") from error
        answers = scene.ann.out[before:]
        answered = sum(len(datagram.data) for datagram in answers if datagram.address == ELSEWHERE)
        assert answered <= len(said), f"{where} + {turn}: {said.hex()}: {answered} bytes"
        let_in(scene.ann, scene.post.now_ns)
        if turn % 20 == 0:
            scene.post.pass_time(random.choice([MS, 20 * MS, 300 * MS]))


RESTLESS = 200
"""Datagrams that one restless node hears."""

ELSEWHERE = "elsewhere"
"""Where a stranger speaks from."""


class RestlessNode:
    """Ann among peers that come and go, and whoever has seen what they said."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.post = Post()
        limits = Limits(open_to_strangers=random.random() < 0.5)
        self.order = random.choice(ORDERS)
        self.keyed = random.random() < 0.3 and not limits.open_to_strangers
        guards = everybody((ANN, BOB, CAT, DAN)) if self.keyed else {}
        self.lives = 1
        self.ann = make_endpoint(ANN, order=self.order, limits=limits, guard=guards.get(ANN))
        self.post.add(ANN, self.ann)
        self.guards = guards
        for name in (BOB, CAT, DAN):
            self.begin(name)
            self.ann.add_peer(name, random.choice([None, address_of(name)]), 2, MTU, SECOND)
        self.post.pass_time(SECOND)

    def begin(self, name: str) -> None:
        """A peer starts, or starts again."""
        self.lives += 1
        node = make_endpoint(
            name, incarnation=self.lives, order=self.order, guard=self.guards.get(name)
        )
        self.post.add(name, node)
        introduce(node, ANN, self.post.now_ns)

    def act(self) -> None:
        """Ann or a peer does what applications do."""
        now_ns = self.post.now_ns
        name = self.random.choice((BOB, CAT, DAN))
        known = name in self.ann.directory.by_name
        peer = self.post.nodes[address_of(name)]
        how = self.random.randrange(8)
        if how == 0 and known:
            self.ann.remove_peer(name, now_ns)
        elif how == 1 and not known:
            self.ann.add_peer(name, None, 2, MTU, now_ns)
        elif how == 2 and known and session_of(self.ann, name).met:
            self.ann.expel(name, self.random.choice(["", "why not", "\u202e" * 60]), now_ns)
        elif how == 3 and peer.fenced is None and ANN in peer.directory.by_name:
            if session_of(peer, ANN).met:
                peer.expel(ANN, "each other", now_ns)
        elif how == 4:
            self.begin(name)
        elif how == 5 and peer.fenced is None:
            peer.say_bye(self.random.randrange(2), now_ns)
        elif known and session_of(self.ann, name).is_here():
            submit(self.ann, [name], bytes(self.random.choice([0, 10, 2_000])), now_ns)

    def datagram(self) -> bytes:
        """What somebody makes of what it has seen: repeated, cut, grown, changed, or made up."""
        random = self.random
        how = random.randrange(6)
        if how == 0:
            name = random.choice([ANN, BOB, CAT, f"n{random.randrange(1000)}"])
            return forged_hello(name, ANN, 1 + random.randrange(9), order=self.order)
        seen = random.choice(self.post.carried).data
        if seen[0] == DATAGRAM and how == 1:
            return write_unknown(int.from_bytes(seen[TOKEN_AT:NUMBER_AT], "little"))
        if seen[0] == DATAGRAM and how == 2:
            return forged_ping(int.from_bytes(seen[TOKEN_AT:NUMBER_AT], "little"))
        if how == 3:
            return seen[: 1 + random.randrange(len(seen))]
        return disturbed(seen, random) if how == 4 else seen


ATTACKS: tuple[Callable[[int, int], None], ...] = (
    attack_by_a_stranger,
    attack_by_a_meddler,
    attack_by_a_member,
    attack_on_a_restless_node,
)


class Memory:
    """Blocks of memory in use; they must not become many more while an attack goes on."""

    def __init__(self, turns: int) -> None:
        self._warm = turns // 4
        self._at_first = 0
        self._step = max(1, turns // 8)
        self._next = self._warm

    def check(self, turn: int, seed: int) -> None:
        """Compare with the end of the first quarter, eight times in all."""
        if turn < self._next or turn == 0:
            return
        self._next = turn + self._step
        gc.collect()
        blocks = sys.getallocatedblocks()
        if self._at_first == 0:
            self._at_first = blocks
        grown = blocks - self._at_first
        assert grown < BLOCKS_MOST, f"seed {seed}, turn {turn}: {grown} blocks more than at first"


def suffer(
    post: Post, random: Random, known: dict[str, list[object]], where: str, kept: int = 0
) -> None:
    """One datagram of the attacker's: the state of the node it goes to stays as it is.

    From `kept` on the state is compared: what comes before may differ while nodes have not met.
    What is `known` was the state of a node after the datagram before, and nothing else happened.
    """
    letter = random.choice(post.carried)
    data = letter.data
    target = letter.target
    how = random.randrange(8)
    if how == 0:
        target = letter.source  # reflected
    elif how > 1:
        data = disturbed(data, random)
    node = post.nodes[target]
    before = known.get(target)
    if before is None:
        before = known[target] = state_of(node)[kept:]
    source = random.choice([letter.source, letter.target, "elsewhere"])
    try:
        node.receive(source, data, post.now_ns)
    except Exception as error:
        raise AssertionError(f"{where}: {data.hex()} from {source}: {error!r}") from error
    assert state_of(node)[kept:] == before, f"{where}: {data.hex()} from {source}"
    node.out.clear()


def disturbed(data: bytes, random: Random) -> bytes:
    """Changed, cut, grown, of another kind, or made up: never what it was."""
    changed = bytearray(data)
    how = random.randrange(6)
    if how == 0:
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    elif how == 1:
        del changed[random.randrange(len(changed)) :]
    elif how == 2:
        changed += random.randbytes(1 + random.randrange(40))
    elif how == 3:
        kinds = [0xA1, 0xA2, 0xA3, KEYED_HELLO, KEYED_WELCOME, KEYED_COOKIE]
        changed[0] = random.choice([kind for kind in kinds if kind != changed[0]])
    elif how == 4:
        changed[1] = (changed[1] + 1 + random.randrange(255)) % 256
    else:
        changed = bytearray(random.randbytes(random.randrange(1, 1300)))
    return bytes(changed) if bytes(changed) != data else b"\xa5"


def taken(node: Endpoint) -> list[bytes]:
    return [message.payload for message in node.take_inbox()]


def attack(number: int, seed: int, turns: int) -> None:
    """One attack of a campaign."""
    ATTACKS[number % len(ATTACKS)](turns, seed * 1_000_000 + number)


def main() -> None:
    """Attack until so many datagrams have been suffered."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.campaign", description=__doc__)
    parser.add_argument("--datagrams", type=float, default=1e8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=24 * 60, help="stop after so long")
    parser.add_argument("--json", action="store_true", help="the last line is JSON")
    chosen = parser.parse_args()
    attacks = max(1, int(chosen.datagrams) // TURNS)
    began = time.monotonic()
    suffered = 0
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for start in range(0, attacks, chosen.jobs * 3):
            if time.monotonic() - began > 60 * chosen.minutes:
                break
            numbers = range(start, min(attacks, start + chosen.jobs * 3))
            for waiting in [pool.submit(attack, n, chosen.seed, TURNS) for n in numbers]:
                waiting.result()
                suffered += TURNS
            rate = suffered / (time.monotonic() - began)
            print(f"{suffered:,} datagrams suffered, {rate:,.0f} a second", flush=True)
    print(f"nothing was found in {suffered:,} datagrams, seed {chosen.seed}")
    if chosen.json:
        print(json.dumps({"datagrams": suffered, "seed": chosen.seed, "found": 0}))


if __name__ == "__main__":
    main()
