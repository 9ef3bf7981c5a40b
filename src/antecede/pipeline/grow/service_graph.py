"""A service-dependency graph: who calls whom how often, and what follows for a single request.

The file is what Jaeger's dependency page has: a list of {parent, child, callCount}. It says nothing
about requests, so they are made up such that every edge is called as often as the file says. A
request from outside always leads to calls. One from another service leads to calls as often as is
needed for the rest, each time to as many as in a recording; and if that is not enough, then so many
more requests come from outside. Some come from outside in any case, so that circles end.
"""

import gzip
import json
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.trace.atomic import blaming
from antecede.trace.fields import INT32_MAX, checked_integer, field, located

OUTSIDE_SHARE: Final = 0.05
"""At least this share of the calls of a service is due to requests from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceGraph:
    """Services by number, and the calls between them."""

    names: tuple[str, ...]
    children: tuple[tuple[int, ...], ...]
    calls: tuple[tuple[int, ...], ...]
    """How often each child is called, beside `children`."""

    @property
    def edges(self) -> int:
        """How many pairs of services call each other."""
        return sum(len(children) for children in self.children)

    def calls_out(self, service: int) -> int:
        """How many calls a service makes."""
        return sum(self.calls[service])

    def calls_in(self) -> list[int]:
        """How many calls each service gets."""
        received = [0] * len(self.names)
        for children, calls in zip(self.children, self.calls, strict=True):
            for child, count in zip(children, calls, strict=True):
                received[child] += count
        return received


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What requests do at each service."""

    outside: tuple[float, ...]
    """Requests that come from outside, in the unit of the file's calls."""
    asked: tuple[float, ...]
    """All requests, in the same unit."""
    calls: tuple[float, ...]
    """Calls that a request from another service leads to, on average."""


def read_graph(path: Path) -> ServiceGraph:
    """The graph in a JSON file, which may be compressed (`.gz`)."""
    with blaming(path, "read"):
        raw = path.read_bytes()
    try:
        entries = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (ValueError, EOFError, OSError) as error:
        raise LocalError(f"{path} is not JSON: {error}") from error
    if not isinstance(entries, list) or not entries:
        raise LocalError(f"{path}: expected a list of objects with parent, child and callCount")
    with located(str(path)):
        return graph_of([edge_of(number, entry) for number, entry in enumerate(entries, start=1)])


def edge_of(number: int, entry: object) -> tuple[str, str, int]:
    """An entry of the file as parent, child and calls."""
    with located(f"entry {number}"):
        if not isinstance(entry, dict):
            raise LocalError(f"expected an object, not {entry!r}")
        parent, child = field(entry, "parent"), field(entry, "child")
        if not isinstance(parent, str) or not isinstance(child, str):
            raise LocalError(f"parent and child must be names, not {parent!r} and {child!r}")
        calls = checked_integer(field(entry, "callCount"), "callCount", 0, INT32_MAX)
        return parent, child, calls


def graph_of(edges: list[tuple[str, str, int]]) -> ServiceGraph:
    """The graph with these edges; those that stand twice are added up, services sorted by name."""
    names = sorted({name for parent, child, _ in edges for name in (parent, child)})
    number = {name: place for place, name in enumerate(names)}
    calls: list[dict[int, int]] = [{} for _ in names]
    for parent, child, count in edges:
        if count:
            row = calls[number[parent]]
            row[number[child]] = row.get(number[child], 0) + count
    if not any(calls):
        raise LocalError("nobody calls anybody")
    return ServiceGraph(
        names=tuple(names),
        children=tuple(tuple(sorted(row)) for row in calls),
        calls=tuple(tuple(row[child] for child in sorted(row)) for row in calls),
    )


def rates_of(graph: ServiceGraph, calls_outside: float, calls_inside: float) -> Rates:
    """What requests do if one from outside leads to so many calls on average.

    One from another service that leads to calls at all leads to `calls_inside` of them.
    """
    outside, asked, calls = [], [], []
    for service, received in enumerate(graph.calls_in()):
        sent = graph.calls_out(service)
        inside = min((1 - OUTSIDE_SHARE) * sent, received * calls_inside)
        outside.append((sent - inside) / calls_outside)
        asked.append(received + outside[-1])
        calls.append(inside / received if received else 0.0)
    return Rates(outside=tuple(outside), asked=tuple(asked), calls=tuple(calls))


def replicas_of(asked: tuple[float, ...], processes: int) -> tuple[int, ...]:
    """How many processes each service gets: one, and of the rest in proportion to its requests."""
    if processes < len(asked):
        raise LocalError(f"{len(asked)} services need as many processes, not {processes}")
    spare = processes - len(asked)
    total = sum(asked)
    shares = [spare * requests / total for requests in asked]
    whole = [int(share) for share in shares]
    fullest = sorted(range(len(asked)), key=lambda service: whole[service] - shares[service])
    for service in fullest[: spare - sum(whole)]:
        whole[service] += 1
    return tuple(1 + count for count in whole)


def firsts(counts: tuple[int, ...]) -> tuple[int, ...]:
    """Where each of several groups begins if they are numbered one after the other."""
    return (0, *accumulate(counts[:-1]))
