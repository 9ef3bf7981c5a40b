"""Random worlds in which nodes come, leave, die, pause and are cut off, under a policy.

Everything follows from a seed. The judges are the audit's, which share no code with the nodes:
causal order, nothing twice, nothing invented; every target of every `send` has delivered it or is
named to the sender; and when the last change is over, nobody waits longer than the policy takes,
unless no waiting node has a majority.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from antecede.network_model.faults import CutLink, Faults, Partition
from antecede.network_model.latency import Exponential, Latency, Uniform
from antecede_audit.judging.departures import judge_departures
from antecede_audit.judging.send_outcomes import judge_outcomes
from antecede_lab.simulator.nodes.faults import (
    CRASH,
    EXPEL,
    LATE,
    LEAVE,
    NEVER,
    PAUSE,
    POWER,
    RESTART,
    NodeFault,
)
from antecede_lab.simulator.nodes.policy import AFTER, MAJORITY, SilencePolicy
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads.open_loop import Poisson
from antecede_lab.simulator.workloads.workload import Workload

MS = 1_000_000
SILENCE_NS = 1_000 * MS
"""The policy's time: a tenth of the default, and so is all that follows from it."""

TROUBLE_NS = 4 * SILENCE_NS
"""Faults begin before this."""

PATIENCE_NS = 5 * SILENCE_NS
"""Nobody waits longer than this after the last change: who reaches fewer members waits for two
silences; a round of pings and notices follows; and a second dead may be found by that."""

RUN_ON_NS = 8 * SILENCE_NS
"""How much longer a world runs than its last change can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A run that follows from its seed."""

    seed: int
    nodes: int
    workload: Callable[[], Workload]
    network: Faults
    node_faults: tuple[NodeFault, ...]
    policy: SilencePolicy
    last_change_ns: int
    """Nothing happens after this: no fault, and nothing is sent for the first time."""

    def waited_ns(self, result: RunResult) -> int:
        """How long the run went on after the last change that came before its end."""
        assert result.log is not None
        changes = [event.time_ns for event in result.log if event.kind == "submitted"]
        changes += ends_of(self.node_faults, self.network)
        return result.end_ns - max([0, *(time for time in changes if time <= result.end_ns)])

    def run(self, protocol: str = "hybrid") -> RunResult:
        """Let it happen."""
        return simulate(
            protocol,
            self.workload(),
            faults=self.network,
            seed=self.seed,
            record=True,
            measure=False,
            until_ns=self.last_change_ns + RUN_ON_NS,
            host="node",
            node_faults=self.node_faults,
            policy=self.policy,
        )


def world_of(seed: int) -> World:
    """The world of this seed: every third has journals, every fifth another policy."""
    random = Random(f"members {seed}")
    nodes = random.randint(3, 7)
    messages = random.randint(40, 160)
    lasts_ns = random.choice((2, 4, 6)) * SILENCE_NS
    faults = [fault for _ in range(random.randint(1, 5)) for fault in trouble(random, nodes)]
    if seed % 3 == 0:
        faults += power_failures(random, nodes)
    network = network_of(random, nodes)
    interval_ns = nodes * lasts_ns // messages
    return World(
        seed=seed,
        nodes=nodes,
        workload=lambda: Poisson(
            nodes,
            messages=messages,
            interval_ns=interval_ns,
            seed=seed,
            multicast=0.4,
            payload_bytes=16,
        ),
        network=network,
        node_faults=tuple(faults),
        policy=SilencePolicy(kind=AFTER if seed % 5 == 4 else MAJORITY, silence_ns=SILENCE_NS),
        last_change_ns=max([2 * lasts_ns, TROUBLE_NS, *ends_of(faults, network)]),
    )


def trouble(random: Random, nodes: int) -> list[NodeFault]:
    """Something that befalls a node, and perhaps how it comes back."""
    process, by = random.sample(range(nodes), 2)
    start_ns = random.randrange(TROUBLE_NS)
    later_ns = start_ns + random.choice((1, 30, 300, 1_500, 4_000)) * MS
    at = NodeFault(kind=CRASH, process=process, start_ns=start_ns, end_ns=start_ns)
    kind = random.choices(
        (CRASH, RESTART, PAUSE, LEAVE, LATE, NEVER, EXPEL), (4, 3, 3, 4, 2, 1, 1)
    )[0]
    if kind in (RESTART, PAUSE):
        return [NodeFault(kind=kind, process=process, start_ns=start_ns, end_ns=later_ns)]
    if kind == LEAVE and random.random() < 0.5:
        back = NodeFault(kind=RESTART, process=process, start_ns=later_ns, end_ns=later_ns + MS)
        return [NodeFault(kind=LEAVE, process=process, start_ns=start_ns, end_ns=start_ns), back]
    if kind in (LEAVE, LATE, NEVER, EXPEL):
        when_ns = 0 if kind == NEVER else start_ns
        return [NodeFault(kind=kind, process=process, start_ns=when_ns, end_ns=when_ns, by=by)]
    return [at]


