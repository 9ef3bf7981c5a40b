"""One round of one library: two processes on this machine, started, timed and ended.

`python -m antecede.tools.bench.rounds KEY ROLE JSON` is one of the two.
"""

import faulthandler
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from antecede.tools.bench.catalogue import find_peer
from antecede.tools.bench.peer import Peer, Stage, Stopwatch, Tally, Volley
from antecede.tools.bench.peers.antecede_node import CALLER, LISTENER
from antecede.tools.child import Child, ChildFailed, Json, say
from antecede.tools.proxy import Conditions, Proxy

SLACK_S: Final = 30.0
"""What a round may take beyond the time it measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What came of one volley."""

    messages_per_s: float
    sent: int
    received: int
    source_cpu_us: float
    """Processor time of the sender per message."""
    sink_cpu_us: float
    """The same of the receiver."""

    @property
    def cpu_us(self) -> float:
        """Processor time of both processes per message."""
        return self.source_cpu_us + self.sink_cpu_us


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """What came of one exchange of pings."""

    p50_us: float
    p99_us: float
    count: int


def start(key: str, role: str, environment: Mapping[str, str], **plan: Json) -> Child:
    """A process that plays a role of a peer."""
    text = json.dumps({"address": "", "broker": "", **plan})
    return Child.python(
        "antecede.tools.bench.rounds",
        key,
        role,
        text,
        name=f"{role} of {key}",
        environment=environment,
    )


@contextmanager
def proxied(address: str, conditions: Conditions | None) -> Iterator[str]:
    """Where the source finds the sink: at its address, or behind a proxy."""
    if conditions is None:
        yield address
        return
    with Proxy({LISTENER: address, CALLER: None}, conditions) as proxy:
        yield proxy.peers_of(CALLER)[LISTENER]


def measure_throughput(
    key: str,
    size: int,
    seconds: float,
    *,
    warm_s: float = 0.0,
    per_s: int = 0,
    between: Conditions | None = None,
    settings: Mapping[str, str] | None = None,
) -> Throughput:
    """Send one way for some seconds; `ChildFailed` if it breaks, or if anything gets lost.

    `settings` are variables of the environment. A proxy stands `between` only on UDP.
    """
    surroundings = settings or {}
    with ExitStack() as stack:
        broker = stack.enter_context(find_peer(key).broker())
        sink = stack.enter_context(start(key, "sink", surroundings, broker=broker))
        address = stack.enter_context(proxied(sink.hear(SLACK_S)["address"], between))
        plan = {"size": size, "seconds": seconds, "warm_s": warm_s, "per_s": per_s}
        source = stack.enter_context(
            start(key, "source", surroundings, broker=broker, address=address, **plan)
        )
        got = sink.hear(warm_s + seconds + SLACK_S, beside=source)["result"]
        source.end_input()
        gave = source.hear(SLACK_S)["result"]
    if got["received"] != gave["sent"]:
        raise ChildFailed(f"{key} lost messages: {gave['sent']} sent, {got['received']} received")
    return Throughput(
        messages_per_s=got["received"] * 1e9 / got["elapsed_ns"],
        sent=gave["sent"],
        received=got["received"],
        source_cpu_us=gave["cpu_ns"] / 1000 / gave["sent"],
        sink_cpu_us=got["cpu_ns"] / 1000 / got["received"],
    )


def measure_round_trips(key: str, size: int, seconds: float) -> RoundTrips:
    """Ping for some seconds, one message at a time."""
    with find_peer(key).broker() as broker, start(key, "echo", {}, broker=broker) as echo:
        address = echo.hear(SLACK_S)["address"]
        plan = {"size": size, "seconds": seconds, "address": address, "broker": broker}
        with start(key, "ping", {}, **plan) as ping:
            result = ping.hear(seconds + SLACK_S, beside=echo)["result"]
            echo.hear(SLACK_S)
    return RoundTrips(p50_us=result["p50_us"], p99_us=result["p99_us"], count=result["round_trips"])


LIFE_S: Final = 60.0
"""After this time a role that still runs says where it is, and ends."""


def play(peer: Peer, role: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Play a role to its end; what there is to say of it."""
    stage = Stage(
        announce=lambda address: say({"address": address}),
        address=plan["address"],
        broker=plan["broker"],
    )
    if role == "sink":
        tally = Tally()
        peer.run(peer.sink(stage, tally))
        return {
            "received": tally.received,
            "elapsed_ns": tally.elapsed_ns,
            "cpu_ns": tally.cpu_ns,
        }
    if role == "source":
        volley = Volley(
            plan["size"],
            plan["seconds"],
            warm_s=plan.get("warm_s", 0.0),
            per_s=plan.get("per_s", 0),
        )
        peer.run(peer.source(stage, volley))
        return {"sent": volley.sent, "cpu_ns": volley.cpu_ns}
    if role == "echo":
        peer.run(peer.echo(stage))
        return {}
    stopwatch = Stopwatch(plan["size"], plan["seconds"])
    peer.run(peer.ping(stage, stopwatch))
    return {
        "round_trips": len(stopwatch),
        "p50_us": stopwatch.quantile_us(0.5),
        "p99_us": stopwatch.quantile_us(0.99),
    }


def main() -> None:
    """Play the role that the command line names, and tell how it went."""
    key, role, plan = sys.argv[1:]
    faulthandler.dump_traceback_later(LIFE_S, exit=True)
    say({"result": play(find_peer(key), role, json.loads(plan))})


if __name__ == "__main__":
    main()
