"""Does a hybrid protocol decide exactly when the definitions say, neither earlier nor later?

The oracle keeps the whole history of a process as plain lists and evaluates the definitions on them
from scratch after every step. It shares no code and no idea with the protocols: no windows, no
counters, no frontier.

- *Permit*: the copy of x to j is permitted when every own message b <= x has been acknowledged by
  all its targets, except that (SPS) j may still have to acknowledge any of them, (CSPS) only x.
- *Flag*: a copy is flagged exactly when it is not permitted at the moment it is transmitted, and
  its permit leaves at the first moment at which it is.
- *Release*: a copy to j leaves at the first moment when no permit is missing of the messages that
  were delivered before it was submitted, not counting (SPS) those that j itself sent.
- *Ordered release*: a message leaves with all its copies at the first moment when all messages
  before it have left and no permit is missing of those delivered before it was submitted, not
  counting, if it has a single target, those that this target sent.

Where acks and permits are cumulative, n stands for everything up to n between those two processes,
and an unflagged message n is a permit of n. Where they are not, a permit stands for one message,
but one that is delivered after a permit with a higher id needs none (the watermark of erratum E8).
"""

from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from antecede.core import CausalProcess, Deliver, Effect, Packet, Transmit
from antecede.core.packets import Ack, DataPacket, Permit


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Which of the definitions a protocol follows."""

    sps: bool
    cumulative: bool = True
    ordered: bool = False


@dataclass(frozen=True)
class Submission:
    """An own message, and how many messages of others had been delivered before it."""

    sequence: int
    targets: tuple[int, ...]
    delivered_before: int


@dataclass(frozen=True, order=True)
class Copy:
    """A message as transmitted to one target."""

    sequence: int
    target: int
    flagged: bool


@dataclass(frozen=True)
class Delivery:
    """A message of somebody else, and how many permits had come before it was delivered."""

    sender: int
    sequence: int
    flagged: bool
    permits_before: int


@dataclass
class History:
    """Everything that has happened at one process, in order."""

    me: int
    submitted: list[Submission] = field(default_factory=list)
    transmitted: list[Copy] = field(default_factory=list)
    permitted: list[tuple[int, int]] = field(default_factory=list)
    acks: list[tuple[int, int]] = field(default_factory=list)
    permits: list[tuple[int, int]] = field(default_factory=list)
    delivered: list[Delivery] = field(default_factory=list)


@dataclass
class Decisions:
    """How many decisions agreed with the definitions, by sort."""

    released: int = 0
    held_back: int = 0
    flagged: int = 0
    unflagged: int = 0
    permitted: int = 0
    not_permitted: int = 0

    def taken(self) -> int:
        """Decisions to do something; the others are to do nothing yet."""
        return self.released + self.flagged + self.unflagged + self.permitted

    def add(self, other: "Decisions") -> None:
        """Count those of another run, too."""
        for name in vars(other):
            setattr(self, name, getattr(self, name) + getattr(other, name))


Fact = TypeVar("Fact")


class NotOptimalError(AssertionError):
    """A decision differs from the definition."""


# The definitions.


def stands_for(number: int, sequence: int, rule: Definition) -> bool:
    """Whether an ack or permit of `number` is one of `sequence` as well."""
    return number == sequence or (rule.cumulative and number > sequence)


def is_acknowledged(history: History, sequence: int, target: int, rule: Definition) -> bool:
    """Whether `target` has acknowledged its copy."""
    return any(
        source == target and stands_for(number, sequence, rule) for source, number in history.acks
    )


def is_permitted(history: History, sequence: int, target: int, rule: Definition) -> bool:
    """Whether the permit of this copy holds."""
    for earlier in history.submitted:
        if earlier.sequence > sequence:
            continue
        excused = target if rule.sps or earlier.sequence == sequence else None
        for other in earlier.targets:
            if other != excused and not is_acknowledged(history, earlier.sequence, other, rule):
                return False
    return True


def is_missing(history: History, message: Delivery, rule: Definition) -> bool:
    """Whether this delivered message has a flag and no permit."""
    for index, (source, number) in enumerate(history.permits):
        if source != message.sender:
            continue
        if index < message.permits_before and number >= message.sequence:
            return False
        if stands_for(number, message.sequence, rule):
            return False
    return message.flagged


def may_leave(history: History, message: Submission, target: int, rule: Definition) -> bool:
    """Whether nothing holds this copy back, what was submitted before it aside."""
    if rule.ordered and len(message.targets) > 1:
        target = history.me
    return not any(
        is_missing(history, delivery, rule)
        for delivery in history.delivered[: message.delivered_before]
        if not (rule.sps and delivery.sender == target)
    )


# What should have happened in a step, by the definitions.


def copies_due(history: History, rule: Definition, counted: Decisions) -> list[Copy]:
    """The copies that had not left before this step and may leave now, with their flags."""
    gone = {(copy.sequence, copy.target) for copy in history.transmitted}
    due = []
    passed = True
    for message in history.submitted:
        for target in message.targets:
            if (message.sequence, target) in gone:
                continue
            if not passed or not may_leave(history, message, target, rule):
                counted.held_back += 1
                passed = not rule.ordered
                continue
            flagged = not is_permitted(history, message.sequence, target, rule)
            counted.released += 1
            counted.flagged += flagged
            counted.unflagged += not flagged
            due.append(Copy(message.sequence, target, flagged))
    return due


def permits_due(history: History, rule: Definition, counted: Decisions) -> list[tuple[int, int]]:
    """The permits, as (target, id), that were not due before this step and are now."""
    due = []
    for copy in history.transmitted:
        given = any(
            target == copy.target and stands_for(number, copy.sequence, rule)
            for target, number in history.permitted
        )
        if not copy.flagged or given:
            continue
        if is_permitted(history, copy.sequence, copy.target, rule):
            counted.permitted += 1
            due.append((copy.target, copy.sequence))
        else:
            counted.not_permitted += 1
    return highest_only(due) if rule.cumulative else due


def highest_only(permits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of the permits to each target, the last: it stands for the others."""
    highest = dict(sorted(permits))
    return list(highest.items())


