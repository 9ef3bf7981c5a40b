"""The whole comparison: which runs there are to be, and doing them one after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from antecede.core.catalogue import ProtocolInfo, find_protocol
from antecede.core.errors import LocalError
from antecede.sim.comparison import claims
from antecede.sim.comparison import readings as measured
from antecede.sim.comparison.conversation import conversation_waits
from antecede.sim.comparison.distance import SERVICES, STREAM, flow
from antecede.sim.comparison.effort import Effort, reach_of
from antecede.sim.comparison.footprint import (
    DATAGRAM_BYTES,
    Footprint,
    everybody_talks,
    footprint,
)
from antecede.sim.comparison.interpreted import can_count, count_steps
from antecede.sim.comparison.lateness import Lateness, lateness
from antecede.sim.comparison.readings import Quantity, Readings
from antecede.sim.comparison.traffic import dense_situation, situations_of
from antecede.sim.comparison.trials import (
    LOSING,
    LOSSY,
    REORDERING,
    TRIAL_PROCESSES,
    WITHOUT_TIMERS,
    finishes,
    is_clean,
    starved_for,
)
from antecede.sim.run import RunResult

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

SEEDED_SIZE: Final = 50
"""Larger groups are measured with one seed: their figures hardly vary, and take long."""

MS: Final = 1_000_000

DEFAULT_PROTOCOLS: Final = (
    "rst", "ks", "newtop", "mf", "cykas", "hybrid",
    "hybrid-csps", "paper-basic", "paper-sps", "paper-multicast",
    "prs", "ses", "bss", "tree",
)  # fmt: skip
"""The columns of the paper's table, then the rest of the catalogue that promises causal order."""

