"""One simulation from start to end: what goes in by name or value, what comes out as values.

result = simulate("hybrid", Poisson(8, messages=1000, interval_ns=1_000_000, seed=1))
print(result.measures.delays.latency.quantile(0.99))
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede.core.process import NEVER_NS
from antecede.eventlog.log import EventLog
from antecede.membership.handshake_crypto import HandshakeCrypto
from antecede.network_model.faults import Faults
from antecede.network_model.latency import DELAY_NS_MAX
from antecede_audit.judging.departures import Departures
from antecede_audit.judging.send_outcomes import SendOutcomes
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.engine import Progress, Simulation
from antecede_lab.simulator.fit import check_workload, needs_link
from antecede_lab.simulator.meter import Meter, RunMeasures
from antecede_lab.simulator.nodes.adversary import Adversary
from antecede_lab.simulator.nodes.faults import NodeFault
from antecede_lab.simulator.nodes.host import Stuck
from antecede_lab.simulator.nodes.policy import SilencePolicy
from antecede_lab.simulator.nodes.simulation import NodeSimulation
from antecede_lab.simulator.observer import MetadataSize, Observer
from antecede_lab.simulator.recorder import Recorder
from antecede_lab.simulator.reliable_link import over_lossy
from antecede_lab.simulator.workloads.workload import Workload, check_seed


@final
@dataclass(frozen=True, kw_only=True)
class RunLeftovers:
    """What was still to be done when a run ended; all 0 when every buffer has emptied."""

    unsent: int
    """Messages that the workload still wanted to send, as far as it knew."""
    blocked: int
    """Submissions for which the protocol had no room."""
    undelivered: int
    """Copies of submitted messages that were not delivered."""
    unhandled: int
    """Packets and messages that waited for a process busy handling another."""
    timers: int
    """Processes that still wanted their timer: something is unacknowledged."""
    pending: int
    """Arrivals, timers and wake-ups that the end of the run forestalled."""
    oldest: tuple[tuple[int, int, int], ...]
    """The first few undelivered copies (sender, sequence, target), if the run was measured."""

    @property
    def empty(self) -> bool:
        """Whether nothing was left."""
        return not any(
            (
                self.unsent,
                self.blocked,
                self.undelivered,
                self.unhandled,
                self.timers,
                self.pending,
            )
        )


@final
@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of a run."""

    protocol: str
    """Its name; over the reliable link with `+link` behind it."""
    processes: int
    seed: int
    events: int
    """Arrivals, timers, wake-ups and the like."""
    messages: int
    copies: int
    packets: int
    deliveries: int
    refused: int
    """Packets that a process refused as a peer's fault: 0, or a bug."""
    blocked: int
    """Submissions that had to wait for room."""
    end_ns: int
    """The time of the last event; timers that found nothing to do come late."""
    datagrams: int
    """Where whole nodes run: what was on the network; 0 where the core does alone."""
    leftovers: RunLeftovers
    measures: RunMeasures | None
    log: EventLog | None
    departures: Departures
    """Which nodes are gone, and what the others have said about it, for `judging.departures`."""
    reports: dict[str, int]
    """How often nodes have said something about each other, by what it was."""
    left_out: int
    """Targets that were away when a message was submitted, and were left out."""
    outcomes: SendOutcomes | None
    """What the applications of nodes have sent and received, if there is a log."""
    stuck: tuple[Stuck, ...]
    """Nodes that were still waiting when the run ended."""


OLDEST_SHOWN: Final = 10

CORE: Final = "core"
NODE: Final = "node"
"""What runs in a simulation: protocols alone, or whole nodes."""


