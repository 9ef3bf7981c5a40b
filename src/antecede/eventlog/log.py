"""The event log in memory: packed rows that cost a simulator next to nothing.

A row is eleven little-endian 64-bit integers, in the order of `antecede.eventlog.schema.COLUMNS`. A
null is -1, a kind is its code, a packet kind is a small integer that `EventLog.intern` gave out.
Trace and span ids are rare and long, so they stand beside the rows, in a dictionary for each block.
Rows collect in blocks; with a `RowSink` each full block leaves at once, so that a long run needs
the memory of one block.

The log numbers the events of each process itself: `position` is 0, 1, 2, … in the order of
`append`. How the events of *different* processes interleave in the log means nothing, and `digest`
ignores it.
"""

from abc import abstractmethod
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, TypeAlias, final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from librt.vecs import append as extended
from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import LocalError
from antecede.eventlog.schema import KINDS, Event

SUBMITTED: Final = 0
TRANSMITTED: Final = 1
ARRIVED: Final = 2
DELIVERED: Final = 3

NULL: Final = -1
"""Stands for a null in every column that may have one."""

UNTRACED: Final[tuple[str | None, str | None]] = (None, None)
"""The trace and span of an event that has none."""

ROW_BYTES: Final = 88
BLOCK_ROWS: Final = 1 << 16
PROCESS_LIMIT: Final = 1 << 31
"""Process ids are below this: the column is an int32."""

DENSE_PROCESSES: Final = 1 << 16
"""Below this id a process's next position lives in an array, above it in a dictionary."""

Contexts: TypeAlias = dict[int, tuple[str | None, str | None]]
"""By the number of a row in its block: trace id and span id, where there are any."""

PACKET_KIND_OFFSET: Final = 56
TIME_OFFSET: Final = 64


@mypyc_attr(allow_interpreted_subclasses=True)
class RowSink:
    """Takes the blocks of a log while the run goes on."""

    @abstractmethod
    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        """Take packed rows, the packet kinds interned so far, and the traces of some rows."""


