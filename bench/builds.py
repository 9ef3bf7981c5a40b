"""The same workload on the compiled and on the interpreted core; prints seconds as JSON.

Run as a program, once per build: which one runs is decided by what is on the path. Two drivers:
`simulator` (compiled along with the core: what the core costs where it is used at speed) and `list`
(a plain Python loop over the list-returning face, interpreted in both builds: what a user who
drives the core by hand sees).
"""

import json
import sys
from random import Random
from time import perf_counter

import antecede
from antecede.core import Packet, Transmit
from antecede_lab.catalogue import PROTOCOLS
from bench.simulated import ours

PROCESSES = 100
NEIGHBOURS = 16


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


def main() -> None:
    """Seconds for the workload named on the command line."""
    driver, messages = sys.argv[1], int(sys.argv[2])
    if driver == "list":
        seconds = by_hand(messages)
    else:
        seconds = ours(PROCESSES, messages, NEIGHBOURS).seconds
    print(json.dumps({"compiled": antecede.compiled(), "seconds": seconds}))


if __name__ == "__main__":
    main()
