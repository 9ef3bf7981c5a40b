"""One message to many receivers: how many deliveries a second there are, and what each costs.

As in the other contests every library is measured in every round, one after the other, and ratios
compare what was measured in one round. Every receiver is a process, and so is the sender:
`python -m bench.live.multicast_contest KEY ROLE JSON` is one of them.
"""

import faulthandler
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rich.table import Table

from antecede_lab.child import Child, ChildFailed, Json, say
from bench.live.catalogue import find_multicaster
from bench.live.contest import LIFE_S, SLACK_S, Show
from bench.live.peer import ContestRun, Multicaster, ReceiveTally, Volley
from bench.live.request_contest import LoadResults, run_loads


@dataclass(frozen=True, slots=True, kw_only=True)
class MulticastPlan:
    """What is measured, and how long."""

    keys: Sequence[str]
    size: int = 64
    receivers: Sequence[int] = (1, 8, 32)
    rounds: int = 5
    seconds: float = 1.5

    @property
    def loads(self) -> Sequence[int]:
        """How many receivers there are."""
        return self.receivers


@dataclass(frozen=True, slots=True, kw_only=True)
class MulticastSpeed:
    """What came of one volley to all receivers."""

    deliveries_per_s: float
    """Messages times receivers, over the time until the last of these had got the last of those."""
    sender_us: float
    """Processor time of the sender per delivery."""
    cpu_us: float
    """The same of all processes."""


FORMS: Final = (
    ("deliveries_per_s", "{:,.0f}"),
    ("sender_us", "{:,.2f} µs"),
    ("cpu_us", "{:,.2f} µs"),
)


@dataclass(slots=True)
class MulticastResults(LoadResults):
    """All that the contest has found out so far."""

    names: ClassVar[Sequence[str]] = tuple(name for name, _ in FORMS)

    def table(self) -> Table:
        table = Table(title="One message to all receivers (antecede over it)")
        table.add_column("library", no_wrap=True)
        for count in self.plan.loads:
            for title in (f"{count} of them: deliveries/s", "sender", "processor"):
                table.add_column(title, justify="right", overflow="fold")
        return self.filled(table, lambda _: FORMS)


def run_multicast_contest(plan: MulticastPlan, show: Show = lambda _: None) -> MulticastResults:
    """Multicast of everybody who has it."""
    return run_loads(
        MulticastResults(plan),
        find_multicaster,
        lambda key, count: measure_multicast(key, plan.size, plan.seconds, count),
        show,
        "receivers",
    )


def measure_multicast(key: str, size: int, seconds: float, receivers: int) -> MulticastSpeed:
    """Send for some seconds; `ChildFailed` if it breaks, or if anybody misses anything."""
    names = [f"r{number}" for number in range(receivers)]
    with ExitStack() as stack:
        sinks = [stack.enter_context(start(key, "listen", {"name": name})) for name in names]
        addresses = [sink.hear(SLACK_S)["address"] for sink in sinks]
        plan = {
            "size": size,
            "seconds": seconds,
            "receivers": dict(zip(names, addresses, strict=True)),
        }
        source = stack.enter_context(start(key, "spread", plan))
        got = [sink.hear(seconds + SLACK_S, beside=source)["result"] for sink in sinks]
        source.end_input()
        gave = source.hear(SLACK_S)["result"]
    for name, one in zip(names, got, strict=True):
        if one["received"] != gave["sent"]:
            raise ChildFailed(f"{key}: {gave['sent']} sent, {one['received']} received by {name}")
    deliveries = gave["sent"] * receivers
    return MulticastSpeed(
        deliveries_per_s=deliveries * 1e9 / max(one["elapsed_ns"] for one in got),
        sender_us=gave["cpu_ns"] / 1000 / deliveries,
        cpu_us=(gave["cpu_ns"] + sum(one["cpu_ns"] for one in got)) / 1000 / deliveries,
    )


def start(key: str, role: str, plan: dict[str, Json]) -> Child:
    """A process that plays a role of a library."""
    text = json.dumps(plan)
    return Child.python("bench.live.multicast_contest", key, role, text, name=f"{role} of {key}")


def play(library: Multicaster, role: str, plan: dict[str, Any]) -> dict[str, Json]:
    """Play a role to its end; what there is to say of it."""
    stage = ContestRun(announce=lambda address: say({"address": address}))
    if role == "listen":
        tally = ReceiveTally()
        library.run(library.listen(stage, tally, plan["name"]))
        return {
            "received": tally.received,
            "elapsed_ns": tally.elapsed_ns,
            "cpu_ns": tally.cpu_ns,
        }
    volley = Volley(plan["size"], plan["seconds"])
    library.run(library.spread(stage, volley, plan["receivers"]))
    # Up to the end, for what is buffered has still to leave.
    return {"sent": volley.sent, "cpu_ns": time.process_time_ns() - volley.begin_cpu_ns}


def main() -> None:
    """Play the role that the command line names, and tell how it went."""
    key, role, plan = sys.argv[1:]
    faulthandler.dump_traceback_later(LIFE_S, exit=True)
    say({"result": play(find_multicaster(key), role, json.loads(plan))})


if __name__ == "__main__":
    main()
