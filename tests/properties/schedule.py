"""Any schedule at all: processes, a bag of packets under way, and somebody who picks what is next.

The network does whatever the protocol's assumption allows. For "lossy" packets are lost, repeated
and overtaken as long as the faults last; for "reliable" they are only overtaken; for "fifo" not
even that. There is no simulator in here: what happens next is a choice, not a time, so that
schedules are reached which no distribution of delays would produce. All goes to an event log.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from antecede.core import BufferFull, CausalProcess, Deliver, Effect, Packet, RemoteError
from antecede.core.catalogue import ProtocolInfo
from antecede.eventlog.log import ARRIVED, DELIVERED, SUBMITTED, TRANSMITTED, EventLog
from antecede_audit.judging.oracle import check_log

NULL = -1

STEP_NS = 1_000
"""A step takes a microsecond: time passes, but never decides anything."""


class EndlessError(AssertionError):
    """The run did not come to rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What the network may do, in shares of the choices made."""

    loss: float = 0.0
    duplication: float = 0.0
    expiry: float = 0.0


CALM = Trouble()
ROUGH = Trouble(loss=0.2, duplication=0.15, expiry=0.02)


@dataclass(frozen=True, slots=True)
class Flight:
    """A packet under way."""

    number: int
    source: int
    target: int
    packet: Packet


class Schedule:
    """One run of a protocol under a schedule."""

    def __init__(self, info: ProtocolInfo, processes: int, **options: object) -> None:
        everyone = list(range(processes))
        self.info = info
        self.everyone = everyone
        self.processes: list[CausalProcess] = [
            info.create(me, everyone, **options) for me in everyone
        ]
        self.flights: list[Flight] = []
        self.log = EventLog()
        self.now_ns = 0
        self.submitted = [0] * processes
        self.waiting: list[deque[list[int]]] = [deque() for _ in everyone]
        self.transmitted = 0
        self.refused = 0

    def submit(self, sender: int, targets: list[int]) -> None:
        """One more message; where there is no room for it, it waits until there is."""
        self.now_ns += STEP_NS
        self.waiting[sender].append(targets)
        self.retry(sender)

    def retry(self, sender: int) -> None:
        """Submit what waits, written down for every target before its effects."""
        waiting = self.waiting[sender]
        while waiting:
            targets = waiting[0]
            sequence = self.submitted[sender] + 1
            try:
                payload = b"%d.%d" % (sender, sequence)
                effects = self.processes[sender].submit(targets, payload, self.now_ns)
            except BufferFull:
                return
            waiting.popleft()
            self.submitted[sender] = sequence
            for target in targets:
                self.write(sender, SUBMITTED, (sender, sequence), target)
            self.perform(sender, effects)

    def arrive(self, index: int, *, keep: bool = False) -> None:
        """Let a packet under way arrive; `keep`: and arrive again later."""
        self.now_ns += STEP_NS
        flight = self.flights[index] if keep else self.flights.pop(index)
        self.write_packet(flight.target, ARRIVED, flight)
        try:
            effects = self.processes[flight.target].arrive(
                flight.source, flight.packet, self.now_ns
            )
        except RemoteError:
            self.refused += 1
        else:
            self.perform(flight.target, effects)
            self.retry(flight.target)

    def expire(self, me: int) -> bool:
        """Let the timer of a process fire, as if its time had come; False: it wants none."""
        deadline_ns = self.processes[me].deadline_ns()
        if deadline_ns is None:
            return False
        self.now_ns = max(self.now_ns + STEP_NS, deadline_ns)
        self.perform(me, self.processes[me].expire(self.now_ns))
        self.retry(me)
        return True

    def perform(self, me: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                message = effect.message
                self.write(me, DELIVERED, (message.sender, message.sequence), me)
            else:
                flight = Flight(self.transmitted, me, effect.target, effect.packet)
                self.transmitted += 1
                self.write_packet(me, TRANSMITTED, flight)
                self.flights.append(flight)

    def write(self, me: int, kind: int, message: tuple[int, int], target: int) -> None:
        sender, sequence = message
        self.log.append(me, kind, sender, sequence, target, NULL, NULL, self.now_ns, 0, 0)

    def write_packet(self, me: int, kind: int, flight: Flight) -> None:
        carried = flight.packet.message
        sender = NULL if carried is None else carried.sender
        sequence = NULL if carried is None else carried.sequence
        packet_kind = self.log.intern(flight.packet.kind)
        now_ns = self.now_ns
        target, number = flight.target, flight.number
        self.log.append(me, kind, sender, sequence, target, number, packet_kind, now_ns, 0, 0)

    def next_of_some_pair(self, random: Random) -> int:
        """A packet that may arrive now: any, or on FIFO channels the oldest of some pair."""
        index = random.randrange(len(self.flights))
        if self.info.network != "fifo":
            return index
        pair = (self.flights[index].source, self.flights[index].target)
        pairs = [(flight.source, flight.target) for flight in self.flights]
        return pairs.index(pair)


def random_targets(info: ProtocolInfo, me: int, everyone: list[int], random: Random) -> list[int]:
    """Targets such as this protocol takes; oneself may be among them."""
    others = [process for process in everyone if process != me]
    to_self = [me] if random.random() < 0.1 else []
    if info.broadcast_only:
        return others + to_self
    if info.multicast and random.random() < 0.4:
        return random.sample(others, random.randint(1, len(others))) + to_self
    return to_self or [random.choice(others)]


def run_randomly(
    schedule: Schedule, random: Random, *, messages: int, eagerness: float, trouble: Trouble
) -> None:
    """Submit, carry, lose, repeat, let timers fire, all at random; then come to rest."""
    left = messages
    faulty = trouble if schedule.info.network == "lossy" else CALM
    while left or schedule.flights:
        if left and (not schedule.flights or random.random() < eagerness):
            left -= 1
            me = random.choice(schedule.everyone)
            schedule.submit(me, random_targets(schedule.info, me, schedule.everyone, random))
        elif random.random() < faulty.loss:
            schedule.flights.pop(schedule.next_of_some_pair(random))
        else:
            index = schedule.next_of_some_pair(random)
            schedule.arrive(index, keep=random.random() < faulty.duplication)
        if random.random() < faulty.expiry:
            schedule.expire(random.choice(schedule.everyone))
    come_to_rest(schedule, random)


def come_to_rest(schedule: Schedule, random: Random, rounds: int = 200) -> None:
    """The faults are over: carry everything and fire every timer until nobody wants anything."""
    for _ in range(rounds):
        carry_all(schedule, random.random)
        expired = [schedule.expire(me) for me in schedule.everyone]
        if not any(expired):
            assert not any(schedule.waiting), "there is never room for what still waits"
            return
    raise EndlessError(f"still busy after {rounds} rounds of timers")


def carry_all(schedule: Schedule, draw: Callable[[], float], steps: int = 100_000) -> None:
    """Let every packet arrive, in any order the network allows."""
    random = Random(int(draw() * 1_000_000))
    for _ in range(steps):
        if not schedule.flights:
            return
        schedule.arrive(schedule.next_of_some_pair(random))
    raise EndlessError(f"packets still under way after {steps} steps")


def broken_promises(info: ProtocolInfo, schedule: Schedule) -> list[object]:
    """Findings that this protocol's ordering rules out."""
    verdict = check_log(schedule.log)
    broken: list[object] = [*verdict.duplicates, *verdict.losses, *verdict.inventions]
    if info.ordering == "causal":
        broken += verdict.violations
    if info.ordering in ("causal", "fifo"):
        broken += verdict.fifo_breaks
    return broken
