"""A web shop in eight services on a bad network: what order is for, to be seen and measured.

Several ways lead from an order's creation to those who only look on (search, mail, the ledger),
some shorter than others. On a network that reorders, an effect that takes a short way overtakes
its cause on a long one: the ledger books a payment for an order that it has not heard of.

Every service is a process, `python -m antecede_lab.demo.shop JSON`. It says where it listens, waits
to be introduced to the others, and then does what `STEPS` say.
Lines in: {"peers": {...}}, {"orders": 100, "per_second": 50}, {"state": true}, {"close": 10}.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from antecede.core.errors import AntecedeError
from antecede.durability.unconfirmed import InboundMessage
from antecede.runtime.input_lines import InputLines
from antecede.runtime.node import Node
from antecede.runtime.opening import open_node
from antecede_lab.chaos.proxy import Conditions, Counters, Proxy
from antecede_lab.child import Child, Line, interrupts_held, say

GATEWAY: Final = "gateway"
CREATED: Final = "order created"


@dataclass(frozen=True, slots=True)
class OrderStep:
    """What a service sends, and to whom, when a certain message arrives."""

    service: str
    trigger: str
    says: str
    to: tuple[str, ...]


FIRST: Final = OrderStep(GATEWAY, "", CREATED, ("orders", "stock", "ledger"))
"""What the gateway sends for every new order."""

STEPS: Final = (
    OrderStep("orders", CREATED, "please charge", ("payments",)),
    OrderStep("orders", CREATED, "please reserve", ("stock",)),
    OrderStep("orders", CREATED, "order confirmed", ("search", "ledger")),
    OrderStep("payments", "please charge", "paid", ("orders", "shipping", "ledger")),
    OrderStep("stock", "please reserve", "reserved", ("shipping", "search")),
    OrderStep("shipping", "paid", "shipped", ("mail", "search", "ledger")),
    OrderStep("mail", "shipped", "customer told", (GATEWAY, "ledger")),
)

SERVICES: Final = (GATEWAY, "orders", "payments", "stock", "shipping", "mail", "search", "ledger")


def reactions(service: str, content: str) -> list[OrderStep]:
    """What `service` sends when a message with this content arrives."""
    return [step for step in STEPS if (step.service, step.trigger) == (service, content)]


def copies_per_order() -> int:
    """How many copies of messages one order causes."""
    copies = 0
    open_steps = [FIRST]
    while open_steps:
        step = open_steps.pop()
        for target in step.to:
            copies += 1
            open_steps += reactions(target, step.says)
    return copies


PADDING = "." * 64
"""Makes a message as long as a short record."""


class ShopService:
    """One service and its node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.copies = 0
        self.taken = 0
        self._placing: asyncio.Task[None] | None = None

    async def do(self, line: dict[str, Any]) -> dict[str, Any]:
        """Do what one line asks for; what to answer."""
        for name, address in line.get("peers", {}).items():
            self.node.add_peer(name, address)
        if "orders" in line:
            task = self._place(line["orders"], 1 / line["per_second"])
            self._placing = asyncio.get_running_loop().create_task(task)
        if "close" in line:
            try:
                await self.node.close(timeout=line["close"], linger="bye")
            except AntecedeError as error:
                return {"error": str(error)}
        placing = self._placing is not None and not self._placing.done()
        stats = self.node.stats()
        return {
            "copies": self.copies,
            "taken": self.taken,
            "placing": placing,
            "buffered": stats.buffered,
            "messages": stats.messages_sent,
            "retransmitted": stats.retransmitted,
        }

    async def take(self, message: InboundMessage) -> None:
        """React to what another service says."""
        said = json.loads(message.payload)
        for step in reactions(self.node.name, said["says"]):
            await self._say(step, said["order"])
        self.taken += 1

    async def _place(self, orders: int, pause: float) -> None:
        for order in range(1, orders + 1):
            await self._say(FIRST, order)
            await asyncio.sleep(pause)

    async def _say(self, step: OrderStep, order: int) -> None:
        self.copies += len(step.to)
        record = {"order": order, "says": step.says, "note": PADDING}
        await self.node.send(step.to, json.dumps(record).encode())


async def run(plan: dict[str, Any]) -> None:
    """Serve until the node is closed or the input ends."""
    node = await open_node(plan["name"], settings=plan["settings"])
    service = ShopService(node)
    node.on_message(service.take)
    lines = InputLines(sys.stdin.buffer)
    say({"address": str(node.address), "places_orders": node.name == GATEWAY})
    while not node.closed and (line := await lines.next_line()):
        say(await service.do(json.loads(line)))
    if not node.closed:
        node.abandon()


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
class ShopOutcome:
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
    settings: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> ShopOutcome:
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
            proxy = stack.enter_context(Proxy(addresses, BAD_NETWORK))
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
    return Child.python("antecede_lab.demo.shop", json.dumps(plan), name=name)


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


def outcome(
    order: str, states: list[Line], seconds: float, counters: list[Counters]
) -> ShopOutcome:
    """Add up what the processes say."""
    return ShopOutcome(
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


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
