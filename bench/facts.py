"""`hybrid-facts` against the optimum: latency, bytes, losses, and one process that falls silent.

Exponential delays of 1 ms on average; `load` is messages per process in that time. The optimum is
what RST makes of the same traffic, with the same delay for every copy.
"""

import argparse
import json
from typing import Any

from antecede.network_model.faults import Faults
from antecede.network_model.latency import Exponential
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.simulator.meter import RunMeasures
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads import Groups, Poisson, RequestReply, Workload
from bench.stalled import STALL_MS, silence

MS = 1_000_000
PATIENT_NS = 10_000 * MS
BUDGETS = (4, 16, 64)
SIZES = (8, 32, 100)
PATTERNS = ("uniform", "favour", "rpc", "groups")
LOADS = (0.1, 0.5, 1.0, 2.0)
MESSAGES = 2_000
STALLED: dict[str, tuple[str, dict[str, object]]] = {
    "hybrid-sps": ("hybrid-sps", {}),
    "hybrid": ("hybrid", {}),
    "B=16, E=0": ("hybrid-facts", {"facts": 16, "exceptions": 0}),
    "B=64, E=0": ("hybrid-facts", {"facts": 64, "exceptions": 0}),
    "B=4": ("hybrid-facts", {"facts": 4}),
    "B=16": ("hybrid-facts", {"facts": 16}),
    "B=64": ("hybrid-facts", {"facts": 64}),
}


WIDE: dict[str, dict[str, object]] = {
    "B=16": {"facts": 16},
    "B=16, 1 hop": {"facts": 16, "hops": 1},
    "B=64": {"facts": 64},
    "B=64, 1 hop": {"facts": 64, "hops": 1},
}
"""What is compared with `hybrid` where wide multicasts meet losses."""


def workload(pattern: str, processes: int, load: float) -> Workload:
    """Traffic of a pattern, of about so many messages."""
    interval_ns = round(MS / load)
    if pattern == "groups":
        every_ns = interval_ns
        return Groups(
            processes,
            posts=MESSAGES // 2,
            interval_ns=every_ns,
            seed=1,
            groups=processes // 2,
            size=4,
        )
    if pattern == "rpc":
        servers = max(1, processes // 4)
        requests = MESSAGES // 2
        return RequestReply(
            processes, requests=requests, think_ns=interval_ns, seed=1, servers=servers
        )
    favourites = 3 if pattern == "favour" else 0
    return Poisson(
        processes, messages=MESSAGES, interval_ns=interval_ns, seed=1, favourites=favourites
    )


def measured(
    name: str, pattern: str, processes: int, load: float, **options: object
) -> RunMeasures:
    """One run."""
    result = simulate(
        name,
        workload(pattern, processes, load),
        faults=Faults(latency=Exponential(MS)),
        options=dict(options),
        patience_ns=PATIENT_NS if PROTOCOLS[name].network == "lossy" else None,
    )
    assert result.leftovers.undelivered == 0
    assert result.measures is not None
    return result.measures


def message_bytes(measures: RunMeasures) -> float:
    """Metadata of a packet that carries a message, on average."""
    (carrying,) = [totals for totals in measures.packets if totals.carrying]
    return carrying.metadata_bytes / carrying.packets


def acceptance(pattern: str, processes: int, load: float) -> dict[str, Any]:
    """Latency over the optimum, and bytes, at each budget; RST and KS in bytes beside them."""
    optimum = measured("rst", pattern, processes, load)
    best = optimum.delays.latency.mean()
    row: dict[str, Any] = {"rst bytes": round(message_bytes(optimum))}
    row["ks bytes"] = round(message_bytes(measured("ks", pattern, processes, load)))
    ordered = measured("hybrid", pattern, processes, load)
    row["hybrid"] = round(ordered.delays.latency.mean() / best, 2)
    for budget in BUDGETS:
        facts = measured("hybrid-facts", pattern, processes, load, facts=budget)
        ratio = facts.delays.latency.mean() / best
        row[f"B={budget}"] = f"{ratio:.2f}; {message_bytes(facts):.0f}"
    return row


def lossy(seed: int) -> dict[str, float]:
    """Latency over that of `hybrid`: multicasts to 28 of 32 processes, 10 % of packets lost."""
    traffic = {"messages": 120, "interval_ns": 4 * MS, "multicast": 0.5, "fan_out": 28}

    def latency(name: str, options: dict[str, object]) -> float:
        result = simulate(
            name,
            Poisson(32, seed=seed, **traffic),  # type: ignore[arg-type] # each as it is
            faults=Faults(latency=Exponential(MS), loss=0.1),
            seed=seed,
            options=options,
            patience_ns=5 * MS,
        )
        assert result.leftovers.undelivered == 0
        assert result.measures is not None
        return result.measures.delays.latency.mean()

    ordered = latency("hybrid", {})
    return {label: latency("hybrid-facts", options) / ordered for label, options in WIDE.items()}


def losses(seeds: int) -> dict[str, Any]:
    """In how many of these runs it is slower than `hybrid`, and by how much in the worst."""
    found = [lossy(seed) for seed in range(1, seeds + 1)]
    row: dict[str, Any] = {}
    for label in WIDE:
        ratios = [one[label] for one in found]
        slower = sum(ratio > 1 for ratio in ratios)
        row[label] = f"{slower} of {seeds}, {min(ratios):.2f} to {max(ratios):.2f}"
    return row


def stalled(load: float, seed: int) -> dict[str, Any]:
    """What one silent process leaves of the traffic among nineteen others."""
    row: dict[str, Any] = {}
    for label, (name, options) in STALLED.items():
        timer = {"stall_ns": STALL_MS * MS} if name == "hybrid-facts" else {}
        found = silence(PROTOCOLS[name], load, seed=seed, **{**options, **timer})  # type: ignore[arg-type] # any options
        row[label] = f"{found.before:.1f} -> {found.after:.1f} ({found.share:.0%})"
    return row


def main() -> None:
    """Print one JSON object per setting, and at the end all of them as one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["latency", "stalled", "losses"])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--patterns", nargs="+", default=list(PATTERNS), choices=PATTERNS)
    parser.add_argument("--loads", type=float, nargs="+", default=list(LOADS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=40, help="How many, for losses.")
    asked = parser.parse_args()
    if asked.what == "losses":
        print(json.dumps(losses(asked.seeds)))
        return
    found: dict[str, dict[str, Any]] = {}

    def tell(name: str, row: dict[str, Any]) -> None:
        found[name] = row
        print(json.dumps({name: row}), flush=True)

    for load in asked.loads:
        if asked.what == "stalled":
            tell(f"{load:g}", stalled(load, asked.seed))
            continue
        for processes in asked.sizes:
            for pattern in asked.patterns:
                tell(f"{processes} {pattern} {load:g}", acceptance(pattern, processes, load))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
