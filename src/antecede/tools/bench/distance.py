"""Throughput at a distance: the same proxy with and without a delay, given enough window.

A protocol that waits for an answer before it sends on (MF, Cykas) sends one message a round trip;
ours should not notice the distance once the windows are as large as what is under way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from antecede.tools.bench.contest import Show, machine, rounded
from antecede.tools.bench.rounds import measure_throughput
from antecede.tools.child import Json
from antecede.tools.proxy import Conditions

WINDOWS: Final = {
    "ANTECEDE_RECEIVE_WINDOW": "64MiB",
    "ANTECEDE_SEND_LIMIT": "200000",
    "ANTECEDE_SEND_BYTES": "256MiB",
}
"""Several times what is under way at 50 ms: these are what is not measured here."""

MS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DistancePlan:
    """How far, how large, how often."""

    round_trips_ms: Sequence[int] = (0, 50)
    sizes: Sequence[int] = (64, 1024)
    keys: Sequence[str] = ("antecede-handler", "antecede-handler-1400")
    rounds: int = 3
    seconds: float = 3.0
    warm_s: float = 2.0
    """Until the congestion window has opened."""


def run_distance(plan: DistancePlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second per datagram size, message size and round trip, and their ratios."""
    figures: dict[tuple[str, int, int], list[float]] = {}
    for number in range(plan.rounds):
        for key in plan.keys:
            for size in plan.sizes:
                for trip_ms in plan.round_trips_ms:
                    show(f"distance {number + 1} of {plan.rounds}: {key}, {size} B, {trip_ms} ms")
                    speed = at_a_distance(key, size, trip_ms, plan)
                    figures.setdefault((key, size, trip_ms), []).append(speed)
    return {
        "machine": machine(),
        "rounds": plan.rounds,
        "throughput": {
            key: {
                str(size): speeds({trip: figures[key, size, trip] for trip in plan.round_trips_ms})
                for size in plan.sizes
            }
            for key in plan.keys
        },
    }


def at_a_distance(key: str, size: int, round_trip_ms: int, plan: DistancePlan) -> float:
    """Messages per second through a proxy that makes the round trip so long."""
    far = Conditions(latency_ns=round_trip_ms * MS // 2)
    measured = measure_throughput(
        key, size, plan.seconds, warm_s=plan.warm_s, between=far, settings=WINDOWS
    )
    return measured.messages_per_s


def speeds(by_trip: dict[int, list[float]]) -> dict[str, Json]:
    """Medians per round trip, and the last over the first, each pair from one round."""
    first, *_, last = by_trip.values()
    answer: dict[str, Json] = {f"{trip} ms": rounded(median(x)) for trip, x in by_trip.items()}
    answer["ratio"] = rounded(median(y / x for x, y in zip(first, last, strict=True)))
    return answer
