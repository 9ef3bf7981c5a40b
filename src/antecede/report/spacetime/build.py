"""Makes a `Run` of the rows of an event log.

Rows may come in any order between processes: a delivery may stand before its submission. A packet
is known by its id and its target; an arrival belongs to the last transmission before it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, TypeAlias

from antecede.report.spacetime.rows import TIME, Row, Rows
from antecede.report.spacetime.run import (
    AGAIN,
    DOUBLED,
    FIRST,
    IMPLIED,
    MISSING,
    Copies,
    Packets,
    Run,
)
from antecede.trace.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED

CopyKey: TypeAlias = tuple[int, int, int]
"""Sender, sequence, target."""


@dataclass(slots=True)
class CopyRecord:
    """What the log says about one copy; times as the log has them."""

    submitted_ns: int | None = None
    transmitted_ns: int | None = None
    arrived_ns: int | None = None
    delivered_ns: int | None = None
    delivered_at: int = MISSING
    payload_bytes: int = 0


@dataclass(slots=True)
class PacketRecord:
    """What the log says about one transmission, and when it arrived, however often."""

    kind: int
    source: int
    target: int
    sent_ns: int
    key: CopyKey | None
    metadata_bytes: int
    arrivals_ns: list[int] = field(default_factory=list)


def build_run(
    rows: Rows,
    name: str,
    *,
    names: Mapping[int, str] | None = None,
    labels: Mapping[tuple[int, int], str] | None = None,
    order: Sequence[int] | None = None,
) -> Run:
    """The run that these rows tell of.

    `names` are what processes are called, `labels` what messages (sender, sequence) are called, and
    `order` is the order of the processes from top to bottom; without it they stand by name.
    """
    start_ns = rows.start_ns
    gathering = Gathering()
    for row in sorted(rows.rows, key=TIME):
        gathering.add(row)
    people = {} if names is None else names
    processes = ordered(gathering.seen, people) if order is None else tuple(order)
    place = {process: number for number, process in enumerate(processes)}
    copies, numbers = copy_columns(gathering, place, start_ns)
    kinds = [*rows.packet_kinds, IMPLIED]
    packets = packet_columns(gathering, place, numbers, start_ns, len(kinds) - 1)
    return Run(
        name=name,
        start_ns=start_ns,
        span_ns=max(max(map(TIME, rows.rows), default=start_ns) - start_ns, 1),
        processes=processes,
        names=tuple(people.get(process, f"P{process}") for process in processes),
        packet_kinds=tuple(kinds),
        copies=copies,
        packets=packets,
        labels=placed_labels(labels or {}, place),
        unmatched=gathering.unmatched,
    )


class Gathering:
    """Takes rows in the order of time and puts together what belongs together."""

    def __init__(self) -> None:
        self.copies: Final[dict[CopyKey, CopyRecord]] = {}
        self.submitted_at: Final[dict[tuple[int, int], int]] = {}
        self.packets: Final[list[PacketRecord]] = []
        self.seen: Final[dict[int, bool]] = {}
        self.unmatched = 0
        self._under_way: Final[dict[tuple[int, int], list[PacketRecord]]] = {}

    def add(self, row: Row) -> None:
        """Take the next row."""
        process, position, kind, sender, sequence, target, packet, _, time_ns, payload, _ = row
        self.seen[process] = True
        key = None if sender == NULL or target == NULL else (sender, sequence, target)
        if kind == SUBMITTED and key is not None:
            at = self.submitted_at.setdefault((sender, sequence), position)
            self.submitted_at[sender, sequence] = min(at, position)
            record = self._copy(key, payload)
            if record.submitted_ns is None:
                record.submitted_ns = time_ns
        elif kind == DELIVERED and key is not None:
            record = self._copy((sender, sequence, process), payload)
            if record.delivered_ns is None or position < record.delivered_at:
                record.delivered_ns = time_ns
                record.delivered_at = position
        elif kind == TRANSMITTED and packet != NULL and target != NULL:
            self._transmitted(row, key)
        elif kind == ARRIVED and packet != NULL:
            self._arrived(row)

    def _copy(self, key: CopyKey, payload: int) -> CopyRecord:
        record = self.copies.get(key)
        if record is None:
            record = self.copies[key] = CopyRecord(payload_bytes=payload)
            self.seen[key[0]] = True
            self.seen[key[2]] = True
        return record

    def _transmitted(self, row: Row, key: CopyKey | None) -> None:
        process, _, _, _, _, target, packet, kind, time_ns, _, metadata = row
        self.seen[target] = True
        record = PacketRecord(kind, process, target, time_ns, key, metadata)
        self.packets.append(record)
        self._under_way.setdefault((packet, target), []).append(record)

    def _arrived(self, row: Row) -> None:
        process, _, _, sender, sequence, _, packet, _, time_ns, _, _ = row
        sent = self._under_way.get((packet, process), [])
        if sender != NULL:
            same = (sender, sequence, process)
            sent = [record for record in sent if record.key == same]
        if not sent:
            self.unmatched += 1
            return
        # Clocks of different hosts may disagree, so the transmission may seem to come later.
        before = bisect_right(sent, time_ns, key=lambda record: record.sent_ns)
        sent[max(before - 1, 0)].arrivals_ns.append(time_ns)


def copy_columns(
    gathering: Gathering, place: Mapping[int, int], start_ns: int
) -> tuple[Copies, dict[CopyKey, int]]:
    """The copies in the order of their beginnings, and the number of each."""
    learn_flights(gathering)
    begins = {
        key: first_of(record.submitted_ns, record.delivered_ns)
        for key, record in gathering.copies.items()
    }
    copies = Copies()
    numbers: dict[CopyKey, int] = {}
    for key in sorted(begins, key=lambda key: (begins[key], key)):
        record = gathering.copies[key]
        sender, sequence, target = key
        numbers[key] = len(copies)
        copies.sender.append(place[sender])
        copies.sequence.append(sequence)
        copies.target.append(place[target])
        copies.submitted_ns.append(since(record.submitted_ns, start_ns))
        copies.transmitted_ns.append(since(record.transmitted_ns, start_ns))
        copies.arrived_ns.append(since(record.arrived_ns, start_ns))
        copies.delivered_ns.append(since(record.delivered_ns, start_ns))
        copies.submitted_at.append(gathering.submitted_at.get((sender, sequence), MISSING))
        copies.delivered_at.append(record.delivered_at)
        copies.payload_bytes.append(record.payload_bytes)
    return copies, numbers


def learn_flights(gathering: Gathering) -> None:
    """Tell every copy when it was first transmitted, and when it first arrived."""
    for packet in gathering.packets:
        record = None if packet.key is None else gathering.copies.get(packet.key)
        if record is None:
            continue
        if record.transmitted_ns is None or packet.sent_ns < record.transmitted_ns:
            record.transmitted_ns = packet.sent_ns
        for arrived_ns in packet.arrivals_ns:
            if record.arrived_ns is None or arrived_ns < record.arrived_ns:
                record.arrived_ns = arrived_ns


def packet_columns(
    gathering: Gathering,
    place: Mapping[int, int],
    numbers: Mapping[CopyKey, int],
    start_ns: int,
    implied: int,
) -> Packets:
    """The packets in the order of their transmission; copies without any get an implied one."""
    packets = Packets()
    carried: set[CopyKey] = set()
    lines: list[tuple[int, int, int, int, int, int, int, int]] = []
    for packet in gathering.packets:
        repeated = AGAIN if packet.key in carried else FIRST
        if packet.key is not None:
            carried.add(packet.key)
        copy = MISSING if packet.key is None else numbers.get(packet.key, MISSING)
        ends = (place[packet.source], place[packet.target])
        sent_ns = packet.sent_ns - start_ns
        arrivals = [arrived_ns - start_ns for arrived_ns in packet.arrivals_ns] or [MISSING]
        for arrival in arrivals:
            fields = (arrival, copy, repeated, packet.metadata_bytes)
            lines.append((sent_ns, packet.kind, *ends, *fields))
            repeated = DOUBLED
    lines += implied_packets(gathering, place, numbers, carried, start_ns, implied)
    lines.sort(key=itemgetter(0))
    for sent_ns, kind, source, target, arrival, copy, repeated, metadata in lines:
        packets.kind.append(kind)
        packets.source.append(source)
        packets.target.append(target)
        packets.sent_ns.append(sent_ns)
        packets.arrived_ns.append(arrival)
        packets.copy.append(copy)
        packets.repeated.append(repeated)
        packets.metadata_bytes.append(metadata)
    return packets


def implied_packets(
    gathering: Gathering,
    place: Mapping[int, int],
    numbers: Mapping[CopyKey, int],
    carried: set[CopyKey],
    start_ns: int,
    implied: int,
) -> list[tuple[int, int, int, int, int, int, int, int]]:
    """From submission to delivery, where the log does not say what happened in between."""
    lines = []
    for key, record in gathering.copies.items():
        sender, _, target = key
        known = record.submitted_ns is not None and record.delivered_ns is not None
        if sender == target or key in carried or not known or record.arrived_ns is not None:
            continue
        begin, end = since(record.submitted_ns, start_ns), since(record.delivered_ns, start_ns)
        ends = (place[sender], place[target])
        lines.append((begin, implied, *ends, end, numbers[key], FIRST, 0))
    return lines


def ordered(processes: Iterable[int], names: Mapping[int, str]) -> tuple[int, ...]:
    """By name, numbers in names by their value; those without a name last, by their number."""

    def place(process: int) -> tuple[bool, list[tuple[bool, int, str]], int]:
        return process not in names, parts_of(names.get(process, "")), process

    return tuple(sorted(processes, key=place))


def parts_of(name: str) -> list[tuple[bool, int, str]]:
    """A name cut into digits and the rest, so that node-2 comes before node-10."""
    parts = [(part.isdecimal(), part) for part in re.split(r"(\d+)", name) if part]
    return [(not number, int(part) if number else 0, part) for number, part in parts]


def placed_labels(
    labels: Mapping[tuple[int, int], str], place: Mapping[int, int]
) -> dict[tuple[int, int], str]:
    """What messages are called, by the row of their sender."""
    return {
        (place[sender], sequence): label
        for (sender, sequence), label in labels.items()
        if sender in place
    }


def first_of(*times: int | None) -> int:
    """The first of these that is known; at least one is."""
    for time in times:
        if time is not None:
            return time
    raise AssertionError("a copy was submitted or delivered, or nobody would know of it")


def since(time_ns: int | None, start_ns: int) -> int:
    """A time of the log as a time of the run."""
    return MISSING if time_ns is None else time_ns - start_ns
