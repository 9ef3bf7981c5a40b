"""The live runtime, against other messaging libraries and alone: `python -m bench.live [NAME...]`.

What `antecede bench` measures on a user's machine, in one go; bench/README.md quotes the figures.
The last line it prints is all of them as JSON.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from antecede_lab.child import Json
from bench.csv_table import write_table
from bench.live.catalogue import PEERS, PLAIN
from bench.live.contest import P99, ContestPlan, Results, rounded, run_contest
from bench.live.studies import (
    CrowdPlan,
    DistancePlan,
    JournalPlan,
    TracingPlan,
    run_crowd,
    run_distance,
    run_journal,
    run_tracing,
)


def show(text: str) -> None:
    """Say how far it has come."""
    print(text, file=sys.stderr, flush=True)


PLAIN_OF = {
    "antecede-1400-sealed": "antecede-1400",
    "antecede-handler-1400-sealed": "antecede-handler-1400",
    "antecede-sealed": "antecede",
    "zmq-curve": "zmq",
    "tls-20": "tcp-20",
}
"""Those that encrypt, and what each is like in plaintext."""

SECURE = tuple(key for pair in PLAIN_OF.items() for key in reversed(pair))


def contest(rounds: int, keys: tuple[str, ...] = tuple(PEERS)) -> Results:
    """Everybody, or these."""
    return run_contest(ContestPlan(keys=keys, rounds=rounds), show)


def brief(results: Results) -> Iterator[dict[str, Json]]:
    """The medians, and those of antecede with `async for` over them, by rounds."""
    for key, measure, median in figures(results):
        ours = key.startswith("antecede")
        ratio = "" if ours else rounded(results.ratio(measure, "antecede", key))
        yield {"peer": key, "measure": measure, "median": median, "ratio": ratio}


def brief_secure(results: Results) -> Iterator[dict[str, Json]]:
    """The medians; of those that encrypt, over plaintext and over pyzmq's two, by rounds."""
    for key, measure, median in figures(results):
        over = {"plain": PLAIN_OF.get(key), "zmq": "zmq", "curve": "zmq-curve"}
        ratios = {
            f"over_{name}": rounded(results.ratio(measure, key, other))
            if other and key in PLAIN_OF
            else ""
            for name, other in over.items()
        }
        yield {"peer": key, "measure": measure, "median": median, **ratios}


def figures(results: Results) -> Iterator[tuple[str, str, float | None]]:
    """Who, what, and the median of it; p99 of one second on a shared machine is chance."""
    for key, readings in results.readings.items():
        for measure in results.measures():
            if measure != P99:
                yield key, measure, rounded(readings.median(measure))


PARTS: dict[str, Callable[[int], dict[str, Json]]] = {
    "contest": lambda rounds: contest(rounds).document(),
    "distance": lambda rounds: run_distance(DistancePlan(rounds=rounds), show),
    "crowd": lambda rounds: run_crowd(CrowdPlan(rounds=rounds), show),
    "journal": lambda rounds: run_journal(JournalPlan(rounds=rounds), show),
    "tracing": lambda rounds: run_tracing(TracingPlan(rounds=rounds), show),
}


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--secure", action="store_true", help="contest: what encryption costs")
    parser.add_argument("--csv", type=Path, help="only a contest; this table of it")
    chosen = parser.parse_args()
    if chosen.csv is not None:
        found = contest(chosen.rounds, SECURE if chosen.secure else PLAIN)
        write_table(chosen.csv, [*(brief_secure if chosen.secure else brief)(found)])
        return
    if chosen.secure:
        PARTS["contest"] = lambda rounds: contest(rounds, SECURE).document()
    for name in chosen.names:
        if name not in PARTS:
            parser.error(f"there is no {name}; there are {', '.join(PARTS)}")
    results = {name: PARTS[name](chosen.rounds) for name in chosen.names or PARTS}
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
