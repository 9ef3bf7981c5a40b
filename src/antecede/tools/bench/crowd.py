"""Many peers: what a message costs and what a peer takes, from a few to hundreds per node.

One process is the hub, another one holds all the others, every one a node of its own with a socket.
Time is processor time of the hub, so that it does not matter how busy the others' process is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from antecede.tools.bench.contest import Show, machine, rounded
from antecede.tools.child import Child, Json, Line

STYLES: Final = ("packed", "single")
"""Sixteen messages to a datagram, or one."""

WAIT_S: Final = 120.0
"""Hundreds of greetings take a while on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdPlan:
    """How many peers, how many messages, how often."""

    peers: Sequence[int] = (2, 8, 32, 128, 500)
    messages: int = 50_000
    rounds: int = 3
    in_flight: int = 200_000


def run_crowd(plan: CrowdPlan, show: Show = lambda _: None) -> dict[str, Json]:
    """Processor time per message against the number of peers, and memory per peer and message."""
    measured: dict[int, list[Line]] = {peers: [] for peers in plan.peers}
    for number in range(plan.rounds):
        for peers in plan.peers:
            show(f"many peers {number + 1} of {plan.rounds}: {peers}")
            measured[peers].append(with_so_many(peers, plan.messages))
    return {
        "machine": machine(),
        "rounds": plan.rounds,
        "hub": {style: by_peers(measured, style) for style in STYLES},
        "bytes_per_idle_peer": rounded(median(x["peer_bytes"] for x in measured[plan.peers[-1]])),
        "bytes_per_message_in_flight": rounded(in_flight(plan.in_flight)),
    }


def by_peers(measured: dict[int, list[Line]], style: str) -> dict[str, Json]:
    """Medians per number of peers, of processor time and of datagrams per message."""
    figures = {
        unit: {
            str(peers): median(reading[style][unit] for reading in readings)
            for peers, readings in measured.items()
        }
        for unit in ("us", "datagrams")
    }
    per_datagram = [figures["us"][x] / figures["datagrams"][x] for x in figures["us"]]
    return {
        "cpu_us_per_message": {x: rounded(y) for x, y in figures["us"].items()},
        "datagrams_per_message": {x: rounded(y) for x, y in figures["datagrams"].items()},
        "most_over_least": rounded(spread(list(figures["us"].values()))),
        "most_over_least_per_datagram": rounded(spread(per_datagram)),
    }


def with_so_many(peers: int, messages: int) -> Line:
    """What the hub found out with this many peers."""
    with Child.python("antecede.tools.bench.crowd_role", "others", str(peers)) as others:
        addresses = others.hear(WAIT_S)["addresses"]
        with Child.python("antecede.tools.bench.crowd_role", "hub", str(messages)) as hub:
            hub.tell({"addresses": addresses})
            return hub.hear(WAIT_S, beside=others)


def in_flight(messages: int) -> float:
    """Bytes of memory per message that is accepted and not acknowledged, 64 bytes of it its own."""
    with Child.python("antecede.tools.bench.crowd_role", "in-flight", str(messages)) as child:
        return float(child.hear(WAIT_S)["message_bytes"])


def spread(figures: list[float]) -> float:
    """The most over the least."""
    return max(figures) / min(figures)
