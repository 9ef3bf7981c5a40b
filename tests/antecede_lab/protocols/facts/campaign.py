"""Random runs of `hybrid-facts`: configurations, networks, self-sends, wrong hints; one oracle."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, cast

from antecede.core import CausalProcess, Effect, Packet
from antecede_audit.judging.oracle import check_log
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede_lab.protocols.facts.lockstep import Twins
from tests.antecede_lab.protocols.facts.reference import Parameters
from tests.properties.schedule import CALM, Schedule, Trouble, come_to_rest

WITHOUT_EXCEPTIONS = [
    Parameters(B=0, W=0, H=2, G=4, E=0),
    Parameters(B=0, W=0, H=2, G=0, E=0),
    Parameters(B=2, W=0, H=2, G=4, E=0),
    Parameters(B=4, W=8, H=2, G=4, E=0),
    Parameters(B=16, W=64, H=2, G=4, E=0),
    Parameters(B=0, W=64, H=1_000_000, G=0, E=0),
    Parameters(B=1, W=3, H=3, G=1, E=0),
]
WITH_EXCEPTIONS = [
    Parameters(B=0, W=0, H=2, G=4, E=2),
    Parameters(B=2, W=3, H=3, G=2, E=1),
    Parameters(B=4, W=8, H=2, G=4, E=2),
    Parameters(B=16, W=64, H=2, G=4, E=2),
    Parameters(B=1, W=64, H=1_000_000, G=4, E=3),
]
CONFIGURATIONS = [*WITHOUT_EXCEPTIONS, *WITH_EXCEPTIONS]
"""Twelve, from the ordered rule to more than enough."""

REORDERING = Trouble(expiry=0.01)
LOSSY = Trouble(loss=0.1, duplication=0.3, expiry=0.05)
NETWORKS = ("lossy", "reordering", "fifo")
TROUBLES = {"lossy": LOSSY, "reordering": REORDERING, "fifo": CALM}


class Suspicious(Protocol):
    """A process that can be told who is stalled."""

    def submit(self, targets: list[int], payload: bytes, now_ns: int) -> list[Effect]: ...

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]: ...

    def suspect(self, targets: list[int], now_ns: int) -> list[Effect]: ...

    def deadline_ns(self) -> int | None: ...

    def expire(self, now_ns: int) -> list[Effect]: ...


Make = Callable[[int, list[int], Parameters, dict[str, Any]], Suspicious]


def product(me: int, everyone: list[int], p: Parameters, options: dict[str, Any]) -> FactsProcess:
    """A process with these parameters."""
    return FactsProcess(
        me,
        everyone,
        facts=p.B,
        filter_bits=p.W,
        hops=p.H,
        watermarks=p.G,
        exceptions=p.E,
        **options,
    )


def twins(me: int, everyone: list[int], p: Parameters, options: dict[str, Any]) -> Twins:
    """The product and the reference side by side."""
    return Twins(me, everyone, p, **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run of a campaign is like; the seed says the rest."""

    p: Parameters
    network: str = "reordering"
    multicast: bool = True
    processes: tuple[int, int] = (2, 7)
    messages: tuple[int, int] = (10, 60)
    hints: float = 0.03
    """How often somebody is told, rightly or not, that others are stalled."""
    silent: bool = False
    """Whether nothing arrives at process 0 as long as anything else can happen."""


class FactsSchedule(Schedule):
    """A schedule among processes made here; channels may be FIFO."""

    def __init__(self, plan: Plan, processes: int, make: Make, options: dict[str, Any]) -> None:
        super().__init__(PROTOCOLS["hybrid-facts"], processes)
        self.plan = plan
        self.suspicious = [make(me, self.everyone, plan.p, options) for me in self.everyone]
        # A schedule only ever submits, carries and lets timers fire.
        self.processes = cast(list[CausalProcess], self.suspicious)

    def next_of_some_pair(self, random: Random) -> int:
        index = random.randrange(len(self.flights))
        for _ in range(4 if self.plan.silent else 0):
            if self.flights[index].target == 0:
                index = random.randrange(len(self.flights))
        if self.plan.network != "fifo":
            return index
        pair = (self.flights[index].source, self.flights[index].target)
        return [(flight.source, flight.target) for flight in self.flights].index(pair)

    def suspect(self, me: int, targets: list[int]) -> None:
        """Somebody is told that these are stalled, rightly or not."""
        self.perform(me, self.suspicious[me].suspect(targets, self.now_ns))


def run(plan: Plan, seed: int, make: Make = product, **options: object) -> FactsSchedule:
    """One run, to its end; the seed decides everything that the plan leaves open."""
    random = Random(seed)
    choices = {
        "stall_ns": random.choice([1_000, 20_000, 200_000]),
        "patience_ns": random.choice([50_000, 1_000_000]),
    }
    schedule = FactsSchedule(plan, random.randint(*plan.processes), make, choices | options)
    eagerness = random.choice([0.1, 0.3, 0.6, 0.9])
    left = random.randint(*plan.messages)
    trouble = TROUBLES[plan.network]
    while left or schedule.flights:
        if left and (not schedule.flights or random.random() < eagerness):
            left -= 1
            me = random.choice(schedule.everyone)
            schedule.submit(me, targets_of(me, schedule.everyone, plan.multicast, random))
        elif random.random() < trouble.loss:
            schedule.flights.pop(schedule.next_of_some_pair(random))
        else:
            index = schedule.next_of_some_pair(random)
            schedule.arrive(index, keep=random.random() < trouble.duplication)
        disturb(schedule, random, trouble)
    come_to_rest(schedule, random)
    return schedule


def disturb(schedule: FactsSchedule, random: Random, trouble: Trouble) -> None:
    """Timers fire early, and hints are wrong."""
    if random.random() < trouble.expiry:
        schedule.expire(random.choice(schedule.everyone))
    if schedule.plan.p.E > 0 and random.random() < schedule.plan.hints:
        me = random.choice(schedule.everyone)
        others = [process for process in schedule.everyone if process != me]
        schedule.suspect(me, random.sample(others, random.randint(0, min(2, len(others)))))


def targets_of(me: int, everyone: list[int], multicast: bool, random: Random) -> list[int]:
    """One target or several; now and then oneself among them, or nobody else."""
    others = [process for process in everyone if process != me]
    roll = random.random()
    if roll < 0.04:
        return [me]
    to_self = [me] if roll < 0.1 else []
    count = random.randint(1, len(others)) if multicast and random.random() < 0.5 else 1
    return random.sample(others, count) + to_self


def broken(schedule: Schedule) -> list[object]:
    """What the definition of causal delivery, exactly once, finds wrong."""
    verdict = check_log(schedule.log)
    refused = [f"{schedule.refused} refused"] if schedule.refused else []
    return [
        *refused,
        *verdict.violations,
        *verdict.losses,
        *verdict.duplicates,
        *verdict.inventions,
    ]


def plans(configurations: Sequence[Parameters] = CONFIGURATIONS) -> list[Plan]:
    """Every configuration over every network, unicast and multicast."""
    return [
        Plan(p=p, network=network, multicast=multicast)
        for p in configurations
        for network in NETWORKS
        for multicast in (False, True)
    ]
