"""The event log of a live node when things go wrong: bad disks, slow disks, killed processes."""

import gzip
import json
import logging
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog import NULL, SUBMITTED, EventLog
from antecede.eventlog.log import Contexts
from antecede.eventlog.writers import LogWriter
from antecede.runtime.errors import TraceFailed
from antecede.runtime.observe.event_recorder import (
    BLOCK_ROWS,
    QUEUE_BLOCKS,
    EventWriterThread,
    ProcessNamesFile,
    open_trace,
)
from antecede_audit.eventlog import read_events
from tests.antecede.runtime.tracing_steps import (
    ALICE,
    PATIENCE_SECONDS,
    part_names,
    positions,
    submit,
    wait_until,
)


def test_a_failing_disk_is_reported_and_the_node_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    trace = open_trace(tmp_path, name="alice", rotate_rows=2, on_failure=told.append)
    for sequence in (1, 2):
        submit(trace, sequence)
    trace.flush()
    wait_until(lambda: len(part_names(tmp_path / "run_id=live")) == 1)
    settled = (tmp_path / "run_id=live" / "alice-000001.parquet").read_bytes()
    shutil.rmtree(tmp_path / "run_id=live")

    for sequence in (3, 4):
        submit(trace, sequence)
    trace.flush()
    wait_until(lambda: bool(told))
    for sequence in range(5, 5 + BLOCK_ROWS * (QUEUE_BLOCKS + 2)):
        submit(trace, sequence)
    with pytest.raises(TraceFailed, match=r"the event log stopped: cannot write .*No such file"):
        trace.close()

    assert trace.rows_lost == 2 + BLOCK_ROWS * (QUEUE_BLOCKS + 2)
    assert told == [trace.failure]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "the event log stops here, the node goes on: cannot write" in caplog.text
    assert settled[:4] == b"PAR1"


FULL_DISK = """
    import resource, sys
    from pathlib import Path
    from antecede.runtime.errors import TraceFailed
    from antecede.runtime.observe.event_recorder import open_trace

    trace = open_trace(sys.argv[1], name="alice", rotate_rows=10)
    me = trace.process

    def record(first, last):
        for sequence in range(first, last):
            trace.log.append(me, 0, me, sequence, 7, -1, -1, sequence, 5, 0)
        trace.flush()

    record(0, 10)
    while not trace._writer._queue.empty() or trace._writer._files.unsettled_rows:
        pass
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    record(10, 20_000)
    try:
        trace.close()
    except TraceFailed as error:
        print(error)
"""


@pytest.mark.parametrize("name", ["folder", "run.jsonl"])
def test_a_full_disk_leaves_what_was_complete(name: str, tmp_path: Path) -> None:
    """The limit on the size of files stands in for the end of a disk."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL_DISK), str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert "the event log stopped: cannot write" in done.stdout
    assert "File too large; 19,990 events were not written" in done.stdout
    assert "the event log stops here, the node goes on" in done.stderr
    assert positions(read_events(tmp_path / name), ALICE) == list(range(10))


class Gate(LogWriter):
    """A disk that takes nothing until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.rows = b""

    def write_rows(self, rows: bytes, packet_kinds: list[str], contexts: Contexts) -> None:
        assert self.opened.wait(PATIENCE_SECONDS)
        assert packet_kinds == []
        assert contexts == {}
        self.rows += rows

    def finish_part(self) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


def test_a_slow_disk_makes_the_node_wait_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    writer = EventWriterThread(gate, ProcessNamesFile(tmp_path / "names.jsonl", {}), 60.0, None)
    log = EventLog(writer, block_rows=1, digests=False)
    blocks = QUEUE_BLOCKS + 10

    def record() -> None:
        for sequence in range(blocks):
            log.append(1, SUBMITTED, 1, sequence, 2, NULL, NULL, 0, 0, 0)

    node = threading.Thread(target=record)
    node.start()
    wait_until(lambda: "cannot be written as fast as it grows: the node waits" in caplog.text)
    assert len(log) <= QUEUE_BLOCKS + 2
    gate.opened.set()
    node.join()
    writer.close()

    written = EventLog()
    for sequence in range(blocks):
        written.append(1, SUBMITTED, 1, sequence, 2, NULL, NULL, 0, 0, 0)
    assert gate.rows == written.rows()


KILLED = """
    import sys, time
    from antecede.runtime.observe.event_recorder import open_trace

    trace = open_trace(sys.argv[1], name="alice", rotate_rows=10)
    me = trace.process
    for sequence in range(25):
        trace.log.append(me, 0, me, sequence, 7, -1, -1, sequence, 5, 0)
        if sequence % 10 == 9:
            trace.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(("name", "kept"), [("folder", 20), ("run.jsonl", 20)])
def test_a_killed_node_loses_only_what_had_not_settled(
    name: str, kept: int, tmp_path: Path
) -> None:
    path = tmp_path / name
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        wait_until(lambda: path.exists() and readable(path) == kept)
        child.send_signal(signal.SIGKILL)

    assert positions(read_events(path), ALICE) == list(range(kept))
    again = open_trace(path, name="alice")
    again.close()
    assert again.generation == 2
    claims = sorted(file for file in tmp_path.rglob("*.claim"))
    assert [file.stat().st_size > 0 for file in claims] == ([True, False] if claims else [])
    assert bool(claims) is path.is_dir()


def readable(path: Path) -> int:
    """How many rows a reader sees now; none if there is nothing yet."""
    try:
        return len(read_events(path))
    except LocalError:
        return 0


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_torn_end_is_cut_off_before_more_is_written(
    suffix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / f"run{suffix}"
    trace = open_trace(path, name="alice")
    submit(trace, 1)
    trace.close()
    whole = path.read_bytes()
    torn = json.dumps({"process": 1}).encode()
    path.write_bytes(whole + (gzip.compress(torn)[:-9] if suffix.endswith("gz") else torn))
    with pytest.raises(LocalError):
        read_events(path)

    trace = open_trace(path, name="alice")
    submit(trace, 1)
    trace.close()

    assert len(read_events(path)) == 2
    assert "which an earlier node had not written to the end, are gone" in caplog.text


FORGETFUL = """
    import sys
    from antecede.runtime.observe.event_recorder import open_trace

    trace = open_trace(sys.argv[1], name="alice")
    me = trace.process
    trace.log.append(me, 0, me, 1, 7, -1, -1, 0, 5, 0)
"""


def test_a_trace_that_nobody_closed_is_closed_at_exit(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORGETFUL), str(tmp_path)], check=True, timeout=60
    )

    assert len(read_events(tmp_path)) == 1
