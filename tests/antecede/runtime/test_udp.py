"""The socket of a node: what leaves joined arrives as the datagrams it was made of."""

import asyncio
from collections.abc import Iterable
from itertools import cycle, islice, takewhile

import pytest

from antecede import open_node
from antecede.errors import CannotBind
from antecede.runtime.carriers.udp import DRAIN, DRAIN_ASIDE, LONE_TURNS, UdpCarrier
from antecede.runtime.config.addresses import Address
from antecede.transport.datagram import Datagram
from tests.antecede.runtime.no_files import no_more_files

ANYWHERE = Address("127.0.0.1", 0)


class Collected:
    """A receiver that keeps what comes, and remembers how many came in each turn."""

    def __init__(self, *, aside: bool = False) -> None:
        self._aside = aside
        self.datagrams: list[bytes] = []
        self.after_turns: list[int] = []

    def on_datagram(self, _address: object, data: bytes, _now_ns: int) -> None:
        self.datagrams.append(data)

    def on_joined(self, _address: object, data: bytes, size: int, _now_ns: int) -> None:
        self.datagrams += [data[start : start + size] for start in range(0, len(data), size)]

    def sender_of(self, _data: bytes) -> int:
        return -1

    def is_over(self, _session: int) -> bool:
        return False

    def is_queueing(self) -> bool:
        return self._aside

    def most(self) -> int:
        """How many came in one turn, at most."""
        turns = zip([0, *self.after_turns], self.after_turns, strict=False)
        return max((after - before for before, after in turns), default=0)

    def on_input_end(self, _now_ns: int) -> None:
        self.after_turns.append(len(self.datagrams))

    def on_time(self, _now_ns: int) -> None:
        raise AssertionError("no timer was asked for")


def carried(batches: Iterable[list[bytes]], gso: str, collected: Collected) -> Collected:
    """What one transport gets when another sends these, a batch at a time."""

    async def main() -> Collected:
        loop = asyncio.get_running_loop()
        source, sink = (UdpCarrier(ANYWHERE, 1400, loop, gso, busy_poll=False) for _ in "ab")
        if gso == "on" and not source.joins:
            pytest.skip("the kernel has no UDP GSO and GRO, which Linux has since 5.0")
        sink.start(collected)
        source.start(Collected())
        address = sink.resolve(sink.address)
        expected = 0
        for batch in batches:
            source.send([Datagram(address, data) for data in batch])
            expected += len(batch)
            async with asyncio.timeout(30):
                while len(collected.datagrams) < expected:
                    await asyncio.sleep(0)
        source.close()
        sink.close()
        return collected

    return asyncio.run(main())


@pytest.mark.parametrize("gso", ["on", "off"])
def test_datagrams_arrive_as_they_were_sent_joined_or_not(gso: str) -> None:
    batches = [
        [bytes([number]) * 1_000 for number in range(5)] + [b"the short end"],
        [b"alone"],
        [b"x" * 700, b"y" * 900, b"z" * 900],
    ]

    assert carried(batches, gso, Collected()).datagrams == [
        data for batch in batches for data in batch
    ]


def test_datagrams_that_come_together_are_taken_in_one_turn_sooner_or_later() -> None:
    """While they come alone nobody looks for a second one, but it is noticed when that changes."""
    alone = [[b"alone"]] * LONE_TURNS
    together = [[bytes([number]) for number in range(8)]] * (LONE_TURNS + 1)
    collected = carried(alone + together, "off", Collected())
    assert collected.most() > 1
    assert len(collected.datagrams) == len(alone) + 8 * len(together)


def test_a_turn_is_short_unless_datagrams_are_only_put_aside() -> None:
    many = [[b"%d" % number for number in range(4 * DRAIN)]] * 20
    read_at_once = carried(many, "off", Collected())
    assert read_at_once.most() <= DRAIN

    aside = Collected(aside=True)
    until_seen = takewhile(lambda _: aside.most() <= DRAIN, cycle(many))
    assert DRAIN < carried(islice(until_seen, 10_000), "off", aside).most() <= DRAIN_ASIDE


def test_a_peer_is_introduced_although_no_more_files_can_be_opened() -> None:
    async def story() -> bytes:
        async with open_node("bob", peers=["alice"]) as bob, open_node("alice") as alice:
            with no_more_files():
                alice.add_peer("bob", bob.address)
            await alice.send("bob", b"hello")
            heard = await bob.receive(60)
            await asyncio.gather(alice.close(60), bob.close(60))
            return heard.payload

    assert asyncio.run(story()) == b"hello"


@pytest.mark.parametrize("bind", ["127.0.0.1:0", "tcp://127.0.0.1:0"])
def test_a_node_that_cannot_have_a_socket_says_so(bind: str) -> None:
    async def story() -> None:
        async with open_node("alice", bind=bind):
            pass  # Everything that it needs is imported now.
        with no_more_files():
            await open_node("alice", bind=bind)

    with pytest.raises(CannotBind, match="Too many open files"):
        asyncio.run(story())
