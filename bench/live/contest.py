"""Everybody against everybody: rounds interleaved, medians taken, ratios by pairs of one round.

Machines are noisy, and what disturbs one library in one round disturbs the next one a moment later.
So all are measured in turn, in every round, beginning each time with another one; a ratio compares
two that were measured in the same round, and the median of these ratios is what counts.

A round of one library is two processes on this machine, started, timed and ended:
`python -m bench.live.contest KEY ROLE JSON` is one of them.
"""

import faulthandler
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, TypeAlias

import antecede
from antecede_lab.chaos.proxy import Conditions, Proxy
from antecede_lab.child import Child, ChildFailed, Json, say
from bench.live.catalogue import find_peer
from bench.live.peer import Contestant, ContestRun, ReceiveTally, Stopwatch, Volley
from bench.live.peers.antecede_node import CALLER, LISTENER

SLACK_S: Final = 30.0
"""What a round may take beyond the time it measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What came of one volley."""

    messages_per_s: float
    sent: int
    received: int
    source_cpu_us: float
    """Processor time of the sender per message."""
    sink_cpu_us: float
    """The same of the receiver."""

    @property
    def cpu_us(self) -> float:
        """Processor time of both processes per message."""
        return self.source_cpu_us + self.sink_cpu_us


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """What came of one exchange of pings."""

    p50_us: float
    p99_us: float
    count: int


def start(key: str, role: str, environment: Mapping[str, str], **plan: Json) -> Child:
    """A process that plays a role of a peer."""
    text = json.dumps({"address": "", "broker": "", **plan})
    return Child.python(
        "bench.live.contest",
        key,
        role,
        text,
        name=f"{role} of {key}",
        environment=environment,
    )


@contextmanager
def proxied(address: str, conditions: Conditions | None) -> Iterator[str]:
    """Where the source finds the sink: at its address, or behind a proxy."""
    if conditions is None:
        yield address
        return
    with Proxy({LISTENER: address, CALLER: None}, conditions) as proxy:
        yield proxy.peers_of(CALLER)[LISTENER]


def measure_throughput(
    key: str,
    size: int,
    seconds: float,
    *,
    warm_s: float = 0.0,
    per_s: int = 0,
    between: Conditions | None = None,
    settings: Mapping[str, str] | None = None,
) -> Throughput:
    """Send one way for some seconds; `ChildFailed` if it breaks, or if anything gets lost.

    `settings` are variables of the environment. A proxy stands `between` only on UDP.
    """
    surroundings = settings or {}
    with ExitStack() as stack:
        broker = stack.enter_context(find_peer(key).broker())
        sink = stack.enter_context(start(key, "sink", surroundings, broker=broker))
        address = stack.enter_context(proxied(sink.hear(SLACK_S)["address"], between))
        plan = {"size": size, "seconds": seconds, "warm_s": warm_s, "per_s": per_s}
        source = stack.enter_context(
            start(key, "source", surroundings, broker=broker, address=address, **plan)
        )
        got = sink.hear(warm_s + seconds + SLACK_S, beside=source)["result"]
        source.end_input()
        gave = source.hear(SLACK_S)["result"]
    if got["received"] != gave["sent"]:
        raise ChildFailed(f"{key} lost messages: {gave['sent']} sent, {got['received']} received")
    return Throughput(
        messages_per_s=got["received"] * 1e9 / got["elapsed_ns"],
        sent=gave["sent"],
        received=got["received"],
        source_cpu_us=gave["cpu_ns"] / 1000 / gave["sent"],
        sink_cpu_us=got["cpu_ns"] / 1000 / got["received"],
    )


def measure_round_trips(key: str, size: int, seconds: float) -> RoundTrips:
    """Ping for some seconds, one message at a time."""
    with find_peer(key).broker() as broker, start(key, "echo", {}, broker=broker) as echo:
        address = echo.hear(SLACK_S)["address"]
        plan = {"size": size, "seconds": seconds, "address": address, "broker": broker}
        with start(key, "ping", {}, **plan) as ping:
            result = ping.hear(seconds + SLACK_S, beside=echo)["result"]
            echo.hear(SLACK_S)
    return RoundTrips(p50_us=result["p50_us"], p99_us=result["p99_us"], count=result["round_trips"])


LIFE_S: Final = 60.0
"""After this time a role that still runs says where it is, and ends."""


def play(peer: Contestant, role: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Play a role to its end; what there is to say of it."""
    stage = ContestRun(
        announce=lambda address: say({"address": address}),
        address=plan["address"],
        broker=plan["broker"],
    )
    if role == "sink":
        tally = ReceiveTally()
        peer.run(peer.sink(stage, tally))
        return {
            "received": tally.received,
            "elapsed_ns": tally.elapsed_ns,
            "cpu_ns": tally.cpu_ns,
        }
    if role == "source":
        volley = Volley(
            plan["size"],
            plan["seconds"],
            warm_s=plan.get("warm_s", 0.0),
            per_s=plan.get("per_s", 0),
        )
        peer.run(peer.source(stage, volley))
        return {"sent": volley.sent, "cpu_ns": volley.cpu_ns}
    if role == "echo":
        peer.run(peer.echo(stage))
        return {}
    stopwatch = Stopwatch(plan["size"], plan["seconds"])
    peer.run(peer.ping(stage, stopwatch))
    return {
        "round_trips": len(stopwatch),
        "p50_us": stopwatch.quantile_us(0.5),
        "p99_us": stopwatch.quantile_us(0.99),
    }


def main() -> None:
    """Play the role that the command line names, and tell how it went."""
    key, role, plan = sys.argv[1:]
    faulthandler.dump_traceback_later(LIFE_S, exit=True)
    say({"result": play(find_peer(key), role, json.loads(plan))})


ROUND_TRIP_BYTES: Final = 64
P50: Final = "p50_us"
P99: Final = "p99_us"

Show: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestPlan:
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

    plan: ContestPlan
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


def run_contest(plan: ContestPlan, show: Show = lambda _: None) -> Results:
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


def measure(key: str, plan: ContestPlan, readings: Readings) -> None:
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


if __name__ == "__main__":
    main()
