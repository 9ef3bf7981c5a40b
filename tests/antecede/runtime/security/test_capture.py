"""What somebody sees who captures everything between two real nodes: lengths, times, headers."""

import asyncio
from typing import cast

from antecede import Peer, open_node
from antecede.wire.frames import DATAGRAM, NO_KEY
from antecede.wire.handshake import KEYED_HELLO, KEYED_WELCOME
from tests.antecede.runtime.security.guarded import secret_of

WORDS = [b"attack at dawn %d" % number for number in range(30)]
ALICE, BOB = "alice-of-wonderland", "bob-the-builder"


class Wire(asyncio.DatagramProtocol):
    """Between alice, who writes here, and bob: passes everything on, and keeps it."""

    def __init__(self, bob: tuple[str, int]) -> None:
        self._bob = bob
        self._alice: tuple[str, int] | None = None
        self._carrier: asyncio.DatagramTransport | None = None
        self.captured: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._carrier = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.captured.append(data)
        if addr != self._bob:
            self._alice = addr
        target = self._alice if addr == self._bob else self._bob
        if target is not None and self._carrier is not None:
            self._carrier.sendto(data, target)


async def captured() -> list[bytes]:
    """All that two nodes with keys say to each other, from the first hello to the last word."""
    alice_key, bob_key = secret_of(ALICE), secret_of(BOB)
    loop = asyncio.get_running_loop()
    async with open_node(
        BOB, key=bob_key, peers={ALICE: Peer(keys=[alice_key.public])}, mtu=1400
    ) as bob:
        place = (bob.address.host, bob.address.port)
        wire, protocol = await loop.create_datagram_endpoint(
            lambda: Wire(place), local_addr=("127.0.0.1", 0)
        )
        between = wire.get_extra_info("sockname")
        peers = {BOB: Peer(between, keys=[bob_key.public])}
        async with open_node(ALICE, key=alice_key, peers=peers, mtu=1400) as alice:
            for word in WORDS:
                await alice.send(BOB, word * 20)
                assert (await bob.receive(timeout=60)).payload == word * 20
                await bob.send(ALICE, word)
                assert (await alice.receive(timeout=60)).payload == word
    wire.close()
    return protocol.captured


def test_a_capture_shows_no_payload_and_no_name() -> None:
    datagrams = asyncio.run(captured())
    kinds = {data[0] for data in datagrams}
    assert {DATAGRAM, KEYED_HELLO, KEYED_WELCOME} <= kinds
    assert all(data[1] != NO_KEY for data in datagrams if data[0] == DATAGRAM)
    everything = b"|".join(datagrams)
    assert len(everything) > sum(len(word) for word in WORDS) * 20
    keys = [secret_of(name).public.raw for name in (ALICE, BOB)]
    for word in (b"attack", b"dawn", b"hybrid", b"wonder", b"alice", b"bob-", b"antecede", *keys):
        assert word not in everything, word


def test_the_same_payload_never_looks_the_same() -> None:
    """Not even its first bytes: whoever compares datagrams learns lengths, and no more."""
    # The last word is said three times, as the very same datagram.
    datagrams = {data for data in asyncio.run(captured()) if data[0] == DATAGRAM}
    bodies = [data[12:28] for data in datagrams if len(data) >= 28]
    assert len(set(bodies)) == len(bodies) > 30
