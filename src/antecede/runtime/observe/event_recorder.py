"""The event log of a running node: rows cost the node next to nothing, a thread writes them.

The node appends packed rows to an `EventLog`; full blocks go over a bounded queue to one writer
thread. If the disk is slower than the node, the node waits: no row is dropped. If the disk fails,
that is said at once (`logging`, `on_failure`, `EventRecorder.failure`) and the node goes on without
a log; closing the trace then raises `TraceFailed`.

In a folder the log is a dataset, `DIR/run_id=live/alice-000001.parquet`, …: all nodes of a system
may share the folder, or have their folders merged later. A process that is killed loses what had
not settled: the part file being written (`rotate_seconds` bounds its age) and the rows that `flush`
has not yet handed over.

Two clocks meet here: timers use one that never goes back, the log one that machines share.
"""

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Full, Queue
from time import monotonic_ns, time_ns
from typing import Final, TypeAlias, final

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.layout import (
    AnyPath,
    claim_generation,
    file_stem,
    partition_folder,
    suffix_of,
)
from antecede.eventlog.log import ROW_BYTES, Contexts, EventLog, RowSink
from antecede.eventlog.parquet import load_pyarrow
from antecede.eventlog.processes import (
    processes_file,
    processes_folder,
    read_processes,
    write_processes,
)
from antecede.eventlog.writers import AppendingFileWriter, LogWriter, PartFileWriter
from antecede.runtime.config.names import process_id, process_name
from antecede.runtime.errors import BadConfiguration, TraceFailed
from antecede.transport.event_rows import EventRows
from antecede.units import duration_text

TAKEN_AT_ONCE_NS: Final = 20_000
"""Two readings more than 20 µs apart were interrupted, and say nothing about the difference."""

SLOWER: Final = 10
"""After the shared clock was set back, the log's clock runs slower by one part in ten."""

WORTH_SAYING_NS: Final = 1_000_000_000


class SharedClock:
    """Lets the times of an event log follow the clock that machines share, and always go on.

    A clock that is set back would leave the log at one time until it has caught up. So the log's
    clock goes on, only slower, until the other one has.
    """

    def __init__(
        self,
        rows: EventRows,
        monotonic: Callable[[], int] = monotonic_ns,
        shared: Callable[[], int] = time_ns,
    ) -> None:
        self._rows: Final = rows
        self._monotonic: Final = monotonic
        self._shared: Final = shared
        self._followed_ns = 0
        self._has_warned = False

    def follow(self) -> None:
        """Renew the difference between the two, if both can be read at once just now."""
        before_ns = self._monotonic()
        shared_ns = self._shared()
        after_ns = self._monotonic()
        rows = self._rows
        if rows.offset_ns == 0:
            rows.set_offset(shared_ns - before_ns)
        elif after_ns - before_ns <= TAKEN_AT_ONCE_NS:
            wanted = shared_ns - before_ns
            least = int(rows.offset_ns) - (before_ns - self._followed_ns) // SLOWER
            self._warn(int(rows.offset_ns) - wanted)
            rows.set_offset(max(wanted, least))
        else:
            return
        self._followed_ns = before_ns

    def _warn(self, behind_ns: int) -> None:
        """Warn, once for each step, that the log's times are ahead of the clock."""
        if behind_ns < WORTH_SAYING_NS:
            self._has_warned = False
        elif not self._has_warned:
            self._has_warned = True
            log.warning(
                "the clock was set back by %s: the times of the event log go on, a little slower, "
                "until it has caught up",
                duration_text(behind_ns),
            )


RUN_ID: Final = "live"
BLOCK_ROWS: Final = 1 << 15
"""Rows handed over at a time: 2.75 MiB."""

QUEUE_BLOCKS: Final = 8
"""Blocks that may wait for the writer; with these a trace takes about 30 MiB."""

ROTATE_ROWS: Final = 4_000_000
ROTATE_SECONDS: Final = 60.0
FLUSH_SECONDS: Final = 1.0
"""A file of the log is finished after 4 million rows or 60 s; whoever appends should call
`EventRecorder.flush` once a second."""

Block: TypeAlias = tuple[bytes, list[str], Contexts]
Failed: TypeAlias = Callable[[str], None]

log = logging.getLogger(__name__)