@final
class EventLog:
    """The events of one run."""

    __slots__ = (
        "_block_bytes",
        "_blocks",
        "_codes",
        "_contexts",
        "_counts",
        "_last_process",
        "_next_dense",
        "_next_of_last",
        "_next_sparse",
        "_packet_kinds",
        "_sink",
        "_spilled",
        "_traced",
        "_writer",
    )

    def __init__(
        self, sink: RowSink | None = None, block_rows: int = BLOCK_ROWS, digests: bool = True
    ) -> None:
        """Rows go to `sink`, or stay here; hashing those that leave can be declined: it is slow."""
        if block_rows < 1:
            raise LocalError(f"a block has at least one row, not {block_rows}")
        self._sink: Final = sink
        self._block_bytes: Final[i64] = block_rows * ROW_BYTES
        self._writer = BytesWriter()
        self._blocks: list[bytes] = []
        self._contexts: list[Contexts] = []
        """Those of `_blocks`."""
        self._traced: Contexts = {}
        """Those of the rows in `_writer`."""
        self._spilled: CanonicalHash | None = CanonicalHash() if digests else None
        self._counts = vec[i64]([0, 0, 0, 0])
        self._next_dense = vec[i64]()
        self._next_sparse: dict[int, int] = {}
        # The log of a live node has one process: this one's next position is not in `_next_sparse`.
        self._last_process: i64 = NULL
        self._next_of_last: i64 = 0
        self._codes: dict[str, int] = {}
        self._packet_kinds: list[str] = []

    def append(
        self,
        process: i64,
        kind: i64,
        sender: i64,
        sequence: i64,
        target: i64,
        packet: i64,
        packet_kind: i64,
        time_ns: i64,
        payload_bytes: i64,
        metadata_bytes: i64,
        trace_id: str | None = None,
        span_id: str | None = None,
    ) -> None:
        """Record that something happened at `process`, after all that was recorded there before."""
        if kind < SUBMITTED or kind > DELIVERED:
            raise LocalError(f"no event kind has the code {kind}")
        if packet_kind < NULL or packet_kind >= len(self._packet_kinds):
            raise LocalError(f"no packet kind was interned as {packet_kind}")
        position = self._take_position(process)
        self._counts[kind] += 1
        writer = self._writer
        if trace_id is not None or span_id is not None:
            self._traced[len(writer) // ROW_BYTES] = (trace_id, span_id)
        write_i64_le(writer, process)
        write_i64_le(writer, position)
        write_i64_le(writer, kind)
        write_i64_le(writer, sender)
        write_i64_le(writer, sequence)
        write_i64_le(writer, target)
        write_i64_le(writer, packet)
        write_i64_le(writer, packet_kind)
        write_i64_le(writer, time_ns)
        write_i64_le(writer, payload_bytes)
        write_i64_le(writer, metadata_bytes)
        if len(writer) >= self._block_bytes:
            self._end_block()

    def intern(self, packet_kind: str) -> i64:
        """The small integer that stands for `packet_kind` in the rows of this log."""
        code = self._codes.get(packet_kind)
        if code is None:
            code = len(self._packet_kinds)
            self._codes[packet_kind] = code
            self._packet_kinds.append(packet_kind)
        return code

    @property
    def packet_kinds(self) -> list[str]:
        """What the packet kind codes mean: the kind at index `code`."""
        return self._packet_kinds.copy()

    def count(self, kind: i64) -> int:
        """How many events of the kind with this code were recorded."""
        if kind < SUBMITTED or kind > DELIVERED:
            raise LocalError(f"no event kind has the code {kind}")
        return self._counts[kind]

    def __len__(self) -> int:
        counts = self._counts
        return counts[SUBMITTED] + counts[TRANSMITTED] + counts[ARRIVED] + counts[DELIVERED]

    def __iter__(self) -> Iterator[Event]:
        kinds = self._packet_kinds
        for block, contexts in zip(self.blocks(), self.contexts(), strict=True):
            for number in range(len(block) // ROW_BYTES):
                yield unpacked(block, number * ROW_BYTES, kinds, contexts.get(number, UNTRACED))

    def blocks(self) -> list[bytes]:
        """All packed rows, in blocks of whole rows; `LocalError` if a sink has taken some away."""
        held = self._held_blocks()
        if sum([len(block) for block in held]) != ROW_BYTES * len(self):
            raise LocalError("the rows of this log went to its sink: read them from there")
        return held

    def contexts(self) -> list[Contexts]:
        """The trace and span ids of the rows in each of the `blocks`."""
        return [*self._contexts, self._traced] if len(self._writer) else self._contexts[:]

    def rows(self) -> bytes:
        """All packed rows in one piece; `LocalError` if a sink has taken some away."""
        return b"".join(self.blocks())

    def flush(self) -> None:
        """Hand the rows of an unfinished block to the sink, if there is one."""
        if self._sink is not None and len(self._writer) > 0:
            self._end_block()

    def digest(self) -> str:
        """Equal for logs in which every process saw the same events in the same order."""
        spilled = self._spilled
        if spilled is None:
            raise LocalError("this log was opened with digests=False")
        canonical = spilled.copy()
        for block, contexts in zip(self._held_blocks(), self.contexts(), strict=True):
            canonical.update(block, self._packet_kinds, contexts)
        return canonical.hexdigest()

    def _take_position(self, process: i64) -> i64:
        dense = self._next_dense
        if 0 <= process < len(dense):
            position = dense[process]
            dense[process] = position + 1
            return position
        if process < 0 or process >= PROCESS_LIMIT:
            raise LocalError(f"process id {process} is outside 0 <= id < 2**31")
        if process >= DENSE_PROCESSES:
            return self._take_sparse_position(process)
        while len(dense) <= process:
            dense = extended(dense, 0)
        dense[process] = 1
        self._next_dense = dense
        return 0

    def _take_sparse_position(self, process: i64) -> i64:
        if process != self._last_process:
            if self._last_process != NULL:
                self._next_sparse[self._last_process] = self._next_of_last
            self._last_process = process
            self._next_of_last = self._next_sparse.get(process, 0)
        position = self._next_of_last
        self._next_of_last = position + 1
        return position

    def _end_block(self) -> None:
        block = self._writer.getvalue()
        contexts = self._traced
        self._writer.truncate(0)
        self._traced = {}
        if self._sink is None:
            self._blocks.append(block)
            self._contexts.append(contexts)
            return
        if self._spilled is not None:
            self._spilled.update(block, self._packet_kinds, contexts)
        self._sink.write_rows(block, self._packet_kinds, contexts)

    def _held_blocks(self) -> list[bytes]:
        return [*self._blocks, self._writer.getvalue()] if len(self._writer) else self._blocks[:]


@final
class CanonicalHash:
    """Hashes rows per process, packet kinds spelt out: codes and interleaving drop out."""

    __slots__ = ("_by_process",)

    def __init__(self) -> None:
        self._by_process: dict[int, blake2b] = {}

    def update(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        """Take in a whole number of packed rows, and their traces."""
        spelt = [blake2b(kind.encode(), digest_size=8).digest() for kind in packet_kinds]
        by_process = self._by_process
        start: i64
        for start in range(0, len(rows), ROW_BYTES):
            process = read_i64_le(rows, start)
            state = by_process.get(process)
            if state is None:
                state = by_process[process] = blake2b(digest_size=16)
            if contexts and start // ROW_BYTES in contexts:
                state.update(repr(contexts[start // ROW_BYTES]).encode())
            code = read_i64_le(rows, start + PACKET_KIND_OFFSET)
            if code == NULL:
                state.update(rows[start : start + ROW_BYTES])
                continue
            state.update(rows[start : start + PACKET_KIND_OFFSET])
            state.update(spelt[code])
            state.update(rows[start + TIME_OFFSET : start + ROW_BYTES])

    def copy(self) -> "CanonicalHash":
        """An independent copy in the same state."""
        other = CanonicalHash()
        other._by_process = {process: state.copy() for process, state in self._by_process.items()}
        return other

    def hexdigest(self) -> str:
        """The hash over all processes, in the order of their ids."""
        whole = blake2b(digest_size=16)
        for process in sorted(self._by_process):
            whole.update(process.to_bytes(8, "little") + self._by_process[process].digest())
        return whole.hexdigest()


def unpacked(
    rows: bytes, start: i64, packet_kinds: list[str], context: tuple[str | None, str | None]
) -> Event:
    """The event whose packed row begins at byte `start`, with its trace and span."""
    code = read_i64_le(rows, start + PACKET_KIND_OFFSET)
    return Event(
        process=read_i64_le(rows, start),
        position=read_i64_le(rows, start + 8),
        kind=KINDS[read_i64_le(rows, start + 16)],
        sender=optional(read_i64_le(rows, start + 24)),
        sequence=optional(read_i64_le(rows, start + 32)),
        target=optional(read_i64_le(rows, start + 40)),
        packet=optional(read_i64_le(rows, start + 48)),
        packet_kind=None if code == NULL else packet_kinds[code],
        time_ns=read_i64_le(rows, start + TIME_OFFSET),
        payload_bytes=read_i64_le(rows, start + 72),
        metadata_bytes=read_i64_le(rows, start + 80),
        trace_id=context[0],
        span_id=context[1],
    )


def optional(value: i64) -> int | None:
    """What a packed integer means: -1 is a null."""
    return None if value == NULL else value
