"""The live runtime, against other messaging libraries and alone: `python -m bench.live [NAME...]`.

What `antecede bench` measures on a user's machine, in one go; bench/README.md quotes the figures.
The last line it prints is all of them as JSON.
"""

import argparse
import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

from antecede.tools.bench.catalogue import PEERS, PLAIN
from antecede.tools.bench.contest import P99, Plan, run_contest
from antecede.tools.bench.crowd import CrowdPlan, run_crowd
from antecede.tools.bench.distance import DistancePlan, run_distance
from antecede.tools.bench.journal import JournalPlan, run_journal
from antecede.tools.bench.tracing import TracingPlan, run_tracing
from antecede.tools.child import Json


def show(text: str) -> None:
    """Say how far it has come."""
    print(text, file=sys.stderr, flush=True)


SECURE = (
    "antecede-1400",
    "antecede-1400-sealed",
    "antecede-handler-1400",
    "antecede-handler-1400-sealed",
    "antecede",
    "antecede-sealed",
    "zmq",
    "zmq-curve",
    "tcp-20",
    "tls-20",
)
"""Those that encrypt, each beside what it is like in plaintext."""


def contest(rounds: int, keys: tuple[str, ...] = tuple(PEERS)) -> dict[str, Json]:
    """Everybody, or these."""
    return run_contest(Plan(keys=keys, rounds=rounds), show).document()


def brief(document: dict[str, Json]) -> list[dict[str, Json]]:
    """Of a contest the medians, and those of antecede with `async for` over them, by rounds."""
    ratios = document["ratios"]["antecede"]
    return [
        {
            "peer": key,
            "measure": measure,
            "median": median,
            "ratio": ratios[key][measure] if key in ratios else "",
        }
        for key, peer in document["peers"].items()
        for measure, median in peer["median"].items()
        if measure != P99  # of one second, on a machine that others use: chance
    ]


PARTS: dict[str, Callable[[int], dict[str, Json]]] = {
    "contest": contest,
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
    parser.add_argument("--csv", type=Path, help="only a contest in plaintext; this table of it")
    chosen = parser.parse_args()
    if chosen.secure:
        PARTS["contest"] = lambda rounds: contest(rounds, SECURE)
    if chosen.csv is not None:
        rows = brief(contest(chosen.rounds, PLAIN))
        with chosen.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return
    for name in chosen.names:
        if name not in PARTS:
            parser.error(f"there is no {name}; there are {', '.join(PARTS)}")
    results = {name: PARTS[name](chosen.rounds) for name in chosen.names or PARTS}
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
