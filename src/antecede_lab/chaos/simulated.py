"""A simulated cluster in trouble: everything that befalls it follows from one seed.

Nodes crash, restart, pause, are cut off, and are suspected rightly or wrongly, on a network that
loses, doubles and delays. Then the trouble ends, whoever is there expels whoever is not, and the
rest has to come to rest with nothing missing that may not be: `antecede_audit.judging.departures`
is the judge.
"""

from dataclasses import dataclass
from random import Random
from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.network_model.faults import DelayJump, Faults, Partition
from antecede.network_model.latency import Exponential, Latency, Uniform
from antecede_audit.judging.departures import DepartureVerdict, judge_departures
from antecede_lab.simulator.nodes.faults import (
    CRASH,
    EXPEL,
    EXPEL_GONE,
    PAUSE,
    POWER,
    RESTART,
    NodeFault,
)
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads.open_loop import Poisson

MS: Final = 1_000_000
TROUBLE_NS: Final = 600 * MS
"""How long the trouble lasts, from the first message on; what has begun then still ends."""

HEALED_NS: Final = 3_000 * MS
"""By now all is over, and those that are there expel those that are not."""

UNTIL_NS: Final = 120_000 * MS
"""By now the rest is at rest, or it never will be."""

KINDS: Final = (CRASH, RESTART, PAUSE, EXPEL)
WEIGHTS: Final = (1, 3, 2, 3)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """What a cluster has to go through."""

    seed: int
    nodes: int
    messages: int
    interval_ns: int
    network: Faults
    node_faults: tuple[NodeFault, ...]

    def count(self, *kinds: str) -> int:
        """How many faults of these kinds befall nodes."""
        return len([fault for fault in self.node_faults if fault.kind in kinds])

    def command(self, protocol: str) -> str:
        """One line that shows it again."""
        journal = " --journal" if self.count(POWER) else ""
        return f"antecede lab chaos --simulated 1 --protocol {protocol} --seed {self.seed}{journal}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedOutcome:
    """What came of an ordeal."""

    ordeal: FaultPlan
    result: RunResult
    judgement: DepartureVerdict
    rested: bool
    """Whether everybody came to rest."""

    def findings(self) -> dict[str, int]:
        """What was wrong, and how often."""
        found = self.judgement.findings()
        return found if self.rested else {**found, "restless": 1}


def fault_plan(seed: int, *, journal: bool = False) -> FaultPlan:
    """The ordeal of this seed: every third one is a time of suspicion.

    With journals, power fails too, and who was without it goes on.
    """
    random = Random(seed)
    nodes = random.randint(3, 6)
    if seed % 3 == 2:
        nodes = random.randint(3, 4)
        messages = random.randint(150, 300)
        faults = [suspicion(random, nodes) for _ in range(random.randint(2, 4))]
        network = slow_and_lossy(random)
    else:
        messages = random.randint(40, 120)
        faults = [node_fault(random, nodes) for _ in range(random.randint(1, 5))]
        network = network_of(random, nodes)
    healing = [
        NodeFault(kind=EXPEL_GONE, process=by, start_ns=at_ns, end_ns=at_ns)
        for at_ns in (HEALED_NS, 2 * HEALED_NS)
        for by in range(nodes)
    ]
    if journal:
        faults += power_failures(Random(f"power {seed}"), nodes)
    return FaultPlan(
        seed=seed,
        nodes=nodes,
        messages=messages,
        interval_ns=nodes * TROUBLE_NS // messages,
        network=network,
        node_faults=(*faults, *healing),
    )


def node_fault(random: Random, nodes: int) -> NodeFault:
    """Something that befalls a node."""
    kind = random.choices(KINDS, WEIGHTS)[0]
    process, by = random.sample(range(nodes), 2)
    start_ns = random.randrange(TROUBLE_NS)
    end_ns = start_ns
    if kind in (PAUSE, RESTART):
        end_ns += random.choice((MS, 30 * MS, 300 * MS, 1_000 * MS))
    suspects = by if kind == EXPEL else 0
    return NodeFault(kind=kind, process=process, start_ns=start_ns, end_ns=end_ns, by=suspects)


def power_failures(random: Random, nodes: int) -> list[NodeFault]:
    """Power fails at some writes of some nodes."""
    return [
        NodeFault(
            kind=POWER,
            process=random.randrange(nodes),
            start_ns=0,
            end_ns=random.choice((MS, 30 * MS, 400 * MS)),
            write=random.randrange(1, 120),
        )
        for _ in range(random.randint(1, 2 * nodes))
    ]


def suspicion(random: Random, nodes: int) -> NodeFault:
    """One node suspects another, most often wrongly; or the other is back so soon that it was."""
    process, by = random.sample(range(nodes), 2)
    start_ns = random.randrange(TROUBLE_NS)
    if random.random() < 0.3:
        back_ns = start_ns + MS
        return NodeFault(kind=RESTART, process=process, start_ns=start_ns, end_ns=back_ns)
    return NodeFault(kind=EXPEL, process=process, start_ns=start_ns, end_ns=start_ns, by=by)


def slow_and_lossy(random: Random) -> Faults:
    """A network on which news and messages overtake each other all the time."""
    return Faults(
        latency=Exponential(random.choice((30, 100, 250)) * MS),
        loss=random.choice((0.1, 0.3)),
        duplication=0.1,
        faults_until_ns=HEALED_NS,
    )


def network_of(random: Random, nodes: int) -> Faults:
    """A bad network; some are worse."""
    latency: Latency = Uniform(MS, 4 * MS)
    if random.random() < 0.5:
        latency = Exponential(random.choice((5, 20, 60)) * MS)
    partitions = [cut(random, nodes) for _ in range(random.randint(0, 2))]
    jumps = [delay_jump(random) for _ in range(random.randint(0, 1))]
    return Faults(
        latency=latency,
        loss=random.choice((0.0, 0.05, 0.2)),
        duplication=random.choice((0.0, 0.1)),
        partitions=tuple(partitions),
        delay_jumps=tuple(jumps),
        faults_until_ns=HEALED_NS,
    )


def cut(random: Random, nodes: int) -> Partition:
    """For a while some nodes cannot hear the others."""
    start_ns = random.randrange(TROUBLE_NS)
    end_ns = start_ns + random.choice((50, 200, 1_000)) * MS
    island = frozenset(random.sample(range(nodes), random.randint(1, nodes - 1)))
    return Partition(start_ns=start_ns, end_ns=end_ns, island=island)


def delay_jump(random: Random) -> DelayJump:
    """For a while everything is slow."""
    start_ns = random.randrange(TROUBLE_NS)
    extra_ns = random.choice((50, 300, 900)) * MS
    return DelayJump(start_ns=start_ns, end_ns=start_ns + 80 * MS, extra_ns=extra_ns)


def run_plan(protocol: str | ProtocolInfo, ordeal: FaultPlan) -> SimulatedOutcome:
    """Run it, and judge it."""
    workload = Poisson(
        ordeal.nodes,
        messages=ordeal.messages,
        interval_ns=ordeal.interval_ns,
        seed=ordeal.seed,
        multicast=0.3,
        payload_bytes=16,
    )
    result = simulate(
        protocol,
        workload,
        faults=ordeal.network,
        seed=ordeal.seed,
        record=True,
        measure=False,
        until_ns=UNTIL_NS,
        host="node",
        node_faults=ordeal.node_faults,
    )
    assert result.log is not None, "it was asked for"
    return SimulatedOutcome(
        ordeal=ordeal,
        result=result,
        judgement=judge_departures(result.log, result.departures),
        rested=result.leftovers.pending == 0,
    )
