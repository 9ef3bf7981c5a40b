"""Which runs a comparison consists of: protocols, kinds of runs, and single tasks."""

from dataclasses import dataclass
from functools import partial
from typing import Final, final

from antecede.core.catalogue import ProtocolInfo, find_protocol
from antecede.core.errors import LocalError, not_called
from antecede.lab.comparison import claims
from antecede.lab.comparison.effort import Effort, reach_of
from antecede.lab.comparison.footprint import HOLDINGS, knowledge_spreads
from antecede.lab.comparison.long_runs import SERVICES, STREAM
from antecede.lab.comparison.readings import Readings
from antecede.lab.comparison.steps import can_count
from antecede.lab.comparison.traffic import NEIGHBOURS, situations_of
from antecede.lab.comparison.trials import (
    LOSING,
    LOSSY,
    REORDERING,
    TRIAL_PROCESSES,
    WITHOUT_TIMERS,
)

NETWORK: Final = "network"
SPACE: Final = "space"
STEPS: Final = "steps"
LATENCY: Final = "latency"
THROUGHPUT: Final = "throughput"
LIVENESS: Final = "liveness"

FAMILIES: Final = (NETWORK, SPACE, STEPS, LATENCY, THROUGHPUT, LIVENESS)
"""What can be measured on its own."""

FAMILY_OF: Final = {
    claims.FAILURES: NETWORK,
    claims.ORDER: NETWORK,
    claims.MESSAGE_SPACE: SPACE,
    claims.PROCESS_SPACE: SPACE,
    claims.SENDER_STEPS: STEPS,
    claims.RECEIVER_STEPS: STEPS,
    claims.OPTIMAL: LATENCY,
    claims.SIDE: LATENCY,
    claims.MAGNITUDE: LATENCY,
    claims.SCALABLE: THROUGHPUT,
    claims.IN_TRANSIT: THROUGHPUT,
    claims.LIVENESS: LIVENESS,
    claims.CONTROL: SPACE,
}
"""Which family of runs an aspect of the table rests on."""

DEFAULT_PROTOCOLS: Final = (
    "rst", "ks", "newtop", "mf", "cykas", "hybrid",
    "hybrid-facts", "hybrid-sps", "hybrid-csps", "paper-basic", "paper-sps", "paper-multicast",
    "prs", "ses", "bss", "tree", "piggyback", "psync", "separators", "topology", "blocking",
)  # fmt: skip
"""The columns of the paper's table, then the rest of the catalogue that promises causal order."""


