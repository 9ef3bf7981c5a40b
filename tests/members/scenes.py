"""What scenarios are made of: who knows whom, steady traffic, and who has expelled whom."""

from collections.abc import Sequence
from random import Random

from antecede.network_model.faults import CutLink, Faults, Partition
from antecede.network_model.latency import Uniform
from antecede_lab.simulator.nodes.faults import NodeFault, parse_node_fault
from antecede_lab.simulator.nodes.policy import MAJORITY, SilencePolicy
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads.workload import Agenda, Workload
from tests.members.worlds import MS, SILENCE_NS

SECOND = SILENCE_NS
"""One second stands for the policy's time: a run of twelve is two minutes of a real mesh."""

EVER = 1_000 * SECOND

LOADS = {"multicast": 1.0, "mixed": 0.4, "one to one": 0.0}
"""The share of messages that go to everybody a node knows."""

Knows = dict[int, list[int]]


def everybody(nodes: int) -> Knows:
    """All know all."""
    return {one: [other for other in range(nodes) if other != one] for one in range(nodes)}


def hub(spokes: int, neighbours: int = 0) -> Knows:
    """Node 0 knows everybody; the others know it, and some of each other."""
    knows: Knows = {0: list(range(1, spokes + 1))}
    for one in range(1, spokes + 1):
        near = [(one - 1 + step) % spokes + 1 for step in range(1, neighbours + 1)]
        near += [(one - 1 - step) % spokes + 1 for step in range(1, neighbours + 1)]
        knows[one] = [0, *sorted({other for other in near if other != one})]
    return knows


def chain(nodes: int) -> Knows:
    """Everybody knows its neighbours."""
    return {
        one: [other for other in (one - 1, one + 1) if 0 <= other < nodes] for one in range(nodes)
    }


class Steady(Workload):
    """Everybody sends at about the same rate to those it knows, until some time."""

    def __init__(
        self,
        knows: Knows,
        *,
        seed: int,
        until_ns: int,
        multicast: float = 0.4,
        interval_ns: int = 100 * MS,
        idle: Sequence[int] = (),
    ) -> None:
        super().__init__(len(knows))
        self._until_ns = until_ns
        self._multicast = multicast
        self._interval_ns = interval_ns
        # Who neither sends anything nor is sent to.
        talks = {one: [o for o in others if o not in idle] for one, others in knows.items()}
        self._talks = {one: others for one, others in talks.items() if others and one not in idle}
        self._random = Random(f"steady {seed}")
        self._ended = False

    @property
    def multicasts(self) -> bool:
        return self._multicast > 0

    def remaining(self) -> int:
        return 0 if self._ended else 1

    def start(self, agenda: Agenda) -> None:
        for one in self._talks:
            agenda.wake(self._random.randrange(self._interval_ns), one)
        agenda.wake(self._until_ns, self.processes)

    def woken(self, token: int, now_ns: int, agenda: Agenda) -> None:
        if token == self.processes:
            self._ended = True
            return
        if now_ns >= self._until_ns:
            return
        others = self._talks[token]
        to_all = self._random.random() < self._multicast
        agenda.submit(token, others if to_all else [self._random.choice(others)], 8)
        interval_ns = round(self._interval_ns * self._random.uniform(0.7, 1.3))
        agenda.wake(now_ns + interval_ns, token)


def played(
    knows: Knows,
    *,
    seed: int = 1,
    lasts_ns: int = 8 * SECOND,
    multicast: float = 0.4,
    interval_ns: int = 100 * MS,
    idle: Sequence[int] = (),
    faults: Sequence[str | NodeFault] = (),
    partitions: Sequence[Partition] = (),
    cut_links: Sequence[CutLink] = (),
    loss: float = 0.05,
) -> RunResult:
    """What comes of a scenario in which everybody talks all the time."""
    return simulate(
        "hybrid",
        Steady(
            knows,
            seed=seed,
            until_ns=lasts_ns,
            multicast=multicast,
            interval_ns=interval_ns,
            idle=idle,
        ),
        faults=Faults(
            latency=Uniform(MS, 3 * MS),
            loss=loss,
            partitions=tuple(partitions),
            cut_links=tuple(cut_links),
        ),
        seed=seed,
        record=True,
        measure=False,
        until_ns=lasts_ns + 8 * SECOND,
        host="node",
        node_faults=[parse_node_fault(f) if isinstance(f, str) else f for f in faults],
        policy=SilencePolicy(kind=MAJORITY, silence_ns=SILENCE_NS),
        knows=knows,
    )


def expulsions(result: RunResult) -> set[tuple[int, int]]:
    """Who goes on without whom."""
    return {(fence.at, fence.gone) for fence in result.departures.fences}


def mutual(result: RunResult) -> set[tuple[int, int]]:
    """Who have expelled each other."""
    pairs = expulsions(result)
    return {(one, other) for one, other in pairs if one < other and (other, one) in pairs}


def last_delivery_ns(result: RunResult, process: int) -> int:
    """When a node delivered its last message."""
    assert result.log is not None
    times = [e.time_ns for e in result.log if e.kind == "delivered" and e.process == process]
    return max(times, default=-1)


def cut_between(one: int, other: int, start_ns: int, end_ns: int = EVER) -> list[CutLink]:
    """A link that is cut both ways."""
    return [
        CutLink(start_ns=start_ns, end_ns=end_ns, source=one, target=other),
        CutLink(start_ns=start_ns, end_ns=end_ns, source=other, target=one),
    ]


def split(island: Sequence[int], start_ns: int, end_ns: int = EVER) -> Partition:
    """From some time on these are apart from the rest."""
    return Partition(start_ns=start_ns, end_ns=end_ns, island=frozenset(island))
