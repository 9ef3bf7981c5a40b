"""Does latency depend on how long a run lasts? Conversations in groups, ever more of them.

Every process takes part in groups that overlap, so that what is said in one group causes what is
said in the next. Under a rule that lets some messages overtake others in the send buffer, those
that are overtaken fall further behind for as long as the traffic lasts, although every single
message leaves as early as its own permits allow.
"""

from dataclasses import dataclass
from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.lab.comparison.traffic import ONE_WAY_NS, fault_free
from antecede.sim.run import simulate
from antecede.sim.workloads.catalogue import Traffic, build_workload

GROUP_PROCESSES: Final = 20


@final
@dataclass(frozen=True, kw_only=True)
class LongRun:
    """The latency of one run in mean one-way delays: the mean, and the longest."""

    mean: float
    longest: float


def group_run(info: ProtocolInfo, messages: int, seed: int) -> LongRun:
    """Hold conversations of about so many messages; each process starts one per one-way delay."""
    traffic = Traffic(
        processes=GROUP_PROCESSES,
        messages=messages,
        interval_ns=ONE_WAY_NS,
        payload_bytes=0,
        seed=seed,
    )
    result = simulate(
        info, build_workload("groups", traffic), faults=fault_free(info), seed=seed, link=True
    )
    assert result.measures is not None, "it was measured"
    latency = result.measures.delays.latency
    return LongRun(mean=latency.mean() / ONE_WAY_NS, longest=int(latency.greatest) / ONE_WAY_NS)
