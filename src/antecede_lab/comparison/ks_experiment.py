"""How much of n² does the Kshemkalyani-Singhal algorithm really carry?

P. Chandra, P. Gambhire and A. D. Kshemkalyani simulated it ("Performance of the Optimal Causal
Multicast Algorithm: A Statistical Analysis", IEEE Transactions on Parallel and Distributed Systems
15(1), 2004): metadata as a share of RST's n², over the number of processes, the message rate (mean
transmission time over mean time between two messages of a process, MTT/MIMT) and the share of
multicasts. Here are such runs with our implementation. An entry of the log counts 2 + |Dests|
integers; the message's own time and targets, which any algorithm has to say, are not counted. A
multicast goes to a number of processes drawn uniformly from 2 to n - 1.

Logs need a few one-way delays to fill, whatever the rate, so what is left out at the start is
measured in time, and runs at high rates have more messages. Whether that was enough is shown: what
the second half of a run carried, compared with the first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from mypy_extensions import i64

from antecede.core.packets import Packet
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.measurements import Estimate, estimate
from antecede_lab.comparison.traffic import LONGEST_NS, ONE_WAY_NS, SHORTEST_NS, MixedCasts
from antecede_lab.protocols.ks import KsPacket
from antecede_lab.protocols.ks_log import log_integers
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.observer import Observer


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
    """At least; enough for a run of `SPAN` one-way delays."""
    seeds: int


WARM: Final = 8
SPAN: Final = 24
"""One-way delays that are left out at the start of a run, and that it lasts, at least."""


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
    drift: float
    """What the second half of the counted part carried, of what the first did; 1: the same."""


Show: TypeAlias = Callable[[int, int, str], None]


@final
class LogWeigher(Observer):
    """Adds up the integers of the logs on the wire in two stretches of time, one after the other.

    The first begins at `start_ns` and ends at `middle_ns`, the second at the end of the run.
    """

    def __init__(self, start_ns: int, middle_ns: int) -> None:
        self._start_ns: Final[i64] = start_ns
        self._middle_ns: Final[i64] = middle_ns
        self._packets: Final = [0, 0]
        self._integers: Final = [0, 0]

    def transmitted(
        self, process: i64, target: i64, packet: Packet, number: i64, now_ns: i64
    ) -> None:
        if now_ns >= self._start_ns and isinstance(packet, KsPacket):
            half = 1 if now_ns >= self._middle_ns else 0
            self._packets[half] += 1
            self._integers[half] += log_integers(packet.log)

    def mean(self) -> float:
        """Integers per packet, over both stretches."""
        return sum(self._integers) / max(1, sum(self._packets))

    def drift(self) -> float:
        """Integers per packet in the second stretch, of those in the first."""
        first, second = [
            integers / max(1, packets)
            for integers, packets in zip(self._integers, self._packets, strict=True)
        ]
        return second / first if first > 0 else 1.0


def percent_of_matrix(
    processes: int, rate: float, share: float, messages_each: int, seed: int
) -> tuple[float, float]:
    """Integers in the log of a packet, in % of n², and their drift, over one run."""
    each = max(messages_each, round(rate * SPAN))
    messages = processes * each
    end_ns = each * ONE_WAY_NS / rate
    start_ns = max(WARM * ONE_WAY_NS, end_ns / 3)
    weigher = LogWeigher(round(start_ns), round((start_ns + end_ns) / 2))
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
    return 100 * weigher.mean() / processes**2, weigher.drift()


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
        drift = sum([drift for _, drift in samples]) / len(samples)
        percent = estimate([one for one, _ in samples])
        rows.append(KsRow(processes=size, rate=rate, share=share, percent=percent, drift=drift))
    return rows