@final
@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A protocol that takes part: as it was asked for, as it is called, and itself."""

    asked: str
    info: ProtocolInfo

    @property
    def name(self) -> str:
        """What readings call it."""
        return self.info.name


@final
@dataclass(frozen=True, kw_only=True)
class Task:
    """One figure, or a few that come from the same runs."""

    family: str
    entrant: Entrant
    what: str
    """Which kind of run, within the family."""
    situation: str
    at: float

    def text(self) -> str:
        """For a progress bar."""
        where = f" {self.situation}" if self.situation else ""
        return f"{self.entrant.name}: {self.what}{where} {self.at:g}"


def entrants_of(names: list[str]) -> list[Entrant]:
    """The protocols asked for; `LocalError` if one is unknown, or two have one name."""
    found: dict[str, Entrant] = {}
    for name in names:
        entrant = Entrant(asked=name, info=find_protocol(name))
        if entrant.name in found:
            raise LocalError(f"two of the protocols are called {entrant.name}")
        found[entrant.name] = entrant
    return list(found.values())


@final
class Planner:
    """Draws up the tasks of an effort; what it leaves out it notes in `readings`."""

    def __init__(self, effort: Effort, readings: Readings) -> None:
        self._effort: Final = effort
        self._readings: Final = readings

    def tasks(self, entrants: list[Entrant], families: tuple[str, ...]) -> list[Task]:
        """What there is to do, each thing once."""
        tasks: list[Task] = []
        for entrant in entrants:
            for family in families:
                tasks += self._tasks_of(family, entrant)
        return list(dict.fromkeys(tasks))

    def _tasks_of(self, family: str, entrant: Entrant) -> list[Task]:
        effort = self._effort
        if family == NETWORK:
            return tasks_at(family, entrant, "trials", (LOSING, REORDERING), effort.trial_processes)
        if family == SPACE:
            return self._footprints(entrant) + self._holdings(entrant)
        if family == STEPS:
            if not can_count():
                reason = "compiled code executes no lines, and there are no sources beside it"
                self._readings.leave_out(entrant.name, "steps", reason)
                return []
            return tasks_at(family, entrant, "steps", ("",), effort.step_sizes)
        if family == LATENCY:
            late = tasks_at(family, entrant, "lateness", ("",), effort.loads)
            late += tasks_at(family, entrant, "patience", ("",), effort.patiences_ms)
            late += self._script(entrant, "conversation") + self._script(entrant, "starvation")
            return late + self._group_runs(entrant)
        if family == THROUGHPUT:
            return tasks_at(family, entrant, "flow", (STREAM, SERVICES), effort.distances_ms)
        if family == LIVENESS:
            ends = tasks_at(family, entrant, "ends", (LOSSY, WITHOUT_TIMERS), (TRIAL_PROCESSES,))
            # Both latency and liveness are about it; it is played once.
            return ends + self._script(entrant, "starvation")
        raise not_called("nothing", family, FAMILIES)

    def _footprints(self, entrant: Entrant) -> list[Task]:
        """Every size in every traffic, but for news that would not get round among neighbours."""
        tasks: list[Task] = []
        for situation in situations_of(entrant.info):
            sizes = self._sizes_of(entrant)
            if situation == NEIGHBOURS:
                spreads = partial(knowledge_spreads, entrant.info, self._effort, situation)
                for size in sizes:
                    if not spreads(size):
                        reason = "news of others would not have got round in a run of this length"
                        self._readings.leave_out(entrant.name, f"n = {size}, {situation}", reason)
                sizes = tuple(filter(spreads, sizes))
            tasks += tasks_at(SPACE, entrant, "footprint", (situation,), sizes)
        return tasks

    def _holdings(self, entrant: Entrant) -> list[Task]:
        """What a process holds is sent to one peer at a time."""
        if self._only_broadcasts(entrant, "state by what is held"):
            return []
        return tasks_at(SPACE, entrant, "holding", HOLDINGS, self._effort.holdings)

    def _group_runs(self, entrant: Entrant) -> list[Task]:
        """Conversations in groups need multicast."""
        if not entrant.info.multicast or entrant.info.broadcast_only:
            reason = "it does not multicast to groups"
            self._readings.leave_out(entrant.name, "latency in groups", reason)
            return []
        return tasks_at(LATENCY, entrant, "groups", ("",), self._effort.group_messages)

    def _sizes_of(self, entrant: Entrant) -> tuple[int, ...]:
        """The sizes that the protocol reaches; what lies beyond is noted."""
        reach = reach_of(entrant.info)
        if reach is None:
            return self._effort.sizes
        for size in self._effort.sizes:
            if size > reach.processes:
                self._readings.leave_out(entrant.name, f"space at n = {size}", reach.reason)
        return tuple([size for size in self._effort.sizes if size <= reach.processes])

    def _script(self, entrant: Entrant, what: str) -> list[Task]:
        """Scripts send to one process at a time."""
        if self._only_broadcasts(entrant, what):
            return []
        return tasks_at(LATENCY, entrant, what, ("",), self._effort.turns)

    def _only_broadcasts(self, entrant: Entrant, what: str) -> bool:
        if entrant.info.broadcast_only:
            reason = "it only broadcasts, and this sends to one process at a time"
            self._readings.leave_out(entrant.name, what, reason)
        return entrant.info.broadcast_only


def tasks_at(
    family: str,
    entrant: Entrant,
    what: str,
    situations: tuple[str, ...],
    places: tuple[int, ...] | tuple[float, ...],
) -> list[Task]:
    """One task for every situation and place."""
    return [
        Task(family=family, entrant=entrant, what=what, situation=situation, at=float(at))
        for situation in situations
        for at in places
    ]
