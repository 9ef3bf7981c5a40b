"""How much work a message makes, counted in executed lines, not in seconds.

The interpreter reports every line that a protocol executes inside `submit`, `arrive` and `expire`
(`sys.settrace`), so nothing is instrumented, and a user's own protocol is counted like ours. An
iteration of a loop counts as often as it runs; what is one operation of Python, such as copying a
dictionary, counts once, however large. Compiled code executes no lines, so there the sources are
run in a process of their own: an installed package that was compiled still has them beside the
machine code. That process takes those for every module of this package, and everything else from
where this one takes it, so a user's own protocol is found there too.

Every packet goes through its codec on the way, as between processes that share no memory: two
simulated processes that held the same row of a matrix could tell that it is the same by looking at
the object, and would be spared comparing it. Encoding and decoding are not counted: how much there
is to read is in the bytes of a message, which are measured elsewhere.

Whose work it is: a submission is the sender's, and so is what a control packet causes (an ack, a
permit: they let messages leave); the arrival of a message is the receiver's, and so is that of a
null message, which lets messages be delivered.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, Self, final

from antecede.build_mode import compiled
from antecede.core import packets
from antecede.core.catalogue import PacketCodec, ProtocolInfo
from antecede.core.effects import Effect
from antecede.core.errors import LocalError
from antecede.core.packets import Packet
from antecede.core.process import CausalProcess
from antecede_lab.catalogue import find_protocol
from antecede_lab.comparison.hub import hub_figures
from antecede_lab.comparison.traffic import (
    CALM_INTERVAL_NS,
    dense_situation,
    fault_free,
    traffic,
    variant,
)
from antecede_lab.simulator.engine import Simulation
from antecede_lab.wire.codec import codec_of

if TYPE_CHECKING:
    from _typeshed import TraceFunction


NULL_KIND: Final = "null"

MESSAGES: Final = 120
"""Copies whose steps are counted in a run, at least."""

WARM_BROADCASTS: Final = 4
"""Broadcasts of each process after which everybody knows of everybody."""


@final
class LineTally:
    """The steps of all processes of a run.

    Submissions and arrivals count from the time when `warm` messages have been submitted until
    `counted` more have: before, knowledge has to spread; afterwards, the run only peters out.
    Timers ring by the clock, often long after the message they are about, so they count from
    start to end, for all messages.
    """

    def __init__(self, warm: int, counted: int) -> None:
        self._warm: Final = warm
        self._end: Final = warm + counted
        self._messages: int = 0
        self._lines: int = 0
        self._copies: int = 0
        self._copies_counted: int = 0
        self.sender: int = 0
        self.receiver: int = 0
        self.timers: int = 0

    @property
    def on(self) -> bool:
        """Whether submissions and arrivals count at the moment."""
        return self._warm <= self._messages < self._end

    def submitted(self, copies: int) -> None:
        """A message was submitted."""
        self._copies += copies
        if self.on:
            self._copies_counted += copies
        self._messages += 1

    def sender_steps(self) -> float:
        """For one copy."""
        counted = self.sender / max(1, self._copies_counted)
        return counted + self.timers / max(1, self._copies)

    def receiver_steps(self) -> float:
        """For one copy."""
        return self.receiver / max(1, self._copies_counted)

    def start(self) -> None:
        """Count every line from here on."""
        self._lines = 0
        sys.settrace(self._on_call)

    def stop(self) -> int:
        """Stop counting; how many lines there were."""
        sys.settrace(None)
        return self._lines

    def _on_call(self, frame: FrameType, event: str, argument: object) -> "TraceFunction | None":
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, argument: object) -> "TraceFunction | None":
        if event == "line":
            self._lines += 1
        return self._on_line


@final
class CountedProcess(CausalProcess):
    """A process whose steps are counted; packets reach it as bytes."""

    def __init__(self, inner: CausalProcess, tally: LineTally, codec: PacketCodec) -> None:
        self._inner: Final = inner
        self._tally: Final = tally
        self._codec: Final = codec

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        tally = self._tally
        if not tally.on:
            effects = self._inner.submit(targets, payload, now_ns)
        else:
            tally.start()
            effects = self._inner.submit(targets, payload, now_ns)
            tally.sender += tally.stop()
        tally.submitted(len(targets))
        return effects

    def arrive(self, source: int, packet: Packet, now_ns: int) -> list[Effect]:
        tally = self._tally
        received = self._codec.decode(self._codec.encode(packet), source)
        if not tally.on:
            return self._inner.arrive(source, received, now_ns)
        tally.start()
        effects = self._inner.arrive(source, received, now_ns)
        steps = tally.stop()
        if packet.message is None and packet.kind != NULL_KIND:
            tally.sender += steps
        else:
            tally.receiver += steps
        return effects

    def expire(self, now_ns: int) -> list[Effect]:
        tally = self._tally
        tally.start()
        effects = self._inner.expire(now_ns)
        tally.timers += tally.stop()
        return effects

    def deadline_ns(self) -> int | None:
        return self._inner.deadline_ns()

    def clone(self) -> Self:
        return CountedProcess(self._inner.clone(), self._tally, self._codec)

    def fingerprint(self) -> bytes:
        return self._inner.fingerprint()


def counting(info: ProtocolInfo, tally: LineTally) -> ProtocolInfo:
    """The same protocol, its processes counted."""
    codec = codec_of(info)

    def create(me: int, processes: Sequence[int], **options: object) -> CausalProcess:
        return CountedProcess(info.create(me, processes, **options), tally, codec)

    return variant(info, create, info.network)


def steps_per_copy(info: ProtocolInfo, processes: int, seed: int) -> tuple[float, float]:
    """Steps at the sender and at the receiver for one copy, once every pair has talked.

    Only in the interpreted build: compiled code executes no lines, and the answer would be 0.
    """
    copies = processes - 1 if info.broadcast_only else 1
    warm = processes * (WARM_BROADCASTS if info.broadcast_only else 2 * processes)
    counted = max(processes, MESSAGES // copies)
    tally = LineTally(warm, counted)
    workload = traffic(dense_situation(info), processes, warm + counted, CALM_INTERVAL_NS, seed)
    Simulation(counting(info, tally), workload, faults=fault_free(info), seed=seed).run()
    return tally.sender_steps(), tally.receiver_steps()


def hub_steps(info: ProtocolInfo, processes: int) -> tuple[float, float]:
    """Steps for the one message of a hub to which everybody else has said something to all."""
    tally = LineTally(0, 1)

    def counted(step: Callable[[], list[Effect]]) -> tuple[list[Effect], int]:
        tally.start()
        effects = step()
        return effects, tally.stop()

    figures = hub_figures(info, processes, counted)
    return float(figures.sender), float(figures.receiver)


CHILD: Final = """
import json, sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