def simulate(
    protocol: str | ProtocolInfo,
    workload: Workload,
    *,
    faults: Faults | None = None,
    seed: int = 1,
    record: bool | EventLog = False,
    measure: bool = True,
    handling_ns: int = 0,
    options: dict[str, object] | None = None,
    patience_ns: int | None = None,
    until_ns: int = NEVER_NS,
    events_max: int = NEVER_NS,
    progress: Progress | None = None,
    link: bool = False,
    host: str = CORE,
    node_faults: Sequence[NodeFault] = (),
    adversary: Adversary | None = None,
    guards: dict[str, HandshakeCrypto] | None = None,
    policy: SilencePolicy | None = None,
    knows: dict[int, list[int]] | None = None,
) -> RunResult:
    """Run `workload` over `protocol` until nothing is left to happen, or a limit is reached.

    `record` writes an event log, into the given one if there is one. `link` runs a protocol that
    needs a better network over the reliable link; without it that is a `LocalError`. `patience_ns`
    is how long to wait before transmitting again, wherever the protocol or its link does that;
    `options` go to every process as they are. The same arguments give the same run.

    `host` is what runs: the protocol alone (`core`), or whole nodes (`node`), with sessions, paths
    and flow control, over datagrams. Only nodes have `node_faults`, an `adversary` on the network,
    `guards` with keys, a `policy` that expels who is silent, and `knows`: whom each process knows.
    """
    check_times(seed, patience_ns, host, handling_ns)
    network = faults or Faults()
    info = fitted(protocol, workload, network, link=link)
    metadata_size = MetadataSize(info)
    log = EventLog() if record is True else record
    meter = Meter(workload.processes + len(node_faults), metadata_size) if measure else None
    given = with_patience(info, patience_ns, {} if options is None else options)
    if host == NODE:
        nodes = NodeSimulation(
            info,
            workload,
            faults=network,
            seed=seed,
            metadata_size=metadata_size,
            observers=observers_of(log, meter, metadata_size),
            node_faults=list(node_faults),
            options=given,
            adversary=adversary,
            guards=guards,
            policy=policy,
            outcomes=SendOutcomes() if record else None,
            knows=knows,
        )
        nodes.run(until_ns=until_ns, events_max=events_max, progress=progress)
        return node_result_of(nodes, info, seed, meter, log if isinstance(log, EventLog) else None)
    check_core(host, node_faults, adversary, guards, policy, knows)
    simulation = Simulation(
        info,
        workload,
        faults=network,
        seed=seed,
        observers=observers_of(log, meter, metadata_size),
        handling_ns=handling_ns,
        options=given,
    )
    simulation.run(until_ns=until_ns, events_max=events_max, progress=progress)
    return result_of(simulation, info, seed, meter, log if isinstance(log, EventLog) else None)


def check_times(seed: int, patience_ns: int | None, host: str, handling_ns: int) -> None:
    """`LocalError` if a seed or a time makes no sense."""
    check_seed(seed)
    if patience_ns is not None and not 1 <= patience_ns <= DELAY_NS_MAX:
        raise LocalError(f"a patience of {patience_ns} ns is outside 1 to {DELAY_NS_MAX} ns")
    if host == NODE and handling_ns > 0:
        raise LocalError("handling takes no time where whole nodes run; use the core alone")


def check_core(host: str, node_faults: Sequence[NodeFault], *for_nodes: object) -> None:
    """`LocalError` unless protocols run alone, with nothing that only nodes have."""
    if host != CORE or node_faults or any(given is not None for given in for_nodes):
        raise LocalError(f"a host is {CORE!r} or {NODE!r}, and only nodes have faults of their own")


def fitted(
    protocol: str | ProtocolInfo, workload: Workload, faults: Faults, *, link: bool
) -> ProtocolInfo:
    """The protocol, over the reliable link if that is allowed and needed to carry this workload."""
    info = find_protocol(protocol) if isinstance(protocol, str) else protocol
    check_workload(info, workload)
    return over_lossy(info) if link and needs_link(info, faults) else info


def observers_of(
    log: EventLog | bool, meter: Meter | None, metadata_size: MetadataSize
) -> list[Observer]:
    """Who watches the run."""
    observers: list[Observer] = []
    if isinstance(log, EventLog):
        observers.append(Recorder(log, metadata_size))
    if meter is not None:
        observers.append(meter)
    return observers


def with_patience(
    info: ProtocolInfo, patience_ns: int | None, options: dict[str, object]
) -> dict[str, object]:
    """The options, with the patience for whatever transmits again, if anything does."""
    if patience_ns is None:
        return options
    for name in ("link_patience_ns", "patience_ns"):
        patient = {name: patience_ns} | options
        if accepts(info, patient):
            return patient
    return options


