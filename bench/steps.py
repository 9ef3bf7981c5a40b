"""How much work a message makes, counted in executed lines of the core, not in seconds.

The interpreter reports every line it executes (`sys.settrace`), so nothing in the core is
instrumented and the hot path pays nothing. A message's whole life counts: submission, arrival,
delivery, ack, permit, on both sides. Runs interpreted only: compiled code reports no lines.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import antecede.core
import antecede_lab.protocols
from antecede.core import CausalProcess, Effect, Packet, Transmit
from antecede_lab.catalogue import PROTOCOLS

CORE = str(Path(antecede.core.__file__).parent)
PROTOCOLS_COMPARED = str(Path(antecede_lab.protocols.__file__).parent)
DEGREE = 4
MEASURED = 400
PROCESSES = (10, 100, 1_000, 10_000)
UNACKED = (100, 1_000, 10_000, 100_000)


class StepCounter:
    """Counts the executed lines of what lies in some folders, while it is active."""

    def __init__(self, folders: tuple[str, ...] = (CORE, PROTOCOLS_COMPARED)) -> None:
        self.folders = folders
        self.steps = 0

    def __enter__(self) -> "StepCounter":
        sys.settrace(self.enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def enter(self, frame: FrameType, _event: str, _arg: object) -> Callable[..., Any] | None:
        """Watch the lines of a function in these folders, and of no other."""
        return self.line if frame.f_code.co_filename.startswith(self.folders) else None

    def line(self, _frame: FrameType, event: str, _arg: object) -> Callable[..., Any]:
        """One more line."""
        if event == "line":
            self.steps += 1
        return self.line


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Steps per message in one situation."""

    situation: str
    size: int
    steps_per_message: float


class Ring:
    """Processes of which everybody talks to the next few, over a network that reorders."""

    def __init__(self, name: str, processes: int, seed: int) -> None:
        self.random = Random(seed)
        self.processes: dict[int, CausalProcess] = {}
        self.info = PROTOCOLS[name]
        self.everyone = range(processes)
        self.flights: list[tuple[int, int, Packet]] = []

    def process(self, me: int) -> CausalProcess:
        """The process, made when first needed: most of ten thousand are idle here."""
        if me not in self.processes:
            self.processes[me] = self.info.create(me, self.everyone)
        return self.processes[me]

    def submit(self, me: int) -> None:
        """Somebody sends to one of its neighbours."""
        target = (me + 1 + self.random.randrange(DEGREE)) % len(self.everyone)
        self.perform(me, self.process(me).submit([target], b"", 0))

    def carry(self) -> None:
        """Some packet arrives."""
        index = self.random.randrange(len(self.flights))
        self.flights[index], self.flights[-1] = self.flights[-1], self.flights[index]
        source, target, packet = self.flights.pop()
        self.perform(target, self.process(target).arrive(source, packet, 0))

    def perform(self, me: int, effects: list[Effect]) -> None:
        """Put what is transmitted on its way."""
        for effect in effects:
            if isinstance(effect, Transmit):
                self.flights.append((me, effect.target, effect.packet))


def steps_with_processes(name: str, processes: int) -> Measured:
    """Steady traffic among a fixed number of active processes, of very many."""
    ring = Ring(name, processes, seed=1)
    active = [ring.random.randrange(processes) for _ in range(10)]
    for _ in range(200):
        ring.submit(ring.random.choice(active))
        ring.carry()
    with StepCounter() as counter:
        for _ in range(MEASURED):
            ring.submit(ring.random.choice(active))
            for _ in range(3):
                if ring.flights:
                    ring.carry()
        while ring.flights:
            ring.carry()
    return Measured(
        situation=f"{name}, n processes",
        size=processes,
        steps_per_message=counter.steps / MEASURED,
    )


def steps_with_unacked(name: str, unacked: int) -> Measured:
    """Traffic of a sender of whose messages so many are unacknowledged, by a silent peer."""
    ring = Ring(name, 8, seed=2)
    ring.perform(0, ring.process(0).submit([7], b"", 0))
    ring.flights.clear()
    for number in range(unacked):
        ring.process(0).submit([1 + number % 2], b"", 0)
    with StepCounter() as counter:
        for _ in range(MEASURED):
            ring.perform(0, ring.process(0).submit([3], b"", 0))
            while ring.flights:
                ring.carry()
    return Measured(
        situation=f"{name}, u unacked",
        size=unacked,
        steps_per_message=counter.steps / MEASURED,
    )


def measure(name: str = "hybrid") -> list[Measured]:
    """Both series."""
    by_processes = [steps_with_processes(name, processes) for processes in PROCESSES]
    return by_processes + [steps_with_unacked(name, unacked) for unacked in UNACKED]


def spread(series: list[Measured]) -> float:
    """The most steps over the fewest."""
    steps = [point.steps_per_message for point in series]
    return max(steps) / min(steps)


def main() -> None:
    """Print both series, and how flat they are, as JSON."""
    series = measure()
    by_processes, by_unacked = series[: len(PROCESSES)], series[len(PROCESSES) :]
    answer = {
        "steps_per_message_by_processes": {p.size: p.steps_per_message for p in by_processes},
        "spread_by_processes": round(spread(by_processes), 3),
        "steps_per_message_by_unacked": {p.size: p.steps_per_message for p in by_unacked},
        "spread_by_unacked": round(spread(by_unacked), 3),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
