"""Requests and replies: how long one takes, and how many a second where many are under way.

As in the other contest every library is measured in every round, one after the other, and ratios
compare what was measured in one round. A round is two processes:
`python -m bench.live.request_contest KEY ROLE JSON` is one of them.
"""

import faulthandler
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

from rich.table import Table

from antecede_lab.child import Child, ChildFailed, Json, say
from bench.live.catalogue import find_service
from bench.live.contest import LIFE_S, SLACK_S, Readings, Show, machine, rounded
from bench.live.peer import ContestRun, Library, ReceiveTally
from bench.live.service import RequestLoad, Service

OURS: Final = "antecede"
"""Whom the others are compared with."""

Forms: TypeAlias = Sequence[tuple[str, str]]
"""Which figures a table shows, and how each is written."""

FORMS: Final = (
    ("p50_us", "{:,.0f} µs"),
    ("p99_us", "{:,.0f} µs"),
    ("requests_per_s", "{:,.0f}"),
    ("cpu_us", "{:,.1f} µs"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """What is measured, and how long."""

    keys: Sequence[str]
    size: int = 64
    under_way: Sequence[int] = (1, 64, 1024)
    rounds: int = 5
    seconds: float = 1.5

    @property
    def loads(self) -> Sequence[int]:
        """How many requests are under way."""
        return self.under_way


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSpeed:
    """What came of one load."""

    requests_per_s: float
    p50_us: float
    p99_us: float
    cpu_us: float
    """Processor time of both processes per request."""
    count: int


class LoadPlan(Protocol):
    """What is measured of everybody: some loads, in every round."""

    @property
    def keys(self) -> Sequence[str]:
        """Of whom."""

    @property
    def rounds(self) -> int:
        """How often."""

    @property
    def seconds(self) -> float:
        """How long."""

    @property
    def loads(self) -> Sequence[int]:
        """How much at a time."""


@dataclass(slots=True)
class LoadResults(ABC):
    """All that a contest of loads has found out so far."""

    plan: LoadPlan
    readings: dict[str, Readings] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    names: ClassVar[Sequence[str]]
    """What is measured of every load."""

    @abstractmethod
    def table(self) -> Table:
        """What each library reached; in brackets, ours over it."""

    def ratio(self, measure: str, key: str) -> float | None:
        """The median of ours over another's, each pair from one round."""
        if OURS not in self.readings:
            return None
        return ratio(self.readings[OURS], self.readings[key], measure)

    def measures(self) -> list[str]:
        """What is measured."""
        return [measure_of(name, load) for load in self.plan.loads for name in self.names]

    def rows(self) -> Iterator[dict[str, Json]]:
        """The medians, and those of antecede over them, by rounds."""
        for key, readings in self.readings.items():
            for measure in self.measures():
                over = None if key == OURS else rounded(self.ratio(measure, key))
                median = rounded(readings.median(measure))
                yield {"peer": key, "measure": measure, "median": median, "ratio": over}

    def document(self) -> dict[str, Json]:
        """Everything, as JSON."""
        return {
            "machine": machine(),
            "rounds": self.plan.rounds,
            "seconds": self.plan.seconds,
            "rows": list(self.rows()),
            "figures": {key: readings.figures for key, readings in self.readings.items()},
            "failures": {key: readings.failures for key, readings in self.readings.items()},
            "skipped": self.skipped,
        }

    def filled(self, table: Table, forms: Callable[[int], Forms]) -> Table:
        """The table with a line for each, whose cells are of these forms."""
        for key, readings in self.readings.items():
            cells = [
                self._cell(key, measure_of(name, load), form)
                for load in self.plan.loads
                for name, form in forms(load)
            ]
            table.add_row(readings.name, *cells)
        for key, reason in self.skipped.items():
            table.add_row(f"[dim]{key}: {reason}[/]")
        return table

    def _cell(self, key: str, measure: str, form: str) -> str:
        figure = self.readings[key].median(measure)
        over = None if key == OURS else self.ratio(measure, key)
        text = "failed" if figure is None else form.format(figure)
        return text if over is None else f"{text} ({over:.2f})"


AnyResults = TypeVar("AnyResults", bound=LoadResults)


@dataclass(slots=True)
class RequestResults(LoadResults):
    """The same of requests."""

    names: ClassVar[Sequence[str]] = ("requests_per_s", "p50_us", "p99_us", "cpu_us")

    def table(self) -> Table:
        table = Table(title="Requests and replies (antecede over it)")
        table.add_column("library", no_wrap=True)
        for count in self.plan.loads:
            titles = [f"{count:,} under way: p50", "p99", "requests/s", "processor"]
            for title in titles[: 2 if count == 1 else 4]:
                table.add_column(title, justify="right", overflow="fold")
        return self.filled(table, lambda count: FORMS[: 2 if count == 1 else 4])


def measure_of(name: str, under_way: int) -> str:
    """What a figure is called, with so many requests under way."""
    return f"{name}_{under_way}"


def ratio(ours: Readings, theirs: Readings, measure: str) -> float | None:
    """The median of the ratios of pairs of one round."""
    pairs = Readings("pairs")
    figures = zip(ours.figures.get(measure, []), theirs.figures.get(measure, []), strict=False)
    pairs.figures[measure] = [None if x is None or y is None else x / y for x, y in figures]
    return pairs.median(measure)


def run_loads(
    results: AnyResults,
    find: Callable[[str], Library],
    measure: Callable[[str, int], object],
    show: Show,
    what: str,
) -> AnyResults:
    """Measure all that can be measured here; a failed round is noted, and the contest goes on."""
    plan = results.plan
    for key in plan.keys:
        library = find(key)
        objection = library.objection()
        if objection is None:
            results.readings[key] = Readings(library.name)
        else:
            results.skipped[key] = objection
    keys = list(results.readings)
    for number in range(plan.rounds):
        first = number % max(1, len(keys))
        for load in plan.loads:
            for key in keys[first:] + keys[:first]:
                readings = results.readings[key]
                show(f"round {number + 1} of {plan.rounds}: {readings.name}, {load:,} {what}")
                figures: dict[str, float | None] = {
                    measure_of(name, load): None for name in results.names
                }
                with readings.noting(figures):
                    speed = measure(key, load)
                    figures |= {
                        measure_of(name, load): getattr(speed, name) for name in results.names
                    }
    return results


def run_request_contest(plan: RequestPlan, show: Show = lambda _: None) -> RequestResults:
    """Requests and replies of everybody who has them."""
    return run_loads(
        RequestResults(plan),
        find_service,
        lambda key, under_way: measure_requests(key, plan.size, plan.seconds, under_way),
        show,
        "under way",
    )


def measure_requests(key: str, size: int, seconds: float, under_way: int) -> RequestSpeed:
    """Ask for some seconds; `ChildFailed` if it breaks, or if a request is not replied to."""
    with (
        find_service(key).broker() as broker,
        start(key, "serve", {"address": "", "broker": broker}) as serving,
    ):
        address = serving.hear(SLACK_S)["address"]
        plan = {"size": size, "seconds": seconds, "under_way": under_way}
        with start(key, "ask", {"address": address, "broker": broker, **plan}) as asking:
            asked = asking.hear(seconds + SLACK_S, beside=serving)["result"]
        serving.end_input()
        served = serving.hear(SLACK_S)["result"]
    if served["received"] != asked["count"] + 1:  # The end is a request, too.
        raise ChildFailed(f"{key}: {asked['count']} replies to {served['received'] - 1} requests")
    return RequestSpeed(
        requests_per_s=asked["count"] * 1e9 / asked["elapsed_ns"],
        p50_us=asked["p50_us"],
        p99_us=asked["p99_us"],
        cpu_us=(asked["cpu_ns"] + served["cpu_ns"]) / 1000 / asked["count"],
        count=asked["count"],
    )


def start(key: str, role: str, plan: dict[str, Json]) -> Child:
    """A process that plays a role of a library."""
    text = json.dumps(plan)
    return Child.python("bench.live.request_contest", key, role, text, name=f"{role} of {key}")


def play(service: Service, role: str, plan: dict[str, Any]) -> dict[str, Json]:
    """Play a role to its end; what there is to say of it."""
    stage = ContestRun(
        announce=lambda address: say({"address": address}),
        address=plan["address"],
        broker=plan["broker"],
    )
    if role == "serve":
        tally = ReceiveTally()
        service.run(service.serve(stage, tally))
        return {"received": tally.received, "cpu_ns": tally.cpu_ns}
    load = RequestLoad(plan["size"], plan["seconds"], plan["under_way"])
    service.run(service.ask(stage, load))
    return {
        "count": len(load),
        "elapsed_ns": load.elapsed_ns,
        "cpu_ns": load.cpu_ns,
        "p50_us": load.quantile_us(0.5),
        "p99_us": load.quantile_us(0.99),
    }


def main() -> None:
    """Play the role that the command line names, and tell how it went."""
    key, role, plan = sys.argv[1:]
    faulthandler.dump_traceback_later(LIFE_S, exit=True)
    say({"result": play(find_service(key), role, json.loads(plan))})


if __name__ == "__main__":
    main()
