"""The whole comparison: which runs it consists of, one after the other, and what came of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, final

from antecede.core.catalogue import ProtocolInfo, catalogue_name
from antecede.core.errors import LocalError, not_called
from antecede_lab.catalogue import find_protocol
from antecede_lab.comparison import claims
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.effort import Effort, reach_of
from antecede_lab.comparison.hub import HUB, HUB_SIZES, MADE_TO_CARRY, hub_figures
from antecede_lab.comparison.latency import ExtraLatency, lateness
from antecede_lab.comparison.line_counts import can_count, count_steps
from antecede_lab.comparison.long_runs import SERVICES, STREAM, conversation_waits, flow, group_run
from antecede_lab.comparison.measurements import Measurements, Quantity
from antecede_lab.comparison.space import (
    DATAGRAM_BYTES,
    HOLDINGS,
    Footprint,
    footprint,
    knowledge_spreads,
    state_holding,
)
from antecede_lab.comparison.traffic import NEIGHBOURS, ONE_WAY_NS, dense_situation, situations_of
from antecede_lab.comparison.trials import (
    LOSING,
    LOSSY,
    REORDERING,
    TRIAL_PROCESSES,
    WITHOUT_TIMERS,
    finishes,
    is_clean,
    starved_for,
)
from antecede_lab.simulator.run import RunResult

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
    "rst", "ks", "newtop", "mf", "cykas", "paper-basic", "paper-sps",
    "hybrid", "hybrid-facts", "hybrid-sps", "hybrid-csps", "paper-multicast",
    "prs", "ses", "bss", "tree", "piggyback", "psync", "separators", "topology", "blocking",
    "saturn", "baldoni",
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
        entrant = Entrant(asked=catalogue_name(name), info=find_protocol(name))
        if entrant.name in found:
            raise LocalError(f"two of the protocols are called {entrant.name}")
        found[entrant.name] = entrant
    return list(found.values())


@final
class Planner:
    """Draws up the tasks of an effort; what it leaves out it notes in `readings`."""

    def __init__(self, effort: Effort, readings: Measurements) -> None:
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
            hubs = self._hubs(SPACE, entrant, "hub", self._sizes_of(entrant))
            return self._footprints(entrant) + self._holdings(entrant) + hubs
        if family == STEPS:
            if not can_count():
                reason = "compiled code executes no lines, and there are no sources beside it"
                self._readings.leave_out(entrant.name, "steps", reason)
                return []
            hubs = self._hubs(STEPS, entrant, "hub_steps", HUB_SIZES)
            return tasks_at(family, entrant, "steps", ("",), effort.step_sizes) + hubs
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

    def _hubs(self, family: str, entrant: Entrant, what: str, sizes: tuple[int, ...]) -> list[Task]:
        """Whose bounds only traffic that is made for it can reach."""
        if entrant.name not in MADE_TO_CARRY:
            return []
        return tasks_at(family, entrant, what, (HUB,), sizes)

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


SEEDED_SIZE: Final = 50
"""Larger groups are measured with one seed: their figures hardly vary, and take long."""

MS: Final = 1_000_000

Show: TypeAlias = Callable[[int, int, str], None]
"""Called with how many tasks are done, of how many, and which is next."""


@final
class Campaign:
    """Measures all entrants; `readings` fill up as it goes on."""

    def __init__(
        self,
        entrants: list[Entrant],
        effort: Effort,
        families: tuple[str, ...] = FAMILIES,
        seed: int = 1,
        seeds: int | None = None,
        trials: int | None = None,
    ) -> None:
        self.entrants: Final = entrants
        self.effort: Final = effort
        self.families: Final = families
        self.seed: Final = seed
        self.seeds: Final = effort.seeds if seeds is None else seeds
        self.trials: Final = effort.trials if trials is None else trials
        self.readings: Final = Measurements()

    def run(self, show: Show | None = None) -> Measurements:
        """Do everything, and tell `show` before every task."""
        planner = Planner(self.effort, self.readings)
        tasks = planner.tasks(self.entrants, self.families)
        for done, task in enumerate(tasks):
            if show is not None:
                show(done, len(tasks), task.text())
            self._perform(task)
        return self.readings

    def command(self, entrant: Entrant, family: str) -> str:
        """What to type to see the runs of one family again."""
        seeds = "" if self.seeds == self.effort.seeds else f" --seeds {self.seeds}"
        trials = "" if self.trials == self.effort.trials else f" --trials {self.trials}"
        return (
            f"antecede lab compare --protocols {entrant.asked} --only {family}"
            f"{self.effort.option} --seed {self.seed}{seeds}{trials}"
        )

    # Doing it.

    def _perform(self, task: Task) -> None:
        performer: Callable[[Task], None] = getattr(self, f"_{task.what}")
        performer(task)

    def _seeds(self, count: int) -> range:
        return range(self.seed, self.seed + count)

    def _note(
        self, task: Task, quantity: Quantity, samples: list[float], situation: str | None = None
    ) -> None:
        where = task.situation if situation is None else situation
        self.readings.add(task.entrant.name, quantity, where, task.at, samples, self.seed)

    def _trials(self, task: Task) -> None:
        info = task.entrant.info
        seeds = self._seeds(self.trials)
        clean = [is_clean(info, task.situation, self.effort, seed, int(task.at)) for seed in seeds]
        self._note(task, measured.CLEAN, [float(one) for one in clean])

    def _footprint(self, task: Task) -> None:
        size = int(task.at)
        seeds = self._seeds(self.seeds if size <= SEEDED_SIZE else 1)
        info, situation = task.entrant.info, task.situation
        seen = [footprint(info, situation, size, self.effort, seed) for seed in seeds]
        self._note(task, measured.INTEGERS, [one.integers for one in seen])
        self._note(task, measured.INTEGERS_MAX, [float(max([one.integers_max for one in seen]))])
        self._note(task, measured.BYTES, [one.bytes for one in seen])
        heaviest = max([one.bytes_max for one in seen])
        self._note(task, measured.BYTES_MAX, [float(heaviest)])
        if heaviest > DATAGRAM_BYTES:
            reason = f"up to {heaviest:,} bytes of metadata: too much for one UDP datagram"
            self.readings.leave_out(info.name, f"a datagram at n = {size}, {situation}", reason)
        if knowledge_spreads(info, self.effort, situation, size):
            self._note(task, measured.STATE, [one.state for one in seen])
            self._note(task, measured.STATE_MAX, [float(max([one.state_max for one in seen]))])
        else:
            reason = "the run is too short for every pair to have talked; metadata may still grow"
            self.readings.leave_out(info.name, f"state at n = {size}, {situation}", reason)
        if situation == dense_situation(info):
            self._control(task, seen)

    def _control(self, task: Task, seen: list[Footprint]) -> None:
        for kind in sorted({kind for one in seen for kind in one.control}):
            samples = [one.control.get(kind, 0.0) for one in seen]
            self._note(task, measured.CONTROL_PACKETS, samples, kind)

    def _holding(self, task: Task) -> None:
        held = state_holding(task.entrant.info, task.situation, int(task.at))
        self._note(task, measured.HOLDING, [float(held)])

    def _steps(self, task: Task) -> None:
        sender, receiver = count_steps(task.entrant.asked, int(task.at), self.seed)
        situation = dense_situation(task.entrant.info)
        self._note(task, measured.SENDER, [sender], situation)
        self._note(task, measured.RECEIVER, [receiver], situation)

    def _hub(self, task: Task) -> None:
        seen = hub_figures(task.entrant.info, int(task.at))
        self._note(task, measured.INTEGERS, [float(seen.integers)])
        self._note(task, measured.BYTES, [float(seen.bytes)])
        self._note(task, measured.STATE, [float(seen.state)])

    def _hub_steps(self, task: Task) -> None:
        sender, receiver = count_steps(task.entrant.asked, int(task.at), self.seed, hub=True)
        self._note(task, measured.SENDER, [sender])
        self._note(task, measured.RECEIVER, [receiver])

    def _lateness(self, task: Task) -> None:
        info = task.entrant.info
        seen = [lateness(info, task.at, self.effort, seed) for seed in self._seeds(self.seeds)]
        trends = [one.trend for one in seen]
        self._note(task, measured.LATENCY, [one.latency_ns / ONE_WAY_NS for one in trends])
        self._note(task, measured.STEADINESS, [one.steadiness for one in trends])
        self._note(task, measured.GROWTH, [one.growth_ns / ONE_WAY_NS for one in trends])
        self._note(task, measured.CARRIED, [one.carried for one in trends])
        self._note(task, measured.LATE, [one.mean for one in seen])
        self._note(task, measured.LATE_SENDER, [one.sender for one in seen])
        self._note(task, measured.LATE_RECEIVER, [one.receiver for one in seen])
        self._note(task, measured.LATEST, [longest_of(seen)])
        self._note(task, measured.EARLIEST, [min([one.least for one in seen])])
        self._note(task, measured.PER_BUFFERED, [max([one.per_buffered for one in seen])])

    def _patience(self, task: Task) -> None:
        load = min(self.effort.loads)
        patience_ns = int(task.at) * MS
        seen = [
            lateness(task.entrant.info, load, self.effort, seed, patience_ns)
            for seed in self._seeds(self.seeds)
        ]
        self._note(task, measured.TIMED, [longest_of(seen)])

    def _conversation(self, task: Task) -> None:
        waits = conversation_waits(task.entrant.info, int(task.at))
        self._note(task, measured.REPORTED, [waits.longest])
        self._note(task, measured.REPORTED_PER_BUFFERED, [waits.per_buffered])

    def _groups(self, task: Task) -> None:
        info, messages = task.entrant.info, int(task.at)
        seen = [group_run(info, messages, seed) for seed in self._seeds(self.seeds)]
        self._note(task, measured.GROUP_LATENCY, [one.mean for one in seen])
        self._note(task, measured.GROUP_LONGEST, [max([one.longest for one in seen])])

    def _flow(self, task: Task) -> None:
        info, situation = task.entrant.info, task.situation
        seeds = self._seeds(1 if situation == STREAM else self.seeds)
        seen = [flow(info, situation, int(task.at), self.effort, seed) for seed in seeds]
        self._note(task, measured.RATE, [one.rate for one in seen])
        self._note(task, measured.FLYING, [float(max([one.in_transit for one in seen]))])

    def _ends(self, task: Task) -> None:
        info = task.entrant.info
        seeds = self._seeds(self.trials)
        results = [finishes(info, task.situation, self.effort, seed) for seed in seeds]
        ended = [float(one.leftovers.undelivered == 0) for one in results]
        self._note(task, measured.FINISHED, ended)
        if task.situation == LOSSY:
            self._lossy_control(task, results)

    def _lossy_control(self, task: Task, results: list[RunResult]) -> None:
        counts: dict[str, list[float]] = {}
        for place, result in enumerate(results):
            assert result.measures is not None, "it was measured"
            for totals in result.measures.packets:
                control = totals.packets - totals.carrying
                if control > 0:
                    samples = counts.setdefault(totals.kind, [0.0] * len(results))
                    samples[place] = control / max(1, result.messages)
        for kind, samples in sorted(counts.items()):
            self._note(task, measured.CONTROL_PACKETS, samples, f"{LOSSY}: {kind}")

    def _starvation(self, task: Task) -> None:
        self._note(task, measured.STARVED, [starved_for(task.entrant.info, int(task.at))])


def longest_of(seen: list[ExtraLatency]) -> float:
    """The longest of all."""
    return max([one.longest for one in seen])
