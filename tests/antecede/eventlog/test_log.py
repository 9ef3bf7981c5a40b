"""The log in memory: positions, nulls, digests, blocks and sinks."""

import struct
from collections.abc import Callable
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core import LocalError
from antecede.eventlog import (
    ARRIVED,
    COLUMNS,
    DELIVERED,
    KINDS,
    NULL,
    SUBMITTED,
    TRANSMITTED,
    Event,
    EventLog,
    RowSink,
)
from antecede.eventlog.log import Contexts
from antecede_audit.eventlog import log_of
from tests.antecede.eventlog.log_strategies import logs


class Collector(RowSink):
    """Remembers the blocks it was given, and what packet kinds were known by then."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.kinds: list[list[str]] = []
        self.contexts: list[Contexts] = []

    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        self.blocks.append(rows)
        self.contexts.append(contexts)
        self.kinds.append(packet_kinds.copy())


def submit(log: EventLog, process: int, sequence: int = 1, time_ns: int = 0) -> None:
    log.append(process, SUBMITTED, process, sequence, 9, NULL, NULL, time_ns, 5, 0)


def transmit(log: EventLog, process: int, packet_kind: str) -> None:
    log.append(process, TRANSMITTED, NULL, NULL, 9, 1, log.intern(packet_kind), 0, 0, 3)


def test_a_row_comes_back_as_an_event_with_none_for_null() -> None:
    log = EventLog()
    ack = log.intern("ack")
    log.append(3, SUBMITTED, 3, 7, 4, NULL, NULL, 1000, 64, 0)
    log.append(4, ARRIVED, NULL, NULL, 4, 12, ack, 2000, 0, 9)

    assert list(log) == [
        Event(
            process=3,
            position=0,
            kind="submitted",
            sender=3,
            sequence=7,
            target=4,
            time_ns=1000,
            payload_bytes=64,
        ),
        Event(
            process=4,
            position=0,
            kind="arrived",
            target=4,
            packet=12,
            packet_kind="ack",
            time_ns=2000,
            metadata_bytes=9,
        ),
    ]


def test_positions_count_the_events_of_each_process_from_zero() -> None:
    log = EventLog()
    sparse = (1 << 31) - 1
    for process in [2, 0, 2, sparse, 2, sparse, 0]:
        submit(log, process)

    assert [(event.process, event.position) for event in log] == [
        (2, 0),
        (0, 0),
        (2, 1),
        (sparse, 0),
        (2, 2),
        (sparse, 1),
        (0, 1),
    ]


def test_length_and_counts_follow_what_was_recorded() -> None:
    log = EventLog(block_rows=2)
    for kind in [SUBMITTED, DELIVERED, DELIVERED]:
        log.append(0, kind, 0, 1, 0, NULL, NULL, 0, 0, 0)

    assert len(log) == 3
    counts = [log.count(kind) for kind in (SUBMITTED, TRANSMITTED, ARRIVED, DELIVERED)]
    assert counts == [1, 0, 0, 2]


def test_packed_rows_are_little_endian_integers_in_schema_order() -> None:
    log = EventLog()
    submit(log, 5)
    log.append(5, DELIVERED, 6, 1 << 40, 5, 3, log.intern("message"), 1 << 60, 11, 12)

    rows = list(struct.iter_unpack("<11q", log.rows()))

    assert rows[0] == (5, 0, KINDS.index("submitted"), 5, 1, 9, -1, -1, 0, 5, 0)
    assert rows[1] == (5, 1, KINDS.index("delivered"), 6, 1 << 40, 5, 3, 0, 1 << 60, 11, 12)
    assert len(rows[0]) == len(COLUMNS)


def test_interning_gives_the_same_code_for_the_same_kind() -> None:
    log = EventLog()

    assert [log.intern(kind) for kind in ["a", "b", "a", "c", "b"]] == [0, 1, 0, 2, 1]
    assert log.packet_kinds == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("process", "kind", "packet_kind", "complaint"),
    [
        (-1, SUBMITTED, NULL, "process id -1 is outside"),
        (1 << 31, SUBMITTED, NULL, "process id 2147483648 is outside"),
        (0, 4, NULL, "no event kind has the code 4"),
        (0, -1, NULL, "no event kind has the code -1"),
        (0, SUBMITTED, 0, "no packet kind was interned as 0"),
        (0, SUBMITTED, -2, "no packet kind was interned as -2"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused_and_leaves_no_trace(
    process: int, kind: int, packet_kind: int, complaint: str
) -> None:
    log = EventLog()

    with pytest.raises(LocalError, match=complaint):
        log.append(process, kind, 0, 1, 0, NULL, packet_kind, 0, 0, 0)

    assert (len(log), log.rows()) == (0, b"")
    submit(log, 0)
    assert [event.position for event in log] == [0]


def test_counting_an_unknown_kind_is_refused() -> None:
    with pytest.raises(LocalError, match="no event kind has the code 7"):
        EventLog().count(7)


def test_a_block_without_rows_is_refused() -> None:
    with pytest.raises(LocalError, match="at least one row"):
        EventLog(block_rows=0)


@given(log=logs(), block_rows=st.integers(1, 5))
def test_block_size_changes_neither_rows_nor_digest(log: EventLog, block_rows: int) -> None:
    other = EventLog(block_rows=block_rows)
    for kind in log.packet_kinds:
        other.intern(kind)
    events = list(log)
    for row, event in zip(struct.iter_unpack("<11q", log.rows()), events, strict=True):
        process, _, *rest = row
        add: Callable[..., None] = other.append
        add(process, *rest, event.trace_id, event.span_id)

    assert other.rows() == log.rows()
    assert list(other) == list(log)
    assert other.digest() == log.digest()


@given(log=logs())
def test_events_make_the_log_they_came_from(log: EventLog) -> None:
    copy = log_of(log)

    assert list(copy) == list(log)
    assert copy.digest() == log.digest()


def test_digest_does_not_depend_on_the_order_of_interning() -> None:
    one, other = EventLog(), EventLog()
    other.intern("permit")
    other.intern("ack")
    for log in (one, other):
        transmit(log, 0, "ack")
        transmit(log, 0, "permit")

    assert one.rows() != other.rows()
    assert one.digest() == other.digest()


def test_digest_does_not_depend_on_how_processes_interleave() -> None:
    one, other = EventLog(), EventLog()
    for process in [0, 1, 0, 1]:
        submit(one, process)
    for process in [1, 1, 0, 0]:
        submit(other, process)

    assert one.digest() == other.digest()


def test_digest_tells_packet_kinds_apart() -> None:
    one, other = EventLog(), EventLog()
    transmit(one, 0, "ack")
    transmit(other, 0, "permit")

    assert one.rows() == other.rows()
    assert one.digest() != other.digest()


def test_digest_tells_local_orders_apart() -> None:
    one, other = EventLog(), EventLog()
    for sequence in [1, 2]:
        submit(one, 0, sequence)
    for sequence in [2, 1]:
        submit(other, 0, sequence)

    assert one.digest() != other.digest()


@pytest.mark.parametrize("column", [0, *range(2, 11)])
def test_digest_depends_on_every_column(column: int) -> None:
    digests = set()
    for value in [1, 2]:
        log = EventLog()
        for kind in ["a", "b", "c"]:
            log.intern(kind)
        row = [1] * 11
        row[column] = value
        add: Callable[..., None] = log.append
        add(row[0], *row[2:])
        digests.add(log.digest())

    assert len(digests) == 2


def test_digest_is_a_hash_of_the_hashes_of_the_processes() -> None:
    log = EventLog()
    submit(log, 1, 1, 10)
    transmit(log, 1, "message")
    submit(log, 0, 1, 20)

    kind = int.from_bytes(blake2b(b"message", digest_size=8).digest(), "little", signed=True)
    first = blake2b(struct.pack("<11q", 0, 0, 0, 0, 1, 9, -1, -1, 20, 5, 0), digest_size=16)
    second = blake2b(struct.pack("<11q", 1, 0, 0, 1, 1, 9, -1, -1, 10, 5, 0), digest_size=16)
    second.update(struct.pack("<11q", 1, 1, 1, -1, -1, 9, 1, kind, 0, 0, 3))
    whole = struct.pack("<q", 0) + first.digest() + struct.pack("<q", 1) + second.digest()
    assert log.digest() == blake2b(whole, digest_size=16).hexdigest()


def test_a_sink_gets_full_blocks_at_once_and_the_rest_at_flush() -> None:
    sink = Collector()
    log = EventLog(sink, block_rows=2)
    whole = EventLog()
    for target in (log, whole):
        for sequence in range(1, 4):
            submit(target, 0, sequence)
        transmit(target, 0, "ack")
        submit(target, 0, 4)
    assert [len(block) for block in sink.blocks] == [2 * 88, 2 * 88]

    log.flush()
    log.flush()

    assert b"".join(sink.blocks) == whole.rows()
    assert sink.kinds == [[], ["ack"], ["ack"]]
    assert (len(log), log.count(SUBMITTED)) == (5, 4)
    assert log.digest() == whole.digest()


def test_digest_can_be_asked_in_the_middle_without_changing_the_end() -> None:
    log, whole = EventLog(Collector(), block_rows=2), EventLog()
    digests = []
    for sequence in range(1, 6):
        for target in (log, whole):
            submit(target, 0, sequence)
        digests.append((log.digest(), whole.digest()))

    assert all(mine == theirs for mine, theirs in digests)
    assert len(set(digests)) == 5


def test_rows_that_went_to_a_sink_cannot_be_read_from_the_log() -> None:
    log = EventLog(Collector(), block_rows=2)
    submit(log, 0, 1)
    assert len(list(log)) == 1

    submit(log, 0, 2)

    for read in (list, EventLog.rows, EventLog.blocks):
        with pytest.raises(LocalError, match="went to its sink"):
            read(log)


def test_flush_without_a_sink_keeps_everything() -> None:
    log = EventLog()
    submit(log, 0)
    log.flush()

    assert len(list(log)) == 1


def test_a_log_may_decline_to_hash_what_leaves_it() -> None:
    sink = Collector()
    log = EventLog(sink, block_rows=2, digests=False)
    for sequence in range(3):
        submit(log, 0, sequence)

    with pytest.raises(LocalError, match="opened with digests=False"):
        log.digest()
    assert len(sink.blocks) == 1
