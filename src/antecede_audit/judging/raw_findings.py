"""What the judges of slices report: rows of one narrow table, whatever they are about.

A slice sees everything about its copies at once, so it reports all kinds of findings together; one
table for them means that nothing is computed twice. What the columns mean depends on `what`:

| what      | sender, sequence, process | position, time_ns | other_*                 | number   |
|-----------|---------------------------|-------------------|-------------------------|----------|
| VIOLATION | early, where              | of its delivery   | late, and its delivery  |          |
| DUPLICATE | the copy                  | first delivery    | other_ns: last delivery | how many |
| LOSS      | the copy                  | of its submission |                         |          |
| INVENTION | the copy                  | of its delivery   |                         |          |
| OPEN      | the copy                  | of its submission | first delivery          | how many |
| SPAN      | process; first sequence   | first position    | last sequence, position | slice    |
| MESSAGES  |                           |                   |                         | how many |
| DISORDER  |                           |                   |                         | a reason |
| CAUSED    |                           |                   |                         | how many |

VIOLATION and CAUSED have an `order`: 0 if all events of a process are ordered, 1 if those of a
trace are. OPEN is about a copy that reaches beyond its slice: what is not seen there has a position
of -1, deliveries are those in the slice's own stretch, between `clock_ns` and `other_clock_ns` lies
the flight by the clock that counts, and `other_sequence` is the trace that it is delivered in.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrays import equal_runs
from antecede_audit.columns.arrow_rows import Integers
from antecede_audit.columns.packed_batch import pack_integers, unpack_integers
from antecede_audit.judging.copies import ArrowBatch
from antecede_audit.judging.definition import ORDERS

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

VIOLATION: Final = 0
DUPLICATE: Final = 1
LOSS: Final = 2
INVENTION: Final = 3
OPEN: Final = 4
SPAN: Final = 5
MESSAGES: Final = 6
DISORDER: Final = 7
CAUSED: Final = 8
"""Messages that happen before themselves."""

ORDER_CODES: Final = {order: code for code, order in enumerate(ORDERS)}

REASONS: Final = (
    "times go back along the positions of a process",
    "a message is delivered before it is submitted",
    "the rows of one submission have different times",
    "events of equal time wait for each other in a circle",
)
"""Why the clock does not say in which order things happened; `DISORDER` rows have the index."""

BACKWARDS: Final = 0
BEFORE_SUBMISSION: Final = 1
SCATTERED: Final = 2
CIRCLE: Final = 3

MIXED: Final = -1
"""No reason by itself: the rows of one submission may have different times, and are looked at."""

INTEGERS: Final = ("what", "order", "run", "sender", "process", "other_sender")
FINDINGS: Final = pa.schema(
    [
        pa.field(name, pa.int32() if name in INTEGERS else pa.int64(), nullable=False)
        for name in (
            *("what", "order", "run", "sender", "sequence", "process", "position", "time_ns"),
            *("other_sender", "other_sequence", "other_position", "other_ns", "number", "clock_ns"),
            "other_clock_ns",
        )
    ]
)


PACKED: Final = pa.schema([*FINDINGS, ("content", pa.binary())])
"""As Spark gets them: of violations there may be many, and a row has thousands of one order.
`number` says how many, `process` the bucket that all those of one message and process are in."""

EARLY_AND_LATE: Final = (
    *("run", "process", "sender", "sequence", "position", "time_ns"),
    *("other_sender", "other_sequence", "other_position", "other_ns"),
)
"""What is in such a row."""

PACKED_ROWS: Final = 1 << 18
"""No such row has more."""

NO_FINDINGS: Final = FINDINGS.empty_table()

COLUMNS: Final = tuple((field.name, field.type.to_pandas_dtype()) for field in FINDINGS)
"""What the columns are called, and of which type they are."""


def findings_table(what: int, **columns: Any) -> ArrowTable:  # noqa: ANN401 - arrays, or one number for all
    """Rows of one kind; columns that are not given are 0."""
    sizes = [np.size(column) for column in columns.values()]
    if min(sizes) == 0:
        return NO_FINDINGS
    rows = max(sizes)
    given = {"what": what, **columns}
    arrays = [np.full(rows, given.get(name, 0), kind) for name, kind in COLUMNS]
    return pa.table(arrays, schema=FINDINGS)


def packed_findings(found: ArrowTable, buckets: int) -> Iterator[ArrowBatch]:
    """Findings as `PACKED`."""
    is_violation = pc.equal(found["what"], VIOLATION)
    others = found.filter(pc.invert(is_violation))
    yield from others.append_column("content", pa.nulls(len(others), pa.binary())).to_batches()
    # A part at a time: there may be as many violations as messages.
    for batch in found.to_batches(max_chunksize=PACKED_ROWS):
        yield from pack_violations(batch.filter(pc.equal(batch["what"], VIOLATION)), buckets)


def pack_violations(rows: ArrowBatch, buckets: int) -> Iterator[ArrowBatch]:
    """Violations, packed."""
    columns = {name: rows[name].to_numpy().astype(np.int64) for name in ("order", *EARLY_AND_LATE)}
    spread = columns["run"] * 31 + columns["process"] * 7 + columns["sender"]
    group = spread % buckets * len(ORDERS) + columns["order"]
    order = np.argsort(group, kind="stable")
    for start, end in equal_runs(group[order]):
        which = order[start:end]
        bucket, code = divmod(int(group[which[0]]), len(ORDERS))
        row = findings_table(VIOLATION, order=code, process=bucket, number=len(which))
        content = pack_integers([columns[name][which] for name in EARLY_AND_LATE])
        yield from row.append_column("content", pa.array([content])).to_batches()


def violations_in(contents: Iterable[Any]) -> dict[str, Integers]:
    """What is in the rows of violations: `EARLY_AND_LATE`."""
    columns = unpack_integers(contents, len(EARLY_AND_LATE))
    return dict(zip(EARLY_AND_LATE, columns, strict=True))
