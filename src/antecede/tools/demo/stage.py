"""The demonstration's services as real processes, with a bad network between them."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.core.errors import AntecedeError
from antecede.tools.child import Child, Line, interrupts_held
from antecede.tools.demo.services import GATEWAY, SERVICES, copies_per_order
from antecede.tools.proxy import Conditions, Counters, Proxy

BAD_NETWORK: Final = Conditions(
    latency_ns=1_000_000,
    latency_ns_max=12_000_000,
    loss=0.05,
    duplication=0.02,
    reordering=0.1,
    reordering_ns=40_000_000,
)
"""1 to 12 ms one way, of a hundred datagrams five lost, two doubled, ten late by up to 40 ms."""

START_S: Final = 120.0
"""Eight processes that start at once may take long on a busy machine."""

SETTLE_S: Final = 60.0
CLOSE_S: Final = 20.0
POLL_S: Final = 0.1

SETTINGS: Final = {
    "bind": "127.0.0.1:0",
    "patience": 0.2,
    "mtu": 1400,
    "heartbeat": 1.0,
    "silent_after": 20.0,
}
"""Short times, because the network is bad and the run short."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one performance came to."""

    order: str
    messages: int
    copies: int
    seconds: float
    datagrams: int
    lost: int
    duplicated: int
    overtaking: int
    """Datagrams that were let through before earlier ones."""
    retransmitted: int


def perform(
    order: str,
    folder: Path,
    *,
    orders: int,
    per_second: float,
    conditions: Conditions = BAD_NETWORK,
    seed: int = 1,
    settings: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run the shop with one ordering; its event log goes to `folder`, as the run called `order`.

    `settings` are those of the nodes, on top of what the shop needs.
    """
    own = {"order": order, "trace": str(folder), "trace_run": order}
    chosen = {**SETTINGS, **(settings or {}), **own}
    with ExitStack() as stack:
        with interrupts_held():
            children = {name: stack.enter_context(start(name, chosen)) for name in SERVICES}
        addresses = {name: str(child.hear(START_S)["address"]) for name, child in children.items()}
        with interrupts_held():
            proxy = stack.enter_context(Proxy(addresses, conditions, seed=seed))
        for name, child in children.items():
            child.ask({"peers": proxy.peers_of(name)})
        began = time.monotonic()
        children[GATEWAY].ask({"orders": orders, "per_second": per_second})
        states = settle(list(children.values()), orders, progress)
        seconds = time.monotonic() - began
        close(list(children.values()))
        counters = [c for targets in proxy.counters().values() for c in targets.values()]
    return outcome(order, states, seconds, counters)


def start(name: str, settings: Line) -> Child:
    """The process of one service."""
    plan = {"name": name, "settings": settings}
    return Child.python("antecede.tools.demo.worker", json.dumps(plan), name=name)


def settle(children: list[Child], orders: int, progress: Progress | None) -> list[Line]:
    """Wait until everything that was said has been taken in; how things stand then."""
    expected = orders * copies_per_order()
    quiet_until = time.monotonic() + SETTLE_S
    best = 0
    while True:
        states = [child.ask({"state": True}) for child in children]
        taken = sum(state["taken"] for state in states)
        if progress is not None:
            progress(taken, expected)
        if taken >= expected and not any(state["buffered"] for state in states):
            return states
        if taken > best:
            best = taken
            quiet_until = time.monotonic() + SETTLE_S
        if time.monotonic() > quiet_until:
            raise AntecedeError(f"the services are stuck at {taken} of {expected} messages")
        time.sleep(POLL_S)


def close(children: list[Child]) -> None:
    """Let all services leave, at the same time."""
    for child in children:
        child.tell({"close": CLOSE_S})
    for child in children:
        answer = child.hear(CLOSE_S + 10)
        if "error" in answer:
            raise AntecedeError(f"{child.name}: {answer['error']}")


def outcome(order: str, states: list[Line], seconds: float, counters: list[Counters]) -> Outcome:
    """Add up what the processes say."""
    return Outcome(
        order=order,
        messages=sum(state["messages"] for state in states),
        copies=sum(state["copies"] for state in states),
        seconds=seconds,
        datagrams=sum(counter.received for counter in counters),
        lost=sum(counter.lost for counter in counters),
        duplicated=sum(counter.doubled for counter in counters),
        overtaking=sum(counter.overtaking for counter in counters),
        retransmitted=sum(state["retransmitted"] for state in states),
    )