def open_trace(
    path: AnyPath,
    *,
    name: str,
    process: int | None = None,
    run_id: str = RUN_ID,
    file_format: str = "auto",
    rotate_rows: int = ROTATE_ROWS,
    rotate_seconds: float = ROTATE_SECONDS,
    on_failure: Failed | None = None,
) -> "EventRecorder":
    """The trace of the node called `name`, in the folder or file at `path`.

    A log of the same name that is there already belongs to an earlier life of the node; this one is
    then the next `generation`, and another process to every reader. `on_failure` is called from the
    writer thread.
    """
    target = Path(path)
    suffix = part_suffix(target, file_format)
    if suffix_of(target):
        files: LogWriter = open_growing(target)
        names = read_processes(target)
        generation = next_generation(name, names)
        names_file = processes_file(target)
        rotate_seconds = min(rotate_seconds, FLUSH_SECONDS)
    else:
        folder = partition_folder(target, run_id)
        generation = claim_generation(folder, name)
        stem = file_stem(name, generation)
        files = PartFileWriter(folder, stem, suffix, rotate_rows)
        names = {}
        names_file = processes_folder(target, run_id) / f"{stem}{suffix.removesuffix('.gz')}"
    me = process_id(name, generation) if process is None else process
    names[me] = process_name(name, generation)
    table = ProcessNamesFile(names_file, names)
    table.write_if_changed()
    return EventRecorder(
        EventWriterThread(files, table, rotate_seconds, on_failure), me, generation
    )


def part_suffix(path: Path, file_format: str) -> str:
    """The suffix of the files to write at `path`, or `BadConfiguration` if that cannot be done."""
    own = suffix_of(path)
    suffix = own or (automatic_suffix() if file_format == "auto" else f".{file_format}")
    if own == ".parquet":
        raise BadConfiguration(
            f"setting 'trace': {path} would be readable only once the node has stopped; name a "
            f"folder, such as {path.with_suffix('')}, and Parquet files appear in it as it runs"
        )
    if own and file_format not in ("auto", own.removeprefix(".")):
        raise BadConfiguration(
            f"setting 'trace_format' is {file_format!r}, but the name of {path} says {own}: "
            "leave one of them out"
        )
    if suffix == ".parquet":
        try:
            load_pyarrow("pyarrow.parquet")
        except LocalError as error:
            raise BadConfiguration(
                f"setting 'trace': {error}; or choose trace_format='jsonl', which needs nothing"
            ) from error
    return suffix


def automatic_suffix() -> str:
    """Parquet where it can be written, and what needs nothing where not."""
    try:
        load_pyarrow("pyarrow.parquet")
    except LocalError as error:
        log.warning("the event log is written as JSON lines: %s", error)
        return ".jsonl.gz"
    return ".parquet"


def open_growing(path: Path) -> AppendingFileWriter:
    """The file to append to; says so if an earlier writer left it torn."""
    with os_errors_as_local(path, "write"):
        path.parent.mkdir(parents=True, exist_ok=True)
    file = AppendingFileWriter(path)
    if file.torn_bytes:
        log.warning(
            "the last %d bytes of %s, which an earlier node had not written to the end, are gone",
            file.torn_bytes,
            path,
        )
    return file


def next_generation(name: str, names: dict[int, str]) -> int:
    """The first generation of this node that the table of processes does not know."""
    taken = set(names.values())
    generation = 1
    while process_name(name, generation) in taken:
        generation += 1
    return generation


@final
class EventRecorder:
    """The event log of one node, while it runs. Not for several threads, like the node itself."""

    def __init__(self, writer: "EventWriterThread", process: int, generation: int) -> None:
        self.process: Final = process
        """What this node is called in the rows."""
        self.generation: Final = generation
        """Which life of the node this is: 1, or more if there was a log of the same name."""
        self.log: Final = EventLog(writer, block_rows=BLOCK_ROWS, digests=False)
        """Where the rows go."""
        self.rows: Final = EventRows(self.log, process)
        """Where the node appends what happens."""
        self._writer: Final = writer
        self._closed = False
        self._pid = os.getpid()
        atexit.register(self._close_at_exit)

    @property
    def failure(self) -> str | None:
        """Why nothing is written any more, or None if all is well."""
        return self._writer.failure

    @property
    def rows_lost(self) -> int:
        """How many rows have not been written because of the failure."""
        return self._writer.rows_lost

    def note_process(self, process: int, name: str) -> None:
        """Let the table of processes say what this number stands for."""
        known = self._writer.names.names.setdefault(process, name)
        if known != name:
            log.error(
                "%s and %s have the same number %d in the event log, which cannot tell them "
                "apart; rename one of them",
                known,
                name,
                process,
            )

    def flush(self) -> None:
        """Hand over what the log holds; call it about every `FLUSH_SECONDS`."""
        self.rows.release_old()
        self.log.flush()

    def close(self) -> None:
        """Write everything and stop; `TraceFailed` if not everything could be written."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self._close_at_exit)
        self.rows.release()
        self.log.flush()
        self._writer.close()
        if self._writer.failure is not None:
            raise TraceFailed(self._writer.failure, self._writer.rows_lost)

    def _close_at_exit(self) -> None:
        if os.getpid() != self._pid:
            return  # A forked child has neither the thread nor anything to say.
        try:
            self.close()
        except TraceFailed as error:
            log.error("%s", error)


@final
class EventRecorderOwner:
    """Keeps the event log of one node, if it has one: rows are handed over now and then."""

    def __init__(self, trace: EventRecorder | None, loop: asyncio.AbstractEventLoop) -> None:
        self._trace: Final = trace
        self._clock: Final = None if trace is None else SharedClock(trace.rows)
        self._loop: Final = loop
        self._timer: asyncio.TimerHandle | None = None

    @property
    def failure(self) -> str | None:
        """Why nothing is written any more, or None if all is well."""
        return None if self._trace is None else self._trace.failure

    def note_process(self, process: int, name: str) -> None:
        """Let the table of processes say what this number stands for."""
        if self._trace is not None:
            self._trace.note_process(process, name)

    def begin(self) -> None:
        """Hand rows to the writer from now on, however few there are."""
        if self._trace is None or self._clock is None:
            return
        self._clock.follow()
        self._trace.flush()
        self._timer = self._loop.call_later(FLUSH_SECONDS, self.begin)

    def stop(self) -> None:
        """The node has stopped: nothing more happens."""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Write everything; `TraceFailed` if that cannot be done."""
        if self._trace is not None:
            self._trace.close()


