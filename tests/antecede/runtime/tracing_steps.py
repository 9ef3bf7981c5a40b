"""What tests of the event log of a live node do again and again."""

import time
from collections.abc import Callable
from pathlib import Path

from antecede.eventlog import DELIVERED, NULL, SUBMITTED, EventLog
from antecede.runtime.config.names import process_id
from antecede.runtime.observe.event_recorder import EventRecorder

ALICE, BOB = process_id("alice"), process_id("bob")
PATIENCE_SECONDS = 60.0


def submit(trace: EventRecorder, sequence: int, target: int = BOB) -> None:
    me = trace.process
    trace.log.append(me, SUBMITTED, me, sequence, target, NULL, NULL, sequence * 10, 5, 0)


def deliver(trace: EventRecorder, sender: int, sequence: int) -> None:
    me = trace.process
    trace.log.append(me, DELIVERED, sender, sequence, me, NULL, NULL, sequence * 10 + 5, 5, 0)


def positions(log: EventLog, process: int) -> list[int]:
    return [event.position for event in log if event.process == process]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for another thread or process; a failure shows as a time-out, never as a wrong pass."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def part_names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name[0] not in "._")
