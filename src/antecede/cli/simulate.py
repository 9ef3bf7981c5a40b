"""`antecede simulate`: one run, from the command line to a summary, an event log, or both."""

import json
import sys
from functools import partial
from typing import Final

import click

from antecede.audit.departures import judge
from antecede.audit.oracle import check_log
from antecede.cli import units
from antecede.cli.simulate_plan import (
    Plan,
    interval_of,
    limits,
    linked,
    performed,
    simulating,
)
from antecede.cli.simulate_summary import (
    audit_text,
    departures_blamed,
    departures_text,
    promise_broken,
    summary_object,
    summary_text,
)
from antecede.core.catalogue import PROTOCOLS
from antecede.link.faults import DelayJump, Partition, SlowLink
from antecede.link.latency import Latency
from antecede.sim.networks import LATENCY_FORMS, NETWORKS, build_network, find_network
from antecede.sim.node_faults import FORMS, NodeFault
from antecede.sim.run import CORE, NODE, simulate
from antecede.sim.workloads.catalogue import WORKLOADS, Traffic, build_workload

AUDITED_MESSAGES: Final = 5_000
AUDITED_DELIVERIES: Final = 50_000
"""Runs of up to so many are judged without being asked: the oracle is slow and thorough."""


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
@click.option(
    "-p",
    "--protocol",
    default="hybrid",
    show_default=True,
    help=f"One of {', '.join(PROTOCOLS)}, or module:INFO for your own.",
)
@click.option("-n", "--processes", type=units.COUNT, default=8, show_default=True)
@click.option("-m", "--messages", type=units.COUNT, default=2000, show_default=True, help="In all.")
@click.option("--rate", type=units.NUMBER, help="Messages per second of each process.")
@click.option(
    "--interval", type=units.DURATION, help="The same as a mean time between two.  [default: 10ms]"
)
@click.option(
    "--payload", type=units.COUNT, default=64, show_default=True, help="Bytes in a message."
)
@click.option(
    "-w",
    "--workload",
    "workload_name",
    default="poisson",
    show_default=True,
    help="Who sends what to whom; listed below.",
)
@click.option(
    "--set", "settings", type=units.SETTING, multiple=True, help="A setting of the workload."
)
@click.option(
    "--network",
    "network_name",
    default="lossy",
    show_default=True,
    help="What lies between them; listed below.",
)
@click.option("--latency", type=units.LATENCY, help="One-way delays instead of the network's own.")
@click.option("--loss", type=units.SHARE, help="Share of packets lost.")
@click.option("--duplicate", type=units.SHARE, help="Share of packets that come twice.")
@click.option("--reorder", type=units.SHARE, help="Share of packets that come up to 5 ms late.")
@click.option(
    "--partition",
    "partitions",
    type=units.PARTITION,
    multiple=True,
    help="Cut these processes off from START to END.",
)
@click.option(
    "--slow", "slow_links", type=units.SLOW_LINK, multiple=True, help="Make one direction slower."
)
@click.option(
    "--delay-jump",
    "delay_jumps",
    type=units.DELAY_JUMP,
    multiple=True,
    help="Make everything slower from START to END.",
)
@click.option(
    "--host",
    type=click.Choice([CORE, NODE]),
    default=CORE,
    show_default=True,
    help="Run protocols alone, or whole nodes: sessions, congestion and flow control, datagrams.",
)
@click.option(
    "--fault",
    "node_faults",
    type=units.NODE_FAULT,
    multiple=True,
    help="What befalls a node; listed below.",
)
@click.option(
    "--handling",
    type=units.DURATION,
    default="0",
    show_default=True,
    help="Time an application takes per message; what arrives meanwhile waits.",
)
@click.option(
    "--patience",
    type=units.DURATION,
    help="Wait so long before transmitting again.  [default: the network's]",
)
@click.option(
    "--send-limit", type=units.COUNT, help="Messages that may be unacknowledged at a process."
)
@click.option("--receive-limit", type=units.COUNT, help="Messages held back at a process.")
@click.option("--seed", type=units.COUNT, default=1, show_default=True)
@click.option(
    "--until", type=units.DURATION, default="1h", show_default=True, help="Simulated time at most."
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
    """Run one simulation and say where the time went.

    Real protocol objects exchange packets over a simulated network. Everything follows from the
    options and the seed: the same command gives the same run.
    """
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
    traffic = Traffic(
        processes=processes,
        messages=messages,
        interval_ns=interval_of(rate, interval),
        payload_bytes=payload,
        seed=seed,
    )
    workload = build_workload(workload_name, traffic, dict(settings))
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
    )
    plan = Plan(title=f"{workload_name} over {network_name}", info=info, seed=seed, run=run)
    expected = workload.remaining() if workload_name == "replay" else messages
    carry_out(plan, expected, out, as_json, audit)


def carry_out(
    plan: Plan, expected: int, out: str | None, as_json: bool, audit: bool | None
) -> None:
    """Run the plan, print its summary, and exit with 1 if the protocol broke a promise."""
    judged = expected <= AUDITED_MESSAGES if audit is None else audit
    with simulating(expected) as progress:
        result, log = performed(plan, out, judged, progress)
    if audit is None and result.deliveries > AUDITED_DELIVERIES:
        log = None
    verdict = None if log is None else check_log(log)
    gone = len(result.departures.gone)
    judgement = judge(log, result.departures) if log is not None and gone else None
    at_rest = result.leftovers.pending == 0
    if as_json:
        click.echo(json.dumps(summary_object(result, verdict), indent=2))
    else:
        heading = f"{result.protocol}, {result.processes} processes, {plan.title}, seed {plan.seed}"
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
