"""What the judges of slices report: rows of one narrow table, whatever they are about.

A slice sees everything about its copies at once, so it reports all kinds of findings together; one
table for them means that nothing is computed twice. What the columns mean depends on `what`:

| what      | sender, sequence, process | position, time_ns | other_*                 | number   |
|-----------|---------------------------|-------------------|-------------------------|----------|
| VIOLATION | early, where              | of its delivery   | late, and its delivery  |          |
| DUPLICATE | the copy                  | first delivery    | other_ns: last delivery | how many |
| LOSS      | the copy                  | of its submission |                         |          |
| INVENTION | the copy                  | of its delivery   |                         |          |
| LONG      | the copy                  | of its submission | of its delivery         |          |
| SPAN      | process; first sequence   | first position    | last sequence, position | slice    |
| MESSAGES  |                           |                   |                         | how many |
| DISORDER  |                           |                   |                         | a reason |
| CAUSED    |                           |                   |                         | how many |
"""

from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

VIOLATION: Final = 0
DUPLICATE: Final = 1
LOSS: Final = 2
INVENTION: Final = 3
LONG: Final = 4
SPAN: Final = 5
MESSAGES: Final = 6
DISORDER: Final = 7
CAUSED: Final = 8
"""Messages that happen before themselves."""

REASONS: Final = (
    "times go back along the positions of a process",
    "a message is delivered before it is submitted",
    "the rows of one submission have different times",
    "events of equal time wait for each other in a circle",
)
"""Why a run is not judged in slices; `DISORDER` rows have the index."""

BACKWARDS: Final = 0
BEFORE_SUBMISSION: Final = 1
SCATTERED: Final = 2
CIRCLE: Final = 3

FINDINGS: Final = StructType(
    [
        StructField("what", IntegerType(), nullable=False),
        StructField("run", IntegerType(), nullable=False),
        StructField("sender", IntegerType(), nullable=False),
        StructField("sequence", LongType(), nullable=False),
        StructField("process", IntegerType(), nullable=False),
        StructField("position", LongType(), nullable=False),
        StructField("time_ns", LongType(), nullable=False),
        StructField("other_sender", IntegerType(), nullable=False),
        StructField("other_sequence", LongType(), nullable=False),
        StructField("other_position", LongType(), nullable=False),
        StructField("other_ns", LongType(), nullable=False),
        StructField("number", LongType(), nullable=False),
    ]
)


def arrow_schema() -> Any:  # noqa: ANN401 - an Arrow schema, untyped
    """`FINDINGS` as Arrow has it."""
    return pa.schema(
        [
            pa.field(
                field.name, pa.int32() if isinstance(field.dataType, IntegerType) else pa.int64()
            )
            for field in FINDINGS.fields
        ]
    )


def findings_table(what: int, **columns: Any) -> ArrowTable:  # noqa: ANN401 - arrays, or one number for all
    """Rows of one kind; columns that are not given are 0."""
    rows = max(np.size(column) for column in columns.values())
    if any(np.size(column) == 0 for column in columns.values()):
        rows = 0
    given = {"what": what, **columns}
    arrays = [
        np.broadcast_to(given.get(field.name, 0), rows).astype(field.type.to_pandas_dtype())
        for field in arrow_schema()
    ]
    return pa.table(arrays, schema=arrow_schema())
