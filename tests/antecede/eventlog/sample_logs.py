"""Small logs by hand, and their rows as plain dictionaries to spoil and write to files."""

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.eventlog import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog

Row = dict[str, object]


def small_log() -> EventLog:
    """One message from 0 to 1, with its packet and an ack."""
    log = EventLog()
    message, ack = log.intern("message"), log.intern("ack")
    log.append(0, SUBMITTED, 0, 1, 1, NULL, NULL, 10, 5, 0)
    log.append(0, TRANSMITTED, 0, 1, 1, 1, message, 10, 5, 3)
    log.append(1, ARRIVED, 0, 1, 1, 1, message, 20, 5, 3)
    log.append(1, DELIVERED, 0, 1, 1, NULL, NULL, 20, 5, 0)
    log.append(1, TRANSMITTED, NULL, NULL, 0, 1, ack, 20, 0, 2)
    return log


def small_rows() -> list[Row]:
    """The rows of the small log."""
    return [asdict(event) for event in small_log()]


def write_json(path: Path, rows: list[Row]) -> None:
    """Write rows as they are, right or wrong."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_arrow(path: Path, rows: list[Row]) -> None:
    """Write rows as they are, right or wrong, with types as pyarrow guesses them."""
    pq.write_table(pa.Table.from_pylist(rows), path)