def power_failures(random: Random, nodes: int) -> list[NodeFault]:
    """Power fails at some writes of some nodes, sometimes for longer than the policy allows."""
    return [
        NodeFault(
            kind=POWER,
            process=random.randrange(nodes),
            start_ns=0,
            end_ns=random.choice((1, 30, 400, 3_000)) * MS,
            write=random.randrange(1, 120),
        )
        for _ in range(random.randint(1, nodes))
    ]


def network_of(random: Random, nodes: int) -> Faults:
    """A bad network, sometimes with cuts; all of them heal."""
    latency: Latency = Uniform(MS, 4 * MS)
    if random.random() < 0.4:
        latency = Exponential(random.choice((5, 20)) * MS)
    partitions = []
    links = []
    if random.random() < 0.4:
        start_ns, end_ns = cut_times(random)
        island = frozenset(random.sample(range(nodes), random.randint(1, nodes - 1)))
        partitions.append(Partition(start_ns=start_ns, end_ns=end_ns, island=island))
    if random.random() < 0.3:
        start_ns, end_ns = cut_times(random)
        one, other = random.sample(range(nodes), 2)
        links.append(CutLink(start_ns=start_ns, end_ns=end_ns, source=one, target=other))
        if random.random() < 0.7:
            links.append(CutLink(start_ns=start_ns, end_ns=end_ns, source=other, target=one))
    return Faults(
        latency=latency,
        loss=random.choice((0.0, 0.05, 0.2)),
        duplication=random.choice((0.0, 0.1)),
        partitions=tuple(partitions),
        cut_links=tuple(links),
    )


def cut_times(random: Random) -> tuple[int, int]:
    """When something is cut, and when it heals."""
    start_ns = random.randrange(TROUBLE_NS)
    return start_ns, start_ns + random.choice((100, 800, 1_500, 3_000, 6_000)) * MS


def ends_of(faults: Sequence[NodeFault], network: Faults) -> list[int]:
    """When faults are over; power failures, which come in the midst of the traffic, aside."""
    ends = [fault.end_ns for fault in faults if fault.kind != POWER]
    ends += [cut.end_ns for cut in network.partitions]
    return ends + [cut.end_ns for cut in network.cut_links]


def wrong_with(world: World, result: RunResult) -> dict[str, int]:
    """What is wrong with the run of a world, and how often."""
    found = findings(result)
    powerless_ns = sum(fault.end_ns for fault in world.node_faults if fault.kind == POWER)
    if result.leftovers.pending == 0 and world.waited_ns(result) > PATIENCE_NS + powerless_ns:
        found["waits too long"] = 1
    return found


def findings(result: RunResult) -> dict[str, int]:
    """What is wrong with a run, and how often."""
    assert result.log is not None
    assert result.outcomes is not None
    found = dict(judge_departures(result.log, result.departures).findings())
    if result.leftovers.pending == 0:
        found |= {
            kind: len(which) for kind, which in judge_outcomes(result.log, result.outcomes).items()
        }
        return found
    # Copies may be under way; but who waits and has a majority has waited for too long.
    for kind in ("lost", "unreported"):
        found.pop(kind, None)
    wrong = judge_outcomes(result.log, result.outcomes)
    wrong.pop("neither delivered nor told", None)
    found |= {kind: len(which) for kind, which in wrong.items()}
    if waiting := [stuck for stuck in result.stuck if stuck.has_majority]:
        found["waits too long"] = len(waiting)
    return found


def main() -> None:
    """Run worlds from one seed on; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description="Judge random worlds.")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=1_000)
    arguments = parser.parse_args()
    wrong = stuck = expelled = left_out = 0
    for seed in range(arguments.first, arguments.first + arguments.worlds):
        world = world_of(seed)
        result = world.run()
        expelled += result.reports.get("PeerExpelled", 0)
        left_out += result.left_out
        stuck += bool(result.stuck)
        if found := wrong_with(world, result):
            wrong += 1
            print(seed, found, result.stuck)
    print(
        f"{arguments.worlds} worlds, {wrong} wrong; {expelled} reports of expulsions, "
        f"{left_out} copies left out, {stuck} worlds without a majority at the end"
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
