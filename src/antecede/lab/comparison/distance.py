"""What distance does to throughput: the same traffic over longer and longer channels.

Two kinds of traffic, both offered at a steady rate whatever happens: a stream from one process to
another (a stage of a pipeline), and requests that fan out through a graph of services. A protocol
scales if its throughput does not fall when the network gets longer; then more messages must be in
transit.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.lab.comparison.copy_times import CopyTimes, in_transit_max, middle_rate
from antecede.lab.comparison.effort import Effort
from antecede.link.faults import Faults
from antecede.link.latency import Constant
from antecede.sim.engine import Simulation
from antecede.sim.run import with_patience
from antecede.sim.workloads.broadcast import Broadcast
from antecede.sim.workloads.service_dag import ServiceDag, layered_services
from antecede.sim.workloads.workload import Agenda, Workload

STREAM: Final = "stream"
SERVICES: Final = "services"
"""Situations; protocols that only broadcast have broadcasts in place of the services."""

MS: Final = 1_000_000
STREAM_INTERVAL_NS: Final = MS // 10
SERVICES_SPAN: Final = 40
"""How many of the longest one-way delays all requests take to enter, so that a run is steady."""

SERVICES_COUNT: Final = 7
LAYERS: Final = 2
FAN_OUT: Final = 2


@final
@dataclass(frozen=True, kw_only=True)
class Flow:
    """What one run showed."""

    rate: float
    in_transit: int


@final
class Stream(Workload):
    """Process 0 sends to process 1, which is everybody else, at a steady pace."""

    def __init__(self, messages: int) -> None:
        super().__init__(2)
        self._left: i64 = messages

    @property
    def broadcasts(self) -> bool:
        return True

    def remaining(self) -> int:
        return self._left

    def start(self, agenda: Agenda) -> None:
        agenda.wake(0, 0)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        self._left -= 1
        agenda.submit(0, [1], 0)
        if self._left > 0:
            agenda.wake(now_ns + STREAM_INTERVAL_NS, 0)


def flow_traffic(info: ProtocolInfo, situation: str, effort: Effort, seed: int) -> Workload:
    """The traffic of a situation."""
    if situation == STREAM:
        return Stream(effort.stream_messages)
    interval_ns = SERVICES_SPAN * max(effort.distances_ms) * MS // effort.dag_requests
    if info.broadcast_only:
        return Broadcast(
            SERVICES_COUNT,
            messages=effort.dag_requests,
            interval_ns=SERVICES_COUNT * interval_ns,
            seed=seed,
            payload_bytes=0,
        )
    return ServiceDag(
        layered_services(SERVICES_COUNT, LAYERS, FAN_OUT),
        requests=effort.dag_requests,
        interval_ns=interval_ns,
        seed=seed,
        payload_bytes=0,
        reply_bytes=0,
    )


def flow(info: ProtocolInfo, situation: str, distance_ms: int, effort: Effort, seed: int) -> Flow:
    """Run the traffic over channels of this length."""
    workload = flow_traffic(info, situation, effort, seed)
    times = CopyTimes(int(workload.processes))
    delay_ns = distance_ms * MS
    Simulation(
        info,
        workload,
        faults=Faults(latency=Constant(delay_ns), fifo=info.network == "fifo"),
        seed=seed,
        observers=[times],
        options=with_patience(info, 10 * delay_ns, {}),
    ).run()
    copies = times.finished()
    return Flow(rate=middle_rate(copies), in_transit=in_transit_max(copies))