def option_of(info: ProtocolInfo, name: str, value: int) -> dict[str, object]:
    """The option called `name` if the protocol has it, else that of its link; else `LocalError`."""
    for known_as in (name, f"link_{name}"):
        option: dict[str, object] = {known_as: value}
        if accepts(info, option):
            return option
    raise LocalError(f"{info.name} has no {name.replace('_', ' ')}")


def accepts(info: ProtocolInfo, options: dict[str, object]) -> bool:
    """Whether a process can be made with these options."""
    try:
        info.create(0, range(2), **options)
    except LocalError:
        return False
    return True


def result_of(
    simulation: Simulation, info: ProtocolInfo, seed: int, meter: Meter | None, log: EventLog | None
) -> RunResult:
    """What came of a simulation that has ended."""
    return RunResult(
        protocol=info.name,
        processes=simulation.workload.processes,
        seed=seed,
        events=simulation.events,
        messages=simulation.submissions,
        copies=simulation.copies,
        packets=simulation.packets,
        deliveries=simulation.deliveries,
        refused=simulation.refused,
        blocked=simulation.blocked,
        end_ns=simulation.now_ns,
        datagrams=0,
        leftovers=leftovers_of(simulation, meter),
        measures=None if meter is None else meter.measures(),
        log=log,
        departures=Departures(),
        reports={},
        left_out=0,
        outcomes=None,
        stuck=(),
    )


def node_result_of(
    simulation: NodeSimulation,
    info: ProtocolInfo,
    seed: int,
    meter: Meter | None,
    log: EventLog | None,
) -> RunResult:
    """What came of a simulation of whole nodes that has ended."""
    oldest = [] if meter is None else meter.undelivered()
    missing = int(simulation.copies) - int(simulation.deliveries)
    hosts = simulation.hosts
    leftovers = RunLeftovers(
        unsent=simulation.workload.remaining() + int(simulation.dropped),
        blocked=sum([host.backlog.size() for host in hosts]),
        undelivered=missing if meter is None else len(oldest),
        unhandled=sum([len(host.socket) for host in hosts]),
        timers=0,
        pending=simulation.pending,
        oldest=tuple(oldest[:OLDEST_SHOWN]),
    )
    return RunResult(
        protocol=f"{info.name} on nodes",
        processes=simulation.workload.processes,
        seed=seed,
        events=simulation.events,
        messages=simulation.submissions,
        copies=simulation.copies,
        packets=sum([int(host.log.packets) for host in hosts]),
        deliveries=simulation.deliveries,
        refused=sum([int(host.endpoint.malformed) for host in hosts]),
        blocked=simulation.blocked,
        end_ns=max(0, int(simulation.now_ns) - int(simulation.meeting_ns)),
        datagrams=simulation.datagrams,
        leftovers=leftovers,
        measures=None if meter is None else meter.measures(),
        log=log,
        departures=simulation.registry.departures,
        reports=simulation.registry.reports,
        left_out=simulation.left_out,
        outcomes=simulation.registry.outcomes,
        stuck=tuple(simulation.stuck()),
    )


def leftovers_of(simulation: Simulation, meter: Meter | None) -> RunLeftovers:
    """What the simulation left undone."""
    blocked = 0
    unhandled = 0
    timers = 0
    for host in simulation.hosts:
        blocked += 0 if host.blocked is None else host.blocked.size
        unhandled += 0 if host.handling is None else host.handling.size
        unhandled += 0 if host.inbox is None else host.inbox.size
        timers += 1 if host.process.wake_ns() < NEVER_NS else 0
    oldest = [] if meter is None else meter.undelivered()
    missing = int(simulation.copies) - int(simulation.deliveries)
    return RunLeftovers(
        unsent=simulation.workload.remaining(),
        blocked=blocked,
        undelivered=missing if meter is None else len(oldest),
        unhandled=unhandled,
        timers=timers,
        pending=simulation.pending,
        oldest=tuple(oldest[:OLDEST_SHOWN]),
    )
