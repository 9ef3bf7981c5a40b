"""What a copy of a message to many costs both sides, without sockets and event loops.

A hub and its receivers are endpoints in one process: some hundred messages of 64 bytes at a time,
everything that follows from them, and the least of many rounds, which other work on the machine
hardly changes. What the system and Python add is what `python -m bench live --multicast` measures.
"""

import json
import time
from typing import Final

from bench.peer_steps import Star

TARGETS: Final = (1, 8, 32)
TOGETHER: Final = 400
ROUNDS: Final = 40
DATAGRAM: Final = 60_000
PAYLOAD: Final = bytes(64)


def copy_cost_ns(targets: int, name_alone: bool = False) -> float:
    """Nanoseconds per copy of messages to so many at once, or to one by its name alone."""
    star = Star(targets, DATAGRAM)
    names = [contact.name for contact in star.contacts]
    to = names[0] if name_alone else names
    best = 0
    for _ in range(ROUNDS):
        start_ns = time.perf_counter_ns()
        star.multicast(to, PAYLOAD, TOGETHER)
        took_ns = time.perf_counter_ns() - start_ns
        best = min(best, took_ns) if best else took_ns
    return round(best / TOGETHER / (1 if name_alone else targets), 1)


def main() -> None:
    """Print the costs as JSON."""
    costs = {"a name": copy_cost_ns(1, name_alone=True)}
    print(json.dumps({"ns_per_copy": costs | {f"{n}": copy_cost_ns(n) for n in TARGETS}}))


if __name__ == "__main__":
    main()
