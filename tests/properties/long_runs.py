"""Long simulated runs, judged while they go on: `python -m tests.properties.long_runs --help`.

The oracle compares every message with every other, which nobody waits for beyond some ten thousand.
This judge knows for every process how many messages from each process to each are in its past; a
message takes these numbers along. A run is in causal order exactly if, whenever a message is
delivered, as many of each channel to the same process are delivered there as its past has. That
needs no more memory than there are messages under way, so runs may be as long as one likes.
"""

import json
import time
from operator import gt
from random import Random

import click

from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import Message
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.networks import NETWORKS
from antecede_lab.simulator.nodes.simulation import NodeSimulation
from antecede_lab.simulator.observer import MetadataSize, Observer
from antecede_lab.simulator.workloads.open_loop import Poisson

FINDINGS_MOST = 100
NETWORK_NAMES = ("lossy", "reliable", "lan", "wan")

Finding = tuple[str, int, int, int]
"""What is wrong, the sender, the id of its message, and where. `early`: before something in its
past; `unknown`: never sent, or delivered before; `missing`: not delivered in the end."""


class UnderWay:
    """A message that somebody has not delivered: its past, and its number on each channel."""

    __slots__ = ("left", "numbers", "past")

    def __init__(self, past: list[int], numbers: dict[int, int]) -> None:
        self.past = past
        self.numbers = numbers
        self.left = set(numbers)


class RunningJudge(Observer):
    """Told of submissions and deliveries as they happen; collects what is wrong."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        # By process: how many messages of each channel, sender and target, are in its past.
        self._past = [[0] * (processes * processes) for _ in range(processes)]
        self._sent = [0] * (processes * processes)
        self._delivered = [0] * (processes * processes)
        self._under_way: dict[tuple[int, int], UnderWay] = {}
        self.messages = 0
        self.deliveries = 0
        self.findings: list[Finding] = []

    def submitted(self, process: int, message: Message, targets: list[int], now_ns: int) -> None:  # noqa: ARG002 when does not matter
        self.messages += 1
        past = self._past[process]
        sent = UnderWay(past.copy(), {})
        for target in targets:
            channel = process * self._processes + target
            self._sent[channel] += 1
            sent.numbers[target] = past[channel] = self._sent[channel]
        sent.left.update(targets)
        self._under_way[message.sender, message.sequence] = sent

    def delivered(self, process: int, message: Message, now_ns: int) -> None:  # noqa: ARG002 as above
        self.deliveries += 1
        sender, sequence = message.sender, message.sequence
        sent = self._under_way.get((sender, sequence))
        if sent is None or process not in sent.left:
            self._find("unknown", sender, sequence, process)
            return
        processes, delivered = self._processes, self._delivered
        # Numbers of a channel follow each other, so to count what was delivered is enough.
        if any(map(gt, sent.past[process::processes], delivered[process::processes])):
            self._find("early", sender, sequence, process)
        delivered[sender * processes + process] += 1
        joined = list(map(max, self._past[process], sent.past))
        for target, number in sent.numbers.items():
            channel = sender * processes + target
            if joined[channel] < number:
                joined[channel] = number
        self._past[process] = joined
        sent.left.remove(process)
        if not sent.left:
            del self._under_way[sender, sequence]

    def end(self) -> None:
        """Nothing more happens: what is under way is missing."""
        for (sender, sequence), sent in self._under_way.items():
            for target in sent.left:
                self._find("missing", sender, sequence, target)

    def _find(self, kind: str, sender: int, sequence: int, process: int) -> None:
        if len(self.findings) < FINDINGS_MOST:
            self.findings.append((kind, sender, sequence, process))


def judged_run(info: ProtocolInfo, seed: int, messages: int, host: str) -> RunningJudge:
    """One run that follows from its seed: who, how many, how fast, over which network."""
    random = Random(f"long run {seed}")
    processes = random.randrange(3, 7)
    network = NETWORKS[random.choice(NETWORK_NAMES)]
    workload = Poisson(
        processes,
        messages=messages,
        interval_ns=random.choice((200_000, 1_000_000, 5_000_000)),
        seed=seed,
        payload_bytes=8,
        multicast=random.choice((0.0, 0.2)),
        fan_out=2,
    )
    judge = RunningJudge(processes)
    patient: dict[str, object] = {"patience_ns": network.patience_ns}
    if host == "node":
        nodes = NodeSimulation(
            info,
            workload,
            faults=network.faults,
            seed=seed,
            metadata_size=MetadataSize(info),
            observers=[judge],
            node_faults=[],
            options=patient,
        )
        nodes.run()
    else:
        simulation = Simulation(
            info, workload, faults=network.faults, seed=seed, observers=[judge], options=patient
        )
        simulation.run()
    judge.end()
    return judge


@click.command(help="Judge so many simulated messages, run by run; one line of JSON in the end.")
@click.option("--messages", default=1e6, show_default=True, help="In all.")
@click.option("--each", default=100_000, show_default=True, help="Messages of one run.")
@click.option("--protocol", default="hybrid", show_default=True)
@click.option("--host", type=click.Choice(["core", "node"]), default="core", show_default=True)
@click.option("--seed", default=1, show_default=True, help="That of the first run.")
@click.option("--minutes", default=0.0, help="Stop after so long, if not before.")
def main(messages: float, each: int, protocol: str, host: str, seed: int, minutes: float) -> None:
    """Runs until there are enough messages; the exit status is 1 if anything was wrong."""
    info = find_protocol(protocol)
    begun, runs, judged, delivered = time.monotonic(), 0, 0, 0
    wrong: dict[int, list[Finding]] = {}
    while judged < messages and not 0 < minutes * 60 < time.monotonic() - begun:
        judge = judged_run(info, seed + runs, each, host)
        judged += judge.messages
        delivered += judge.deliveries
        if judge.findings:
            wrong[seed + runs] = judge.findings
        runs += 1
    seconds = round(time.monotonic() - begun)
    told = {"runs": runs, "messages": judged, "deliveries": delivered, "seconds": seconds}
    click.echo(
        json.dumps({"protocol": protocol, "host": host, "seed": seed, **told, "wrong": wrong})
    )
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
