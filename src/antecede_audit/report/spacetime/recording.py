"""A recorded run in columns: what a spacetime diagram and the charts beside it are made of.

Times count from the start of the run, processes are numbered by the row they are drawn in, and
`MISSING` stands for what the log does not say. Copies and packets are sorted by when they begin.
Of a long run a part is read: the one asked for, or the first `EVENTS_MAX` events.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeAlias

from antecede.core.errors import LocalError
from antecede.eventlog.layout import common_source, suffix_of
from antecede.eventlog.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog
from antecede.eventlog.parquet import (
    ArrowArray,
    ArrowTable,
    is_number,
    load_pyarrow,
    reading,
)
from antecede.eventlog.schema import ALL_COLUMNS, COLUMNS, KINDS, Event
from antecede_audit.eventlog.checked import checked, read_parquet
from antecede_audit.eventlog.reader import read_rows

MISSING: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyColumns:
    """Every message to every target, a list per column."""

    sender: list[int] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    submitted_ns: list[int] = field(default_factory=list)
    transmitted_ns: list[int] = field(default_factory=list)
    arrived_ns: list[int] = field(default_factory=list)
    delivered_ns: list[int] = field(default_factory=list)
    submitted_at: list[int] = field(default_factory=list)
    """The position, at its sender, of the message's first row: one for all copies of a message."""
    delivered_at: list[int] = field(default_factory=list)
    """The position of the first delivery at the target."""
    payload_bytes: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sender)

    def instants(self) -> Iterator[tuple[int, int, int, int]]:
        """For each copy: when it was submitted, transmitted, arrived, and delivered."""
        return zip(
            self.submitted_ns, self.transmitted_ns, self.arrived_ns, self.delivered_ns, strict=True
        )

    def first_ns(self, copy: int) -> int:
        """When the copy is first heard of."""
        submitted_ns = self.submitted_ns[copy]
        return submitted_ns if submitted_ns != MISSING else self.delivered_ns[copy]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """Every packet that was transmitted, once for each time it arrived, a list per column."""

    kind: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)
    arrived_ns: list[int] = field(default_factory=list)
    """`MISSING` if it was lost, or is still under way at the end of the log."""
    copy: list[int] = field(default_factory=list)
    """The copy that it carries; `MISSING` for control, and for what is relayed by others."""
    repeated: list[int] = field(default_factory=list)
    """`FIRST`, `AGAIN` for another transmission of the same copy, `DOUBLED` by the network."""
    metadata_bytes: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.kind)


SENT: Final = [one.name for one in fields(Packets)].index("sent_ns")

FIRST: Final = 0
AGAIN: Final = 1
DOUBLED: Final = 2

IMPLIED: Final = "message (as far as the log says)"
"""The kind of packets that stand for copies of which a log knows but the two ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One run, ready to be laid out."""

    name: str
    start_ns: int
    """What the log's clock said when the run began; all other times count from then."""
    span_ns: int
    processes: tuple[int, ...]
    """The ids of the processes, by row."""
    names: tuple[str, ...]
    """What they are called, by row."""
    packet_kinds: tuple[str, ...]
    copies: CopyColumns
    packets: Packets
    labels: dict[tuple[int, int], str] = field(default_factory=dict)
    """What messages are called, by row of the sender and sequence, where they have names."""
    unmatched: int = 0
    """Arrivals of packets that, as far as the log says, nobody transmitted."""

    @property
    def people(self) -> dict[int, str]:
        """What the processes are called, by their ids."""
        return dict(zip(self.processes, self.names, strict=True))

    @property
    def messages(self) -> int:
        """How many different messages there are."""
        copies = self.copies
        return len(set(zip(copies.sender, copies.sequence, strict=True)))


Row: TypeAlias = tuple[int, ...]
"""A row of an event log, as `antecede.eventlog.schema.COLUMNS` has its columns: kinds are their
codes, nulls are -1, and packet kinds are indexes into a list that comes with the rows.
"""

PACKED: Final = struct.Struct("<11q")
TIME: Final = itemgetter(COLUMNS.index("time_ns"))

EVENTS_MAX: Final = 2_000_000
"""Events read of one run at most: about 250,000 messages of hybrid buffering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A part of a run, in times since its start; None: no limit on that side."""

    from_ns: int | None = None
    to_ns: int | None = None


