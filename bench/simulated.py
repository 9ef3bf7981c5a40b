"""One model, two simulators: ours, and SimPy driving the very same protocol objects.

Poisson traffic among n processes, uniform delays, no loss; the same chance, so the same messages
and delays in both. An event is one entry of the event queue: a submission that comes due, a packet
that arrives, a timer that fires.

SimPy is measured in two styles. `processes` is how its documentation models things: whatever takes
time is a process, a packet under way too. `callbacks` avoids that, and is as fast as SimPy goes.
`python -m bench.simulated STYLE MESSAGES` is one run of one of the three.
"""

import argparse
import gc
import json
import sys
from collections.abc import Generator
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Final

import simpy

from antecede.core import CausalProcess, Deliver, Effect
from antecede.core.packets import Packet
from antecede.network_model.faults import Faults
from antecede.network_model.keyed_random import KeyedRandom
from antecede.network_model.latency import Uniform
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.workloads.open_loop import Poisson
from bench.two_builds import COMPILED_TREE, in_build

LOW_NS = 500_000
HIGH_NS = 1_500_000
INTERVAL_NS = 1_000_000
PAYLOAD = bytes(64)
PROCESSES: Final = 100
MESSAGES: Final = {"antecede": 400_000, "processes": 20_000, "callbacks": 20_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How much was simulated, and how fast."""

    events: int
    deliveries: int
    seconds: float

    @property
    def events_per_second(self) -> float:
        """Entries of the event queue dealt with per second."""
        return self.events / self.seconds


def ours(processes: int, messages: int, neighbours: int, seed: int = 1) -> Speed:
    """Our simulator."""
    workload = Poisson(
        processes,
        messages=messages,
        interval_ns=INTERVAL_NS,
        seed=seed,
        favourites=neighbours,
    )
    faults = Faults(latency=Uniform(LOW_NS, HIGH_NS))
    simulation = Simulation(PROTOCOLS["hybrid"], workload, faults=faults, seed=seed)
    started = perf_counter()
    simulation.run()
    seconds = perf_counter() - started
    return Speed(events=simulation.events, deliveries=simulation.deliveries, seconds=seconds)


class SimpyModel:
    """The same in SimPy; packets are timeouts with a callback, or processes."""

    def __init__(
        self, processes: int, messages: int, neighbours: int, seed: int, packet_processes: bool
    ) -> None:
        self.packet_processes = packet_processes
        self.env = simpy.Environment()
        self.latency = Uniform(LOW_NS, HIGH_NS)
        self.chance = KeyedRandom(seed)
        self.left = messages
        self.neighbours = neighbours
        everyone = range(processes)
        info = PROTOCOLS["hybrid"]
        self.processes = [info.create(me, everyone) for me in everyone]
        self.timers = [1 << 62] * processes
        self.events = 0
        self.deliveries = 0

    def sender(self, me: int) -> Generator[simpy.Event, None, None]:
        """One process's application."""
        sent = 0
        while True:
            self.chance.key(me, sent)
            yield self.env.timeout(int(self.chance.exponential(INTERVAL_NS)))
            self.events += 1
            if self.left <= 0:
                return
            self.left -= 1
            sent += 1
            self.chance.key(me, sent, 1)
            target = (me + 1 + self.chance.below(self.neighbours)) % len(self.processes)
            process = self.processes[me]
            self.perform(me, process, process.submit([target], PAYLOAD, int(self.env.now)))

    def perform(self, me: int, process: CausalProcess, effects: list[Effect]) -> None:
        """Carry out effects, and wind the timer."""
        for effect in effects:
            if isinstance(effect, Deliver):
                self.deliveries += 1
            else:
                self.post(me, effect.target, effect.packet)
        deadline_ns = process.deadline_ns()
        if deadline_ns is not None and deadline_ns < self.timers[me]:
            self.timers[me] = deadline_ns
            timer = self.env.timeout(deadline_ns - int(self.env.now))
            assert timer.callbacks is not None
            timer.callbacks.append(lambda _: self.expire(me))

    def post(self, me: int, target: int, packet: Packet) -> None:
        """Put a packet on its way."""
        if self.packet_processes:
            self.env.process(self.flight(me, target, packet))
            return
        arrival = self.env.timeout(self.latency.draw(me, target, self.chance))
        assert arrival.callbacks is not None
        arrival.callbacks.append(lambda _: self.arrive(me, target, packet))

    def flight(self, me: int, target: int, packet: Packet) -> Generator[simpy.Event, None, None]:
        """A packet under way, as a process."""
        yield self.env.timeout(self.latency.draw(me, target, self.chance))
        self.arrive(me, target, packet)

    def arrive(self, source: int, target: int, packet: Packet) -> None:
        """A packet has come."""
        self.events += 1
        process = self.processes[target]
        self.perform(target, process, process.arrive(source, packet, int(self.env.now)))

    def expire(self, me: int) -> None:
        """A timer fires."""
        self.events += 1
        self.timers[me] = 1 << 62
        process = self.processes[me]
        self.perform(me, process, process.expire(int(self.env.now)))


def with_simpy(
    processes: int, messages: int, neighbours: int, *, packet_processes: bool, seed: int = 1
) -> Speed:
    """The peer, with the garbage collector out of its way as well."""
    model = SimpyModel(processes, messages, neighbours, seed, packet_processes)
    for me in range(processes):
        model.env.process(model.sender(me))
    gc.freeze()
    gc.disable()
    started = perf_counter()
    model.env.run()
    seconds = perf_counter() - started
    gc.enable()
    gc.unfreeze()
    return Speed(events=model.events, deliveries=model.deliveries, seconds=seconds)


def run_once(style: str, messages: int) -> None:
    """Print the events per second of one simulator."""
    if style == "antecede":
        speed = ours(PROCESSES, messages, 16)
    else:
        speed = with_simpy(PROCESSES, messages, 16, packet_processes=style == "processes")
    print(json.dumps({"events": speed.events, "events_per_s": round(speed.events_per_second)}))


def compare(rounds: int) -> dict[str, float]:
    """Medians of all, each run in a process of its own."""
    speeds: dict[str, list[float]] = {style: [] for style in MESSAGES}
    for _ in range(rounds):
        for style, messages in MESSAGES.items():
            answer = in_build(COMPILED_TREE, "bench.simulated", style, str(messages))
            speeds[style].append(answer["events_per_s"])
    own, processes, callbacks = (median(speeds[style]) for style in MESSAGES)
    return {
        "processes": PROCESSES,
        "antecede_events_per_s": own,
        "simpy_events_per_s": processes,
        "ratio": round(own / processes, 1),
        "simpy_with_callbacks_events_per_s": callbacks,
        "ratio_to_callbacks": round(own / callbacks, 1),
    }


def main() -> None:
    """One run, or all compared."""
    if len(sys.argv) == 3 and sys.argv[1] in MESSAGES:
        run_once(sys.argv[1], int(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(prog="python -m bench simulator", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    print(json.dumps({"simulator": compare(parser.parse_args().rounds)}))


if __name__ == "__main__":
    main()
