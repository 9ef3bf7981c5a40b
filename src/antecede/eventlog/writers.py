"""Event logs on disk: the name chooses the format.

`.jsonl`, `.jsonl.gz` and `.parquet` are files that hold one run; any other name is a dataset, a
directory that holds runs by their ids. Everything is written under another name first and then
renamed, so no reader sees half a log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.eventlog.jsonl import JsonLinesSink
from antecede.eventlog.layout import SUFFIXES, AnyPath, partition_folder, suffix_of
from antecede.eventlog.log import EventLog
from antecede.eventlog.parquet import ParquetSink
from antecede.eventlog.sinks import FileSink

PART_NAME: Final = "events.parquet"


def write_events(path: AnyPath, log: EventLog, run_id: str | None = None) -> None:
    """Write a log to a file or, under `run_id`, into a dataset; one already there is replaced."""
    blocks = list(zip(log.blocks(), log.contexts(), strict=True))
    with open_sink(path, run_id) as sink:
        for block, contexts in blocks:
            sink.write_rows(block, log.packet_kinds, contexts)


@contextmanager
def record_events(path: AnyPath, run_id: str | None = None) -> Iterator[EventLog]:
    """A log that goes to `path` block by block as it grows; it appears there if all went well."""
    with open_sink(path, run_id) as sink:
        log = EventLog(sink)
        yield log
        log.flush()


def open_sink(path: AnyPath, run_id: str | None = None) -> FileSink:
    """A sink that writes where and how the name says; enter it before giving it to a log."""
    file = Path(path)
    suffix = suffix_of(file)
    if not suffix and run_id is None:
        raise LocalError(
            f"{file} ends in none of {', '.join(SUFFIXES)}: give it one of these endings "
            "(a dataset of several runs has none, and needs a run id)"
        )
    if run_id is not None:
        if suffix:
            raise LocalError(
                f"{file} holds one run: a run id needs a dataset, a name without suffix"
            )
        folder = partition_folder(file, run_id)
        with os_errors_as_local(folder, "write"):
            folder.mkdir(parents=True, exist_ok=True)
        return ParquetSink(folder / PART_NAME)
    return ParquetSink(file) if suffix == ".parquet" else JsonLinesSink(file)
