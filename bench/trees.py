"""Trees: what Saturn gains on large payloads, what the root carries, what a failure costs.

`python -m bench trees` runs `tree`, `saturn` and `hybrid` among 31 processes that send to one
another at random, over channels with a delay of one each way, to which a packet that carries a
message adds the time that its payload takes on the wire (its *transfer*, in one-way delays). A
process of a tree has a message whole before it passes it on. Then, for balanced trees of several
sizes: how much of all the packets its busiest process handles, how many ordered pairs cannot talk
any more when one fails, how many messages are lost with it, and how long the others have to be
silent before they can go on along another tree. Everything is counted or simulated; no speed.
"""

import json
import sys
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from statistics import mean
from typing import TypeAlias

from antecede.core import CausalProcess, Effect, Message, Packet, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.tree import SpanningTree

PROCESSES = 31
MESSAGES = 3_000
INTERVAL = 20.0
"""Each process sends one message in twenty one-way delays on average: nobody is overloaded."""

TRANSFERS = (0.0, 1.0, 4.0, 16.0)
SIZES = (31, 127, 1023)
BUSY_INTERVAL = 1.0
FAILED_AT = 20.0
UNIT_NS = 1_000_000

Key: TypeAlias = tuple[int, int]
"""Sender and sequence."""


@dataclass
class Network:
    """Real processes, and channels that keep their order: one for messages, one for the rest."""

    protocol: str
    processes: int
    transfer: float = 0.0
    interval: float = INTERVAL
    failed: int = -1
    """Who stops at `FAILED_AT`, and takes with it what is on its way to it."""

    submitted: dict[Key, float] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    handled: dict[int, int] = field(default_factory=dict)
    last_arrival: float = 0.0
    happened: int = 0

    def __post_init__(self) -> None:
        info = PROTOCOLS[self.protocol]
        everyone = range(self.processes)
        self.random = Random(1)
        self.members: list[CausalProcess] = [info.create(me, everyone) for me in everyone]
        self.queue: list[tuple[float, int, int, int, Packet | None]] = []
        self.channels: dict[tuple[int, int, bool], float] = {}
        self.sequences = [0] * self.processes

    def put(self, at: float, source: int, target: int, packet: Packet | None) -> None:
        """Something will happen; what is put first happens first."""
        self.happened += 1
        heappush(self.queue, (at, self.happened, source, target, packet))

    def run(self, messages: int) -> "Network":
        """Until that many are submitted, or somebody fails, and everything has arrived."""
        for me in range(self.processes):
            self.put(self.random.expovariate(1 / self.interval), me, me, None)
        while self.queue:
            now, _, source, me, packet = heappop(self.queue)
            dead = self.failed >= 0 and now >= FAILED_AT
            if packet is None:
                if len(self.submitted) < messages and not dead:
                    self.submit(now, me)
                    self.put(now + self.random.expovariate(1 / self.interval), me, me, None)
            elif not (dead and me == self.failed):
                self.last_arrival = now
                self.count(me)
                ns = round(now * UNIT_NS)
                self.perform(now, me, self.members[me].arrive(source, packet, ns))
        return self

    def submit(self, now: float, me: int) -> None:
        """One message to somebody else."""
        target = (me + self.random.randint(1, self.processes - 1)) % self.processes
        self.sequences[me] += 1
        self.submitted[me, self.sequences[me]] = now
        self.perform(now, me, self.members[me].submit([target], b"", round(now * UNIT_NS)))

    def perform(self, now: float, me: int, effects: list[Effect]) -> None:
        """Put packets on their way; note deliveries."""
        for effect in effects:
            if isinstance(effect, Transmit):
                carries = effect.packet.message is not None
                delay = 1.0 + (self.transfer if carries else 0.0)
                channel = (me, effect.target, carries)
                at = max(now + delay, self.channels.get(channel, 0.0) + 1e-9)
                self.channels[channel] = at
                self.count(me)
                self.put(at, me, effect.target, effect.packet)
            else:
                self.deliver(now, effect.message)

    def deliver(self, now: float, message: Message) -> None:
        """How long it took."""
        self.latencies.append(now - self.submitted[int(message.sender), int(message.sequence)])

    def count(self, me: int) -> None:
        """One more packet that `me` sends or takes in."""
        self.handled[me] = self.handled.get(me, 0) + 1


def payloads() -> dict[str, dict[str, float]]:
    """Mean latency by protocol and transfer, in the latency of a message straight to its target."""
    rows: dict[str, dict[str, float]] = {}
    for protocol in ("tree", "saturn", "hybrid"):
        row = rows[protocol] = {}
        for transfer in TRANSFERS:
            network = Network(protocol, PROCESSES, transfer).run(MESSAGES)
            assert len(network.latencies) == MESSAGES, "everything is delivered"
            row[f"transfer_{transfer:g}"] = round(mean(network.latencies) / (1 + transfer), 2)
    return rows


def cut_pairs(processes: int, failed: int) -> float:
    """The share of ordered pairs of the others whose way in the balanced tree leads over one."""
    tree = SpanningTree(range(processes), None)
    parts: dict[int, int] = {}
    for process in range(processes):
        if process != failed:
            neighbour = int(tree.next_hop(failed, process))
            parts[neighbour] = parts.get(neighbour, 0) + 1
    others = processes - 1
    within = sum(part * (part - 1) for part in parts.values())
    return 1 - within / (others * (others - 1))


def failures() -> dict[int, dict[str, float]]:
    """By size: the load of the busiest, and what its failure costs."""
    rows: dict[int, dict[str, float]] = {}
    for processes in SIZES:
        whole = Network("tree", processes, interval=BUSY_INTERVAL).run(20 * processes)
        busiest = max(whole.handled, key=whole.handled.__getitem__)
        broken = Network("tree", processes, interval=BUSY_INTERVAL, failed=0).run(10**9)
        wanted = len(broken.submitted)
        rows[processes] = {
            "busiest": busiest,
            "packets_busiest": round(whole.handled[busiest] / (20 * processes), 3),
            "packets_mean": round(mean(whole.handled.values()) / (20 * processes), 3),
            "cut_by_root": round(cut_pairs(processes, 0), 3),
            "cut_by_leaf": round(cut_pairs(processes, processes - 1), 3),
            "lost": wanted - len(broken.latencies),
            "lost_share": round((wanted - len(broken.latencies)) / wanted, 3),
            "silent": round(broken.last_arrival - FAILED_AT, 1),
        }
    return rows


def main() -> None:
    """A table as JSON: by protocol, or by the number of processes."""
    print(json.dumps(payloads() if "payloads" in sys.argv[1:] else failures()))


if __name__ == "__main__":
    main()
