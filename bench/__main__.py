"""`python -m bench`: the figures of bench/README.md, measured here and now.

Rounds of the things compared are interleaved and medians taken, because machines are noisy; only
ratios are meant to be compared between machines.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import antecede

ROOT = Path(__file__).parent.parent
COMPILED_TREE = ROOT / "build" / "compiled"
SOURCE_TREE = ROOT / "src"


def in_build(tree: Path, *arguments: str) -> Any:  # noqa: ANN401 - JSON has no better type
    """Run a module of ours on the build in `tree`; what it printed last, as JSON."""
    path = os.pathsep.join([str(tree), str(ROOT)])
    answer = subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def steps(_rounds: int) -> dict[str, Any]:
    """Counted steps per message, against the numbers of processes, unacked messages and peers."""
    return {**in_build(SOURCE_TREE, "bench.steps"), **in_build(SOURCE_TREE, "bench.peer_steps")}


def builds(rounds: int) -> dict[str, Any]:
    """The compiled core against the interpreted one."""
    results: dict[str, Any] = {}
    for driver, messages in (("simulator", 60_000), ("list", 30_000)):
        seconds: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(rounds):
            for tree in (COMPILED_TREE, SOURCE_TREE):
                answer = in_build(tree, "bench.builds", driver, str(messages))
                seconds[answer["compiled"]].append(answer["seconds"])
        compiled_s, interpreted_s = median(seconds[True]), median(seconds[False])
        results[driver] = {
            "messages": messages,
            "compiled_messages_per_s": round(messages / compiled_s),
            "interpreted_messages_per_s": round(messages / interpreted_s),
            "ratio": round(interpreted_s / compiled_s, 1),
        }
    return results


def simulator(rounds: int) -> dict[str, Any]:
    """Our simulator against SimPy on the same model, each round in a process of its own."""
    speeds: dict[str, list[float]] = {"antecede": [], "processes": [], "callbacks": []}
    for _ in range(rounds):
        for style, messages in (
            ("antecede", 400_000),
            ("processes", 20_000),
            ("callbacks", 20_000),
        ):
            answer = in_build(COMPILED_TREE, "bench.simulated", style, str(messages))
            speeds[style].append(answer["events_per_s"])
    own, processes, callbacks = (median(speeds[style]) for style in speeds)
    return {
        "processes": 100,
        "antecede_events_per_s": own,
        "simpy_events_per_s": processes,
        "ratio": round(own / processes, 1),
        "simpy_with_callbacks_events_per_s": callbacks,
        "ratio_to_callbacks": round(own / callbacks, 1),
    }


def scale(_rounds: int) -> dict[str, Any]:
    """Ten thousand processes and ten million messages in one run."""
    return dict(in_build(COMPILED_TREE, "bench.scale"))


def live(rounds: int) -> dict[str, Any]:
    """The live runtime: other messaging libraries, distance, many peers, the event log."""
    return dict(in_build(COMPILED_TREE, "bench.live", "--rounds", str(rounds)))


def tcp(rounds: int) -> dict[str, Any]:
    """Messages that share a TCP connection, against nodes, over a wire that loses packets."""
    return dict(in_build(COMPILED_TREE, "bench.head_of_line", "--rounds", str(rounds)))


BENCHMARKS: dict[str, Callable[[int], dict[str, Any]]] = {
    "steps": steps,
    "builds": builds,
    "simulator": simulator,
    "scale": scale,
    "live": live,
    "tcp": tcp,
}
SLOW = ("scale", "live", "tcp")


def main() -> None:
    """Measure what was asked for; everything but the slow ones by default."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--rounds", type=int, default=5, help="how often each is repeated")
    parser.add_argument("--out", type=Path, help="write the results to this JSON file, too")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(BENCHMARKS)}")
    if not antecede.compiled():
        parser.error("the compiled build is not on the path; use `make bench`")
    names = chosen.names or [name for name in BENCHMARKS if name not in SLOW]
    results = {}
    for name in names:
        results[name] = BENCHMARKS[name](chosen.rounds)
        print(f"{name}:", json.dumps(results[name], indent=2), flush=True)
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
