"""Everybody against everybody: rounds interleaved, medians taken, ratios by pairs of one round.

Machines are noisy, and what disturbs one library in one round disturbs the next one a moment later.
So all are measured in turn, in every round, beginning each time with another one; a ratio compares
two that were measured in the same round, and the median of these ratios is what counts.
"""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, TypeAlias

import antecede
from antecede.tools.bench.catalogue import find_peer
from antecede.tools.bench.rounds import measure_round_trips, measure_throughput
from antecede.tools.child import ChildFailed

ROUND_TRIP_BYTES: Final = 64
P50: Final = "p50_us"
P99: Final = "p99_us"

Show: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is measured, and how long."""

    keys: Sequence[str]
    sizes: Sequence[int] = (64, 1024)
    rounds: int = 5
    seconds: float = 1.5


@dataclass(slots=True)
class Readings:
    """What was measured of one peer: per measure, one figure a round (None: it failed)."""

    name: str
    figures: dict[str, list[float | None]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def noting(self, figures: Mapping[str, float | None]) -> Iterator[None]:
        """Note these figures of the next round at the end, and why some are missing."""
        try:
            yield
        except ChildFailed as failure:
            self.failures.append(str(failure))
        for measure, figure in figures.items():
            self.figures.setdefault(measure, []).append(figure)

    def median(self, measure: str) -> float | None:
        """The median over the rounds that succeeded."""
        figures = [x for x in self.figures.get(measure, []) if x is not None]
        return median(figures) if figures else None


@dataclass(slots=True)
class Results:
    """All that a contest has found out so far."""

    plan: Plan
    readings: dict[str, Readings] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def ratio(self, measure: str, first: str, second: str) -> float | None:
        """The median of `first` over `second`, each pair from one round."""
        pairs = zip(
            self.readings[first].figures.get(measure, []),
            self.readings[second].figures.get(measure, []),
            strict=False,
        )
        ratios = [x / y for x, y in pairs if x is not None and y is not None]
        return median(ratios) if ratios else None

    def measures(self) -> list[str]:
        """What was measured: messages/s and processor time per size, and round trips."""
        by_size = [name(size) for size in self.plan.sizes for name in (throughput_of, effort_of)]
        return [*by_size, P50, P99]

    def document(self) -> dict[str, Any]:
        """Everything, as JSON."""
        own = [key for key in self.readings if key.startswith("antecede")]
        return {
            "machine": machine(),
            "rounds": self.plan.rounds,
            "seconds": self.plan.seconds,
            "peers": {
                key: {
                    "name": readings.name,
                    "median": {name: rounded(readings.median(name)) for name in self.measures()},
                    "rounds": {
                        name: [rounded(x) for x in figures]
                        for name, figures in readings.figures.items()
                    },
                    "failures": readings.failures,
                }
                for key, readings in self.readings.items()
            },
            "ratios": {
                key: {
                    other: {m: rounded(self.ratio(m, key, other)) for m in self.measures()}
                    for other in self.readings
                    if other not in own
                }
                for key in own
            },
            "skipped": self.skipped,
        }


def run_contest(plan: Plan, show: Show = lambda _: None) -> Results:
    """Measure all that can be measured here; a failed round is noted, and the contest goes on."""
    results = Results(plan)
    for key in plan.keys:
        peer = find_peer(key)
        objection = peer.objection()
        if objection is None:
            results.readings[key] = Readings(peer.name)
        else:
            results.skipped[key] = objection
    keys = list(results.readings)
    for number in range(plan.rounds):
        first = number % max(1, len(keys))
        for key in keys[first:] + keys[:first]:
            show(f"round {number + 1} of {plan.rounds}: {results.readings[key].name}")
            measure(key, plan, results.readings[key])
    return results


def measure(key: str, plan: Plan, readings: Readings) -> None:
    """One round of one peer."""
    for size in plan.sizes:
        figures: dict[str, float | None] = {throughput_of(size): None, effort_of(size): None}
        with readings.noting(figures):
            reached = measure_throughput(key, size, plan.seconds)
            figures[throughput_of(size)] = reached.messages_per_s
            figures[effort_of(size)] = reached.cpu_us
    figures = {P50: None, P99: None}
    with readings.noting(figures):
        trips = measure_round_trips(key, ROUND_TRIP_BYTES, plan.seconds / 2)
        figures |= {P50: trips.p50_us, P99: trips.p99_us}


def throughput_of(size: int) -> str:
    """What the throughput of messages of this size is called."""
    return f"messages_per_s_{size}"


def effort_of(size: int) -> str:
    """What the processor time per message of this size is called: sender and receiver together.

    It tells more than throughput where the machine has other things to do. A broker's is not in it.
    """
    return f"cpu_us_{size}"


def rounded(figure: float | None) -> float | None:
    """Three digits are more than such figures deserve."""
    return None if figure is None else float(f"{figure:.3g}")


def machine() -> dict[str, Any]:
    """Where this was measured."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "antecede": antecede.__version__,
        "build": "compiled" if antecede.compiled() else "interpreted",
    }
