"""What a meter should have measured, worked out again from the recorded log, slowly and plainly."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TypeAlias

from antecede.eventlog.log import EventLog
from antecede.eventlog.schema import Event

Copy: TypeAlias = tuple[int, int, int]
"""Sender, sequence, target."""


@dataclass(frozen=True, kw_only=True)
class Stay:
    """Something was at `process` from `start_ns` until `end_ns`."""

    process: int
    start_ns: int
    end_ns: int


class Story:
    """The first of each kind of event, for every copy that somebody else had to deliver."""

    def __init__(self, log: EventLog) -> None:
        self.events = list(log)
        self.end_ns = max(event.time_ns for event in self.events)
        self.start_ns = min(event.time_ns for event in self.events)
        self.first: dict[str, dict[Copy, int]] = defaultdict(dict)
        for event in self.events:
            if event.sender is not None and event.sequence is not None and event.target is not None:
                copy = event.sender, event.sequence, event.target
                if event.sender != event.target:
                    self.first[event.kind].setdefault(copy, event.time_ns)
        self.copies = list(self.first["submitted"])

    def delays(self, start: str, end: str) -> list[int]:
        """The time from one kind of event to another, for every delivered copy, ascending."""
        delivered = self.first["delivered"]
        return sorted(
            self.first[end][copy] - self.first[start][copy]
            for copy in self.copies
            if copy in delivered
        )

    def stays(self, start: str, end: str, at: int) -> list[Stay]:
        """From one kind of event to another; `at` is the part of the copy that says where."""
        return [
            Stay(
                process=copy[at],
                start_ns=self.first[start][copy],
                end_ns=self.first[end].get(copy, self.end_ns + 1),
            )
            for copy in self.copies
            if copy in self.first[start]
        ]

    def packets(self) -> dict[str, tuple[int, int, int, int]]:
        """By kind: packets, those with a message, bytes of payload and of metadata."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for event in self.events:
            if event.kind == "transmitted":
                counts[str(event.packet_kind)] += tally(event)
        return {
            kind: (count["packets"], count["carrying"], count["payload"], count["metadata"])
            for kind, count in sorted(counts.items())
        }


def tally(event: Event) -> Counter[str]:
    """What one transmission adds."""
    return Counter(
        packets=1,
        carrying=0 if event.sender is None else 1,
        payload=event.payload_bytes,
        metadata=event.metadata_bytes,
    )


def most_at_once(stays: list[Stay], processes: int) -> tuple[int, ...]:
    """By process: the greatest number of stays that overlap for some time."""
    greatest = []
    for process in range(processes):
        here = [stay for stay in stays if stay.process == process and stay.start_ns < stay.end_ns]
        greatest.append(
            max(
                (
                    sum(other.start_ns <= stay.start_ns < other.end_ns for other in here)
                    for stay in here
                ),
                default=0,
            )
        )
    return tuple(greatest)


def total_ns(stays: list[Stay], processes: int, end_ns: int) -> tuple[int, ...]:
    """By process: the length of all stays together, up to the end."""
    return tuple(
        sum(min(stay.end_ns, end_ns) - stay.start_ns for stay in stays if stay.process == process)
        for process in range(processes)
    )
