"""A network on which every copy takes exactly as long as a test says, in whole nanoseconds.

A test gives the processes (real ones), a delay for single copies or for pairs where it differs from
the usual one, and the submissions with their times; `run` then does everything in the order of
time, ties in the order in which they came up. What happened is a list of `Happening`s, and a
`Ledger` judges every delivery by the definition of happens-before (`judge=False` leaves it out: its
cost grows with the square of the run).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from antecede.core import CausalProcess, Deliver, Effect, Packet
from tests.papers.carrying import Ledger

UNIT_NS = 1_000_000_000


def units(count: float) -> int:
    """So many units of time, in nanoseconds."""
    return round(count * UNIT_NS)


@dataclass(kw_only=True)
class Delays:
    """How long packets travel: by message and target, else by source and target, else the usual."""

    usual_ns: int = UNIT_NS
    of_copies: dict[tuple[bytes, int], int] = field(default_factory=dict)
    of_pairs: dict[tuple[int, int], int] = field(default_factory=dict)

    def delay_ns(self, source: int, target: int, packet: Packet) -> int:
        """The time this packet takes."""
        if packet.message is not None:
            copy = packet.message.payload, target
            if copy in self.of_copies:
                return self.of_copies[copy]
        return self.of_pairs.get((source, target), self.usual_ns)


@dataclass(frozen=True, kw_only=True)
class Happening:
    """One thing that happened at one process: to a message, or to a control packet."""

    time_ns: int
    what: str
    process: int
    kind: str
    payload: bytes


@dataclass(frozen=True, kw_only=True)
class Submit:
    """A submission, to come."""

    source: int
    targets: Sequence[int]
    payload: bytes


@dataclass(frozen=True, kw_only=True)
class Arrive:
    """A packet under way."""

    source: int
    target: int
    packet: Packet


class TimedNetwork:
    """Processes, and between them a network without chance."""

    def __init__(
        self, processes: Mapping[int, CausalProcess], delays: Delays, *, judge: bool = True
    ) -> None:
        self.processes = processes
        self._judge = judge
        self.delays = delays
        self.ledger = Ledger()
        self.happenings: list[Happening] = []
        self.now_ns = 0
        self._sequences = dict.fromkeys(processes, 0)
        self._agenda: list[tuple[int, int, Submit | Arrive]] = []
        self._count = 0

    def submit_at(self, time_ns: int, source: int, targets: Sequence[int], payload: bytes) -> None:
        """Let `source` submit a message when the time has come."""
        self._push(time_ns, Submit(source=source, targets=targets, payload=payload))

    def run(self, until_ns: int, watch: Callable[[], None] = lambda: None) -> None:
        """Do everything up to and including that time, timers too; `watch` after each step."""
        while True:
            agenda_ns = self._agenda[0][0] if self._agenda else until_ns + 1
            wake_ns, sleeper = self._earliest_timer(until_ns + 1)
            if min(agenda_ns, wake_ns) > until_ns:
                return
            if agenda_ns <= wake_ns:
                self.now_ns, _, event = heappop(self._agenda)
                self._do(event)
            else:
                self.now_ns = max(self.now_ns, wake_ns)
                self._perform(sleeper, self.processes[sleeper].expire(self.now_ns))
            watch()

    def when(self, what: str, payload: bytes, process: int | None = None) -> list[int]:
        """The times at which that happened to this message, there or anywhere."""
        return [
            it.time_ns
            for it in self.happenings
            if it.what == what and it.payload == payload and process in (None, it.process)
        ]

    def is_quiet(self) -> bool:
        """Whether nothing is under way, nothing to come and no timer wanted."""
        timers = [process.deadline_ns() for process in self.processes.values()]
        return not self._agenda and timers == [None] * len(timers)

    def _earliest_timer(self, never_ns: int) -> tuple[int, int]:
        deadlines = {me: process.deadline_ns() for me, process in self.processes.items()}
        wanted = [(never_ns if ns is None else ns, me) for me, ns in deadlines.items()]
        return min(wanted)

    def _do(self, event: Submit | Arrive) -> None:
        if isinstance(event, Submit):
            process = self.processes[event.source]
            effects = process.submit(event.targets, event.payload, self.now_ns)
            self._sequences[event.source] += 1
            if self._judge:
                sequence = self._sequences[event.source]
                self.ledger.submitted(event.source, sequence, event.targets)
            self._note("submitted", event.source, "message", event.payload)
            self._perform(event.source, effects)
        else:
            self._note_packet("arrived", event.target, event.packet)
            process = self.processes[event.target]
            effects = process.arrive(event.source, event.packet, self.now_ns)
            self._perform(event.target, effects)

    def _perform(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                if self._judge:
                    self.ledger.deliver(process, effect.message)
                self._note("delivered", process, "message", effect.message.payload)
            else:
                self._note_packet("transmitted", process, effect.packet)
                target = int(effect.target)
                delay_ns = self.delays.delay_ns(process, target, effect.packet)
                arrival = Arrive(source=process, target=target, packet=effect.packet)
                self._push(self.now_ns + delay_ns, arrival)

    def _push(self, time_ns: int, event: Submit | Arrive) -> None:
        self._count += 1
        heappush(self._agenda, (time_ns, self._count, event))

    def _note_packet(self, what: str, process: int, packet: Packet) -> None:
        payload = b"" if packet.message is None else packet.message.payload
        self._note(what, process, packet.kind, payload)

    def _note(self, what: str, process: int, kind: str, payload: bytes) -> None:
        happening = Happening(
            time_ns=self.now_ns, what=what, process=process, kind=kind, payload=payload
        )
        self.happenings.append(happening)
