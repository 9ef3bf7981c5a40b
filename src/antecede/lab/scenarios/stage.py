"""Plays a script with a protocol: every copy takes exactly as long as the script says."""

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, final

from antecede.audit.findings import Verdict
from antecede.audit.oracle import check_log
from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Deliver, Effect
from antecede.core.errors import BufferFull, RemoteError
from antecede.core.values import Packet
from antecede.lab.scenarios.script import Script, Send, units_ns
from antecede.trace.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog

NOTHING: Final = ""


@final
@dataclass(frozen=True, kw_only=True)
class Happening:
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
    happenings: list[Happening]
    verdict: Verdict
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
class Stage:
    """The processes of a script, and the network between them."""

    def __init__(self, script: Script, info: ProtocolInfo, options: dict[str, object]) -> None:
        everyone = range(len(script.processes))
        self.script: Final = script
        self.ids: Final = {name: number for number, name in enumerate(script.processes)}
        self.processes: Final = [info.create(me, everyone, **options) for me in everyone]
        self.happenings: Final[list[Happening]] = []
        self.log: Final = EventLog()
        self.now_ns: int = 0
        self._delays: Final = copy_delays(script)
        self._answers: Final[dict[str, list[Send]]] = {}
        for line in script.sends:
            self._answers.setdefault(line.after, []).append(line)
        self._submitted: Final = [0 for _ in everyone]
        self._refused: Final[list[deque[Send]]] = [deque() for _ in everyone]
        self._names: Final[dict[tuple[int, int], str]] = {}
        self._agenda: Final[list[tuple[int, int, Send | None, Arrival | None]]] = []
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

    def _plan(self, time_ns: int, line: Send | None, arrival: Arrival | None) -> None:
        heappush(self._agenda, (time_ns, self._count, line, arrival))
        self._count += 1

    def _earliest_timer(self, never_ns: int) -> tuple[int, int]:
        earliest = (never_ns, 0)
        for me, process in enumerate(self.processes):
            deadline_ns = process.deadline_ns()
            if deadline_ns is not None and (deadline_ns, me) < earliest:
                earliest = (deadline_ns, me)
        return earliest

    def _do(self, line: Send | None, arrival: Arrival | None) -> None:
        if line is not None:
            self._submit(line)
        elif arrival is not None:
            self._arrive(arrival)

    def _submit(self, line: Send) -> None:
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
            Happening(
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
    stage = Stage(script, info, {} if options is None else options)
    stage.play()
    return Performance(
        script=script,
        protocol=info.name,
        happenings=stage.happenings,
        verdict=check_log(stage.log),
        log=stage.log,
    )
