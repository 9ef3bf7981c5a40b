"""A bad network on one machine: a process that loses, doubles, delays and cuts between nodes.

with Proxy({"alice": "127.0.0.1:9001", "bob": "127.0.0.1:9002"}, Conditions(loss=0.3)) as proxy:
    proxy.peers_of("alice")        # {"bob": "127.0.0.1:40001"}: the peers to give to alice
    proxy.cut("alice", "bob")
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, Self, final

from antecede.core.errors import LocalError
from antecede_lab.chaos.proxy.conditions import Conditions, Counters
from antecede_lab.child import Child, Line

__all__ = ["Conditions", "Counters", "Proxy"]


@final
class Proxy:
    """A proxy process between some nodes; it is there while the context lasts."""

    def __init__(
        self,
        nodes: Mapping[str, str | None],
        conditions: Conditions | None = None,
        *,
        seed: int = 1,
        host: str = "127.0.0.1",
        within: Sequence[str] = (),
    ) -> None:
        """`nodes`: where each really is, as host:port; None is learnt when the node speaks.

        `within` is a command that runs the process elsewhere, such as `ip netns exec NAME`.
        """
        chosen = conditions or Conditions()
        chosen.check()
        self._configuration: Final = {
            "nodes": dict(nodes),
            "seed": seed,
            "host": host,
            "set": asdict(chosen),
        }
        self._within: Final = tuple(within)
        self._child: Child | None = None
        self._addresses: dict[str, dict[str, str]] = {}

    def start(self) -> Self:
        """Start the process and wait until its ports are there."""
        configuration = json.dumps(self._configuration)
        program = [sys.executable, "-m", "antecede_lab.chaos.proxy", "--config", configuration]
        child = Child([*self._within, *program], name="proxy")
        self._child = child
        try:
            self._addresses = child.hear()["addresses"]
        except BaseException:
            child.stop()
            raise
        return self

    def peers_of(self, node: str) -> dict[str, str]:
        """The addresses of the others, as `node` has to know them."""
        return dict(self._addresses[node])

    def cut(self, first: str, second: str) -> None:
        """Let nothing pass between the two, in either direction."""
        self._order({"cut": [first, second]})

    def isolate(self, *island: str) -> None:
        """Let nothing pass between these and all the others."""
        self._order({"isolate": list(island)})

    def heal(self, first: str | None = None, second: str | None = None) -> None:
        """Let everything pass again: between the two, or everywhere."""
        self._order({"heal": True if first is None else [first, second]})

    def change(self, **conditions: Any) -> None:  # noqa: ANN401 the fields of `Conditions`, checked there
        """Change these of the `Conditions`, and leave the others."""
        self._order({"set": conditions})

    def rebind(self, source: str, target: str) -> None:
        """From now on what `source` sends reaches `target` from another port."""
        self._order({"rebind": [source, target]})

    def place(self, node: str, address: str) -> None:
        """Say where a node is that never speaks first."""
        self._order({"place": {node: address}})

    def counters(self) -> dict[str, dict[str, Counters]]:
        """What happened to the datagrams so far, per source and target."""
        return counted(self._order({"counters": True}))

    def stop(self) -> dict[str, dict[str, Counters]]:
        """End the process; what happened in all."""
        child = self._running()
        try:
            child.end_input()
            return counted(child.hear())
        finally:
            self._child = None
            child.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None

    def _order(self, line: Line) -> Line:
        answer = self._running().ask(line)
        if "error" in answer:
            raise LocalError(str(answer["error"]))
        return answer

    def _running(self) -> Child:
        if self._child is None:
            raise LocalError("the proxy is not running: use it as a context, or call start()")
        return self._child


def counted(line: Line) -> dict[str, dict[str, Counters]]:
    """The counters in an answer of the process."""
    return {
        source: {target: Counters(**values) for target, values in targets.items()}
        for source, targets in line["counters"].items()
    }
