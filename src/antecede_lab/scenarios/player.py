"""Scripts of scenarios, and playing them with a protocol: every copy takes as long as it should.

A script says who sends what when, and how long every copy travels, in units of the usual one-way
delay. It knows no protocol: the same one is played by several, and what differs is the lesson. A
performance can be printed: what happens, in order of time, and what came of it.
"""

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, final

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Deliver, Effect
from antecede.core.errors import BufferFull, RemoteError
from antecede.core.packets import Packet
from antecede.eventlog.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog
from antecede_audit.judging.explain import explain
from antecede_audit.judging.findings import Finding, OracleVerdict
from antecede_audit.judging.oracle import check_log

UNIT_NS: Final = 1_000_000
"""One unit is a millisecond, a thousandth of the patience of a retransmission timer."""


@final
@dataclass(frozen=True, kw_only=True)
class ScriptedSend:
    """At `at`, `sender` submits `name` to `targets`; single copies may take their own time."""

    at: float
    sender: str
    targets: tuple[str, ...]
    name: str
    delays: dict[str, float] = field(default_factory=dict)
    again: dict[str, float] = field(default_factory=dict)
    """Targets that the network brings a second copy, and how long that one takes."""
    after: str = ""
    """An answer: `at` counts from the moment at which the sender has delivered this message."""


@final
@dataclass(frozen=True, kw_only=True)
class Script:
    """A cast of processes, their submissions in order of time, and the delays of the network."""

    processes: tuple[str, ...]
    sends: tuple[ScriptedSend, ...]
    usual: float = 1.0
    between: dict[tuple[str, str], float] = field(default_factory=dict)
    """Delays of everything from one process to another, acks and control too."""
    until: float = 1e6
    """When to stop looking, for runs that would go on for ever."""


def send(
    at: float,
    sender: str,
    targets: str,
    name: str,
    delay: float | None = None,
    **delays: float,
) -> ScriptedSend:
    """A line of a script: `targets` separated by blanks; `delay` for all of them, or one each."""
    receivers = tuple(targets.split())
    times = dict(delays) if delay is None else dict.fromkeys(receivers, delay)
    return ScriptedSend(at=at, sender=sender, targets=receivers, name=name, delays=times)


def units_ns(count: float) -> int:
    """So many units of time in whole nanoseconds."""
    return round(count * UNIT_NS)


NOTHING: Final = ""


@final
@dataclass(frozen=True, kw_only=True)
class StoryEvent:
    """One thing that happened at one process."""

    time_ns: int
    what: str
    """submitted, transmitted, arrived, delivered or refused"""
    process: str
    peer: str
    """Where it went or came from; empty for a delivery."""
    packet: str
    """message, ack, permit, …"""
    name: str
    """The message; empty for pure control."""


@final
@dataclass(frozen=True, kw_only=True)
class Performance:
    """Everything that happened, in order of time, and what the oracle thinks of it."""

    script: Script
    protocol: str
    happenings: list[StoryEvent]
    verdict: OracleVerdict
    log: EventLog

    def when(self, what: str, name: str, process: str = NOTHING) -> list[float]:
        """The times, in units, at which that happened to a message, there or anywhere."""
        unit = units_ns(1.0)
        return [
            happening.time_ns / unit
            for happening in self.happenings
            if happening.what == what
            and happening.name == name
            and process in (NOTHING, happening.process)
        ]