# A run: real processes, a network that loses nothing, and the oracle watching.


class WatchedRun:
    """Processes that exchange packets, each step compared with the definitions."""

    def __init__(self, processes: dict[int, CausalProcess], rule: Definition) -> None:
        self.processes = processes
        self.rule = rule
        self.histories = {me: History(me) for me in processes}
        self.flying: list[tuple[int, int, Packet]] = []
        self.flags: dict[tuple[int, int, int], bool] = {}
        self.counted = Decisions()
        self.deliveries = 0

    def submit(self, me: int, targets: list[int]) -> None:
        """An application sends."""
        history = self.histories[me]
        remote = tuple(target for target in targets if target != me)
        sequence = len(history.submitted) + 1
        history.submitted.append(Submission(sequence, remote, len(history.delivered)))
        self.watch(me, self.processes[me].submit(targets, b"", 0))

    def carry(self, index: int) -> None:
        """The network brings one of the packets that are under way."""
        source, me, packet = self.flying.pop(index)
        history = self.histories[me]
        if isinstance(packet, Ack):
            history.acks.append((source, packet.sequence))
        elif isinstance(packet, Permit):
            history.permits.append((source, packet.sequence))
        elif isinstance(packet, DataPacket):
            self.flags[source, me, packet.carried.sequence] = packet.flagged
            if self.rule.cumulative and not packet.flagged:
                history.permits.append((source, packet.carried.sequence))
        self.watch(me, self.processes[me].arrive(source, packet, 0))

    def watch(self, me: int, effects: list[Effect]) -> None:
        """Compare what a process does with what it should do."""
        history = self.histories[me]
        copies = copies_due(history, self.rule, self.counted)
        permits = permits_due(history, self.rule, self.counted)
        left: list[Copy] = []
        granted: list[tuple[int, int]] = []
        for effect in effects:
            if isinstance(effect, Deliver):
                self.delivered(history, effect)
            else:
                self.transmitted(history, effect, left, granted)
        self.expect(me, "copies leave", sorted(left), sorted(copies))
        self.expect(me, "permits leave", sorted(granted), sorted(permits))
        history.transmitted += left
        history.permitted += granted

    def delivered(self, history: History, effect: Deliver) -> None:
        """Note a delivery, unless it is of an own message."""
        sender, sequence = effect.message.sender, effect.message.sequence
        if sender != history.me:
            flagged = self.flags[sender, history.me, sequence]
            delivery = Delivery(sender, sequence, flagged, len(history.permits))
            history.delivered.append(delivery)
            self.deliveries += 1

    def transmitted(
        self, history: History, effect: Transmit, left: list[Copy], granted: list[tuple[int, int]]
    ) -> None:
        """Note a packet that leaves."""
        packet = effect.packet
        self.flying.append((history.me, effect.target, packet))
        if isinstance(packet, DataPacket):
            left.append(Copy(packet.carried.sequence, effect.target, packet.flagged))
        elif isinstance(packet, Permit):
            granted.append((effect.target, packet.sequence))

    def expect(self, me: int, what: str, done: list[Fact], due: list[Fact]) -> None:
        """Raise if a process did not do what was due."""
        if done != due:
            raise NotOptimalError(f"{what} at {me}: {done}, by the definition {due}")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a random run goes."""

    processes: int
    submissions: int
    eagerness: float
    multicast: bool
    fifo: bool


def random_run(run: WatchedRun, plan: Plan, random: Random) -> None:
    """Submit and carry packets in random order until all has been said and everything arrived."""
    submissions = plan.submissions
    while submissions or run.flying:
        if submissions and (not run.flying or random.random() < plan.eagerness):
            submissions -= 1
            me = random.randrange(plan.processes)
            run.submit(me, random_targets(me, plan, random))
        else:
            run.carry(random_packet(run, plan, random))


def random_targets(me: int, plan: Plan, random: Random) -> list[int]:
    """One process, or where there is multicast any of them; oneself now and then."""
    everyone = range(plan.processes)
    if plan.multicast and random.random() < 0.5:
        return random.sample(everyone, random.randint(1, plan.processes))
    if random.random() < 0.1:
        return [me]
    return [random.choice([process for process in everyone if process != me])]


def random_packet(run: WatchedRun, plan: Plan, random: Random) -> int:
    """The index of the packet that arrives next."""
    index = random.randrange(len(run.flying))
    if not plan.fifo:
        return index
    link = run.flying[index][:2]
    return next(at for at, packet in enumerate(run.flying) if packet[:2] == link)
