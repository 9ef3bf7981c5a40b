"""Many peers: what a message costs and what a peer takes, from a few to hundreds per node.

One process is the hub, another one holds all the others, every one a node of its own with a socket.
Time is processor time of the hub, so that it does not matter how busy the others' process is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from antecede.live.bench.contest import Show, machine, rounded
from antecede.live.child import Child, Json

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
    costs: dict[str, dict[int, list[float]]] = {style: {} for style in STYLES}
    memory: list[float] = []
    for number in range(plan.rounds):
        for peers in plan.peers:
            show(f"many peers {number + 1} of {plan.rounds}: {peers}")
            measured = with_so_many(peers, plan.messages)
            for style, by_peers in costs.items():
                by_peers.setdefault(peers, []).append(measured[style])
            if peers == max(plan.peers):
                memory.append(measured["peer_bytes"])
    return {
        "machine": machine(),
        "rounds": plan.rounds,
        "hub_cpu_us_per_message": {
            style: {str(peers): rounded(median(times)) for peers, times in by_peers.items()}
            for style, by_peers in costs.items()
        },
        "most_over_least": {
            style: rounded(spread([median(times) for times in by_peers.values()]))
            for style, by_peers in costs.items()
        },
        "bytes_per_idle_peer": rounded(median(memory)),
        "bytes_per_message_in_flight": rounded(in_flight(plan.in_flight)),
    }


def with_so_many(peers: int, messages: int) -> dict[str, float]:
    """What the hub found out with this many peers."""
    with Child.python("antecede.live.bench.crowd_role", "others", str(peers)) as others:
        addresses = others.hear(WAIT_S)["addresses"]
        with Child.python("antecede.live.bench.crowd_role", "hub", str(messages)) as hub:
            hub.tell({"addresses": addresses})
            return dict(hub.hear(WAIT_S, beside=others))


def in_flight(messages: int) -> float:
    """Bytes of memory per message that is accepted and not acknowledged, 64 bytes of it its own."""
    with Child.python("antecede.live.bench.crowd_role", "in-flight", str(messages)) as child:
        return float(child.hear(WAIT_S)["message_bytes"])


def spread(figures: list[float]) -> float:
    """The most over the least."""
    return max(figures) / min(figures)
