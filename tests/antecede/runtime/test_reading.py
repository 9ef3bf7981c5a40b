"""What waits is read a while in every turn of the loop, and no longer than others can wait."""

import asyncio
from itertools import count

from antecede.endpoint.endpoint import Endpoint
from antecede.runtime.reading import MESSAGES, READING_NS, FairReader
from tests.antecede.endpoint.endpoints import ANN, BOB, CAT, address_of, submit
from tests.antecede.endpoint.test_intake import came, trio, written

FLOOD = 700


class Hub:
    """A node that counts in how many stretches the datagrams of ann are read."""

    def __init__(self, nodes: dict[str, Endpoint]) -> None:
        self._nodes = nodes
        self._read = came(nodes, ANN)
        self.stretches: list[int] = []

    def on_input_end(self, now_ns: int) -> None:  # noqa: ARG002 - as a node has it
        read, self._read = self._read, came(self._nodes, ANN)
        self.stretches.append(self._read - read)

    def on_time(self, now_ns: int) -> None:
        """Nothing is late here."""


def flooded() -> tuple[Hub, FairReader]:
    """Much of ann waits, and to read a share of it takes nearly as long as may be read."""
    post, nodes, _ = trio()
    hub = Hub(nodes)
    clock = count(post.now_ns, READING_NS - 1)
    loop = asyncio.get_running_loop()
    reading = FairReader(hub.on_input_end, hub.on_time, nodes[CAT], lambda: next(clock), loop)
    reading.on_datagram(address_of(BOB), written(post, nodes[BOB], b"early"), post.now_ns)
    flood = written(post, nodes[ANN], b"x" * 1000)
    for _ in range(FLOOD):
        reading.on_datagram(address_of(ANN), flood, post.now_ns)
    reading.on_input_end(next(clock))
    return hub, reading


def test_a_turn_in_which_more_comes_has_one_stretch_of_reading() -> None:
    async def scene() -> None:
        hub, reading = flooded()
        loop = asyncio.get_running_loop()
        for _ in range(5):
            # As the loop has it: first what was planned in the last turn, then what has come.
            loop.call_soon(reading.on_input_end, reading._clock())
            await asyncio.sleep(0)
        assert len(hub.stretches) == 6

    asyncio.run(scene())


def test_a_stretch_ends_when_there_is_enough_to_hand_over() -> None:
    """However quickly that was read."""

    async def scene() -> None:
        post, nodes, _ = trio()
        hub = Hub(nodes)
        loop = asyncio.get_running_loop()
        reading = FairReader(hub.on_input_end, hub.on_time, nodes[CAT], lambda: post.now_ns, loop)
        for _ in range(256):
            submit(nodes[ANN], [CAT], bytes(64), post.now_ns)
        nodes[ANN].write(post.now_ns)
        flood = [one.data for one in nodes[ANN].out if one.address == address_of(CAT)]
        reading.on_datagram(address_of(BOB), written(post, nodes[BOB], b"early"), post.now_ns)
        for data in flood:
            reading.on_datagram(address_of(ANN), data, post.now_ns)
        reading.on_input_end(post.now_ns)
        assert len(nodes[CAT].take_inbox()) >= MESSAGES
        assert 0 < hub.stretches[0] < len(flood)

    asyncio.run(scene())


def test_all_is_read_although_nothing_more_comes() -> None:
    async def scene() -> None:
        hub, reading = flooded()
        assert hub.stretches[0] < FLOOD // 10
        for _ in range(FLOOD):
            await asyncio.sleep(0)
        assert sum(hub.stretches) == FLOOD
        assert not reading.queue.has_waiting()
        assert len(hub.stretches) < FLOOD, "then nothing is planned any more"

    asyncio.run(scene())