@final
class ProcessNamesFile:
    """The table of processes of one node, written again when it has grown."""

    def __init__(self, path: Path, names: dict[int, str]) -> None:
        self.names: Final = names
        self._path = path
        self._written = 0

    def write_if_changed(self) -> None:
        """Bring the file up to date."""
        names = dict(self.names)
        if len(names) > self._written:
            with os_errors_as_local(self._path, "write"):
                self._path.parent.mkdir(parents=True, exist_ok=True)
            write_processes(self._path, names)
            self._written = len(names)


@final
class EventWriterThread(RowSink):
    """Takes blocks from the thread that appends, and writes them in another."""

    def __init__(
        self,
        files: LogWriter,
        names: ProcessNamesFile,
        settle_seconds: float,
        on_failure: Failed | None,
    ) -> None:
        self.names: Final = names
        self.failure: str | None = None
        self.rows_lost = 0
        self._files = files
        self._settle_seconds = settle_seconds
        self._on_failure = on_failure
        self._queue: Queue[Block | None] = Queue(QUEUE_BLOCKS)
        self._settle_at = 0.0
        self._warned = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="antecede-trace", daemon=True)
        self._thread.start()

    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        """Queue a block; wait if the writer is behind."""
        if self._ended:
            raise LocalError("this trace is closed: nothing can be recorded any more")
        block = rows, packet_kinds.copy(), contexts
        try:
            self._queue.put_nowait(block)
        except Full:
            if not self._warned:
                self._warned = True
                log.warning("the event log cannot be written as fast as it grows: the node waits")
            self._queue.put(block)

    def close(self) -> None:
        """Write everything that is queued, and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """What the thread does; it takes blocks to the very end, so that nobody waits for ever."""
        while not self._ended:
            # Whatever goes wrong here, the node must hear of it and not wait for this thread.
            try:
                self._step()
            except Exception as error:
                self._fail(error)

    def _step(self) -> None:
        """Write the next block, or settle if it is time."""
        try:
            block = self._queue.get(timeout=self._patience())
        except Empty:
            self._settle()
            return
        if block is None:
            self._ended = True
            if self.failure is None:
                self._files.close()
                self.names.write_if_changed()
        elif self.failure is not None:
            self.rows_lost += len(block[0]) // ROW_BYTES
        else:
            self._write(*block)

    def _write(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        if self._files.unsettled_rows == 0:
            self._settle_at = time.monotonic() + self._settle_seconds
        self._files.write_rows(rows, packet_kinds, contexts)
        if time.monotonic() >= self._settle_at:
            self._settle()

    def _patience(self) -> float | None:
        """How long to wait for a block; None: until there is one."""
        if self._files.unsettled_rows == 0:
            return None
        return max(0.0, self._settle_at - time.monotonic())

    def _settle(self) -> None:
        self._files.finish_part()
        self.names.write_if_changed()

    def _fail(self, error: Exception) -> None:
        """Say it loudly, once, and write no more: a log with a hole would be worth less."""
        self.failure = str(error) or type(error).__name__
        self.rows_lost += self._files.unsettled_rows
        log.error("the event log stops here, the node goes on: %s", self.failure)
        self._files.abandon()
        if self._on_failure is not None:
            try:
                self._on_failure(self.failure)
            except Exception:
                log.exception("on_failure, which is called for this, failed itself")
