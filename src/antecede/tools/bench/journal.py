"""What a journal costs: the same volley with and without one on both sides."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.tools.bench.contest import Show, machine
from antecede.tools.bench.peers.antecede_node import JOURNALS
from antecede.tools.bench.rounds import Throughput, measure_throughput
from antecede.tools.bench.tracing import compared
from antecede.tools.child import Json

DURABLE: Final = ("sync", "process")

ROOM: Final = {"ANTECEDE_SEND_LIMIT": "65536"}
"""With and without a journal: so many messages may be under way while a disk syncs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPlan:
    """Which node, and how often; the journals are in a folder on the disk that is measured."""

    key: str = "antecede-handler"
    size: int = 64
    rounds: int = 5
    seconds: float = 2.0
    folder: Path = Path()


def run_journal(plan: JournalPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second without and with a journal on both sides, and the ratio."""
    pairs: dict[str, list[tuple[Throughput, Throughput]]] = {durable: [] for durable in DURABLE}
    for number in range(plan.rounds):
        for durable in DURABLE:
            show(f"journal {number + 1} of {plan.rounds}: {durable}")
            pairs[durable].append((volley(plan, ""), volley(plan, durable)))
    return {
        "machine": machine(),
        "rounds": plan.rounds,
        "journal": {durable: compared(measured) for durable, measured in pairs.items()},
    }


def volley(plan: JournalPlan, durable: str) -> Throughput:
    """One volley; its journals, if there are any, are thrown away."""
    with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
        kept = {JOURNALS: folder, "ANTECEDE_DURABLE": durable} if durable else {JOURNALS: ""}
        return measure_throughput(plan.key, plan.size, plan.seconds, settings={**ROOM, **kept})
