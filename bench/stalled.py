"""One process falls silent among many that talk: what becomes of the traffic among the others?

Uniform traffic over exponential delays. From some moment on nothing passes to or from process 0.
Counted are deliveries of messages that neither come from it nor go to it, before that moment and
long after it, against what was submitted in the same time.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import Message
from antecede.network_model.faults import Faults, Partition
from antecede.network_model.latency import Exponential
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.observer import Observer
from antecede_lab.simulator.workloads import Poisson

MS: Final = 1_000_000
SILENT: Final = 0
WARM_UP_MS: Final = 30
BEFORE_MS: Final = 60
"""Counted before the silence: this long, after the warm-up."""

AFTER_MS: Final = (100, 150)
"""Counted after it: from then until then."""

STALL_MS: Final = 15
"""How many one-way delays a copy may be unacknowledged before its target counts as stalled."""


@final
@dataclass(frozen=True, kw_only=True)
class Silence:
    """Deliveries per millisecond among the others, and their share of what was submitted then."""

    before: float
    after: float
    share: float


@final
class Watch(Observer):
    """Counts what the others submit and deliver among themselves, by the millisecond."""

    def __init__(self, until_ms: int) -> None:
        self.offered = [0] * (until_ms + 1)
        self.heard = [0] * (until_ms + 1)

    def submitted(self, process: i64, message: Message, targets: list[int], now_ns: i64) -> None:  # noqa: ARG002 - one signature for all observers
        others = [target for target in targets if target not in (SILENT, process)]
        if process != SILENT:
            self.offered[now_ns // MS] += len(others)

    def delivered(self, process: i64, message: Message, now_ns: i64) -> None:
        if process not in (SILENT, message.sender) and message.sender != SILENT:
            self.heard[now_ns // MS] += 1


def silence(
    info: ProtocolInfo, load: float, *, processes: int = 20, seed: int = 1, **options: object
) -> Silence:
    """Let process 0 fall silent; `load` is messages per process in one one-way delay of 1 ms."""
    start = WARM_UP_MS + BEFORE_MS
    end = start + AFTER_MS[1]
    watch = Watch(end)
    Simulation(
        info,
        Poisson(
            processes,
            messages=round(2 * load * processes * end),
            interval_ns=round(MS / load),
            seed=seed,
        ),
        faults=Faults(
            latency=Exponential(MS),
            partitions=(
                Partition(start_ns=start * MS, end_ns=1 << 61, island=frozenset([SILENT])),
            ),
        ),
        seed=seed,
        observers=[watch],
        options={"patience_ns": 10_000 * MS, **options},
    ).run(until_ns=end * MS)
    first, last = start + AFTER_MS[0], start + AFTER_MS[1]
    offered = sum(watch.offered[first:last])
    after = sum(watch.heard[first:last])
    return Silence(
        before=sum(watch.heard[WARM_UP_MS:start]) / BEFORE_MS,
        after=after / (last - first),
        share=after / offered if offered else 0.0,
    )