asked = json.load(sys.stdin)
sources = FileFinder.path_hook((SourceFileLoader, SOURCE_SUFFIXES))

def only_sources(folder):
    if not folder.startswith(asked["package"]):
        raise ImportError
    return sources(folder)

sys.path[:] = asked["path"]
sys.path_hooks.insert(0, only_sources)
from antecede_lab.comparison.line_counts import steps_here
found = steps_here(asked["protocol"], asked["processes"], asked["seed"], asked["hub"])
print(json.dumps(found))
"""


def package_folder() -> Path:
    """Where this package is."""
    return Path(str(packets.__file__)).parent.parent


def can_count() -> bool:
    """Whether there are sources to run."""
    return (package_folder() / "core" / "packets.py").is_file()


def count_steps(protocol: str, processes: int, seed: int, hub: bool = False) -> tuple[float, float]:
    """Steps per copy at sender and receiver, of a protocol given by name; `hub`: of a hub's."""
    if not compiled():
        return steps_here(protocol, processes, seed, hub)
    asked = {
        "package": str(package_folder()),
        "path": sys.path,
        "protocol": protocol,
        "processes": processes,
        "seed": seed,
        "hub": hub,
    }
    ran = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        lines = ran.stderr.strip().splitlines()
        raise LocalError(f"steps could not be counted: {lines[-1] if lines else 'no answer'}")
    sender, receiver = json.loads(ran.stdout.splitlines()[-1])
    return float(sender), float(receiver)


def steps_here(protocol: str, processes: int, seed: int, hub: bool = False) -> tuple[float, float]:
    """The same in this process, which runs the sources."""
    if compiled():
        raise LocalError("compiled code executes no lines that could be counted")
    info = find_protocol(protocol)
    return hub_steps(info, processes) if hub else steps_per_copy(info, processes, seed)
