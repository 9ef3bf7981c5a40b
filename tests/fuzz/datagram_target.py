"""A node to throw datagrams at: it has met a peer, and has something to say to it."""

from antecede.endpoint.endpoint import Endpoint
from antecede.wire.frames import DATAGRAM, NUMBER_AT, TOKEN_AT
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    CAT,
    MS,
    SECOND,
    Letter,
    Post,
    address_of,
    introduce,
    make_endpoint,
    met_pair,
    session_of,
    submit,
)

KNOWS_TOKEN = 0x40
"""In the first byte of an input: the right token goes where a datagram has it."""


class Target:
    """Ann, with Bob's datagrams made up by whoever calls."""

    def __init__(self, order: str = "hybrid") -> None:
        self.post, self.ann = met_in_three(order) if order != "hybrid" else met_pair()[:2]
        self.rounds = 0

    def is_over(self) -> bool:
        """Whether Ann listens to nobody any more."""
        session = session_of(self.ann, BOB)
        return not session.met or session.ended or self.ann.fenced is not None

    def receive(self, data: bytes) -> None:
        """Let a made-up datagram arrive, and do what Ann then wants done."""
        self.rounds += 1
        post = self.post
        if data[:1] == bytes([DATAGRAM ^ KNOWS_TOKEN]):
            token = int(session_of(self.ann, BOB).token_in).to_bytes(8, "little")
            data = bytes([DATAGRAM]) + data[1:TOKEN_AT] + token + data[NUMBER_AT:]
        post.deliver(Letter(address_of(BOB), address_of(ANN), data), after_ns=MS)
        if self.rounds % 10 == 0 and self.ann.fenced is None:
            submit(self.ann, [BOB], b"something to say", post.now_ns)
            self.ann.expire(post.now_ns)
            self.ann.take_inbox()
        post.collect()
        post.waiting.clear()


def sample_inputs() -> list[bytes]:
    """What two nodes really send each other, as inputs."""
    post, ann, bob = met_pair()
    for size in (1, 100, 5_000):
        submit(bob, [ANN], bytes(size), post.now_ns)
        submit(ann, [BOB], bytes(size), post.now_ns)
        post.pass_time(100 * MS)
    inputs = []
    for letter in post.carried:
        inputs.append(letter.data)
        if letter.data[0] == DATAGRAM:
            inputs.append(bytes([DATAGRAM ^ KNOWS_TOKEN]) + letter.data[1:])
    return inputs


def met_in_three(order: str) -> tuple[Post, Endpoint]:
    """Ann, who has met Bob and Cat: there are third parties to speak of."""
    post = Post()
    nodes = {name: post.add(name, make_endpoint(name, order=order)) for name in (ANN, BOB, CAT)}
    for name, node in nodes.items():
        for other in nodes:
            if other != name:
                introduce(node, other, post.now_ns)
    post.pass_time(SECOND)
    return post, nodes[ANN]
