"""Every protocol of the catalogue works over the wire: its packets survive being bytes."""

from collections import deque
from random import Random

import pytest

from antecede.core import BufferFull, CausalProcess, Effect, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.wire import codec_of, decode, encode, metadata_size, metadata_size_with

COUNT = 4
SUBMISSIONS = 30
MUCH_LATER_NS = 1 << 40


class WireNetwork:
    """A FIFO network on which packets travel as bytes."""

    def __init__(self, name: str) -> None:
        self.info = PROTOCOLS[name]
        self.processes: list[CausalProcess] = [
            self.info.create(me, range(COUNT)) for me in range(COUNT)
        ]
        self.flying: deque[tuple[int, int, bytes]] = deque()
        self.delivered = 0
        self.kinds: set[str] = set()

    def submit(self, me: int, targets: list[int]) -> None:
        """A process sends, as soon as it has room."""
        while True:
            try:
                effects = self.processes[me].submit(targets, b"hello", 0)
            except BufferFull:
                self.carry()
                continue
            return self.perform(me, effects)

    def perform(self, me: int, effects: list[Effect]) -> None:
        """Turn packets into bytes and count deliveries."""
        codec = codec_of(self.info)
        for effect in effects:
            if not isinstance(effect, Transmit):
                self.delivered += 1
                continue
            packet, data = effect.packet, codec.encode(effect.packet)
            payload = b"" if packet.message is None else packet.message.payload
            assert decode(data, me) == packet
            assert encode(packet) == data
            assert metadata_size(packet) == len(data) - len(payload)
            assert metadata_size_with(codec, packet) == metadata_size(packet)
            self.kinds.add(packet.kind)
            self.flying.append((me, effect.target, data))

    def carry(self) -> None:
        """The oldest bytes arrive."""
        source, target, data = self.flying.popleft()
        packet = codec_of(self.info).decode(data, source)
        self.perform(target, self.processes[target].arrive(source, packet, 0))

    def drain(self) -> None:
        """Everything arrives, whoever wants a timer gets it once, and all that arrives too."""
        while self.flying:
            self.carry()
        for me, process in enumerate(self.processes):
            self.perform(me, process.expire(MUCH_LATER_NS))
        while self.flying:
            self.carry()


def targets_for(network: WireNetwork, me: int, random: Random) -> list[int]:
    others = [process for process in range(COUNT) if process != me]
    if network.info.broadcast_only:
        return others
    return random.sample(others, random.randint(1, 3) if network.info.multicast else 1)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_works_when_its_packets_travel_as_bytes(name: str) -> None:
    random = Random(1)
    network = WireNetwork(name)
    copies = 0
    for _ in range(SUBMISSIONS):
        me = random.randrange(COUNT)
        targets = targets_for(network, me, random)
        copies += len(targets)
        network.submit(me, targets)
        for _ in range(min(len(network.flying), random.randrange(4))):
            network.carry()
    network.drain()

    assert network.delivered == copies
    assert "message" in network.kinds
