"""The socket of a node: what leaves joined arrives as the datagrams it was made of."""

import asyncio

import pytest

from antecede.link.writer import Datagram
from antecede.live.addresses import Address
from antecede.live.udp import LONE_TURNS, UdpTransport

ANYWHERE = Address("127.0.0.1", 0)


class Collected:
    """A receiver that keeps what comes, and remembers how many came in each turn."""

    def __init__(self) -> None:
        self.datagrams: list[bytes] = []
        self.after_turns: list[int] = []

    def on_datagram(self, _address: object, data: bytes, _now_ns: int) -> None:
        self.datagrams.append(data)

    def on_joined(self, _address: object, data: bytes, size: int, _now_ns: int) -> None:
        self.datagrams += [data[start : start + size] for start in range(0, len(data), size)]

    def puts_aside(self) -> bool:
        return False

    def on_input_end(self, _now_ns: int) -> None:
        self.after_turns.append(len(self.datagrams))

    def on_time(self, _now_ns: int) -> None:
        raise AssertionError("no timer was asked for")


def carried(batches: list[list[bytes]], gso: str) -> Collected:
    """What one transport gets when another sends these, a batch at a time."""

    async def main() -> Collected:
        loop = asyncio.get_running_loop()
        source, sink = (UdpTransport(ANYWHERE, 1400, loop, gso, stay_awake=False) for _ in "ab")
        if gso == "on" and not source.joins:
            pytest.skip("the kernel has no UDP GSO and GRO, which Linux has since 5.0")
        collected, ignored = Collected(), Collected()
        sink.start(collected)
        source.start(ignored)
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

    assert carried(batches, gso).datagrams == [data for batch in batches for data in batch]


def test_datagrams_that_come_together_are_taken_in_one_turn_sooner_or_later() -> None:
    """While they come alone nobody looks for a second one, but it is noticed when that changes."""
    alone = [[b"alone"]] * LONE_TURNS
    together = [[bytes([number]) for number in range(8)]] * (LONE_TURNS + 1)
    turns = carried(alone + together, "off").after_turns

    taken = [after - before for before, after in zip([0, *turns], turns, strict=False)]
    assert max(taken) > 1
    assert sum(taken) == len(alone) + 8 * len(together)
