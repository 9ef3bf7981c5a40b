"""The same workload on the compiled and on the interpreted core.

    python -m bench builds --rounds 3

Each run is a process of its own, compiled and interpreted in turn. Two drivers: `simulator`
(compiled along with the core: what the core costs where it is used at speed) and `list` (a plain
Python loop over the list-returning face, interpreted in both builds: what a user who drives the
core by hand sees). `python -m bench.builds DRIVER MESSAGES` is one run.
"""

import argparse
import json
import sys
from random import Random
from statistics import median
from time import perf_counter
from typing import Final

import antecede
from antecede.core import Packet, Transmit
from antecede_lab.catalogue import PROTOCOLS
from bench.simulated import ours
from bench.two_builds import COMPILED_TREE, SOURCE_TREE, in_build

PROCESSES = 100
NEIGHBOURS = 16
MESSAGES: Final = {"simulator": 60_000, "list": 30_000}


def by_hand(messages: int) -> float:
    """Drive the list-returning face; the seconds that took."""
    random = Random(1)
    everyone = range(PROCESSES)
    processes = [PROTOCOLS["hybrid"].create(me, everyone) for me in everyone]
    flights: list[tuple[int, int, Packet]] = []
    started = perf_counter()
    submitted = 0
    while submitted < messages or flights:
        if submitted < messages:
            submitted += 1
            me = random.randrange(PROCESSES)
            target = (me + 1 + random.randrange(NEIGHBOURS)) % PROCESSES
            effects = processes[me].submit([target], b"", submitted)
        else:
            effects = []
            me = 0
        while True:
            for effect in effects:
                if isinstance(effect, Transmit):
                    flights.append((me, effect.target, effect.packet))
            if not flights or (submitted < messages and random.random() < 0.3):
                break
            index = random.randrange(len(flights))
            flights[index], flights[-1] = flights[-1], flights[index]
            source, me, packet = flights.pop()
            effects = processes[me].arrive(source, packet, submitted)
    return perf_counter() - started


def run_once(driver: str, messages: int) -> None:
    """Print the seconds of one run on the build that is on the path."""
    if driver == "list":
        seconds = by_hand(messages)
    else:
        seconds = ours(PROCESSES, messages, NEIGHBOURS).seconds
    print(json.dumps({"compiled": antecede.compiled(), "seconds": seconds}))


def compare(driver: str, messages: int, rounds: int) -> dict[str, float]:
    """Medians of both builds."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for tree in (COMPILED_TREE, SOURCE_TREE):
            answer = in_build(tree, "bench.builds", driver, str(messages))
            seconds[answer["compiled"]].append(answer["seconds"])
    compiled_s, interpreted_s = median(seconds[True]), median(seconds[False])
    return {
        "messages": messages,
        "compiled_messages_per_s": round(messages / compiled_s),
        "interpreted_messages_per_s": round(messages / interpreted_s),
        "ratio": round(interpreted_s / compiled_s, 1),
    }


def main() -> None:
    """One run, or both builds compared."""
    if len(sys.argv) == 3 and sys.argv[1] in MESSAGES:
        run_once(sys.argv[1], int(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(prog="python -m bench builds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    found = {driver: compare(driver, messages, rounds) for driver, messages in MESSAGES.items()}
    print(json.dumps({"builds": found}))


if __name__ == "__main__":
    main()