@final
@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A packet under way."""

    source: int
    target: int
    packet: Packet
    number: int


@final
class ScriptPlayer:
    """The processes of a script, and the network between them."""

    def __init__(self, script: Script, info: ProtocolInfo, options: dict[str, object]) -> None:
        everyone = range(len(script.processes))
        self.script: Final = script
        self.ids: Final = {name: number for number, name in enumerate(script.processes)}
        self.processes: Final = [info.create(me, everyone, **options) for me in everyone]
        self.happenings: Final[list[StoryEvent]] = []
        self.log: Final = EventLog()
        self.now_ns: int = 0
        self._delays: Final = copy_delays(script)
        self._answers: Final[dict[str, list[ScriptedSend]]] = {}
        for line in script.sends:
            self._answers.setdefault(line.after, []).append(line)
        self._submitted: Final = [0 for _ in everyone]
        self._refused: Final[list[deque[ScriptedSend]]] = [deque() for _ in everyone]
        self._names: Final[dict[tuple[int, int], str]] = {}
        self._agenda: Final[list[tuple[int, int, ScriptedSend | None, Arrival | None]]] = []
        self._count = 0
        self._packets = 0

    def play(self) -> None:
        """Do everything in order of time, ties in the order in which they came up."""
        self._plan_answers(NOTHING, NOTHING)
        until_ns = units_ns(self.script.until)
        while True:
            timer_ns, sleeper = self._earliest_timer(until_ns + 1)
            agenda_ns = self._agenda[0][0] if self._agenda else until_ns + 1
            if min(timer_ns, agenda_ns) > until_ns:
                return
            if agenda_ns <= timer_ns:
                self.now_ns, _, submission, arrival = heappop(self._agenda)
                self._do(submission, arrival)
            else:
                self.now_ns = max(self.now_ns, timer_ns)
                self._perform(sleeper, self.processes[sleeper].expire(self.now_ns))
                self._retry(sleeper)

    def _plan_answers(self, name: str, deliverer: str) -> None:
        """The lines that wait for this delivery; without a name those that wait for none."""
        for line in self._answers.get(name, []):
            if deliverer in (NOTHING, line.sender):
                self._plan(self.now_ns + units_ns(line.at), line, None)

    def _plan(self, time_ns: int, line: ScriptedSend | None, arrival: Arrival | None) -> None:
        heappush(self._agenda, (time_ns, self._count, line, arrival))
        self._count += 1

    def _earliest_timer(self, never_ns: int) -> tuple[int, int]:
        earliest = (never_ns, 0)
        for me, process in enumerate(self.processes):
            deadline_ns = process.deadline_ns()
            if deadline_ns is not None and (deadline_ns, me) < earliest:
                earliest = (deadline_ns, me)
        return earliest

    def _do(self, line: ScriptedSend | None, arrival: Arrival | None) -> None:
        if line is not None:
            self._submit(line)
        elif arrival is not None:
            self._arrive(arrival)

    def _submit(self, line: ScriptedSend) -> None:
        """It counts as submitted from now on, also if there is no room for it yet."""
        me = self.ids[line.sender]
        self._submitted[me] += 1
        self._names[(me, self._submitted[me])] = line.name
        for name in line.targets:
            self._note("submitted", me, name, "message", line.name)
            self._write(me, SUBMITTED, me, self._submitted[me], self.ids[name])
        self._refused[me].append(line)
        self._retry(me)

    def _retry(self, me: int) -> None:
        """Submit what there is room for, in order."""
        waiting = self._refused[me]
        while waiting:
            targets = [self.ids[name] for name in waiting[0].targets]
            try:
                payload = waiting[0].name.encode()
                effects = self.processes[me].submit(targets, payload, self.now_ns)
            except BufferFull:
                return
            waiting.popleft()
            self._perform(me, effects)

    def _arrive(self, arrival: Arrival) -> None:
        me = arrival.target
        self._note_packet("arrived", me, arrival)
        try:
            effects = self.processes[me].arrive(arrival.source, arrival.packet, self.now_ns)
        except RemoteError:
            self._note_packet("refused", me, arrival)
        else:
            self._perform(me, effects)
            self._retry(me)

    def _perform(self, me: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                message = effect.message
                sender, sequence = int(message.sender), int(message.sequence)
                name = self._names[(sender, sequence)]
                self._note("delivered", me, NOTHING, "message", name)
                self._write(me, DELIVERED, sender, sequence, me)
                self._plan_answers(name, self.script.processes[me])
            else:
                self._transmit(me, int(effect.target), effect.packet)

    def _transmit(self, me: int, target: int, packet: Packet) -> None:
        arrival = Arrival(source=me, target=target, packet=packet, number=self._packets)
        self._packets += 1
        self._note_packet("transmitted", me, arrival)
        names = (self.script.processes[me], self.script.processes[target])
        delay = self.script.between.get(names, self.script.usual)
        if packet.message is not None:
            copy = (packet.message.payload.decode(), names[1])
            delay, second = self._delays.get(copy, (delay, None))
            if second is not None:
                self._plan(self.now_ns + units_ns(second), None, arrival)
        self._plan(self.now_ns + units_ns(delay), None, arrival)

    def _note_packet(self, what: str, me: int, arrival: Arrival) -> None:
        other = arrival.target if arrival.source == me else arrival.source
        carried = arrival.packet.message
        name = NOTHING if carried is None else carried.payload.decode()
        self._note(what, me, self.script.processes[other], arrival.packet.kind, name)
        if what == "refused":
            return
        kind = TRANSMITTED if what == "transmitted" else ARRIVED
        sender = NULL if carried is None else carried.sender
        sequence = NULL if carried is None else carried.sequence
        number, packet_kind = arrival.number, self.log.intern(arrival.packet.kind)
        target = arrival.target
        self.log.append(me, kind, sender, sequence, target, number, packet_kind, self.now_ns, 0, 0)

    def _note(self, what: str, me: int, peer: str, packet: str, name: str) -> None:
        self.happenings.append(
            StoryEvent(
                time_ns=self.now_ns,
                what=what,
                process=self.script.processes[me],
                peer=peer,
                packet=packet,
                name=name,
            )
        )

    def _write(self, me: int, kind: int, sender: int, sequence: int, target: int) -> None:
        self.log.append(me, kind, sender, sequence, target, NULL, NULL, self.now_ns, 0, 0)


def copy_delays(script: Script) -> dict[tuple[str, str], tuple[float, float | None]]:
    """By message and target: how long that copy takes, and how long its duplicate, if any."""
    delays: dict[tuple[str, str], tuple[float, float | None]] = {}
    for line in script.sends:
        for target in line.targets:
            usual = script.between.get((line.sender, target), script.usual)
            if target in line.delays or target in line.again:
                copy = (line.delays.get(target, usual), line.again.get(target))
                delays[(line.name, target)] = copy
    return delays


def perform(
    script: Script, info: ProtocolInfo, options: dict[str, object] | None = None
) -> Performance:
    """Play `script` with `info` and have the result judged."""
    stage = ScriptPlayer(script, info, {} if options is None else options)
    stage.play()
    return Performance(
        script=script,
        protocol=info.name,
        happenings=stage.happenings,
        verdict=check_log(stage.log),
        log=stage.log,
    )


def tell(performance: Performance, only: tuple[str, ...] = ()) -> list[str]:
    """One line per happening; `only` these messages if given (control is then left out)."""
    shown = performance.happenings
    if only:
        shown = [happening for happening in shown if happening.name in only]
    return [f"{happening.time_ns / UNIT_NS:8.2f}  {in_words(happening)}" for happening in shown]


def in_words(happening: StoryEvent) -> str:
    """What happened, as a sentence."""
    process, peer, name = happening.process, happening.peer, happening.name
    thing = name or f"{article(happening.packet)} {happening.packet}"
    if happening.what == "submitted":
        return f"{process} wants to send {name} to {peer}"
    if happening.what == "transmitted":
        return f"{process} sends {thing} on its way to {peer}"
    if happening.what == "arrived":
        return f"{thing} from {peer} reaches {process}"
    if happening.what == "refused":
        return f"{process} refuses {thing} from {peer}: no correct peer sends that"
    return f"{process} delivers {name}"


def article(noun: str) -> str:
    """The indefinite article that goes with a packet kind."""
    return "an" if noun[0] in "aeio" else "a"


def verdict_lines(performance: Performance) -> list[str]:
    """What the oracle found, or that it found nothing."""
    names = dict(enumerate(performance.script.processes))
    findings: list[Finding] = performance.verdict.findings
    if not findings:
        return ["Causal order is kept; everything is delivered exactly once."]
    return [explain(finding, names) for finding in findings]
