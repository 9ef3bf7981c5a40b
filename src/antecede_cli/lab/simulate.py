"""`antecede simulate`: one run, from the command line to a summary, an event log, or both."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede.eventlog.log import EventLog
from antecede.eventlog.writers import record_events
from antecede.network_model.faults import DelayJump, Faults, Partition, SlowLink
from antecede.network_model.latency import Latency
from antecede.units import counted
from antecede_audit.eventlog.reader import read_events
from antecede_audit.judging.departures import judge_departures
from antecede_audit.judging.oracle import check_log
from antecede_cli import options as units
from antecede_cli.console import progress_bar
from antecede_cli.lab.simulate_summary import (
    audit_text,
    departures_blamed,
    departures_text,
    promise_broken,
    summary_object,
    summary_text,
)
from antecede_lab.catalogue import PROTOCOLS, find_protocol
from antecede_lab.simulator.engine import Progress
from antecede_lab.simulator.fit import needs_link
from antecede_lab.simulator.networks import (
    LATENCY_FORMS,
    NETWORKS,
    build_network,
    find_network,
    parse_delay_jump,
    parse_latency,
    parse_partition,
    parse_slow_link,
)
from antecede_lab.simulator.nodes.faults import FORMS, NodeFault, parse_node_fault
from antecede_lab.simulator.nodes.policy import SilencePolicy, parse_policy
from antecede_lab.simulator.run import (
    CORE,
    NODE,
    RunResult,
    fitted,
    option_of,
    simulate,
)
from antecede_lab.simulator.workloads.catalogue import WORKLOADS, TrafficSettings, build_workload
from antecede_lab.simulator.workloads.workload import Workload

SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationPlan:
    """A run that is ready to begin."""

    title: str
    """Which workload, over which network."""
    info: ProtocolInfo
    seed: int
    run: "partial[RunResult]"
    """Asks only whether to record, and whom to tell how far it is."""


def performed(
    plan: SimulationPlan, out: str | None, judged: bool, progress: Progress | None
) -> tuple[RunResult, EventLog | None]:
    """What came of the plan, and the log if it is to be judged; `out` gets it as it grows."""
    if out is None:
        result = plan.run(record=judged, progress=progress)
        return result, result.log
    with record_events(out) as log:
        result = plan.run(record=log, progress=progress)
    return result, read_events(out) if judged else None


@contextmanager
def simulating(messages: int) -> Iterator[Progress | None]:
    """A bar on standard error if that is a terminal; it shows only when a run takes long."""
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("messages, {task.fields[events]:,} events"),
        TimeRemainingColumn(),
    )
    with progress_bar(*columns) as bar:
        task = bar.add_task("run", total=messages, events=0)

        def show(events: int, submissions: int) -> None:
            bar.update(task, completed=min(submissions, messages), events=events)

        yield None if bar.disable else show


def interval_of(rate: float | None, interval_ns: int | None) -> int:
    """The mean time between two messages of a process, however it was given."""
    if rate is not None and interval_ns is not None:
        raise LocalError("give --rate or --interval, not both")
    if interval_ns is not None:
        return interval_ns
    if rate is None:
        return TrafficSettings().interval_ns
    if rate <= 0:
        raise LocalError("the rate must be more than 0 messages per second")
    return max(1, round(SECOND_NS / rate))


def check_places(processes: int, faults: Faults) -> None:
    """`LocalError` if a partition or a slow link names a process that is not there."""
    named = [process for partition in faults.partitions for process in partition.island]
    for slow in faults.slow_links:
        named += [slow.source, slow.target]
    for process in named:
        if process >= processes:
            raise LocalError(f"there is no process {process}: they are 0 to {processes - 1}")


def linked(protocol: str, workload: Workload, faults: Faults, link: bool | None) -> ProtocolInfo:
    """The protocol, over a link if it needs one; that it got one unasked is said.

    `LocalError` if they do not fit each other.
    """
    check_places(workload.processes, faults)
    info = find_protocol(protocol)
    if link is None and needs_link(info, faults):
        better = "FIFO channels" if info.network == "fifo" else "a network that loses nothing"
        click.echo(f"{info.name} needs {better}: it runs over the reliable link.", err=True)
    return fitted(info, workload, faults, link=link is not False)


def limits(
    info: ProtocolInfo, send_limit: int | None, receive_limit: int | None
) -> dict[str, object]:
    """The bounds of buffers as options of the protocol."""
    options: dict[str, object] = {}
    if send_limit is not None:
        options |= option_of(info, "send_limit", send_limit)
    if receive_limit is not None:
        options |= option_of(info, "receive_limit", receive_limit)
    return options


LATENCY: Final = units.HumanNumber("latency", parse_latency)
PARTITION: Final = units.HumanNumber("start:end:p,p,…", parse_partition)
SLOW_LINK: Final = units.HumanNumber("from:to:extra", parse_slow_link)
DELAY_JUMP: Final = units.HumanNumber("start:end:extra", parse_delay_jump)
NODE_FAULT: Final = units.HumanNumber("fault", parse_node_fault)
POLICY: Final = units.HumanNumber("policy", parse_policy)

AUDITED_MESSAGES: Final = 5_000
AUDITED_DELIVERIES: Final = 50_000
"""Runs of at most this many messages are judged without being asked: the oracle is slow."""


def epilog() -> str:
    """Examples, and the workloads and networks there are."""
    workloads = [
        f"  {info.name:<14} {info.purpose}"
        + "".join(f"\n      {f'{p.name}={p.default}':<16} {p.meaning}" for p in info.parameters)
        for info in WORKLOADS.values()
    ]
    networks = [f"  {info.name:<14} {info.purpose}" for info in NETWORKS.values()]
    return "\n".join(
        [
            "\b\nExamples:",
            "  antecede simulate",
            "  antecede simulate -p rst --network lossy --loss 20%",
            "  antecede simulate -p hybrid -n 100 -m 200k --rate 500 --latency exponential:1ms",
            "  antecede simulate -w groups --set groups=6 --set reply=70% -p ks",
            "  antecede simulate --partition 50ms:150ms:0,1 --slow 2:3:20ms",
            "  antecede simulate -w replay --set file=trace.jsonl --out run.parquet",
            "  antecede simulate --host node --fault pause:50ms:400ms:2 --seed 7",
            "  antecede simulate --host node --fault crash:50ms:2 --fault expel:900ms:0:2",
            "  antecede simulate --host node --fault crash:50ms:2 --expel majority:200ms",
            "\n\b\nWorkloads (--workload) and what --set can change in them:",
            *workloads,
            "\n\b\nNetworks (--network):",
            *networks,
            "\n\b\nLatencies (--latency):",
            f"  {' '.join(LATENCY_FORMS[:3])}",
            f"  {' '.join(LATENCY_FORMS[3:])}",
            "  Files hold durations such as 1.2ms; a matrix has a line per sending site, and",
            "  process p is at site p modulo the number of lines.",
            "\n\b\nFaults of nodes (--fault, with --host node), from the first message on:",
            f"  {'  '.join(FORMS.values())}",
        ]
    )


@click.command(epilog=epilog(), short_help="Run one simulation.")
@units.option_with_default(
    "-p",
    "--protocol",
    default="hybrid",
    help=f"One of {', '.join(PROTOCOLS)}, or module:INFO for your own.",
)
@units.option_with_default("-n", "--processes", type=units.COUNT, default=8)
@units.option_with_default(
    "-m", "--messages", type=units.COUNT, default=2000, help="Messages in all."
)
@click.option("--rate", type=units.NUMBER, help="Messages per second of each process.")
@click.option(
    "--interval",
    type=units.DURATION,
    help="Instead of --rate: the mean time between two messages of a process.  [default: 10ms]",
)
@units.option_with_default("--payload", type=units.COUNT, default=64, help="Bytes in a message.")
@units.option_with_default(
    "-w",
    "--workload",
    "workload_name",
    default="poisson",
    help="Who sends what to whom; listed below.",
)
@click.option(
    "--set", "settings", type=units.SETTING, multiple=True, help="A setting of the workload."
)
@units.option_with_default(
    "--network",
    "network_name",
    default="lossy",
    help="The network between the processes; listed below.",
)
@click.option("--latency", type=LATENCY, help="One-way delays instead of the network's own.")
@click.option("--loss", type=units.SHARE, help="Share of packets lost.")
@click.option("--duplicate", type=units.SHARE, help="Share of packets that come twice.")
@click.option("--reorder", type=units.SHARE, help="Share of packets that come up to 5 ms late.")
@click.option(
    "--partition",
    "partitions",
    type=PARTITION,
    multiple=True,
    help="Cut these processes off from START to END.",
)
@click.option(
    "--slow", "slow_links", type=SLOW_LINK, multiple=True, help="Make one direction slower."
)
@click.option(
    "--delay-jump",
    "delay_jumps",
    type=DELAY_JUMP,
    multiple=True,
    help="Make everything slower from START to END.",
)
@units.option_with_default(
    "--host",
    type=click.Choice([CORE, NODE]),
    default=CORE,
    help="Run protocols alone, or whole nodes: sessions, congestion and flow control, datagrams.",
)
@click.option(
    "--fault",
    "node_faults",
    type=NODE_FAULT,
    multiple=True,
    help="A fault of a node; listed below. May be repeated.",
)
@click.option(
    "--expel",
    "policy",
    type=POLICY,
    help="When nodes expel a silent peer: majority:200ms or after:200ms.  [default: never]",
)
@units.option_with_default(
    "--handling",
    type=units.DURATION,
    default="0",
    help="Time that an application takes per message; what arrives meanwhile waits.",
)
@click.option(
    "--patience",
    type=units.DURATION,
    help="Wait this long before a retransmission.  [default: the network's]",
)
@click.option(
    "--send-limit", type=units.COUNT, help="Messages that may be unacknowledged at a process."
)
@click.option("--receive-limit", type=units.COUNT, help="Messages held back at a process.")
@units.option_with_default("--seed", type=units.COUNT, default=1)
@units.option_with_default(
    "--until", type=units.DURATION, default="1h", help="Simulated time at most."
)
@click.option(
    "--link/--no-link",
    default=None,
    help="Put a reliable link below a protocol that needs one.  [default: if needed]",
)
@click.option("--out", type=click.Path(dir_okay=False), help="Event log: .parquet, .jsonl[.gz].")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option(
    "--audit/--no-audit",
    default=None,
    help="Judge causal order by definition.  [default: small runs]",
)
def command(
    protocol: str,
    processes: int,
    messages: int,
    rate: float | None,
    interval: int | None,
    payload: int,
    workload_name: str,
    settings: tuple[tuple[str, str], ...],
    network_name: str,
    latency: Latency | None,
    loss: float | None,
    duplicate: float | None,
    reorder: float | None,
    partitions: tuple[Partition, ...],
    slow_links: tuple[SlowLink, ...],
    delay_jumps: tuple[DelayJump, ...],
    host: str,
    node_faults: tuple[NodeFault, ...],
    policy: SilencePolicy | None,
    handling: int,
    patience: int | None,
    send_limit: int | None,
    receive_limit: int | None,
    seed: int,
    until: int,
    link: bool | None,
    out: str | None,
    as_json: bool,
    audit: bool | None,
) -> None:
    """Run one simulation and say where the time went; all follows from the options and the seed."""
    faults = build_network(
        network_name,
        latency=latency,
        loss=loss,
        duplication=duplicate,
        reordering=reorder,
        partitions=partitions,
        slow_links=slow_links,
        delay_jumps=delay_jumps,
    )
    traffic = TrafficSettings(
        processes=processes,
        messages=messages,
        interval_ns=interval_of(rate, interval),
        payload_bytes=payload,
        seed=seed,
    )
    workload = build_workload(workload_name, traffic, dict(settings))
    expected = workload.remaining() if workload_name == "replay" else messages
    title = f"{workload_name} over {network_name}"
    info = linked(protocol, workload, faults, link)
    run = partial(
        simulate,
        info,
        workload,
        faults=faults,
        seed=seed,
        handling_ns=handling,
        patience_ns=find_network(network_name).patience_ns if patience is None else patience,
        until_ns=until,
        options=limits(info, send_limit, receive_limit),
        host=host,
        node_faults=node_faults,
        policy=policy,
    )
    carry_out(
        SimulationPlan(title=title, info=info, seed=seed, run=run), expected, out, as_json, audit
    )


def carry_out(
    plan: SimulationPlan, expected: int, out: str | None, as_json: bool, audit: bool | None
) -> None:
    """Run the plan, print its summary, and exit with 1 if the protocol broke a promise."""
    judged = expected <= AUDITED_MESSAGES if audit is None else audit
    with simulating(expected) as progress:
        result, log = performed(plan, out, judged, progress)
    if audit is None and result.deliveries > AUDITED_DELIVERIES:
        log = None
    verdict = None if log is None else check_log(log)
    gone = len(result.departures.gone)
    judgement = judge_departures(log, result.departures) if log is not None and gone else None
    at_rest = result.leftovers.pending == 0
    if as_json:
        click.echo(json.dumps(summary_object(result, verdict), indent=2))
    else:
        members = counted(result.processes, "process", "processes")
        heading = f"{result.protocol}, {members}, {plan.title}, seed {plan.seed}"
        told = None if verdict is None else audit_text(verdict, plan.info)
        if judgement is not None:
            told = f"{told}\n{departures_text(judgement, gone, at_rest)}"
        click.echo(summary_text(result, heading, told))
    if out is not None:
        click.echo(f"The event log is in {out}.", err=True)
    if verdict is not None and promise_broken(verdict, plan.info, result.leftovers.empty):
        sys.exit(1)
    if judgement is not None and departures_blamed(judgement, at_rest):
        sys.exit(1)
