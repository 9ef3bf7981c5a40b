"""A workload as a table: who sends what to whom, and what must have been delivered before.

A message leaves `delay_ns` after the last of its causes was delivered at its sender, or, if it has
none, after the start of the run. Replays that keep these causes keep the causality of the original.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import write_atomically
from antecede.eventlog.fields import integer, integers, located
from antecede.eventlog.jsonl import read_objects, write_objects
from antecede.eventlog.layout import SUFFIXES, AnyPath, common_source, find_run, suffix_of
from antecede.eventlog.parquet import (
    ArrowSchema,
    load_pyarrow,
    numbered_rows,
    read_table,
    write_table,
)
from antecede.eventlog.rules import INT32_MAX, INT64_MAX, Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRow:
    """One message to send."""

    message_id: int
    """Its name within the table."""
    sender: int
    targets: tuple[int, ...]
    """Whom it goes to: at least one process, none twice; the sender may be among them."""
    causes: tuple[int, ...] = ()
    """The messages that must be delivered at the sender first; none: it is spontaneous."""
    delay_ns: int = 0
    """How long after the last cause, or after the start of the run, it is sent."""
    payload_bytes: int = 0


WORKLOAD_COLUMNS: Final = tuple(WorkloadRow.__dataclass_fields__)


def write_workload(path: AnyPath, rows: Sequence[WorkloadRow]) -> None:
    """Check a workload and write it as JSON lines or Parquet, as the name says."""
    check_workload(rows)
    file = Path(path)
    objects = [as_fields(row) for row in rows]
    with write_atomically(file) as partial:
        if suffix_of(file) == ".parquet":
            write_table(file, partial, workload_schema(), objects)
        elif suffix_of(file):
            write_objects(file, partial, objects)
        else:
            raise LocalError(f"{file} ends in none of {', '.join(SUFFIXES)}")


def read_workload(path: AnyPath, run_id: str | None = None) -> list[WorkloadRow]:
    """The workload at `path`, checked: a file, a folder of part files, or a run of a dataset."""
    files = find_run(Path(path), run_id)
    source = common_source(files)
    rows = list(parsed_rows(files, source))
    with located(str(source)):
        check_workload(rows)
    return rows


def check_workload(rows: Sequence[WorkloadRow]) -> None:
    """`LocalError` names the first row that no run could perform."""
    by_id: dict[int, WorkloadRow] = {}
    # Not the context manager `located`: it would cost as much as the checks themselves.
    row_number = 0
    try:
        for row_number, row in enumerate(rows, start=1):  # noqa: B007 the error names it
            check_alone(row)
            if row.message_id in by_id:
                raise LocalError("an earlier row has the same message_id")
            by_id[row.message_id] = row
        for row_number, row in enumerate(rows, start=1):  # noqa: B007 the error names it
            check_causes(row, by_id)
    except LocalError as error:
        raise LocalError(f"{row_name(row_number, rows[row_number - 1])}: {error}") from None
    check_cycles(rows, by_id)


def check_alone(row: WorkloadRow) -> None:
    """`LocalError` if the row makes no sense whatever the others say."""
    if not is_sound(row):
        parsed_row(as_fields(row))
    if not row.targets:
        raise LocalError("it has no targets")
    if len(row.targets) > 1 and len(set(row.targets)) != len(row.targets):
        raise LocalError(f"duplicate targets in {list(row.targets)}")


def is_sound(row: WorkloadRow) -> bool:
    """Whether every column has the right type and size: quick, and tells no reasons."""
    return (
        are_integers((row.message_id, row.delay_ns), INT64_MAX)
        and are_integers((row.sender, row.payload_bytes), INT32_MAX)
        and are_integers(row.targets, INT32_MAX)
        and are_integers(row.causes, INT64_MAX)
    )


def are_integers(values: tuple[int, ...], high: int) -> bool:
    """Whether these are all integers from 0 to `high`."""
    for value in values:  # noqa: SIM110 a generator would take three times as long
        if type(value) is not int or not 0 <= value <= high:
            return False
    return True


def check_causes(row: WorkloadRow, by_id: dict[int, WorkloadRow]) -> None:
    """`LocalError` if a cause is unknown or never reaches the sender."""
    for cause in row.causes:
        if cause not in by_id:
            raise LocalError(f"its cause {cause} is not in the table")
        if row.sender not in by_id[cause].targets:
            raise LocalError(f"its cause {cause} is never delivered at its sender, {row.sender}")


def check_cycles(rows: Sequence[WorkloadRow], by_id: dict[int, WorkloadRow]) -> None:
    """`LocalError` if some message would have to wait for itself."""
    effects: dict[int, list[int]] = {row.message_id: [] for row in rows}
    missing = {row.message_id: len(row.causes) for row in rows}
    for row in rows:
        for cause in row.causes:
            effects[cause].append(row.message_id)
    ready = [row.message_id for row in rows if not row.causes]
    while ready:
        for effect in effects[ready.pop()]:
            missing[effect] -= 1
            if missing[effect] == 0:
                ready.append(effect)
    stuck = [row.message_id for row in rows if missing[row.message_id]]
    if stuck:
        cycle = find_cycle(stuck[0], by_id, missing)
        number = 1 + [row.message_id for row in rows].index(cycle[0])
        chain = " <- ".join(str(message) for message in [*cycle, cycle[0]])
        raise LocalError(f"{row_name(number, by_id[cycle[0]])}: it waits for itself: {chain}")


def find_cycle(message: int, by_id: dict[int, WorkloadRow], missing: dict[int, int]) -> list[int]:
    """The cycle one runs into by always following the first cause that never comes."""
    path: dict[int, None] = {}
    while message not in path:
        path[message] = None
        message = next(cause for cause in by_id[message].causes if missing[cause])
    chain = list(path)
    return chain[chain.index(message) :]


def row_name(number: int, row: WorkloadRow) -> str:
    """What to call a row in an error."""
    return f"row {number} (message {row.message_id})"


def as_fields(row: WorkloadRow) -> dict[str, object]:
    """The row as a file holds it; spelt out, as `asdict` takes several times as long."""
    return {
        "message_id": row.message_id,
        "sender": row.sender,
        "targets": list(row.targets),
        "causes": list(row.causes),
        "delay_ns": row.delay_ns,
        "payload_bytes": row.payload_bytes,
    }


def parsed_rows(files: Sequence[Path], source: Path) -> Iterator[WorkloadRow]:
    """The rows of these files; `LocalError` says where a column is wrong."""
    if suffix_of(files[0]) == ".parquet":
        numbered: Iterable[tuple[int, Fields]] = numbered_rows(
            read_table(files, source, WORKLOAD_COLUMNS)
        )
        unit = "row"
    else:
        numbered = chain.from_iterable(read_objects(file) for file in files)
        unit = "line"
    for number, fields in numbered:
        with located(f"{source}, {unit} {number}"):
            yield parsed_row(fields)


def parsed_row(fields: Fields) -> WorkloadRow:
    """The row in these fields, every column of the right type and size."""
    return WorkloadRow(
        message_id=integer(fields, "message_id", 0, INT64_MAX),
        sender=integer(fields, "sender", 0, INT32_MAX),
        targets=integers(fields, "targets", INT32_MAX),
        causes=integers(fields, "causes", INT64_MAX),
        delay_ns=integer(fields, "delay_ns", 0, INT64_MAX),
        payload_bytes=integer(fields, "payload_bytes", 0, INT32_MAX),
    )


def workload_schema() -> ArrowSchema:
    """The columns of a workload and their types."""
    pa = load_pyarrow("pyarrow")
    return pa.schema(
        [
            pa.field("message_id", pa.int64(), nullable=False),
            pa.field("sender", pa.int32(), nullable=False),
            pa.field("targets", pa.list_(pa.int32()), nullable=False),
            pa.field("causes", pa.list_(pa.int64()), nullable=False),
            pa.field("delay_ns", pa.int64(), nullable=False),
            pa.field("payload_bytes", pa.int32(), nullable=False),
        ]
    )
