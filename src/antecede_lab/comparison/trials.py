"""Does it work on a network that its authors did not promise it for? Does it finish on a bad one?

A trial runs the very protocol, whatever it says it needs, on a network with one sort of trouble,
and has the event log judged from the definition. What it says it needs is confirmed if it fails
without; if it never does, the assumption was not needed here.
"""

from typing import Final

from antecede.core.catalogue import ProtocolInfo
from antecede.network_model.faults import Faults
from antecede.network_model.latency import DELAY_NS_MAX, Uniform
from antecede_audit.judging.oracle import check_log
from antecede_lab.comparison.effort import Effort
from antecede_lab.comparison.traffic import (
    LONGEST_NS,
    ONE_WAY_NS,
    SHORTEST_NS,
    MixedCasts,
    dense_situation,
    fault_free,
    traffic,
    variant,
)
from antecede_lab.scenarios.catalogue import starvation
from antecede_lab.scenarios.player import perform
from antecede_lab.simulator.run import RunResult, simulate
from antecede_lab.simulator.workloads.workload import Workload

LOSING: Final = "packets lost and doubled"
REORDERING: Final = "packets overtaking each other"
"""What goes wrong in a trial; nothing else does."""

LOSSY: Final = "lossy network"
WITHOUT_TIMERS: Final = "no timers"
"""Where runs should finish: over a bad network, and with timers that never ring over a good one."""

TRIAL_PROCESSES: Final = 4
"""How many take part where runs should finish."""

MULTICAST_SHARE: Final = 0.3
"""Every other run of a protocol that multicasts has 30 % multicasts among its messages."""

TROUBLE: Final = 0.1
"""The share of packets that are lost, and of those that come twice."""

PATIENCE_NS: Final = 20 * ONE_WAY_NS
HORIZON_NS: Final = 600_000_000_000
"""Ten minutes: by then a run is over, or it never will be."""

TALKER: Final = "i"
STARVED_MESSAGE: Final = "m"


def unassuming(info: ProtocolInfo) -> ProtocolInfo:
    """The same protocol, said to need nothing, so that it can be put on any network."""
    return variant(info, info.create, "lossy")


def troubled(info: ProtocolInfo, trouble: str) -> Faults:
    """A network with this trouble and no other that the protocol objects to."""
    if trouble == LOSING:
        return Faults(
            latency=Uniform(SHORTEST_NS, LONGEST_NS),
            fifo=info.network == "fifo",
            loss=TROUBLE,
            duplication=TROUBLE,
        )
    return Faults(latency=Uniform(ONE_WAY_NS // 10, 4 * ONE_WAY_NS))


def trial_traffic(info: ProtocolInfo, processes: int, effort: Effort, seed: int) -> Workload:
    """Messages to anybody, with multicasts in every other run of a protocol that has them."""
    messages = processes * effort.trial_messages
    if info.multicast and not info.broadcast_only and seed % 2 == 0:
        return MixedCasts(
            processes, messages=messages, interval_ns=ONE_WAY_NS, share=MULTICAST_SHARE, seed=seed
        )
    return traffic(dense_situation(info), processes, messages, ONE_WAY_NS, seed)


def is_clean(
    info: ProtocolInfo,
    trouble: str,
    effort: Effort,
    seed: int,
    processes: int = TRIAL_PROCESSES,
) -> bool:
    """Whether everything was delivered once, in the order promised, in spite of the trouble."""
    result = simulate(
        unassuming(info),
        trial_traffic(info, processes, effort, seed),
        faults=troubled(info, trouble),
        seed=seed,
        record=True,
        patience_ns=PATIENCE_NS,
        until_ns=HORIZON_NS,
    )
    assert result.log is not None, "it was recorded"
    verdict = check_log(result.log)
    if verdict.duplicates or verdict.losses or verdict.inventions:
        return False
    disorder = len(verdict.violations) if info.ordering == "causal" else 0
    return disorder == 0 and (info.ordering == "none" or not verdict.fifo_breaks)


def finishes(info: ProtocolInfo, where: str, effort: Effort, seed: int) -> RunResult:
    """A run over a bad network (over the reliable link if need be), or one without any timers."""
    messages = TRIAL_PROCESSES * effort.trial_messages
    workload = traffic(dense_situation(info), TRIAL_PROCESSES, messages, ONE_WAY_NS, seed)
    if where == LOSSY:
        faults = troubled(info, LOSING)
        patience_ns = PATIENCE_NS
    else:
        faults = fault_free(info)
        patience_ns = DELAY_NS_MAX  # Beyond the horizon: no timer rings.
    return simulate(
        info,
        workload,
        faults=faults,
        seed=seed,
        patience_ns=patience_ns,
        until_ns=HORIZON_NS,
        link=True,
    )


def starved_for(info: ProtocolInfo, turns: int) -> float:
    """How many rounds the message of the starvation script waits at its sender, of `turns`."""
    performance = perform(starvation(turns, float(turns)), info)
    wanted = performance.when("submitted", STARVED_MESSAGE)
    left = performance.when("transmitted", STARVED_MESSAGE, TALKER)
    return (left[0] if left else float(turns)) - wanted[0]
