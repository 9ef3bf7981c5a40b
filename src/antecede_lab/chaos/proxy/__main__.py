"""The proxy as a process: JSON lines in, JSON lines out, until its input ends.

Every line is answered by one line, so whoever wrote it knows when it has taken effect:

    {"cut": ["alice", "bob"]}         nothing passes between the two
    {"isolate": ["alice"]}            nothing passes between these and all others
    {"heal": ["alice", "bob"]}        between the two it does; {"heal": true}: everywhere
    {"set": {"loss": 0.3}}            other conditions; those not named stay as they are
    {"rebind": ["alice", "bob"]}      alice's datagrams reach bob from another port
    {"place": {"alice": "host:port"}} where a node is, if it never speaks first
    {"counters": true}                what happened so far

The first line out names the ports, the last one has the counters.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, final

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import parse_address
from antecede_lab.chaos.proxy.conditions import Conditions
from antecede_lab.chaos.proxy.relay import Relay
from antecede_lab.child import Line, say

IDLE_S: Final = 1.0
LINE_BYTES_MAX: Final = 1 << 20


def build_relay(configuration: Line) -> Relay:
    """The relay that a configuration asks for: `nodes`, and optionally `seed`, `host`, `set`."""
    nodes = configuration.get("nodes")
    if not isinstance(nodes, dict):
        raise LocalError("the configuration needs `nodes`: an object of names and addresses")
    return Relay(
        {name: None if text is None else parse_address(text) for name, text in nodes.items()},
        Conditions.of(configuration.get("set", {})),
        seed=int(configuration.get("seed", 1)),
        host=str(configuration.get("host", "127.0.0.1")),
    )


@final
class Control:
    """Runs a relay, and obeys what comes in on a file descriptor."""

    def __init__(self, relay: Relay, descriptor: int, say: Callable[[Line], None]) -> None:
        self._relay: Final = relay
        self._descriptor: Final = descriptor
        self._say: Final = say
        self._rest = b""

    def run(self) -> None:
        """Relay until the input ends; then say the counters for the last time."""
        ports = {
            node: {peer: f"{host}:{port}" for peer, (host, port) in peers.items()}
            for node, peers in self._relay.addresses().items()
        }
        self._say({"addresses": ports})
        self._relay.watch(self._descriptor)
        while not self._relay.step(IDLE_S) or self._obey_input():
            pass
        self._say(self._counters())
        self._relay.close()

    def _obey_input(self) -> bool:
        """Obey the lines that have come; False at the end of the input."""
        data = os.read(self._descriptor, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            self._rest = b""
            self._say({"error": f"a line has at most {LINE_BYTES_MAX} bytes"})
        for line in lines:
            if line.strip():
                self._say(self._answer(line))
        return bool(data)

    def _answer(self, text: bytes) -> Line:
        try:
            line = json.loads(text)
            if not isinstance(line, dict) or len(line) != 1:
                raise LocalError("a line is an object with one key: what to do")
            ((verb, what),) = line.items()
            return self._obey(verb, what)
        except (LocalError, ValueError, TypeError) as error:
            return {"error": str(error)}

    def _obey(self, verb: str, what: Any) -> Line:  # noqa: ANN401 JSON has no better type
        relay = self._relay
        if verb == "counters":
            return self._counters()
        if verb == "cut":
            relay.cut(*pair_of(what))
        elif verb == "heal" and what is True:
            relay.heal()
        elif verb == "heal":
            relay.cut(*pair_of(what), cut=False)
        elif verb == "isolate":
            relay.isolate(names_of(what))
        elif verb == "rebind":
            relay.rebind(*pair_of(what))
        elif verb == "place":
            for name, text in dict(what).items():
                relay.place(name, parse_address(text))
        elif verb == "set":
            relay.fates.change(Conditions.of(dict(what), relay.fates.conditions))
        else:
            raise LocalError(f"the proxy cannot {verb!r}")
        return {"done": verb}

    def _counters(self) -> Line:
        return {
            "counters": {
                source: {target: asdict(counters) for target, counters in targets.items()}
                for source, targets in self._relay.counters().items()
            }
        }


def names_of(what: object) -> list[str]:
    """A list of names."""
    if not isinstance(what, list) or not all(isinstance(name, str) for name in what):
        raise LocalError(f"{what!r} is not a list of names")
    return what


def pair_of(what: object) -> tuple[str, str]:
    """A list of two names."""
    names = names_of(what)
    if len(names) != 2:
        raise LocalError(f"{what!r} is not a pair of names")
    return names[0], names[1]


def main() -> None:
    """Relay between the configured nodes until standard input ends."""
    parser = argparse.ArgumentParser(
        prog="python -m antecede_lab.chaos.proxy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config", required=True, help="JSON: nodes, and optionally seed, host, set"
    )
    arguments = parser.parse_args()
    try:
        relay = build_relay(json.loads(arguments.config))
    except (LocalError, ValueError) as error:
        parser.error(str(error))
    Control(relay, sys.stdin.fileno(), say).run()


if __name__ == "__main__":
    main()