Show: TypeAlias = Callable[[int, int, str], None]
"""Is told how many tasks are done, of how many, and which is next."""


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
class Campaign:
    """Measures all entrants; `readings` fill up as it goes on."""

    def __init__(
        self,
        entrants: list[Entrant],
        effort: Effort,
        families: tuple[str, ...] = FAMILIES,
        seed: int = 1,
        seeds: int | None = None,
    ) -> None:
        self.entrants: Final = entrants
        self.effort: Final = effort
        self.families: Final = families
        self.seed: Final = seed
        self.seeds: Final = effort.seeds if seeds is None else seeds
        self.readings: Final = Readings()

    def run(self, show: Show | None = None) -> Readings:
        """Do everything, and tell `show` before every task."""
        tasks = self.tasks()
        for done, task in enumerate(tasks):
            if show is not None:
                show(done, len(tasks), task.text())
            self._perform(task)
        return self.readings

    def command(self, entrant: Entrant, family: str) -> str:
        """What to type to see the runs of one family again."""
        seeds = "" if self.seeds == self.effort.seeds else f" --seeds {self.seeds}"
        return (
            f"antecede compare --protocols {entrant.asked} --only {family}"
            f"{self.effort.option} --seed {self.seed}{seeds}"
        )

    def tasks(self) -> list[Task]:
        """What there is to do; what is left out is noted."""
        tasks: list[Task] = []
        for entrant in self.entrants:
            for family in self.families:
                tasks += self._tasks_of(family, entrant)
        return list(dict.fromkeys(tasks))

    def _tasks_of(self, family: str, entrant: Entrant) -> list[Task]:
        effort = self.effort
        if family == NETWORK:
            return tasks_at(family, entrant, "trials", (LOSING, REORDERING), (TRIAL_PROCESSES,))
        if family == SPACE:
            sizes = self._sizes_of(entrant)
            return tasks_at(family, entrant, "footprint", situations_of(entrant.info), sizes)
        if family == STEPS:
            if not can_count():
                reason = "compiled code executes no lines, and there are no sources beside it"
                self.readings.leave_out(entrant.name, "steps", reason)
                return []
            return tasks_at(family, entrant, "steps", ("",), effort.step_sizes)
        if family == LATENCY:
            late = tasks_at(family, entrant, "lateness", ("",), effort.loads)
            late += tasks_at(family, entrant, "patience", ("",), effort.patiences_ms)
            return late + self._script_tasks(entrant, "conversation") + self._starvation(entrant)
        if family == THROUGHPUT:
            return tasks_at(family, entrant, "flow", (STREAM, SERVICES), effort.distances_ms)
        if family == LIVENESS:
            ends = tasks_at(family, entrant, "ends", (LOSSY, WITHOUT_TIMERS), (TRIAL_PROCESSES,))
            return ends + self._starvation(entrant)
        raise LocalError(f"nothing is called {family!r}; there are {', '.join(FAMILIES)}")

    def _sizes_of(self, entrant: Entrant) -> tuple[int, ...]:
        """The sizes that the protocol reaches; what lies beyond is noted."""
        reach = reach_of(entrant.info)
        if reach is None:
            return self.effort.sizes
        for size in self.effort.sizes:
            if size > reach.processes:
                self.readings.leave_out(entrant.name, f"space at n = {size}", reach.reason)
        return tuple([size for size in self.effort.sizes if size <= reach.processes])

    def _script_tasks(self, entrant: Entrant, what: str) -> list[Task]:
        """Scripts send to one process at a time."""
        if entrant.info.broadcast_only:
            reason = "it only broadcasts, and this sends to one process at a time"
            self.readings.leave_out(entrant.name, what, reason)
            return []
        return tasks_at(LATENCY, entrant, what, ("",), self.effort.turns)

    def _starvation(self, entrant: Entrant) -> list[Task]:
        """Both latency and liveness are about it; it is played once."""
        return self._script_tasks(entrant, "starvation")

    # Doing it.

    def _perform(self, task: Task) -> None:
        if task.what == "trials":
            self._trials(task)
        elif task.what == "footprint":
            self._footprint(task)
        elif task.what == "steps":
            self._steps(task)
        elif task.what == "lateness":
            self._lateness(task)
        elif task.what == "patience":
            self._patience(task)
        elif task.what == "conversation":
            self._conversation(task)
        elif task.what == "flow":
            self._flow(task)
        elif task.what == "ends":
            self._ends(task)
        else:
            waited = starved_for(task.entrant.info, int(task.at))
            self._note(task, measured.STARVED, [waited])

    def _seeds(self, count: int) -> range:
        return range(self.seed, self.seed + count)

    def _note(self, task: Task, quantity: Quantity, samples: list[float]) -> None:
        name, situation = task.entrant.name, task.situation
        self.readings.add(name, quantity, situation, task.at, samples, self.seed)

    def _trials(self, task: Task) -> None:
        info = task.entrant.info
        seeds = self._seeds(self.effort.trials)
        clean = [is_clean(info, task.situation, self.effort, seed) for seed in seeds]
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
        if everybody_talks(self.effort, situation, size):
            self._note(task, measured.STATE, [one.state for one in seen])
            self._note(task, measured.STATE_MAX, [float(max([one.state_max for one in seen]))])
        else:
            reason = "the run is too short for every pair to have talked"
            self.readings.leave_out(info.name, f"state at n = {size}, {situation}", reason)
        if situation == dense_situation(info):
            self._control(task, seen)

    def _control(self, task: Task, seen: list[Footprint]) -> None:
        kinds = sorted(dict.fromkeys([kind for one in seen for kind in one.control]))
        for kind in kinds:
            samples = [one.control.get(kind, 0.0) for one in seen]
            name = task.entrant.name
            self.readings.add(name, measured.CONTROL_PACKETS, kind, task.at, samples, self.seed)

    def _steps(self, task: Task) -> None:
        sender, receiver = count_steps(task.entrant.asked, int(task.at), self.seed)
        situation = dense_situation(task.entrant.info)
        name = task.entrant.name
        self.readings.add(name, measured.SENDER, situation, task.at, [sender], self.seed)
        self.readings.add(name, measured.RECEIVER, situation, task.at, [receiver], self.seed)

    def _lateness(self, task: Task) -> None:
        info = task.entrant.info
        seen = [lateness(info, task.at, self.effort, seed) for seed in self._seeds(self.seeds)]
        self._note(task, measured.LATENCY, [one.latency for one in seen])
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

    def _flow(self, task: Task) -> None:
        info, situation = task.entrant.info, task.situation
        seeds = self._seeds(1 if situation == STREAM else self.seeds)
        seen = [flow(info, situation, int(task.at), self.effort, seed) for seed in seeds]
        self._note(task, measured.RATE, [one.rate for one in seen])
        self._note(task, measured.FLYING, [float(max([one.in_transit for one in seen]))])

    def _ends(self, task: Task) -> None:
        info = task.entrant.info
        seeds = self._seeds(self.effort.trials)
        results = [finishes(info, task.situation, self.effort, seed) for seed in seeds]
        ended = [float(one.leftovers.undelivered == 0) for one in results]
        self._note(task, measured.FINISHED, ended)
        if task.situation == LOSSY:
            self._lossy_control(task, results)

    def _lossy_control(self, task: Task, results: list[RunResult]) -> None:
        counts: dict[str, list[float]] = {}
        for result in results:
            assert result.measures is not None, "it was measured"
            for totals in result.measures.packets:
                control = totals.packets - totals.carrying
                if control > 0:
                    per_message = control / max(1, result.messages)
                    counts.setdefault(totals.kind, []).append(per_message)
        for kind, samples in sorted(counts.items()):
            situation = f"{LOSSY}: {kind}"
            name = task.entrant.name
            self.readings.add(
                name, measured.CONTROL_PACKETS, situation, task.at, samples, self.seed
            )


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


def longest_of(seen: list[Lateness]) -> float:
    """The longest of all."""
    return max([one.longest for one in seen])
