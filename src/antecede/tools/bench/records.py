"""What keeping a record costs: the same volley with and without an event log, or a journal."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

from antecede.tools.bench.contest import Show, machine, rounded
from antecede.tools.bench.peers.antecede_node import JOURNALS
from antecede.tools.bench.rounds import Throughput, measure_throughput
from antecede.tools.child import Json

PACES: Final = {"full speed": 0, "100 k/s": 100_000}
DURABLE: Final = ("sync", "process")

ROOM: Final = {"ANTECEDE_SEND_LIMIT": "65536"}
"""With and without a journal: so many messages may be under way while a disk syncs."""

Volley: TypeAlias = Callable[[bool], Throughput]
"""Sends without a record, or with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingPlan:
    """Which node, and how often."""

    key: str = "antecede-handler"
    size: int = 64
    rounds: int = 5
    seconds: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalPlan(TracingPlan):
    """The same; the journals are in a folder on the disk that is measured."""

    folder: Path = Path()


def run_tracing(plan: TracingPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second without and with an event log on both sides, and the ratio."""

    def at(per_s: int) -> Volley:
        def volley(traced: bool) -> Throughput:
            with tempfile.TemporaryDirectory() as folder:
                kept = {"ANTECEDE_TRACE": folder} if traced else {}
                size, seconds = plan.size, plan.seconds
                return measure_throughput(plan.key, size, seconds, per_s=per_s, settings=kept)

        return volley

    ways = {pace: at(per_s) for pace, per_s in PACES.items()}
    return in_pairs("tracing", ways, plan.rounds, lambda text: show(f"event log {text}"))


def run_journal(plan: JournalPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Messages per second without and with a journal on both sides, and the ratio."""

    def to(durable: str) -> Volley:
        def volley(kept: bool) -> Throughput:
            with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
                journal = {JOURNALS: folder, "ANTECEDE_DURABLE": durable}
                settings = {**ROOM, **(journal if kept else {JOURNALS: ""})}
                return measure_throughput(plan.key, plan.size, plan.seconds, settings=settings)

        return volley

    ways = {durable: to(durable) for durable in DURABLE}
    return in_pairs("journal", ways, plan.rounds, lambda text: show(f"journal {text}"))


def in_pairs(what: str, ways: Mapping[str, Volley], rounds: int, show: Show) -> dict[str, Json]:
    """Every way in every round, without and with; what is recorded is thrown away."""
    pairs: dict[str, list[tuple[Throughput, Throughput]]] = {way: [] for way in ways}
    for number in range(rounds):
        for way, volley in ways.items():
            show(f"{number + 1} of {rounds}: {way}")
            pairs[way].append((volley(False), volley(True)))
    found = {way: compared(measured) for way, measured in pairs.items()}
    return {"machine": machine(), "rounds": rounds, what: found}


def compared(pairs: list[tuple[Throughput, Throughput]]) -> dict[str, Json]:
    """Medians without and with a log, and of the ratios of the pairs."""
    return {
        "without_messages_per_s": rounded(median(off.messages_per_s for off, _ in pairs)),
        "with_messages_per_s": rounded(median(on.messages_per_s for _, on in pairs)),
        "ratio": rounded(median(on.messages_per_s / off.messages_per_s for off, on in pairs)),
        "without_cpu_us": rounded(median(cpu_us(off) for off, _ in pairs)),
        "with_cpu_us": rounded(median(cpu_us(on) for _, on in pairs)),
    }


def cpu_us(measured: Throughput) -> float:
    """Processor time of both processes per message."""
    return measured.source_cpu_us + measured.sink_cpu_us
