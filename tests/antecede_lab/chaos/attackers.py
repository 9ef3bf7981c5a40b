"""Attackers for simulated nodes: one who can only send, and one through whom everything passes.

Off the path an attacker forges what it can make up: addresses, names, whole greetings, tokens by
guessing. On the path it reads, drops, repeats, mixes and damages what others send. Neither has a
key. What nodes promise against each is in `docs/operations/security.md`.
"""

from random import Random
from typing import Final, final

from antecede.wire.frames import DATAGRAM, NO_KEY
from antecede.wire.handshake import (
    HELLO,
    KEYED_HELLO,
    WELCOME,
    Greeting,
    write_greeting,
    write_refusal,
    write_unknown,
)
from antecede_lab.simulator.nodes.adversary import Adversary, InterceptedPacket
from antecede_lab.simulator.nodes.host import name_of

STRANGER: Final = 1_000_000
"""An address at which no node is."""

KEPT_MOST: Final = 500
"""What an attacker on the path remembers, to repeat it later."""


@final
class OffPath(Adversary):
    """Cannot read: what it sends depends on nothing that others send."""

    def __init__(self, nodes: int, seed: int, share: float = 0.5) -> None:
        self._nodes: Final = nodes
        self._random: Final = Random(f"off path {seed}")
        self._share: Final = share
        self.sent = 0

    def passes(self, flight: InterceptedPacket, now_ns: int) -> list[InterceptedPacket]:  # noqa: ARG002 it cannot read
        # A datagram of somebody else's is only the tick of its clock.
        if self._random.random() >= self._share:
            return [flight]
        self.sent += 1
        return [self._forged(), flight]

    def _forged(self) -> InterceptedPacket:
        random = self._random
        target, claimed = random.sample(range(self._nodes), 2)
        source = claimed if random.random() < 0.7 else STRANGER + random.randrange(50)
        kind = random.randrange(6)
        if kind < 2:
            data = self._greeting(HELLO if kind == 0 else WELCOME, claimed, target)
        elif kind == 2:
            data = write_refusal(name_of(claimed), "made up")
        elif kind == 3:
            data = write_unknown(random.randrange(1, 1 << 20))
        elif kind == 4:
            token = random.randrange(1, 1 << 20).to_bytes(8, "little")
            data = bytes([DATAGRAM, NO_KEY]) + token + random.randbytes(random.randrange(1, 60))
        else:
            data = bytes([KEYED_HELLO, 1]) + random.randbytes(random.randrange(1, 700))
        return InterceptedPacket(source, target, data)

    def _greeting(self, kind: int, claimed: int, target: int) -> bytes:
        """A greeting as if from a peer, of another incarnation or of none there was."""
        random = self._random
        greeting = Greeting(
            name_of(claimed),
            name_of(target),
            random.randrange(1, 1 << 30),
            random.randrange(1, 1 << 30),
        )
        greeting.order = "hybrid"
        greeting.window = greeting.payload_limit = greeting.socket_bytes = 1 << 20
        greeting.echo = random.choice((0, random.randrange(1, 1 << 30)))
        return write_greeting(kind, greeting)


@final
class OnPath(Adversary):
    """Reads everything; drops, repeats, reflects, mixes and damages."""

    def __init__(self, seed: int, share: float = 0.3) -> None:
        self._random: Final = Random(f"on path {seed}")
        self._share: Final = share
        self._kept: Final[list[InterceptedPacket]] = []
        self.sent = 0

    def passes(self, flight: InterceptedPacket, now_ns: int) -> list[InterceptedPacket]:  # noqa: ARG002 no need of a clock
        random = self._random
        self._keep(flight)
        if random.random() >= self._share:
            return [flight]
        self.sent += 1
        kind = random.randrange(6)
        if kind == 0:
            return []
        if kind == 1:
            return [random.choice(self._kept), flight]
        if kind == 2:
            return [flight, InterceptedPacket(flight.target, flight.source, flight.data)]
        if kind == 3:
            old = random.choice(self._kept)
            return [InterceptedPacket(old.source, flight.target, old.data), flight]
        if kind == 4:
            cut = random.randrange(len(flight.data))
            mixed = flight.data[:cut] + random.choice(self._kept).data[cut:]
            return [InterceptedPacket(flight.source, flight.target, mixed), flight]
        return [
            InterceptedPacket(flight.source, flight.target, damaged(flight.data, random)),
            flight,
        ]

    def _keep(self, flight: InterceptedPacket) -> None:
        if len(self._kept) < KEPT_MOST:
            self._kept.append(flight)
        else:
            self._kept[self._random.randrange(KEPT_MOST)] = flight


def damaged(data: bytes, random: Random) -> bytes:
    """The datagram with a bit changed, a piece missing, or something behind it."""
    kind = random.randrange(3)
    if kind == 0:
        place = random.randrange(len(data))
        return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]
    if kind == 1:
        return data[: random.randrange(len(data))]
    return data + random.randbytes(random.randrange(1, 20))
