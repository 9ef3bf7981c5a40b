"""Random logs: of runs that go wrong in any way, of runs that go right, and of chaos."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from antecede.eventlog import DELIVERED, NULL, SUBMITTED, Event, EventLog
from antecede_audit.judging import MessageId

PROCESSES = 4


@st.composite
def runs(draw: st.DrawFn) -> EventLog:
    """A run over a network that loses, duplicates and reorders, with nobody putting it right."""
    log = EventLog()
    in_flight: list[tuple[MessageId, int]] = []
    sent = [0] * PROCESSES
    time_ns = 0
    for _ in range(draw(st.integers(0, 16))):
        time_ns += draw(st.sampled_from([0, 0, 1, 10]))
        if not in_flight or draw(st.booleans()):
            sender = draw(st.integers(0, PROCESSES - 1))
            sent[sender] += 1
            targets = draw(
                st.lists(st.integers(0, PROCESSES - 1), min_size=1, max_size=3, unique=True)
            )
            for target in targets:
                submit(log, sender, sent[sender], target, time_ns)
                in_flight.append((MessageId(sender, sent[sender]), target))
        else:
            copy = draw(st.sampled_from(in_flight))
            if draw(st.integers(0, 5)):
                in_flight.remove(copy)
            if draw(st.integers(0, 9)):
                deliver(log, copy[1], copy[0], time_ns)
    return log


@st.composite
def traced(draw: st.DrawFn, logs: st.SearchStrategy[Iterable[Event]]) -> list[Event]:
    """A log whose events belong to a few traces, or to none, as it happens."""
    traces = st.sampled_from([None, "a", "a", "b"])
    return [replace(event, trace_id=draw(traces)) for event in draw(logs)]


@st.composite
def causal_runs(draw: st.DrawFn) -> list[Event]:
    """A run in which every process delivers its copies in the order in which they were submitted.

    Whatever happens before something was submitted before it, so this order is causal.
    """
    log = EventLog()
    queues: list[list[MessageId]] = [[] for _ in range(PROCESSES)]
    time_ns = 0
    for sequence in range(1, draw(st.integers(2, 12))):
        sender = draw(st.integers(0, PROCESSES - 1))
        for target in draw(
            st.lists(st.integers(0, PROCESSES - 1), min_size=1, max_size=3, unique=True)
        ):
            submit(log, sender, sequence, target, time_ns)
            queues[target].append(MessageId(sender, sequence))
        for process in draw(st.lists(st.integers(0, PROCESSES - 1), max_size=4)):
            time_ns += draw(st.sampled_from([0, 1]))
            if queues[process]:
                deliver(log, process, queues[process].pop(0), time_ns)
    for process, queue in enumerate(queues):
        for message in queue:
            deliver(log, process, message, time_ns + 1)
    return list(log)


@st.composite
def chaos(draw: st.DrawFn) -> list[Event]:
    """Rows that no run makes: strangers' messages, effects before causes, rows in any order."""
    ids = st.integers(0, 2)
    positions = [0, 0, 0]
    events = []
    for _ in range(draw(st.integers(0, 14))):
        process = draw(ids)
        events.append(
            Event(
                process=process,
                position=positions[process],
                kind=draw(st.sampled_from(["submitted", "delivered", "delivered", "arrived"])),
                sender=draw(st.one_of(ids, ids, ids, st.none())),
                sequence=draw(st.integers(1, 3)),
                target=draw(st.one_of(ids, ids, ids, st.none())),
                time_ns=draw(st.integers(0, 5)),
            )
        )
        positions[process] += 1
    return draw(st.permutations(events))


def submit(log: EventLog, sender: int, sequence: int, target: int, time_ns: int) -> None:
    log.append(sender, SUBMITTED, sender, sequence, target, NULL, NULL, time_ns, 0, 0)


def deliver(log: EventLog, process: int, message: MessageId, time_ns: int) -> None:
    sender, sequence = message
    log.append(process, DELIVERED, sender, sequence, process, NULL, NULL, time_ns, 0, 0)
