"""How much of n² does the Kshemkalyani-Singhal algorithm really carry?

P. Chandra, P. Gambhire and A. D. Kshemkalyani simulated it ("Performance of the Optimal Causal
Multicast Algorithm: A Statistical Analysis", IEEE Transactions on Parallel and Distributed Systems
15(1), 2004): metadata as a share of RST's n², over the number of processes, the message rate (mean
transmission time over mean time between two messages of a process, MTT/MIMT) and the share of
multicasts. Here are such runs with our implementation. An entry of the log counts 2 + |Dests|
integers; the message's own time and targets, which any algorithm has to say, are not counted. A
multicast goes to a number of processes drawn uniformly from 2 to n - 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from mypy_extensions import i64

from antecede.core.catalogue import PROTOCOLS
from antecede.core.protocols.ks import KsPacket
from antecede.core.protocols.ks_log import log_integers
from antecede.core.values import Packet
from antecede.lab.comparison.intervals import Estimate, estimate
from antecede.lab.comparison.traffic import LONGEST_NS, ONE_WAY_NS, SHORTEST_NS
from antecede.link.chance import WORKLOAD, Chance
from antecede.link.faults import Faults
from antecede.link.latency import Uniform
from antecede.sim.engine import Simulation
from antecede.sim.observer import Observer
from antecede.sim.workloads.workload import Agenda, Workload, check_share, check_traffic

TARGETS: Final = 1
"""Keys the draw of targets, apart from that of the waiting time."""

MULTICAST_MIN: Final = 2


@final
@dataclass(frozen=True, kw_only=True)
class KsEffort:
    """The grid of an experiment, and how long its runs are."""

    sizes: tuple[int, ...]
    rates: tuple[float, ...]
    """MTT/MIMT: messages that a process sends in the time that one takes to arrive."""
    shares: tuple[float, ...]
    """Of messages that are multicasts."""
    messages_each: int
    seeds: int


KS_QUICK: Final = KsEffort(
    sizes=(5, 10), rates=(1.0,), shares=(0.0, 0.5), messages_each=20, seeds=3
)
KS_USUAL: Final = KsEffort(
    sizes=(10, 20, 40), rates=(0.2, 1.0, 5.0), shares=(0.0, 0.1, 0.5), messages_each=40, seeds=5
)
KS_FULL: Final = KsEffort(
    sizes=(10, 20, 40, 100),
    rates=(0.2, 1.0, 5.0),
    shares=(0.0, 0.1, 0.5),
    messages_each=60,
    seeds=5,
)


@final
@dataclass(frozen=True, kw_only=True)
class KsRow:
    """One point of the grid; `percent` of n² integers, with its 95 % interval over the seeds."""

    processes: int
    rate: float
    share: float
    percent: Estimate


Show: TypeAlias = Callable[[int, int, str], None]


@final
class MixedCasts(Workload):
    """Poisson traffic to uniform peers, of which a share goes to many at once."""

    def __init__(
        self, processes: int, *, messages: int, interval_ns: int, share: float, seed: int
    ) -> None:
        super().__init__(processes)
        check_traffic(processes, messages, interval_ns, 0)
        check_share("the multicast share", share)
        self._left: i64 = messages
        self._mean_ns: Final = float(interval_ns)
        self._share: Final = share
        self._chance: Final = Chance(seed, WORKLOAD)
        self._sent: Final = [0] * processes

    @property
    def multicasts(self) -> bool:
        return self._share > 0

    def remaining(self) -> int:
        return self._left

    def start(self, agenda: Agenda) -> None:
        process: i64 = 0
        while process < self.processes:
            self._wait(process, 0, agenda)
            process += 1

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        if self._left <= 0:
            return
        self._left -= 1
        self._sent[token] += 1
        self._chance.key(token, self._sent[token], TARGETS)
        count: i64 = 1
        if self.processes > MULTICAST_MIN + 1 and self._chance.unit() < self._share:
            count = MULTICAST_MIN + self._chance.below(self.processes - MULTICAST_MIN)
        agenda.submit(token, self._others(token, count), 0)
        if self._left > 0:
            self._wait(token, now_ns, agenda)

    def _others(self, process: i64, count: i64) -> list[int]:
        """So many others, any set of them equally likely (a shuffle that stops early)."""
        others = [other for other in range(self.processes) if other != process]
        place: i64 = 0
        while place < count:
            chosen = place + self._chance.below(len(others) - place)
            others[place], others[chosen] = others[chosen], others[place]
            place += 1
        return others[:count]

    def _wait(self, process: i64, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(process, self._sent[process])
        agenda.wake(now_ns + i64(self._chance.exponential(self._mean_ns)), process)


@final
class LogWeigher(Observer):
    """Adds up the integers of the logs on the wire, once `warm` packets have gone by."""

    def __init__(self, warm: int) -> None:
        self._warm: Final[i64] = warm
        self._packets: i64 = 0
        self._integers: i64 = 0

    def transmitted(
        self,
        process: i64,  # noqa: ARG002 whoever it is
        target: i64,  # noqa: ARG002 wherever it goes
        packet: Packet,
        number: i64,  # noqa: ARG002 copies are counted here
        now_ns: i64,  # noqa: ARG002 whenever
    ) -> None:
        self._packets += 1
        if self._packets > self._warm and isinstance(packet, KsPacket):
            self._integers += log_integers(packet.log)

    def mean(self) -> float:
        """Integers per packet."""
        return int(self._integers) / max(1, int(self._packets - self._warm))


def percent_of_matrix(
    processes: int, rate: float, share: float, messages_each: int, seed: int
) -> float:
    """Integers in the log of a packet, in % of n², over one run without its first third."""
    messages = processes * messages_each
    copies = messages * (1 - share + share * (processes + 1) / 2)
    weigher = LogWeigher(round(copies / 3))
    Simulation(
        PROTOCOLS["ks"],
        MixedCasts(
            processes,
            messages=messages,
            interval_ns=round(ONE_WAY_NS / rate),
            share=share,
            seed=seed,
        ),
        faults=Faults(latency=Uniform(SHORTEST_NS, LONGEST_NS)),
        seed=seed,
        observers=[weigher],
    ).run()
    return 100 * weigher.mean() / processes**2


def run_ks_experiment(
    effort: KsEffort, seed: int = 1, seeds: int | None = None, show: Show | None = None
) -> list[KsRow]:
    """Every point of the grid, with `seeds` runs each."""
    points = [
        (size, rate, share)
        for size in effort.sizes
        for rate in effort.rates
        for share in effort.shares
    ]
    runs = effort.seeds if seeds is None else seeds
    rows: list[KsRow] = []
    for done, (size, rate, share) in enumerate(points):
        if show is not None:
            show(done, len(points), f"ks, n = {size}, rate {rate:g}, multicasts {share:.0%}")
        samples = [
            percent_of_matrix(size, rate, share, effort.messages_each, one)
            for one in range(seed, seed + runs)
        ]
        rows.append(KsRow(processes=size, rate=rate, share=share, percent=estimate(samples)))
    return rows