WHOLE: Final = TimeRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingRows:
    """The rows of one run, or of a part of it."""

    rows: list[Row]
    packet_kinds: Sequence[str]
    start_ns: int
    """When the run began, whether that is among the rows or not."""
    total: int
    """How many rows the whole run has."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return len(self.rows) == self.total


def rows_of_log(log: EventLog, window: TimeRange = WHOLE, most: int = EVENTS_MAX) -> RecordingRows:
    """The rows of a log in memory."""
    rows = [row for block in log.blocks() for row in PACKED.iter_unpack(block)]
    return part_of(rows, log.packet_kinds, window, most)


def part_of(
    rows: Sequence[Row], packet_kinds: Sequence[str], window: TimeRange, most: int
) -> RecordingRows:
    """Those of the rows of a run that are wanted."""
    start_ns = min(map(TIME, rows), default=0)
    low_ns, high_ns = limits(map(TIME, rows), start_ns, window, most)
    return RecordingRows(
        rows=[row for row in rows if low_ns <= TIME(row) <= high_ns],
        packet_kinds=packet_kinds,
        start_ns=start_ns,
        total=len(rows),
    )


def limits(times: Iterable[int], start_ns: int, window: TimeRange, most: int) -> tuple[int, int]:
    """From when to when events are taken, so that there are at most about this many."""
    low_ns = start_ns + (window.from_ns or 0)
    later = sorted(time_ns for time_ns in times if time_ns >= low_ns)
    high_ns = later[min(most, len(later)) - 1] if later else low_ns
    if window.to_ns is not None:
        high_ns = min(high_ns, start_ns + window.to_ns)
    return low_ns, high_ns


def rows_of_files(
    files: list[Path], window: TimeRange = WHOLE, most: int = EVENTS_MAX
) -> RecordingRows:
    """The rows that these files hold together; `LocalError` names one that is wrong.

    Parquet is read column by column, several times as fast as row by row; of a long run only the
    part that is wanted is read, and checked.
    """
    if any(suffix_of(file) != ".parquet" for file in files):
        return part_of(*packed_rows(list(read_rows(files))), window, most)
    if rows_in(files) <= most:
        return part_of(*rows_of_table(read_parquet(files)), window, most)
    source = common_source(files)
    ds = load_pyarrow("pyarrow.dataset")
    with reading(source):
        dataset = ds.dataset([str(file) for file in files], format="parquet", partitioning=None)
        times = dataset.to_table(columns=["time_ns"])["time_ns"]
        if times.null_count or not is_number(times.type):
            raise LocalError(f"{source}: column 'time_ns' must have an integer in every row")
        low_ns, high_ns, start_ns = column_limits(times, window, most)
        inside = (ds.field("time_ns") >= low_ns) & (ds.field("time_ns") <= high_ns)
        there = [name for name in ALL_COLUMNS if name in dataset.schema.names]
        table = dataset.to_table(columns=there, filter=inside)
    rows, packet_kinds = rows_of_table(checked(table, where=str(source), first_row=None))
    return RecordingRows(rows=rows, packet_kinds=packet_kinds, start_ns=start_ns, total=len(times))


def column_limits(times: ArrowArray, window: TimeRange, most: int) -> tuple[int, int, int]:
    """The same as `limits` for a column, and when the run began."""
    pc = load_pyarrow("pyarrow.compute")
    if len(times) == 0:
        return 0, 0, 0
    start_ns = pc.min(times).as_py()
    low_ns = start_ns + (window.from_ns or 0)
    later = times.filter(pc.greater_equal(times, low_ns))
    high_ns = low_ns if len(later) == 0 else pc.max(later).as_py()
    if len(later) > most:
        last = pc.array_sort_indices(later)[most - 1].as_py()
        high_ns = later[last].as_py()
    if window.to_ns is not None:
        high_ns = min(high_ns, start_ns + window.to_ns)
    return low_ns, high_ns, start_ns


def rows_in(files: Iterable[Path]) -> int:
    """How many rows Parquet files have."""
    pq = load_pyarrow("pyarrow.parquet")
    count = 0
    for file in files:
        with reading(file):
            count += pq.read_metadata(file).num_rows
    return count


def rows_of_table(table: ArrowTable) -> tuple[list[Row], list[str]]:
    """The rows of an Arrow table that is a right event log, and its packet kinds."""
    pa = load_pyarrow("pyarrow")
    kinds: list[str] = []
    columns: list[list[int]] = []
    for name in COLUMNS:
        if name not in table.column_names:
            columns.append([NULL] * len(table))
        elif name == "kind":
            columns.append([KINDS.index(kind) for kind in table[name].to_pylist()])
        elif name == "packet_kind":
            codes, kinds = interned(table[name].to_pylist())
            columns.append(codes)
        else:
            columns.append(table[name].cast(pa.int64()).fill_null(NULL).to_pylist())
    return list(zip(*columns, strict=True)), kinds


def packed_rows(events: Sequence[Event]) -> tuple[list[Row], list[str]]:
    """These events as rows, and their packet kinds."""
    codes, kinds = interned([event.packet_kind for event in events])
    rows: list[Row] = []
    for event, code in zip(events, codes, strict=True):
        message = (event.sender, event.sequence, event.target, event.packet)
        rows.append(
            (
                event.process,
                event.position,
                KINDS.index(event.kind),
                *(NULL if value is None else value for value in message),
                code,
                event.time_ns,
                event.payload_bytes,
                event.metadata_bytes,
            )
        )
    return rows, kinds


def interned(values: list[str | None]) -> tuple[list[int], list[str]]:
    """Small numbers for texts, in the order in which they come up, and what they mean."""
    code: dict[str, int] = {}
    codes = [NULL if value is None else code.setdefault(value, len(code)) for value in values]
    return codes, list(code)


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
    rows: RecordingRows,
    name: str,
    *,
    names: Mapping[int, str] | None = None,
    labels: Mapping[tuple[int, int], str] | None = None,
    order: Sequence[int] | None = None,
) -> Recording:
    """The run that these rows tell of.

    `names` are what processes are called, `labels` what messages (sender, sequence) are called, and
    `order` is the order of the processes from top to bottom; without it they stand by name.
    """
    start_ns = rows.start_ns
    gathering = RecordingBuilder()
    for row in sorted(rows.rows, key=TIME):
        gathering.add(row)
    people = {} if names is None else names
    processes = ordered(gathering.seen, people) if order is None else tuple(order)
    place = {process: number for number, process in enumerate(processes)}
    copies, numbers = copy_columns(gathering, place, start_ns)
    kinds = [*rows.packet_kinds, IMPLIED]
    packets = packet_columns(gathering, place, numbers, start_ns, len(kinds) - 1)
    return Recording(
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


class RecordingBuilder:
    """Takes rows in the order of time and puts together what belongs together.

    Between processes rows may come in any order: a delivery may stand before its submission. A
    packet is known by its id and its target; an arrival belongs to the last transmission before it.
    """

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
    gathering: RecordingBuilder, place: Mapping[int, int], start_ns: int
) -> tuple[CopyColumns, dict[CopyKey, int]]:
    """The copies in the order of their beginnings, and the number of each."""
    learn_flights(gathering)
    begins = {
        key: first_of(record.submitted_ns, record.delivered_ns)
        for key, record in gathering.copies.items()
    }
    order = sorted(begins, key=lambda key: (begins[key], key))
    lines = []
    for key in order:
        record = gathering.copies[key]
        sender, sequence, target = key
        lines.append(
            (
                *(place[sender], sequence, place[target]),
                *(since(getattr(record, f"{kind}_ns"), start_ns) for kind in KINDS),
                gathering.submitted_at.get((sender, sequence), MISSING),
                *(record.delivered_at, record.payload_bytes),
            )
        )
    return CopyColumns(**columns_of(lines, CopyColumns)), {
        key: copy for copy, key in enumerate(order)
    }


def columns_of(
    lines: Sequence[Row], kind: type[CopyColumns] | type[Packets]
) -> dict[str, list[int]]:
    """Rows in the order of the columns of `CopyColumns` or `Packets`, as those columns."""
    columns = zip(*lines, strict=True) if lines else repeat(())
    return {one.name: list(column) for one, column in zip(fields(kind), columns, strict=False)}


def learn_flights(gathering: RecordingBuilder) -> None:
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
    gathering: RecordingBuilder,
    place: Mapping[int, int],
    numbers: Mapping[CopyKey, int],
    start_ns: int,
    implied: int,
) -> Packets:
    """The packets in the order of their transmission; copies without any get an implied one."""
    carried: set[CopyKey] = set()
    lines: list[Row] = []
    for packet in gathering.packets:
        repeated = AGAIN if packet.key in carried else FIRST
        if packet.key is not None:
            carried.add(packet.key)
        copy = MISSING if packet.key is None else numbers.get(packet.key, MISSING)
        ends = (place[packet.source], place[packet.target])
        sent_ns = packet.sent_ns - start_ns
        arrivals = [arrived_ns - start_ns for arrived_ns in packet.arrivals_ns] or [MISSING]
        for arrival in arrivals:
            rest = (copy, repeated, packet.metadata_bytes)
            lines.append((packet.kind, *ends, sent_ns, arrival, *rest))
            repeated = DOUBLED
    lines += implied_packets(gathering, place, numbers, carried, start_ns, implied)
    lines.sort(key=itemgetter(SENT))
    return Packets(**columns_of(lines, Packets))


def implied_packets(
    gathering: RecordingBuilder,
    place: Mapping[int, int],
    numbers: Mapping[CopyKey, int],
    carried: set[CopyKey],
    start_ns: int,
    implied: int,
) -> list[Row]:
    """From submission to delivery, where the log does not say what happened in between."""
    lines: list[Row] = []
    for key, record in gathering.copies.items():
        sender, _, target = key
        known = record.submitted_ns is not None and record.delivered_ns is not None
        if sender == target or key in carried or not known or record.arrived_ns is not None:
            continue
        begin, end = since(record.submitted_ns, start_ns), since(record.delivered_ns, start_ns)
        ends = (place[sender], place[target])
        lines.append((implied, *ends, begin, end, numbers[key], FIRST, 0))
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
