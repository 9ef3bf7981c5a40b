"""`python -m bench clocks`: how long it takes to repair the clocks of many processes.

Every process exchanges messages with a few others, both ways; messages take 0.1 to 1 ms. Some
clocks are wrong by up to 5 ms, and some pairs contradict whatever clocks there are. The time is
that of the processor, so it holds on busy machines too.
"""

import argparse
import time
from random import Random

from antecede_audit.columns.clock_offsets import Gap, repaired_clocks

SKEW_NS = 5_000_000
CASES = [(1_000, 0.0, 1.0), (1_000, 0.3, 1.0), (10_000, 0.0, 0.05), (10_000, 0.02, 0.05)]
"""Processes, share of pairs that contradict, share of clocks that are wrong."""


def gaps_between(processes: int, partners: int, contrary: float, wrong: float) -> list[Gap]:
    """What an ingest finds out about such processes."""
    chance = Random(1)
    behind_ns = [
        chance.randint(-SKEW_NS, SKEW_NS) if chance.random() < wrong else 0
        for _ in range(processes)
    ]
    found: dict[tuple[int, int], Gap] = {}
    for one in range(processes):
        for _ in range(partners):
            other = chance.randrange(processes)
            for sender, receiver in ((one, other), (other, one)) if one != other else ():
                taken_ns = chance.randint(100_000, 1_000_000)
                if chance.random() < contrary:
                    taken_ns = -chance.randint(0, 300_000)
                gap_ns = taken_ns + behind_ns[receiver] - behind_ns[sender]
                found[sender, receiver] = Gap(
                    sender=f"p{sender}",
                    receiver=f"p{receiver}",
                    smallest_ns=gap_ns,
                    median_ns=gap_ns + 200_000,
                    copies=10,
                    negative=int(gap_ns < 0),
                )
    return list(found.values())


def main() -> None:
    """Print a line for every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partners", type=int, default=5)
    chosen = parser.parse_args()
    for processes, contrary, wrong in CASES:
        gaps = gaps_between(processes, chosen.partners, contrary, wrong)
        before = time.process_time()
        clocks = repaired_clocks(gaps)
        taken_s = time.process_time() - before
        moved = sum(offset != 0 for offset in clocks.offsets_ns.values())
        print(
            f"{processes:6,} processes, {len(gaps):7,} pairs, {contrary:4.0%} contrary, "
            f"{wrong:4.0%} wrong: {taken_s:5.2f} s, {moved:,} moved, "
            f"{len(clocks.contradictory):,} pairs given up"
        )


if __name__ == "__main__":
    main()
