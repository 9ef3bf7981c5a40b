"""Who is away stops nobody, measured with real `antecede node` processes on this machine.

    python -m bench membership table              four ways to be away, default settings, 5 % loss
    python -m bench membership recovery           time to recovery against the policy's time
    python -m bench membership false --minutes 5  false expulsions on a busy machine

The situation of the first two: a multicasts to b and c; c is away; b, having read it, writes to d,
who has nothing to do with c. Seconds are from a's call and from b's call until d has b's message,
by the times at which lines were read here.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, Self

from antecede_lab.chaos.proxy import Conditions, Proxy
from antecede_lab.child import Child, Line

NAMES: Final = ("a", "b", "c", "d")
LOSS: Final = 0.05
WAYS: Final = ("left", "never started", "killed", "paused")
POLICY_SECONDS: Final = (2, 5, 10, 20)
RECOVERY_S: Final = 120.0
EIGHT: Final = tuple(f"n{number}" for number in range(8))
BURN: Final = "while True: pass"


class Mesh:
    """`antecede node` processes that all know each other, with a bad network between them."""

    def __init__(self, names: Sequence[str], options: Sequence[str], loss: float) -> None:
        self.names: Final = tuple(names)
        self.options: Final = tuple(options)
        self.nodes: Final[dict[str, Child]] = {}
        self._stack: Final = ExitStack()
        self.proxy: Final = Proxy(dict.fromkeys(names), Conditions(loss=loss))

    def start(self, name: str, *more: str) -> Child:
        """Start a node."""
        arguments = ["node", "--name", name, "--bind", "127.0.0.1:0", *self.options, *more]
        for peer, address in self.proxy.peers_of(name).items():
            arguments += ["--peer", f"{peer}={address}"]
        child = self._stack.enter_context(Child.python("antecede", *arguments, name=name))
        self.nodes[name] = child
        return child

    def meet(self, names: Sequence[str]) -> None:
        """Start these nodes, and let each hear each of the others."""
        for name in names:
            self.start(name)
        for name in names:
            self.nodes[name].tell({"to": [one for one in names if one != name], "text": "here"})
        for name in names:
            for _ in names[1:]:
                self.nodes[name].hear_until("from")

    def __enter__(self) -> Self:
        self._stack.enter_context(self.proxy)
        return self

    def __exit__(self, *error: object) -> None:
        # All at once: nobody has to wait for the good-byes of the others.
        for child in self.nodes.values():
            if child.status() is None:
                child.signal(signal.SIGCONT)
                child.kill()
        self._stack.close()


def made_away(mesh: Mesh, way: str) -> None:
    """Start the four nodes, and let c be away."""
    if way == "never started":
        mesh.meet(("a", "b", "d"))
        return
    mesh.meet(NAMES)
    gone = mesh.nodes["c"]
    if way == "left":
        gone.signal(signal.SIGTERM)
        gone.wait()
        for name in ("a", "b", "d"):
            hear_event(mesh.nodes[name], "left")
    elif way == "killed":
        gone.kill()
    else:
        gone.signal(signal.SIGSTOP)


def passed_on(mesh: Mesh, timeout_s: float = RECOVERY_S) -> dict[str, float]:
    """a to b and c, then b to d: the seconds from a's call, and b's, until d has it."""
    a, b, d = mesh.nodes["a"], mesh.nodes["b"], mesh.nodes["d"]
    called = time.monotonic()
    a.tell({"to": ["b", "c"], "text": "news", "id": "news"})
    hear_text(b, "news", timeout_s)
    began = time.monotonic()
    b.tell({"to": ["d"], "text": "passed on", "id": "passed on"})
    hear_text(d, "passed on", timeout_s)
    ended = time.monotonic()
    return {"from a": round(ended - called, 2), "from b": round(ended - began, 2)}


def hear_event(child: Child, name: str, timeout_s: float = RECOVERY_S) -> Line:
    """The next event of this name."""
    while (line := child.hear_until("event", timeout_s))["event"] != name:
        pass
    return line


def hear_text(child: Child, text: str, timeout_s: float = RECOVERY_S) -> Line:
    """The next message with this text."""
    while (line := child.hear_until("from", timeout_s))["text"] != text:
        pass
    return line


def seconds_away(way: str, options: Sequence[str]) -> dict[str, float]:
    """How long b's message to d takes, c being away in this way."""
    with Mesh(NAMES, options, LOSS) as mesh:
        made_away(mesh, way)
        return passed_on(mesh)


def table() -> dict[str, dict[str, float]]:
    """Four ways to be away, default settings."""
    return {way: seconds_away(way, ()) for way in WAYS}


def recovery() -> dict[str, dict[str, dict[str, float]]]:
    """Time to recovery against the policy's time."""
    return {
        f"majority:{seconds}s": {
            way: seconds_away(way, (f"--set=expel=majority:{seconds}s", *beats(seconds)))
            for way in ("killed", "paused")
        }
        for seconds in POLICY_SECONDS
    }


def beats(seconds: float) -> tuple[str, ...]:
    """A heartbeat that a short silence allows."""
    return ("--set=heartbeat=500ms",) if seconds < 5 else ()


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many loops that do nothing but take time."""
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(loops)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def false_expulsions(minutes: float, loops: int) -> dict[str, object]:
    """Eight nodes multicast to all once a second, beside loops that take all processors."""
    sent = heard = 0
    events: dict[str, int] = {}
    loads: list[float] = []
    with Mesh(EIGHT, (), 0.0) as mesh:
        mesh.meet(EIGHT)
        with busy(loops):
            until = time.monotonic() + 60 * minutes
            while time.monotonic() < until:
                for name, child in mesh.nodes.items():
                    child.tell({"to": [one for one in EIGHT if one != name], "text": "tick"})
                    sent += 1
                time.sleep(1.0)
                loads.append(os.getloadavg()[0])
                for child in mesh.nodes.values():
                    for line in child.lines():
                        heard += "from" in line
                        if event := line.get("event"):
                            events[event] = events.get(event, 0) + 1
    return {
        "minutes": minutes,
        "loops": loops,
        "load": round(sum(loads) / len(loads), 1),
        "multicasts": sent,
        "deliveries": heard,
        "expelled": events.get("expelled", 0),
        "silent": events.get("silent", 0),
    }


def main() -> None:
    """Measure one of the three, and print it as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m bench membership", description=__doc__.split("\n")[0]
    )
    parser.add_argument("what", choices=("table", "recovery", "false"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--loops", type=int, default=8, help="Loops that keep the machine busy.")
    chosen = parser.parse_args()
    if chosen.what == "table":
        figures: object = table()
    elif chosen.what == "recovery":
        figures = recovery()
    else:
        figures = false_expulsions(chosen.minutes, chosen.loops)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
