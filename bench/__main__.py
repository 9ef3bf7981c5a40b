"""`python -m bench NAME ...`: every benchmark here; bench/README.md has figures.

    python -m bench                    list them
    python -m bench live --rounds 3    run one
    python -m bench live --help        its options
    make bench BENCH="live scale"      run several on the compiled build

Only ratios are meant to be compared between machines.
"""

import ast
import os
import runpy
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import antecede

ROOT: Final = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Where a benchmark is, and the line that the list shows for it."""

    module: str
    purpose: str
    interpreted: bool = False
    """Whether it counts executed lines, which compiled code does not report."""


BENCHMARKS: Final = {
    "live": Benchmark("bench.live", "Nodes against other messaging libraries, on loopback."),
    "study": Benchmark(
        "bench.live.study", "Nodes alone: distance, many peers, an event log, a journal."
    ),
    "carriers": Benchmark("bench.carriers", "Nodes over UDP, TCP and NATS."),
    "head-of-line": Benchmark(
        "bench.head_of_line", "One TCP connection for many, against nodes, with loss; needs root."
    ),
    "fairness": Benchmark("bench.fairness", "What a quiet member sees of floods."),
    "membership": Benchmark("bench.membership", "What absent members do to the others."),
    "agents": Benchmark("bench.agents", "Agents in rooms, beside three other ways to talk."),
    "agents-load": Benchmark("bench.agents_load", "50 agents in one room for minutes."),
    "rooms": Benchmark("bench.rooms", "Joins under load; a room of 100 beside NATS and zenoh."),
    "key-costs": Benchmark("bench.key_costs", "Processor time of encryption and handshakes."),
    "steps": Benchmark(
        "bench.steps", "Executed lines per message, by processes and unacked messages.", True
    ),
    "peer-steps": Benchmark(
        "bench.peer_steps", "Executed lines per message of a node, by peers.", True
    ),
    "copy-cost": Benchmark("bench.copy_cost", "Processor time of a copy of a multicast."),
    "touched": Benchmark(
        "bench.touched", "Files and functions that a message, a span and an event touch.", True
    ),
    "builds": Benchmark("bench.builds", "The compiled core against the interpreted one."),
    "simulator": Benchmark("bench.simulated", "The simulator against SimPy."),
    "scale": Benchmark("bench.scale", "10,000 processes and 10 million messages in one run."),
    "node-cost": Benchmark("bench.node_cost", "A whole node beside the core alone, simulated."),
    "reach": Benchmark("bench.reach", "Metadata and memory of one protocol at one size."),
    "pipeline": Benchmark(
        "bench.pipeline", "A pipeline against distance: nodes, MF, Cykas, TCP; needs root."
    ),
    "many": Benchmark("bench.many", "Thousands of causal processes behind one socket."),
    "structures": Benchmark("bench.structures", "Sliding structures, ours and the paper's.", True),
    "hub": Benchmark("bench.hub", "The upper bounds of RST and KS, reached."),
    "trees": Benchmark("bench.trees", "Trees: payloads, load of the root, failures."),
    "facts": Benchmark("bench.facts", "`hybrid-facts` against the optimum."),
    "audit": Benchmark("bench.audit", "Audits of event logs, on Spark."),
    "ingest": Benchmark("bench.ingest", "Ingests of spans, beside Spark's JSON reader."),
    "clocks": Benchmark("bench.clocks", "Repair of clocks, by number of processes."),
    "reproduce": Benchmark("bench.reproduce", "Every figure of the documents again."),
    "documents": Benchmark("bench.documents", "Whether documents show the recorded figures."),
}


def listing() -> str:
    """Every benchmark and its purpose."""
    lines = [f"    {name:14} {entry.purpose}" for name, entry in BENCHMARKS.items()]
    return "\n".join([f"{__doc__}", "Benchmarks:", *lines])


def docstring_instead_of_help(module: str) -> str:
    """What a benchmark says of itself at its beginning, if it has no options of its own."""
    spec = find_spec(module)
    assert spec is not None, "every benchmark is there"
    assert spec.origin is not None, "every benchmark is a file"
    source = Path(spec.origin).read_text(encoding="utf-8")
    if spec.submodule_search_locations or "import argparse" in source or "import click" in source:
        return ""
    return ast.get_docstring(ast.parse(source)) or ""


def main() -> None:
    """Run the benchmark that the command line names, as if its module had been started."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(listing())
        return
    name = words[0]
    if name not in BENCHMARKS:
        sys.exit(f"no benchmark is called {name}; there are {', '.join(BENCHMARKS)}")
    chosen = BENCHMARKS[name]
    if words[1:] in (["-h"], ["--help"]) and (said := docstring_instead_of_help(chosen.module)):
        print(said)
        return
    if chosen.interpreted and antecede.compiled():
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        os.execve(
            sys.executable,
            [sys.executable, "-m", "bench", *words],
            os.environ | {"PYTHONPATH": path},
        )
    sys.argv = [f"python -m bench {name}", *words[1:]]
    sys.modules["__main__"].__package__ = ""  # Or click would put `python -m bench` in front.
    runpy.run_module(chosen.module, run_name="__main__")


if __name__ == "__main__":
    main()
