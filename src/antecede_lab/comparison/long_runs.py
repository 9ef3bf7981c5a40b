"""What grows with the length of a run, or with that of the network: waits, latency, throughput.

Two processes talk, and each reports every turn to a third. On delivery of the other's word a
process first sends a report to the third process, then its own word to the other. Every report
depends on the one before it, which another process sent. Whoever buffers at the sender until what a
message depends on is delivered, but lets words overtake reports, falls further behind with every
turn: words take half a round trip, reports one and a half.

In conversations of groups that overlap, what is said in one group causes what is said in the next.
Under a rule that lets some messages overtake others in the send buffer, those that are overtaken
fall further behind for as long as the traffic lasts, although every single message leaves as early
as its own permits allow.

Over longer and longer channels two kinds of traffic are offered at a steady rate whatever happens:
a stream from one process to another (a stage of a pipeline), and requests that fan out through a
graph of services. A protocol scales if its throughput does not fall when the network gets longer;
then more messages must be in transit.
"""

from dataclasses import dataclass
from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import Message
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Constant
from antecede_lab.comparison.effort import Effort
from antecede_lab.comparison.latency import CopyTimes, in_transit_max, middle_rate
from antecede_lab.comparison.traffic import ONE_WAY_NS, fault_free
from antecede_lab.simulator.engine import Simulation
from antecede_lab.simulator.run import simulate, with_patience
from antecede_lab.simulator.workloads.catalogue import TrafficSettings, build_workload
from antecede_lab.simulator.workloads.open_loop import Broadcast
from antecede_lab.simulator.workloads.service_dag import ServiceDag, layered_services
from antecede_lab.simulator.workloads.workload import Agenda, Workload

RTT_NS: Final = 2 * ONE_WAY_NS

LISTENER: Final = 2
WORD: Final = 1
"""The third process, and the tag of what the two say to each other."""


@final
@dataclass(frozen=True, kw_only=True)
class Waits:
    """The longest wait at a sender, in RTTs, and divided by one more than what was ahead."""

    longest: float
    per_buffered: float


@final
class Conversation(Workload):
    """`turns` of two processes, each with a report to a third one."""

    def __init__(self, turns: int) -> None:
        super().__init__(3)
        self._left: i64 = turns

    @property
    def reacts(self) -> bool:
        return True

    def remaining(self) -> int:
        return self._left

    def start(self, agenda: Agenda) -> None:
        agenda.wake(0, 0)

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        self._speak(token, agenda)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        if tag == WORD:
            self._speak(process, agenda)

    def _speak(self, process: i64, agenda: Agenda) -> None:
        if self._left > 0:
            self._left -= 1
            agenda.submit(process, [LISTENER], 0)
            agenda.submit(process, [1 - process], 0, WORD)


def conversation_waits(info: ProtocolInfo, turns: int) -> Waits:
    """Hold the conversation; nothing about it is left to chance."""
    times = CopyTimes(3)
    Simulation(
        info,
        Conversation(turns),
        faults=Faults(latency=Constant(ONE_WAY_NS), fifo=info.network == "fifo"),
        seed=1,
        observers=[times],
    ).run()
    waits = [(copy.sender_wait_ns(), int(copy.ahead)) for copy in times.finished()]
    return Waits(
        longest=max([wait for wait, _ in waits]) / RTT_NS,
        per_buffered=max([wait / (1 + ahead) for wait, ahead in waits]) / RTT_NS,
    )


GROUP_PROCESSES: Final = 20


@final
@dataclass(frozen=True, kw_only=True)
class LongRun:
    """The latency of one run in mean one-way delays: the mean, and the longest."""

    mean: float
    longest: float


def group_run(info: ProtocolInfo, messages: int, seed: int) -> LongRun:
    """About `messages` messages in conversations; a process starts one per one-way delay."""
    traffic = TrafficSettings(
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
