"""Replays of grown workloads, and what must hold of them."""

from dataclasses import replace

from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_audit.eventlog.workload import WorkloadRow
from antecede_audit.judging.oracle import check_log
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads import Replay

MS = 1_000_000


def replayed(rows: list[WorkloadRow], processes: int, protocol: str = "hybrid") -> RunResult:
    """A recorded run over a network that loses and reorders; a message's size is its number."""
    numbered = [replace(row, payload_bytes=number) for number, row in enumerate(rows)]
    return simulate(
        protocol,
        Replay(numbered, processes=processes),
        faults=Faults(latency=Uniform(0, 5 * MS), loss=0.02),
        record=True,
        patience_ns=20 * MS,
    )


def early_sends(rows: list[WorkloadRow], result: RunResult) -> list[tuple[int, int]]:
    """Each message that left before a cause of it was delivered at its sender, and the cause."""
    place = {
        (event.kind, event.payload_bytes, event.process): event.position
        for event in reversed(list(result.log or []))
        if event.kind in ("submitted", "delivered")
    }
    number = {row.message_id: n for n, row in enumerate(rows)}
    return [
        (row.message_id, cause)
        for row in rows
        for cause in row.causes
        if place["delivered", number[cause], row.sender]
        >= place["submitted", number[row.message_id], row.sender]
    ]


def check_replay(rows: list[WorkloadRow], processes: int) -> None:
    """Everything arrives, in causal order, and nothing leaves before what caused it is there."""
    result = replayed(rows, processes)
    assert result.leftovers.empty
    assert result.processes == processes
    assert (result.messages, result.deliveries) == (len(rows), sum(len(r.targets) for r in rows))
    assert early_sends(rows, result) == []
    verdict = check_log(result.log or [], witnesses=False)
    assert (verdict.violations, verdict.losses, verdict.duplicates) == ([], [], [])
