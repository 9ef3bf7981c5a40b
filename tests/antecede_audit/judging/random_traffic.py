"""Random logs of small runs that go wrong often, in every way that a log can show.

Messages are overtaken, lost, delivered twice or to somebody else, sent to many and to oneself, and
much happens at the same time. `orderly` runs keep causal order, for faults to be planted in them.
"""

from dataclasses import dataclass, replace
from random import Random

from antecede.eventlog import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """What a run is like: how large, and how often what happens."""

    processes: int
    steps: int
    pauses_ns: tuple[int, ...]
    multicast: float
    loss: float
    duplicate: float
    misdirected: float


def mood_of(random: Random) -> Mood:
    return Mood(
        processes=random.choice([2, 3, 3, 4, 6]),
        steps=random.choice([4, 12, 30, 60, 90]),
        pauses_ns=random.choice([(0,), (0, 0, 0, 1), (0, 1, 5), (1, 2, 3), (0, 100)]),
        multicast=random.choice([0.0, 0.3, 0.8]),
        loss=random.choice([0.0, 0.1]),
        duplicate=random.choice([0.0, 0.15]),
        misdirected=random.choice([0.0, 0.0, 0.1]),
    )


class Log:
    """Rows in the making; numbers the events of each process."""

    def __init__(self, processes: int) -> None:
        self.events: list[Event] = []
        self._positions = [0] * processes

    def add(self, process: int, kind: str, message: tuple[int, int], target: int, ns: int) -> None:
        sender, sequence = message
        self.events.append(
            Event(
                process=process,
                position=self._positions[process],
                kind=kind,
                sender=sender,
                sequence=sequence,
                target=target,
                time_ns=ns,
            )
        )
        self._positions[process] += 1


def hectic(random: Random) -> list[Event]:
    """A run with nobody who puts anything right."""
    mood = mood_of(random)
    log, sent, time_ns = Log(mood.processes), [0] * mood.processes, 1_000
    in_flight: list[tuple[tuple[int, int], int]] = []
    for _ in range(mood.steps):
        time_ns += random.choice(mood.pauses_ns)
        if not in_flight or random.random() < 0.5:
            sender = random.randrange(mood.processes)
            sent[sender] += 1
            for target in targets_of(random, mood):
                log.add(sender, "submitted", (sender, sent[sender]), target, time_ns)
                in_flight.append(((sender, sent[sender]), target))
            continue
        # Mostly the newest: what is overtaken is what is of interest.
        copy = random.choice(in_flight[-4:] if random.random() < 0.7 else in_flight)
        if random.random() >= mood.duplicate:
            in_flight.remove(copy)
        message, target = copy
        if random.random() < mood.misdirected:
            target = random.randrange(mood.processes)
        if random.random() >= mood.loss:
            log.add(target, "delivered", message, target, time_ns)
    return log.events


def orderly(random: Random) -> list[Event]:
    """A run in which every process delivers in the order of submission, which is causal."""
    mood = mood_of(random)
    log, sent, time_ns = Log(mood.processes), [0] * mood.processes, 1_000
    queues: list[list[tuple[int, int]]] = [[] for _ in range(mood.processes)]
    for _ in range(mood.steps):
        time_ns += random.choice(mood.pauses_ns)
        sender = random.randrange(mood.processes)
        if random.random() < 0.5:
            sent[sender] += 1
            for target in targets_of(random, mood):
                log.add(sender, "submitted", (sender, sent[sender]), target, time_ns)
                queues[target].append((sender, sent[sender]))
        elif queues[sender]:
            log.add(sender, "delivered", queues[sender].pop(0), sender, time_ns)
    for process, queue in enumerate(queues):
        for message in queue:
            time_ns += random.choice(mood.pauses_ns)
            log.add(process, "delivered", message, process, time_ns)
    return log.events


def planted(random: Random) -> list[Event]:
    """An orderly run in which two deliveries at a process have changed places, if any can."""
    events = orderly(random)
    submitted = {
        (event.sender, event.sequence): index
        for index, event in reversed(list(enumerate(events)))
        if event.kind == "submitted"
    }
    last: dict[int, int] = {}
    pairs = []
    for index, event in enumerate(events):
        if event.kind == "delivered":
            before = last.get(event.process)
            if before is not None and submitted[event.sender, event.sequence] < before:
                pairs.append((before, index))
            last[event.process] = index
    if pairs:
        one, other = random.choice(pairs)
        first, second = events[one], events[other]
        events[one] = replace(second, position=first.position, time_ns=first.time_ns)
        events[other] = replace(first, position=second.position, time_ns=second.time_ns)
    return events


def targets_of(random: Random, mood: Mood) -> list[int]:
    count = 1
    if random.random() < mood.multicast:
        count = random.randint(1, mood.processes)
    return random.sample(range(mood.processes), count)


def skewed(random: Random) -> list[Event]:
    """A hectic run whose processes have clocks that disagree."""
    events = hectic(random)
    offsets = [random.choice([0, 3, 50]) for _ in range(6)]
    return [replace(event, time_ns=event.time_ns + offsets[event.process]) for event in events]


def in_traces(events: list[Event], random: Random) -> list[Event]:
    """The same events, each of one of a few traces or of none; mostly that of its message."""
    names = [None, "a", "b", "c"]
    own = {(event.sender, event.sequence): random.choice(names) for event in events}
    return [
        replace(
            event,
            trace_id=random.choice(names)
            if random.random() < 0.2
            else own[event.sender, event.sequence],
        )
        for event in events
    ]
