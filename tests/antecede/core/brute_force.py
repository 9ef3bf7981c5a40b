"""Causal delivery at the earliest moment, by the definition, and runs that compare with it.

`Ideal` is a process that keeps its whole past: every submission and every delivery that happened
before now, as a set. A message takes a copy of that set along. From these sets everything else is
read off by the definition, with no counters and no clocks: what a message has to wait for, whether
a run was causal and complete, and which facts a Kshemkalyani-Singhal log must state. It shares no
code with the protocols.

A `Schedule` fixes who submits what to whom and in which order copies arrive, whatever the protocol:
all of ours here transmit inside `submit` and nowhere else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from antecede.core import CausalProcess, Deliver, Packet, RemoteError, Transmit

Key = tuple[int, int]
"""A message: its sender and its sequence."""

Fact = tuple[int, int, int]
"""Sender, sequence, target: that copy may still have to be waited for."""

Create = Callable[[int, Sequence[int]], CausalProcess]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message with the past of its submission: all (message, target) delivered, all submitted."""

    key: Key
    targets: tuple[int, ...]
    submitted: frozenset["Sent"]
    delivered: frozenset[tuple[Key, int]]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sent) and self.key == other.key


class Ideal:
    """A process that remembers its whole past and delivers as early as causality allows."""

    def __init__(self, me: int) -> None:
        self.me = me
        self.submitted: set[Sent] = set()
        self.delivered: set[tuple[Key, int]] = set()
        self.waiting: list[Sent] = []
        self._sequence = 0

    def submit(self, targets: Sequence[int]) -> Sent:
        """What leaves; a copy to oneself is delivered here and now."""
        self._sequence += 1
        sent = Sent(
            key=(self.me, self._sequence),
            targets=tuple(targets),
            submitted=frozenset(self.submitted),
            delivered=frozenset(self.delivered),
        )
        self.submitted.add(sent)
        if self.me in targets:
            self.delivered.add((sent.key, self.me))
        return sent

    def arrive(self, sent: Sent) -> list[Key]:
        """What is delivered now: always the first that arrived among those that may be."""
        self.waiting.append(sent)
        now: list[Key] = []
        while True:
            ready = [one for one in self.waiting if not self.missing(one)]
            if not ready:
                return now
            self.waiting.remove(ready[0])
            self.submitted |= ready[0].submitted | {ready[0]}
            self.delivered |= ready[0].delivered | {(ready[0].key, self.me)}
            now.append(ready[0].key)

    def missing(self, sent: Sent) -> list[Key]:
        """What was submitted to me before `sent` and is not delivered here."""
        return sorted(
            before.key
            for before in sent.submitted
            if self.me in before.targets and (before.key, self.me) not in self.delivered
        )

    def facts(self) -> set[Fact]:
        """What a log has to state; nobody ever waits for what a process sent to itself."""
        return {
            (*sent.key, target)
            for sent in self.submitted
            for target in sent.targets
            if target != sent.key[0]
            and (sent.key, target) not in self.delivered
            and not self._follows(sent, target)
        }

    def _follows(self, sent: Sent, target: int) -> bool:
        """Whether a later message to `target`, submitted with `sent` in its past, is in mine."""
        return any(target in later.targets and sent in later.submitted for later in self.submitted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A step of a schedule: `sender` submits a message to `targets`."""

    sender: int
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A step of a schedule: the copy of that message to `target` arrives."""

    message: Key
    target: int


Step = Submission | Arrival


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Everything that is not the protocol's to decide."""

    processes: tuple[int, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How random schedules look."""

    processes: tuple[int, ...] = (0, 1, 2, 3)
    messages: int = 40
    multicast: float = 0.4
    to_self: float = 0.15
    broadcast: bool = False
    submit_share: float = 0.4


def random_schedule(seed: int, traffic: Traffic) -> Schedule:
    """A schedule in which every copy arrives exactly once, in any order."""
    random = Random(seed)
    left = dict.fromkeys(traffic.processes, 0)
    flying: list[Arrival] = []
    steps: list[Step] = []
    submitted = 0
    while submitted < traffic.messages or flying:
        if submitted < traffic.messages and (not flying or random.random() < traffic.submit_share):
            submitted += 1
            sender = random.choice(traffic.processes)
            left[sender] += 1
            targets = random_targets(random, sender, traffic)
            steps.append(Submission(sender=sender, targets=targets))
            key = (sender, left[sender])
            flying += [Arrival(message=key, target=to) for to in targets if to != sender]
        else:
            steps.append(flying.pop(random.randrange(len(flying))))
    return Schedule(processes=traffic.processes, steps=tuple(steps))


def random_targets(random: Random, sender: int, traffic: Traffic) -> tuple[int, ...]:
    """One target, several or all, and now and then the sender itself among them or alone."""
    others = [process for process in traffic.processes if process != sender]
    count = 1
    if traffic.broadcast:
        count = len(others)
    elif random.random() < traffic.multicast:
        count = random.randint(2, len(others))
    targets = random.sample(others, count)
    if random.random() < traffic.to_self:
        if not traffic.broadcast and random.random() < 0.4:
            return (sender,)
        targets.insert(random.randrange(len(targets) + 1), sender)
    return tuple(targets)


class Run:
    """A protocol on a schedule, step by step, beside its ideal.

    `known` and `past` are the happens-before relation of what the protocol really did; a message
    is recognised by its payload, which says what it is.
    """

    def __init__(self, create: Create, processes: Sequence[int]) -> None:
        self.actual = {process: create(process, processes) for process in processes}
        self.ideal = {process: Ideal(process) for process in processes}
        self.packets: dict[tuple[Key, int], Packet] = {}
        self.sent: dict[Key, Sent] = {}
        self.past: dict[Key, frozenset[Key]] = {}
        self.known: dict[int, set[Key]] = {process: set() for process in processes}
        self.delivered: dict[int, list[Key]] = {process: [] for process in processes}
        self.expected: dict[int, list[Key]] = {process: [] for process in processes}

    def step(self, step: Step) -> None:
        """Let both do it."""
        if isinstance(step, Submission):
            self._submit(step)
        else:
            self._arrive(step)

    def _submit(self, step: Submission) -> None:
        me = step.sender
        sent = self.ideal[me].submit(step.targets)
        self.sent[sent.key] = sent
        self.past[sent.key] = frozenset(self.known[me])
        self.known[me].add(sent.key)
        if me in step.targets:
            self.expected[me].append(sent.key)
        for effect in self.actual[me].submit(step.targets, payload_of(sent.key), 0):
            if isinstance(effect, Transmit):
                self.packets[sent.key, effect.target] = effect.packet
            else:
                self._deliver(me, effect)

    def _arrive(self, step: Arrival) -> None:
        packet = self.packets.pop((step.message, step.target))
        self.expected[step.target] += self.ideal[step.target].arrive(self.sent[step.message])
        for effect in self.actual[step.target].arrive(step.message[0], packet, 0):
            assert isinstance(effect, Deliver)
            self._deliver(step.target, effect)

    def _deliver(self, process: int, effect: Deliver) -> None:
        key = key_of(effect.message.payload)
        self.known[process] |= self.past[key] | {key}
        self.delivered[process].append(key)


def payload_of(key: Key) -> bytes:
    """A payload that says which message it is."""
    return b"%d %d" % key


def key_of(payload: bytes) -> Key:
    """The message that such a payload names."""
    sender, sequence = payload.split()
    return int(sender), int(sequence)


def run_through(create: Create, schedule: Schedule) -> Run:
    """The whole schedule, comparing nothing."""
    run = Run(create, schedule.processes)
    for step in schedule.steps:
        run.step(step)
    return run


def first_difference(create: Create, schedule: Schedule) -> str | None:
    """Where a protocol first delivers otherwise than the ideal does, or None if it never does."""
    run = Run(create, schedule.processes)
    for number, step in enumerate(schedule.steps):
        run.step(step)
        if run.delivered != run.expected:
            return f"step {number}, {step}: {run.delivered} instead of {run.expected}"
    return None


def differs(create: Create, schedule: Schedule) -> bool:
    """Whether a protocol delivers otherwise than the ideal, or refuses what its peers sent."""
    try:
        return first_difference(create, schedule) is not None
    except RemoteError:
        return True


def overtakings(run: Run) -> list[tuple[int, Key, Key]]:
    """Every (process, effect, cause) where an effect was delivered before its cause."""
    return [
        (process, early, late)
        for process, keys in run.delivered.items()
        for index, early in enumerate(keys)
        for late in keys[index + 1 :]
        if late in run.past[early]
    ]


def undelivered(run: Run) -> list[tuple[Key, int]]:
    """Every copy that was submitted and is not delivered exactly once."""
    return [
        (sent.key, target)
        for sent in run.sent.values()
        for target in sent.targets
        if run.delivered[target].count(sent.key) != 1
    ]
