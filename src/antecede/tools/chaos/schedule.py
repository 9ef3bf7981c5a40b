"""What befalls a cluster of real nodes, and when: all of it drawn from one seed."""

from dataclasses import dataclass
from random import Random
from typing import Final, final

KILL: Final = "kill"
PAUSE: Final = "pause"
CUT: Final = "cut"
NETWORK: Final = "network"
EXPEL: Final = "expel"

KINDS: Final = (KILL, PAUSE, CUT, NETWORK, EXPEL)
WEIGHTS: Final = (6, 3, 3, 3, 2)

RESTART: Final = "restart"
"""How a killed node is got over: it comes back, or another one expels it first."""

HEALINGS: Final = (RESTART, RESTART, EXPEL)

PERIOD_S: Final = 0.6
"""So long after one fault the next one comes, on average."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that happens: to `node`, or to the network."""

    at_s: float
    kind: str
    node: int = 0
    lasts_s: float = 0.0
    """How long a pause or a cut lasts, or until a killed node is got over."""
    other: int = 0
    """Who expels it, if anybody does."""
    healing: str = ""
    loss: float = 0.0
    delay_ms: int = 0

    def __str__(self) -> str:
        words = {
            KILL: f"SIGKILL node {self.node}; after {self.lasts_s:.2f} s {self.healing}",
            PAUSE: f"SIGSTOP node {self.node} for {self.lasts_s:.2f} s",
            CUT: f"cut node {self.node} off for {self.lasts_s:.2f} s",
            NETWORK: f"loss {self.loss:.0%}, delays of up to {self.delay_ms} ms",
            EXPEL: f"node {self.other} expels node {self.node}, which lives",
        }
        return f"{self.at_s:7.2f} s  {words[self.kind]}"


def schedule_of(seed: int, nodes: int, faults: int) -> list[Fault]:
    """So many faults, one after the other, for a cluster of so many nodes."""
    random = Random(seed)
    drawn: list[Fault] = []
    at_s = 0.0
    for _ in range(faults):
        at_s += random.uniform(0.5 * PERIOD_S, 1.5 * PERIOD_S)
        drawn.append(fault_of(random, nodes, at_s))
    return drawn


def fault_of(random: Random, nodes: int, at_s: float) -> Fault:
    """The next fault."""
    kind = random.choices(KINDS, WEIGHTS)[0]
    node, other = random.sample(range(nodes), 2)
    return Fault(
        at_s=round(at_s, 3),
        kind=kind,
        node=node,
        other=other,
        lasts_s=round(random.uniform(0.1, 1.2), 3),
        healing=random.choice(HEALINGS) if kind == KILL else "",
        loss=random.choice((0.0, 0.05, 0.2)) if kind == NETWORK else 0.0,
        delay_ms=random.choice((0, 5, 40)) if kind == NETWORK else 0,
    )
