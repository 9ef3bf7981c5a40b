"""How far the classic algorithms reach: one run of one of them, its metadata and its memory.

`python -m bench reach rst 1000 20` runs a thousand processes that send twenty messages each, as a
Poisson process of one message per mean one-way delay, to one uniformly chosen process (with `bss`:
to all), over channels with exponential delays. It prints the metadata of the last messages in
integers and bytes, the largest of them, the seconds of processor time and the peak memory of the
whole run. The figures stand in docs/protocols/. `python -m bench reach topology 100 20 ring` sends
along the links of a ring, a star or a tree only.
"""

import json
import resource
import sys
from heapq import heappop, heappush
from random import Random
from time import process_time

from antecede.core import CausalProcess, Packet, Transmit
from antecede.core.effects import Effect
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.topology import shaped
from antecede_lab.wire import metadata_size

LAST_SHARE = 0.05
"""The share of the messages, the last ones, of which metadata is taken."""


class Crowd:
    """Processes of one protocol and the packets between them."""

    def __init__(self, protocol: str, processes: int, shape: str = "complete") -> None:
        info = PROTOCOLS[protocol]
        everyone = range(processes)
        self.random = Random(1)
        self.broadcast = info.broadcast_only
        options = {} if shape == "complete" else {"topology": shape}
        self.links = None if shape == "complete" else shaped(list(everyone), shape)
        self.processes: list[CausalProcess] = [
            info.create(me, everyone, **options) for me in everyone
        ]
        self.queue: list[tuple[float, int, int, int, Packet | None]] = []
        self.integers: list[int] = []
        self.bytes: list[int] = []
        self._counter = 0
        for me in everyone:
            self.put(0.0, me, me, None)

    def put(self, now: float, source: int, target: int, packet: Packet | None) -> None:
        """Let a packet arrive, or without one let a process send, after a random delay."""
        self._counter += 1
        at = now + self.random.expovariate(1.0)
        heappush(self.queue, (at, self._counter, source, target, packet))

    def run(self, messages: int) -> None:
        """Until that many are submitted and everything has arrived."""
        left = messages
        while self.queue:
            now, _, source, me, packet = heappop(self.queue)
            if packet is not None:
                self.perform(now, me, self.processes[me].arrive(source, packet, 0))
            elif left > 0:
                left -= 1
                self.submit(now, me, measured=left < messages * LAST_SHARE)
                self.put(now, me, me, None)

    def perform(self, now: float, me: int, effects: list[Effect]) -> None:
        """Put what is transmitted on its way."""
        for effect in effects:
            if isinstance(effect, Transmit):
                self.put(now, me, effect.target, effect.packet)

    def targets_of(self, me: int) -> list[int]:
        """Somebody it may send to, or everybody."""
        if self.links is not None:
            return [self.random.choice(self.links[me])]
        others = len(self.processes) - 1
        steps = range(1, others + 1) if self.broadcast else [self.random.randint(1, others)]
        return [(me + step) % (others + 1) for step in steps]

    def submit(self, now: float, me: int, *, measured: bool) -> None:
        """Send one message, and weigh it."""
        effects = self.processes[me].submit(self.targets_of(me), b"", 0)
        self.perform(now, me, effects)
        if measured and isinstance(effects[0], Transmit):
            packet = effects[0].packet
            self.integers.append(getattr(packet, "metadata_integers", 0))
            self.bytes.append(metadata_size(packet))


def main() -> None:
    """Run it."""
    protocol, processes, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    started = process_time()
    crowd = Crowd(protocol, processes, *sys.argv[4:5])
    crowd.run(processes * each)
    figures = {
        "protocol": protocol,
        "processes": processes,
        "messages": processes * each,
        "integers_mean": round(sum(crowd.integers) / len(crowd.integers)),
        "bytes_mean": round(sum(crowd.bytes) / len(crowd.bytes)),
        "bytes_max": max(crowd.bytes),
        "seconds": round(process_time() - started, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
