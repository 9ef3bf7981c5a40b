"""From the findings of judges to the tables of an audit, and what they are like.

A large log is judged piece by piece, so a message may be found too early more than once, each time
with another late one; the latest counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from antecede_audit.columns.arrays import dense_ranks, offset_of_each, stable_order
from antecede_audit.columns.arrow_rows import Flags, Integers, Schema
from antecede_audit.judging.findings import IDENTITY_COLUMNS, VIOLATION_COLUMNS
from antecede_audit.judging.raw_findings import DUPLICATE, INVENTION, LOSS
from antecede_audit.judging.summary import CLEAR, GRADES, KINDS, POSSIBLE, RECORDED

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

Columns: TypeAlias = dict[str, Integers]
Identities: TypeAlias = Mapping[str, Sequence[Any]]
"""By column of the violations table: where they lead back to."""

Moved: TypeAlias = Mapping[int, Mapping[int, int]]
"""By run and process: by how much its clock was moved."""

INVOLVED: Final = ("process", "early_sender", "late_sender")
"""The processes whose clocks a violation depends on first of all."""

INTEGERS: Final = ("process", "early_sender", "late_sender", "sender", "target")


RUN_ID: Final = pa.field("run_id", pa.string(), nullable=False)
"""Which run a row belongs to."""


def table(*names: str) -> Schema:
    """Columns that name a process are short integers, the others long ones."""
    kinds = {name: pa.int32() if name in INTEGERS else pa.int64() for name in names}
    return pa.schema([RUN_ID, *(pa.field(*one, nullable=False) for one in kinds.items())])


SIDES: Final = ("early", "late")

_OF_VIOLATIONS: Final = [
    *table(*VIOLATION_COLUMNS[:-1]),
    pa.field("kind", pa.string(), nullable=False),
    pa.field("grade", pa.string(), nullable=False),
]

VIOLATIONS: Final = pa.schema(
    [
        *_OF_VIOLATIONS,
        *(pa.field(name, pa.string()) for name in IDENTITY_COLUMNS),
        *(pa.field(f"{side}_attributes", pa.map_(pa.string(), pa.string())) for side in SIDES),
    ]
)
"""One row per message delivered too early at a process."""

PLACED: Final = pa.schema(
    [*_OF_VIOLATIONS, *(pa.field(f"{side}_position", pa.int64()) for side in SIDES)]
)
"""The same with the positions of both deliveries, by which one finds what is known of these."""

DUPLICATES: Final = table(
    "process", "sender", "sequence", "deliveries", "first_delivered_ns", "last_delivered_ns"
)
"""One row per message delivered more than once at a process."""

LOSSES: Final = table("target", "sender", "sequence", "submitted_ns")
"""One row per message and process that it was submitted to and never delivered at."""

INVENTIONS: Final = table("process", "sender", "sequence", "delivered_ns")
"""One row per message delivered at a process that it was never submitted to."""

REPORTED: Final = {
    "duplicates": (DUPLICATE, DUPLICATES),
    "losses": (LOSS, LOSSES),
    "inventions": (INVENTION, INVENTIONS),
}
"""The tables whose rows are findings as they are, and of which kind."""

ORIGINS: Final = {
    "target": "process",
    "deliveries": "number",
    "submitted_ns": "time_ns",
    "delivered_ns": "time_ns",
    "first_delivered_ns": "time_ns",
    "last_delivered_ns": "other_ns",
}
"""What their columns are called among the findings, if it is not the same."""

WORDS: Final = {"kind": KINDS, "grade": tuple(GRADES)}
"""What numbers in these columns stand for."""


def columns_of(findings: ArrowTable) -> Columns:
    """Findings as arrays."""
    return {name: findings[name].to_numpy().astype(np.int64) for name in findings.column_names}


def chosen(columns: Columns, which: Flags | Integers | slice) -> Columns:
    """Some of the rows."""
    return {name: values[which] for name, values in columns.items()}


def latest_cause_of_each(rows: Columns, moved: Moved) -> Columns:
    """For each early message the latest of the late ones.

    In:  what `violations_in` returns.
    Out: run, the columns of `PLACED`; `kind` and `grade` as numbers that `WORDS` has words for.
    """
    key = joint_key([rows[name] for name in ("run", "process", "sender", "sequence")])
    order = stable_order(key)
    is_last = np.ones(len(key), np.bool_)
    is_last[:-1] = np.diff(key[order]) != 0
    again = ~is_last
    again[1:] |= again[:-1]
    several = order[again]
    others = [rows[name][several] for name in ("other_sequence", "other_sender", "other_position")]
    order[again] = several[np.lexsort([*others, key[several]])]
    rows = chosen(rows, order[is_last])
    early = {
        "run": rows["run"],
        "process": rows["process"],
        "early_sender": rows["sender"],
        "early_sequence": rows["sequence"],
        "early_delivered_ns": rows["time_ns"],
        "early_position": rows["position"],
        "late_position": rows["other_position"],
        "late_sender": rows["other_sender"],
        "late_sequence": rows["other_sequence"],
        "late_delivered_ns": rows["other_ns"],
        "held_back_ns": rows["other_ns"] - rows["time_ns"],
        "kind": (rows["other_sender"] != rows["sender"]).astype(np.int64),
    }
    return early | {"grade": grades_of(early, moved)}


def joint_key(columns: Sequence[Integers]) -> Integers:
    """A number for each row, by which rows stand as by the first column, then the second, and so
    on; equal where all are."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        numbers, count = dense_ranks(column)
        key = dense_ranks(key)[0] * count + numbers
    return key


def grades_of(early: Columns, moved: Moved) -> Integers:
    """What each violation rests on: its number among `GRADES`."""
    places = {grade: number for number, grade in enumerate(GRADES)}
    grades: Integers = np.full(len(early["run"]), places[RECORDED], np.int64)
    for run, clocks in moved.items():
        ours = np.flatnonzero(early["run"] == run)
        moves = [np.abs(offset_of_each(early[role][ours], clocks)) for role in INVOLVED]
        total_ns = np.sum(moves, axis=0)
        is_clear = early["held_back_ns"][ours] > total_ns
        grades[ours[total_ns > 0]] = places[POSSIBLE]
        grades[ours[(total_ns > 0) & is_clear]] = places[CLEAR]
    return grades


def arrow_table(
    schema: Schema, columns: Columns, names: Sequence[str], identities: Identities | None = None
) -> ArrowTable:
    """Columns as a table that has this schema; what is neither there nor identified is null."""
    arrays = []
    known = identities or {}
    for field in schema:
        kind = field.type
        origin = ORIGINS.get(field.name, field.name)
        if field.name in known:
            values = pa.array(known[field.name], kind)
        elif field.name == "run_id":
            values = pa.array(names, pa.string()).take(pa.array(columns["run"]))
        elif field.name in WORDS:
            values = pa.array(WORDS[field.name], kind).take(pa.array(columns[field.name]))
        elif origin in columns:
            values = pa.array(columns[origin]).cast(kind)
        else:
            values = pa.nulls(len(columns["run"]), kind)
        arrays.append(values)
    return pa.table(arrays, names=schema.names)
