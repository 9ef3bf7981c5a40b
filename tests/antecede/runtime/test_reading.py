"""What waits is read a while in every turn of the loop, and no longer than others can wait."""

import asyncio
from collections.abc import Callable
from itertools import count

from antecede.endpoint.endpoint import Endpoint
from antecede.runtime.callbacks import Callbacks
from antecede.runtime.committer import Committer
from antecede.runtime.config.expulsion_policy import MANUAL, ExpulsionEnforcer
from antecede.runtime.deliveries import Deliveries
from antecede.runtime.notifier import Notifier
from antecede.runtime.observe.stalls import Stalls
from antecede.runtime.test_network import MemoryCarrier
from antecede.runtime.turn import MESSAGES, READING_NS, Turn
from antecede.testing import TestNetwork
from tests.antecede.endpoint.endpoints import ANN, BOB, CAT, address_of, submit
from tests.antecede.endpoint.test_receive_queue import came, trio, written

FLOOD = 700


class Clocked(MemoryCarrier):
    """A carrier with a clock of the test's."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(TestNetwork(), "cat", 1400)
        self.clock = clock

    def now_ns(self) -> int:
        return self.clock()


class Hub(Committer):
    """Counts in how many stretches the datagrams of ann are read: each ends with a turn."""

    def __init__(self, nodes: dict[str, Endpoint], clock: Callable[[], int]) -> None:
        cat, carrier = nodes[CAT], Clocked(clock)
        super().__init__(cat, carrier, lambda _: None)
        self._nodes = nodes
        self._read = came(nodes, ANN)
        self.stretches: list[int] = []
        self.turn = Turn(cat, carrier, Notifier(asyncio.get_running_loop()))
        deliveries = Deliveries("cat", cat, self.turn.soon)
        enforcer = ExpulsionEnforcer(MANUAL, cat, Callbacks("cat"), 0)
        self.turn.begin(deliveries, self, enforcer, Stalls(cat, deliveries.unread))

    def end_turn(self) -> None:
        read, self._read = self._read, came(self._nodes, ANN)
        self.stretches.append(self._read - read)


def flooded() -> Hub:
    """Much of ann waits, and to read a share of it takes nearly as long as may be read."""
    post, nodes, _ = trio()
    clock = count(post.now_ns, READING_NS - 1)
    hub = Hub(nodes, lambda: next(clock))
    turn = hub.turn
    turn.on_datagram(address_of(BOB), written(post, nodes[BOB], b"early"), post.now_ns)
    flood = written(post, nodes[ANN], b"x" * 1000)
    for _ in range(FLOOD):
        turn.on_datagram(address_of(ANN), flood, post.now_ns)
    turn.on_input_end(next(clock))
    return hub


def test_a_turn_in_which_more_comes_has_one_stretch_of_reading() -> None:
    async def scene() -> None:
        hub = flooded()
        loop = asyncio.get_running_loop()
        for _ in range(5):
            # As the loop has it: first what was planned in the last turn, then what has come.
            loop.call_soon(hub.turn.on_input_end, hub.turn._now())
            await asyncio.sleep(0)
        assert len(hub.stretches) == 6

    asyncio.run(scene())


def test_a_stretch_ends_when_there_is_enough_to_hand_over() -> None:
    """However quickly that was read."""

    async def scene() -> None:
        post, nodes, _ = trio()
        hub = Hub(nodes, lambda: post.now_ns)
        for _ in range(256):
            submit(nodes[ANN], [CAT], bytes(64), post.now_ns)
        nodes[ANN].write(post.now_ns)
        flood = [one.data for one in nodes[ANN].out if one.address == address_of(CAT)]
        hub.turn.on_datagram(address_of(BOB), written(post, nodes[BOB], b"early"), post.now_ns)
        for data in flood:
            hub.turn.on_datagram(address_of(ANN), data, post.now_ns)
        hub.turn.on_input_end(post.now_ns)
        assert len(nodes[CAT].take_inbox()) >= MESSAGES
        assert 0 < hub.stretches[0] < len(flood)

    asyncio.run(scene())


def test_all_is_read_although_nothing_more_comes() -> None:
    async def scene() -> None:
        hub = flooded()
        assert hub.stretches[0] < FLOOD // 10
        for _ in range(FLOOD):
            await asyncio.sleep(0)
        assert sum(hub.stretches) == FLOOD
        assert not hub.turn.queue.has_waiting()
        assert len(hub.stretches) < FLOOD, "then nothing is planned any more"

    asyncio.run(scene())
