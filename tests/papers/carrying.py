"""Networks for tests that decide the fate of every packet themselves.

`HandCarried` lays every packet on a table, and a test carries, drops or repeats what it likes, in
any order. `Timed` gives every packet a delay, so that a run can be compared with the instants of a
figure. Both keep a `Ledger`, which judges each delivery by the definition of happens-before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from antecede.core import CausalProcess, Deliver, Effect, Message, Packet, Transmit
from antecede.core.packets import DataPacket
from antecede_lab.catalogue import PROTOCOLS

UNIT_NS = 1_000_000_000

Identity = tuple[int, int]


def group(protocol: str, count: int, **options: object) -> list[CausalProcess]:
    """Processes 0, 1, ... of one protocol."""
    info = PROTOCOLS[protocol]
    return [info.create(me, range(count), **options) for me in range(count)]


@dataclass
class Ledger:
    """Who submitted and delivered what, in order, and what was wrong with it.

    The past of a message is everything its sender had submitted or delivered before it, and the
    past of all that; a delivery is wrong if anything in that past to the same process comes later.
    """

    targets: dict[Identity, list[int]] = field(default_factory=dict)
    past: dict[Identity, set[Identity]] = field(default_factory=dict)
    known: dict[int, set[Identity]] = field(default_factory=dict)
    delivered: dict[int, list[Message]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def submitted(self, process: int, sequence: int, targets: Sequence[int]) -> None:
        message = (process, sequence)
        assert message not in self.targets
        self.targets[message] = list(targets)
        self.past[message] = set(self.known.get(process, set()))
        self.known.setdefault(process, set()).add(message)

    def deliver(self, process: int, message: Message) -> None:
        this = (int(message.sender), int(message.sequence))
        have = self.identities(process)
        if process not in self.targets.get(this, []):
            self.violations.append(f"{this} is not for {process}")
        if this in have:
            self.violations.append(f"{this} is delivered twice at {process}")
        for earlier in sorted(self.past[this]):
            if process in self.targets[earlier] and earlier not in have:
                self.violations.append(f"{this} overtakes {earlier} at {process}")
        self.delivered.setdefault(process, []).append(message)
        self.known.setdefault(process, set()).update(self.past[this], [this])

    def identities(self, process: int) -> list[Identity]:
        return [(int(m.sender), int(m.sequence)) for m in self.delivered.get(process, [])]

    def happened_before(self, one: Identity, other: Identity) -> bool:
        return one in self.past[other]

    def undelivered(self) -> list[tuple[Identity, int]]:
        return [
            (message, target)
            for message, targets in self.targets.items()
            for target in targets
            if message not in self.identities(target)
        ]

    def fifo_breaks(self) -> list[str]:
        breaks = []
        for process, messages in self.delivered.items():
            last: dict[int, int] = {}
            for message in messages:
                if message.sequence < last.get(message.sender, 0):
                    breaks.append(f"{message} at {process}")
                last[message.sender] = message.sequence
        return breaks


@dataclass(eq=False)
class Letter:
    """A packet under way."""

    source: int
    target: int
    packet: Packet

    @property
    def data(self) -> DataPacket:
        """The packet, which must be a message."""
        assert isinstance(self.packet, DataPacket)
        return self.packet

    def __repr__(self) -> str:
        return f"{self.source}->{self.target} {self.packet!r}"


class HandCarried:
    """A group of processes and the packets between them, on a table."""

    def __init__(self, protocol: str, count: int, **options: object) -> None:
        self.processes = group(protocol, count, **options)
        self.table: list[Letter] = []
        self.ledger = Ledger()
        self.now_ns = 0
        self._sequences = [0] * count

    def send(self, source: int, targets: Sequence[int], payload: bytes) -> list[Letter]:
        """Submit a message; what it puts on the table."""
        effects = self.processes[source].submit(targets, payload, self.now_ns)
        self._sequences[source] += 1
        self.ledger.submitted(source, self._sequences[source], targets)
        return self._perform(source, effects)

    def carry(self, letter: Letter) -> list[Letter]:
        """Take a letter to its target; what that puts on the table."""
        self.table.remove(letter)
        return self.hand(letter.source, letter.target, letter.packet)

    def hand(self, source: int, target: int, packet: Packet) -> list[Letter]:
        """Hand a packet over that need not be on the table."""
        effects = self.processes[target].arrive(source, packet, self.now_ns)
        return self._perform(target, effects)

    def drop(self, letter: Letter) -> None:
        """Lose a letter."""
        self.table.remove(letter)

    def repeat(self, letter: Letter) -> Letter:
        """A second copy of a letter, on the table."""
        twin = Letter(letter.source, letter.target, letter.packet)
        self.table.append(twin)
        return twin

    def letters(
        self, kind: str | None = None, source: int | None = None, target: int | None = None
    ) -> list[Letter]:
        """The letters on the table that fit."""
        return [
            letter
            for letter in self.table
            if kind in (None, letter.packet.kind)
            and source in (None, letter.source)
            and target in (None, letter.target)
        ]

    def the(
        self, kind: str | None = None, source: int | None = None, target: int | None = None
    ) -> Letter:
        """The only letter on the table that fits."""
        found = self.letters(kind, source, target)
        assert len(found) == 1, found
        return found[0]

    def carry_all(self) -> None:
        """Carry the oldest letter until the table is empty."""
        while self.table:
            self.carry(self.table[0])

    def ring(self, process: int) -> list[Letter]:
        """Let time pass until a timer of `process` transmits something; [] if none ever does."""
        for _ in range(20):
            deadline_ns = self.processes[process].deadline_ns()
            if deadline_ns is None:
                return []
            self.now_ns = max(self.now_ns, deadline_ns)
            laid = self._perform(process, self.processes[process].expire(self.now_ns))
            if laid:
                return laid
        return []

    def settle(self) -> None:
        """Carry everything and ring all timers until nothing happens any more."""
        for _ in range(200):
            self.carry_all()
            laid = [
                letter for process in range(len(self.processes)) for letter in self.ring(process)
            ]
            if not laid:
                return
        raise AssertionError(f"still busy: {self.table}")

    def payloads(self, process: int) -> list[bytes]:
        """What `process` has delivered, in order."""
        return [message.payload for message in self.ledger.delivered.get(process, [])]

    def _perform(self, process: int, effects: list[Effect]) -> list[Letter]:
        laid = []
        for effect in effects:
            if isinstance(effect, Deliver):
                self.ledger.deliver(process, effect.message)
            else:
                assert isinstance(effect, Transmit)
                assert effect.target != process, "nobody is on the wire to itself"
                laid.append(Letter(process, int(effect.target), effect.packet))
        self.table.extend(laid)
        return laid


@dataclass(frozen=True)
class Sending:
    """A submission of a timed run; `delay`, if given, is that of its message packets."""

    at: float
    source: int
    target: int
    payload: bytes
    delay: float | None = None


@dataclass(frozen=True)
class Instant:
    """Something that happened to a message in a timed run."""

    what: str
    process: int
    payload: bytes
    at: float


def one_unit(_source: int, _target: int) -> float:
    """The delay of every link, unless a test says otherwise."""
    return 1.0


class Timed:
    """Runs a schedule with a delay per link, or per message where a sending gives one.

    Times are whole nanoseconds inside; a test states and reads them in units.
    """

    def __init__(
        self, protocol: str, count: int, delay: Callable[[int, int], float] = one_unit
    ) -> None:
        self.processes = group(protocol, count)
        self.instants: list[Instant] = []
        self._link_delay = delay
        self._delays: dict[bytes, float] = {}
        self._queue: list[tuple[int, int, Sending | Letter]] = []
        self._count = 0

    def run(self, schedule: Sequence[Sending], until: float) -> None:
        """Run to the end, without timers: nothing is lost."""
        for sending in schedule:
            if sending.delay is not None:
                self._delays[sending.payload] = sending.delay
            self._push(round(sending.at * UNIT_NS), sending)
        while self._queue and self._queue[0][0] <= round(until * UNIT_NS):
            now_ns, _, event = heappop(self._queue)
            if isinstance(event, Sending):
                process = event.source
                effects = self.processes[process].submit([event.target], event.payload, now_ns)
            else:
                process = event.target
                effects = self.processes[process].arrive(event.source, event.packet, now_ns)
            self._perform(process, effects, now_ns)

    def when(self, what: str, payload: bytes) -> float:
        """When that happened first, in units."""
        return next(i.at for i in self.instants if i.what == what and i.payload == payload)

    def _push(self, time_ns: int, event: Sending | Letter) -> None:
        self._count += 1
        heappush(self._queue, (time_ns, self._count, event))

    def _perform(self, process: int, effects: list[Effect], now_ns: int) -> None:
        at = now_ns / UNIT_NS
        for effect in effects:
            if isinstance(effect, Deliver):
                self.instants.append(Instant("delivered", process, effect.message.payload, at))
                continue
            target = int(effect.target)
            message = effect.packet.message
            delay = self._link_delay(process, target)
            if message is not None:
                self.instants.append(Instant("transmitted", process, message.payload, at))
                delay = self._delays.get(message.payload, delay)
            self._push(now_ns + round(delay * UNIT_NS), Letter(process, target, effect.packet))
