"""Protocols as whole nodes run them, beside the same protocols alone.

Alone every ack and permit is a packet, and a loss waits for a timer. On nodes they ride in
datagrams that are counted, paced and repeated by the path. Everything is virtual time.
"""

from dataclasses import dataclass
from typing import Final, final

from antecede.core.catalogue import NOT_FOR_NODES, ProtocolInfo
from antecede.core.errors import LocalError
from antecede.core.process import NodeProcess
from antecede_lab.catalogue import PROTOCOLS, find_protocol
from antecede_lab.simulator.networks import build_network, find_network
from antecede_lab.simulator.run import CORE, NODE, simulate
from antecede_lab.simulator.workloads.open_loop import Poisson

PROCESSES: Final = 8
NETWORKS: Final = ("reliable", "lossy", "wan")
INTERVALS_NS: Final = (20_000_000, 2_000_000)
QUICK_MESSAGES: Final = 400
MESSAGES: Final = 4_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """One protocol on one network at one rate, as one of the two hosts."""

    protocol: str
    network: str
    interval_ns: int
    host: str
    median_ns: int
    late_ns: int
    """What 99 of 100 deliveries do not take longer than."""
    sent_per_message: float
    """Packets of a protocol alone, datagrams of nodes."""
    delivered: bool
    """Whether every copy was."""


def for_nodes(names: list[str]) -> list[ProtocolInfo]:
    """Of these protocols, or of all, those that nodes can run; `LocalError` if there is none."""
    chosen = [find_protocol(name) for name in names] if names else list(PROTOCOLS.values())
    found = [
        info
        for info in chosen
        if info.ordering == "causal"
        and info.name not in NOT_FOR_NODES
        and isinstance(info.create(0, range(2)), NodeProcess)
    ]
    if not found and chosen[0].name in NOT_FOR_NODES:
        raise LocalError(NOT_FOR_NODES[chosen[0].name])
    if not found:
        raise LocalError("none of these can run on a node; hybrid and its variants can")
    return found


def host_rows(infos: list[ProtocolInfo], messages: int, seed: int) -> list[HostRow]:
    """Every protocol on every network at every rate, alone and on nodes."""
    return [
        measured(info, network, interval_ns, host, messages, seed)
        for info in infos
        for network in NETWORKS
        for interval_ns in INTERVALS_NS
        for host in (CORE, NODE)
    ]


def measured(
    info: ProtocolInfo, network: str, interval_ns: int, host: str, messages: int, seed: int
) -> HostRow:
    """One run."""
    result = simulate(
        info,
        Poisson(PROCESSES, messages=messages, interval_ns=interval_ns, seed=seed),
        faults=build_network(network),
        seed=seed,
        patience_ns=find_network(network).patience_ns,
        host=host,
    )
    assert result.measures is not None, "it was measured"
    latency = result.measures.delays.latency
    return HostRow(
        protocol=info.name,
        network=network,
        interval_ns=interval_ns,
        host=host,
        median_ns=round(latency.quantile(0.5)),
        late_ns=round(latency.quantile(0.99)),
        sent_per_message=(result.datagrams or result.packets) / result.messages,
        delivered=result.leftovers.undelivered == 0,
    )
