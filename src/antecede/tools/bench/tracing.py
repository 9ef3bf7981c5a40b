"""What the event log costs: the same volley with and without one, as fast as it goes and paced."""

import tempfile
from dataclasses import dataclass
from statistics import median
from typing import Final

from antecede.tools.bench.contest import Show, machine, rounded
from antecede.tools.bench.rounds import Throughput, measure_throughput
from antecede.tools.child import Json

PACES: Final = {"full speed": 0, "100 k/s": 100_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingPlan:
    """Which node, and how often."""

    key: str = "antecede-handler"
    size: int = 64
    rounds: int = 5
    seconds: float = 2.0


def run_tracing(plan: TracingPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second without and with an event log on both sides, and the ratio."""
    pairs: dict[str, list[tuple[Throughput, Throughput]]] = {pace: [] for pace in PACES}
    for number in range(plan.rounds):
        for pace, per_s in PACES.items():
            show(f"event log {number + 1} of {plan.rounds}: {pace}")
            pairs[pace].append((volley(plan, per_s, False), volley(plan, per_s, True)))
    return {
        "machine": machine(),
        "rounds": plan.rounds,
        "tracing": {pace: compared(measured) for pace, measured in pairs.items()},
    }


def volley(plan: TracingPlan, per_s: int, traced: bool) -> Throughput:
    """One volley; its log, if there is one, is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"ANTECEDE_TRACE": folder} if traced else {}
        return measure_throughput(plan.key, plan.size, plan.seconds, per_s=per_s, settings=settings)


def compared(pairs: list[tuple[Throughput, Throughput]]) -> dict[str, Json]:
    """Medians without and with a log, and of the ratios of the pairs."""
    return {
        "without_messages_per_s": rounded(median(off.messages_per_s for off, _ in pairs)),
        "with_messages_per_s": rounded(median(on.messages_per_s for _, on in pairs)),
        "ratio": rounded(median(on.messages_per_s / off.messages_per_s for off, on in pairs)),
        "without_cpu_us": rounded(median(cpu_us(off) for off, _ in pairs)),
        "with_cpu_us": rounded(median(cpu_us(on) for _, on in pairs)),
    }


def cpu_us(measured: Throughput) -> float:
    """Processor time of both processes per message."""
    return measured.source_cpu_us + measured.sink_cpu_us
