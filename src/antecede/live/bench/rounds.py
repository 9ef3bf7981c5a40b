"""One round of one library: two processes on this machine, started, timed and ended."""

import json
from dataclasses import dataclass
from typing import Any, Final

from antecede.live.bench.catalogue import find_peer
from antecede.live.child import Child, ChildFailed

SLACK_S: Final = 30.0
"""What a round may take beyond the time it measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What came of one volley."""

    messages_per_s: float
    sent: int
    received: int
    source_cpu_s: float
    sink_cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrips:
    """What came of one exchange of pings."""

    p50_us: float
    p99_us: float
    count: int


def start(key: str, role: str, **plan: Any) -> Child:  # noqa: ANN401 whatever JSON can carry
    """A process that plays a role of a peer."""
    text = json.dumps({"address": "", "broker": "", **plan})
    return Child.python("antecede.live.bench.role", key, role, text, name=f"{role} of {key}")


def measure_throughput(key: str, size: int, seconds: float) -> Throughput:
    """Send one way for some seconds; `ChildFailed` if it breaks, or if anything gets lost."""
    with find_peer(key).broker() as broker, start(key, "sink", broker=broker) as sink:
        address = sink.hear(SLACK_S)["address"]
        plan = {"size": size, "seconds": seconds, "address": address, "broker": broker}
        with start(key, "source", **plan) as source:
            got = sink.hear(seconds + SLACK_S, beside=source)["result"]
            source.tell({"release": True})
            gave = source.hear(SLACK_S)["result"]
    if got["received"] != gave["sent"]:
        raise ChildFailed(f"{key} lost messages: {gave['sent']} sent, {got['received']} received")
    return Throughput(
        messages_per_s=got["received"] * 1e9 / got["elapsed_ns"],
        sent=gave["sent"],
        received=got["received"],
        source_cpu_s=gave["cpu_s"],
        sink_cpu_s=got["cpu_s"],
    )


def measure_round_trips(key: str, size: int, seconds: float) -> RoundTrips:
    """Ping for some seconds, one message at a time."""
    with find_peer(key).broker() as broker, start(key, "echo", broker=broker) as echo:
        address = echo.hear(SLACK_S)["address"]
        plan = {"size": size, "seconds": seconds, "address": address, "broker": broker}
        with start(key, "ping", **plan) as ping:
            result = ping.hear(seconds + SLACK_S, beside=echo)["result"]
            echo.hear(SLACK_S)
    return RoundTrips(p50_us=result["p50_us"], p99_us=result["p99_us"], count=result["round_trips"])
