"""`python -m antecede.tools.bench.role KEY ROLE JSON`: one of the two processes of a round."""

import faulthandler
import json
import sys
from typing import Any, Final

from antecede.tools.bench.catalogue import find_peer
from antecede.tools.bench.load import Stopwatch, Tally, Volley
from antecede.tools.bench.peer import Peer, Stage
from antecede.tools.child import say

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
