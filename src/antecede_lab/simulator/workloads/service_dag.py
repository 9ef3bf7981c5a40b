"""A graph of services: a request enters at the root, fans out to all it needs, and fans in again.

Service 0 is the root. Whoever is called calls its own children in parallel and replies when all of
them have replied; a service without children replies at once. Requests enter open-loop.
"""

from itertools import pairwise
from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.packets import Message
from antecede.network_model.keyed_random import WORKLOAD, KeyedRandom
from antecede_lab.simulator.workloads.workload import Agenda, Workload, check_traffic

ROOT: Final = 0
NOBODY: Final = -1

CALLS_LIMIT: Final = 10_000
"""Calls that one request may give rise to; shared services multiply them layer by layer."""


@final
class Call:
    """A service at work: for which call of another one, and how many replies are missing."""

    __slots__ = ("missing", "parent", "service")

    def __init__(self, parent: i64, service: i64) -> None:
        self.parent: Final[i64] = parent
        self.service: Final[i64] = service
        self.missing: i64 = 0


@final
class ServiceDag(Workload):
    """`requests` enter, one per `interval_ns` on average; service s calls `children[s]`."""

    def __init__(
        self,
        children: list[list[int]],
        *,
        requests: int,
        interval_ns: int,
        seed: int,
        payload_bytes: int = 64,
        reply_bytes: int = 64,
    ) -> None:
        check_traffic(len(children), requests, interval_ns, payload_bytes)
        check_traffic(len(children), requests, interval_ns, reply_bytes)
        if not 1 <= calls_per_request(children) <= CALLS_LIMIT:
            raise LocalError(f"a request must lead to 1 to {CALLS_LIMIT} calls")
        super().__init__(len(children))
        self._children: Final = [list(services) for services in children]
        self._left: i64 = requests
        self._entered: i64 = 0
        self._mean_ns: Final = float(interval_ns)
        self._payload_bytes: Final[i64] = payload_bytes
        self._reply_bytes: Final[i64] = reply_bytes
        self._chance: Final = KeyedRandom(seed, WORKLOAD)
        self._calls: Final[dict[int, Call]] = {}
        self._next_call: i64 = 0

    @property
    def reacts(self) -> bool:
        return True

    def remaining(self) -> int:
        return self._left

    def start(self, agenda: Agenda) -> None:
        self._wait(0, agenda)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        self._left -= 1
        self._entered += 1
        self._work(self._open(NOBODY, ROOT), agenda)
        if self._left > 0:
            self._wait(now_ns, agenda)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        number = tag >> 1
        call = self._calls.get(number)
        if tag < 0 or call is None:
            return
        if tag & 1 == 0:
            self._work(number, agenda)
            return
        del self._calls[number]
        parent = self._calls[call.parent]
        parent.missing -= 1
        if parent.missing == 0:
            self._finish(call.parent, agenda)

    def _open(self, parent: i64, service: i64) -> i64:
        number = self._next_call
        self._next_call += 1
        self._calls[number] = Call(parent, service)
        return number

    def _work(self, number: i64, agenda: Agenda) -> None:
        """Call all children of the called service, or reply."""
        call = self._calls[number]
        children = self._children[call.service]
        call.missing = len(children)
        for child in children:
            request = self._open(number, child)
            agenda.submit(call.service, [child], self._payload_bytes, 2 * request)
        if not children:
            self._finish(number, agenda)

    def _finish(self, number: i64, agenda: Agenda) -> None:
        call = self._calls[number]
        if call.parent == NOBODY:
            del self._calls[number]
        else:
            caller = self._calls[call.parent].service
            agenda.submit(call.service, [caller], self._reply_bytes, 2 * number + 1)

    def _wait(self, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(self._entered)
        agenda.wake(now_ns + i64(self._chance.exponential(self._mean_ns)), ROOT)


def layered_services(processes: int, layers: int, fan_out: int) -> list[list[int]]:
    """A root and `layers` layers of services, each calling `fan_out` of the next layer.

    Neighbours share children, so this is a graph and not a tree.
    """
    if processes < 2 or not 1 <= layers < processes or fan_out < 1:
        raise LocalError(
            f"{layers} layers with a fan-out of {fan_out} need more than {processes} processes"
        )
    starts = [1 + layer * (processes - 1) // layers for layer in range(layers + 1)]
    rows = [[ROOT]] + [list(range(starts[i], starts[i + 1])) for i in range(layers)]
    children: list[list[int]] = [[] for _ in range(processes)]
    for row, below in pairwise(rows):
        width = min(fan_out, len(below))
        for place, service in enumerate(row):
            children[service] = [below[(place * fan_out + i) % len(below)] for i in range(width)]
    return children


def calls_per_request(children: list[list[int]]) -> int:
    """How many calls a request leads to; `LocalError` if the graph has a cycle or a stranger."""
    calls = [0] * len(children)
    for service in reversed(callers_first(children)):
        for child in children[service]:
            calls[service] += 1 + calls[child]
    return calls[ROOT]


def callers_first(children: list[list[int]]) -> list[int]:
    """All services in an order in which each comes before those that it calls."""
    callers = [0] * len(children)
    for services in children:
        for child in services:
            if not 0 <= child < len(children):
                raise LocalError(f"service {child} is not one of the {len(children)} services")
            callers[child] += 1
    order = [service for service, count in enumerate(callers) if count == 0]
    for service in order:
        for child in children[service]:
            callers[child] -= 1
            if callers[child] == 0:
                order.append(child)
    if len(order) < len(children):
        raise LocalError("the services call each other in a circle")
    return order
