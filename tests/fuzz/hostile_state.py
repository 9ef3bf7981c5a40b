"""Hostile datagrams at a node with keys: whatever they are, nothing of its state changes.

`python -m tests.fuzz.hostile_state COUNT [SEED]` throws so many: random ones, damaged ones, mixed
ones, recorded ones again, early or late, from other addresses and to the wrong node. After each
batch the node must be in the state it was in, hold no more memory, and still deliver.
"""

import gc
import sys
from random import Random

from antecede.link.endpoint import Endpoint
from antecede.tools.chaos.attackers import damaged
from antecede.wire.frames import DATAGRAM, TOKEN_AT
from antecede.wire.greeting import (
    KEYED_HELLO,
    REFUSE,
    UNKNOWN,
    WELCOME,
)
from tests.link.endpoints import ANN, BOB, MS, address_of, session_of, submit
from tests.live.security.guarded import met_keyed_pair

BATCH = 500
OBJECTS_MORE = 3_000
"""Python objects that may be there after a campaign and were not before."""

FIRST_BYTES = (DATAGRAM, KEYED_HELLO, WELCOME, REFUSE, UNKNOWN)


def state_of(node: Endpoint) -> tuple[object, ...]:
    """Everything about a node that a stranger must not change."""
    session = session_of(node, BOB)
    standing = session.standing
    return (
        node._process.fingerprint(),
        session.incarnation,
        session.token_in,
        session.token_out,
        session.address,
        session.receipts.numbers.largest,
        (standing.phase, standing.ours, standing.theirs),
        (session.credit.limit, session.credit.spent),
        session.unnoted,
        len(node.directory.by_name),
        len(node.directory.by_token),
        session.outgoing.queued(),
        node.fenced,
        [report for report in node.reports if type(report).__name__ != "Refused"],
        len(node.inbox.messages),
    )


class Siege:
    """Ann, who has met Bob, and somebody who has all their letters."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"siege {seed}")
        self.post, self.ann, self.bob = met_keyed_pair()
        self.thrown = 0
        self._talk()
        self.recorded = [letter.data for letter in self.post.carried]

    def storm(self) -> None:
        """A batch of datagrams, none of which may change anything."""
        before = state_of(self.ann)
        for _ in range(BATCH):
            source = address_of(BOB) if self.random.random() < 0.8 else "elsewhere"
            self.ann.receive(source, self._datagram(), self.post.now_ns)
            self.thrown += 1
        after = state_of(self.ann)
        assert after == before, (before, after)
        self.ann.reports.clear()
        self.ann.out.clear()
        self.post.now_ns += MS

    def still_delivers(self) -> None:
        """The two still talk."""
        submit(self.bob, [ANN], b"still there", self.post.now_ns)
        self.post.pass_time(300 * MS)
        assert [message.payload for message in self.ann.take_inbox()] == [b"still there"]
        self.recorded += [letter.data for letter in self.post.carried[-4:]]
        self.post.carried.clear()

    def _talk(self) -> None:
        for size in (1, 40, 3_000):
            submit(self.bob, [ANN], bytes(size), self.post.now_ns)
            submit(self.ann, [BOB], bytes(size), self.post.now_ns)
            self.post.pass_time(100 * MS)
        self.ann.take_inbox()
        self.bob.take_inbox()

    def _datagram(self) -> bytes:
        random = self.random
        kind = random.randrange(5)
        if kind == 0:
            return bytes([random.choice(FIRST_BYTES)]) + random.randbytes(random.randrange(200))
        data = random.choice(self.recorded)
        if kind == 1:
            return data
        if kind == 2:
            other = random.choice(self.recorded)
            cut = random.randrange(len(data))
            return data[:cut] + other[cut:]
        if kind == 3:
            token = int(session_of(self.ann, BOB).token_in).to_bytes(8, "little")
            made_up = random.randbytes(random.randrange(1, 100))
            return bytes([DATAGRAM, random.randrange(4)]) + token[: 10 - TOKEN_AT] + made_up
        return damaged(data, random)


def besiege(count: int, seed: int = 1) -> int:
    """So many hostile datagrams; how many more Python objects are there after them than before."""
    siege = Siege(seed)
    siege.storm()
    siege.still_delivers()
    gc.collect()
    before = len(gc.get_objects())
    while siege.thrown < count:
        siege.storm()
        if siege.thrown % (20 * BATCH) == 0:
            siege.still_delivers()
    siege.still_delivers()
    gc.collect()
    return len(gc.get_objects()) - before


if __name__ == "__main__":
    TOTAL = int(float(sys.argv[1]))
    FIRST = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    MORE = besiege(TOTAL, FIRST)
    print(f"{TOTAL:,} hostile datagrams: no state changed, {MORE} objects more than before")
    sys.exit(MORE > OBJECTS_MORE)
