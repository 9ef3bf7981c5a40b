"""From the findings about a small log to the tables of an audit: what `verdict` has Spark do."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, MapType, StringType, StructType

from antecede.audit.history import Order
from antecede.audit.summary import CHANNELS, GRADES, KINDS, QUANTILES, Channel
from antecede.pipeline.audit import verdict
from antecede.pipeline.audit.copies import Flags, Integers
from antecede.pipeline.audit.findings import DUPLICATE, INVENTION, LOSS, ORDER_CODES, VIOLATION

ArrowTable: TypeAlias = Any
"""pyarrow has no type stubs; the name says at least what is meant."""

Columns: TypeAlias = dict[str, Integers]
Identities: TypeAlias = Mapping[str, Sequence[Any]]
"""By column of the violations table: where they lead back to."""

WORDS: Final = {"kind": KINDS, "grade": tuple(GRADES)}
"""What numbers in these columns stand for."""

ARROW_TYPES: Final = {
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    StringType: pa.string(),
    MapType: pa.map_(pa.string(), pa.string()),
}

SAME: Final = {"process": "process", "sender": "sender", "sequence": "sequence"}
TABLES: Final = {
    "duplicates": (
        DUPLICATE,
        verdict.DUPLICATES,
        SAME
        | {
            "deliveries": "number",
            "first_delivered_ns": "time_ns",
            "last_delivered_ns": "other_ns",
        },
    ),
    "losses": (
        LOSS,
        verdict.LOSSES,
        {
            "target": "process",
            "sender": "sender",
            "sequence": "sequence",
            "submitted_ns": "time_ns",
        },
    ),
    "inventions": (INVENTION, verdict.INVENTIONS, SAME | {"delivered_ns": "time_ns"}),
}
"""What each table is about, its columns, and where among the findings they come from."""


def columns_of(findings: ArrowTable) -> Columns:
    """Findings as arrays."""
    return {name: findings[name].to_numpy().astype(np.int64) for name in findings.column_names}


def tables_of(
    findings: Columns, early: Columns, names: Sequence[str], identities: Identities
) -> dict[str, ArrowTable]:
    """All tables of an audit; `names` are the ids of the runs, `early` the violations."""
    found = {"violations": arrow_table(verdict.VIOLATIONS, early, names, identities)}
    for name, (what, schema, origins) in TABLES.items():
        rows = chosen(findings, findings["what"] == what)
        columns = {column: rows[origin] for column, origin in origins.items()}
        found[name] = arrow_table(schema, columns | {"run": rows["run"]}, names)
    return found


def chosen(columns: Columns, which: Flags | Integers) -> Columns:
    """Some of the rows."""
    return {name: values[which] for name, values in columns.items()}


def latest_violations(findings: Columns, order: Order) -> Columns:
    """The columns of the violations table: for each early message the latest of the late ones."""
    is_asked_for = findings["order"] == ORDER_CODES[order]
    rows = chosen(findings, (findings["what"] == VIOLATION) & is_asked_for)
    keys = ("run", "process", "sender", "sequence")
    ranking = np.lexsort(
        [rows[name] for name in ("other_sequence", "other_sender", "other_position", *keys[::-1])]
    )
    rows = chosen(rows, ranking)
    is_last = np.ones(len(ranking), np.bool_)
    is_last[:-1] = group_changes(rows, keys)
    rows = chosen(rows, is_last)
    return {
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


def group_changes(rows: Columns, keys: Sequence[str]) -> Flags:
    """Whether each row but the first belongs to another group than the one before it."""
    changes = np.zeros(max(0, len(rows[keys[0]]) - 1), np.bool_)
    for key in keys:
        changes |= np.diff(rows[key]) != 0
    return changes


def arrow_table(
    schema: StructType, columns: Columns, names: Sequence[str], identities: Identities | None = None
) -> ArrowTable:
    """Columns as a table that has this schema; what is neither there nor identified is null."""
    arrays, fields = [], []
    known = identities or {}
    for field in schema.fields:
        kind = ARROW_TYPES[type(field.dataType)]
        if field.name in known:
            values = pa.array(known[field.name], kind)
        elif field.name == "run_id":
            values = pa.array(names, pa.string()).take(pa.array(columns["run"]))
        elif field.name in WORDS:
            values = pa.array(WORDS[field.name], kind).take(pa.array(columns[field.name]))
        elif field.name in columns:
            values = pa.array(columns[field.name]).cast(kind)
        else:
            values = pa.nulls(len(columns["run"]), kind)
        arrays.append(values)
        fields.append(pa.field(field.name, values.type))
    return pa.table(arrays, schema=pa.schema(fields))


def quantile(values: Integers, share: float) -> int:
    """The smallest value that this share of all values does not exceed; they are in order."""
    return int(values[max(0, int(np.ceil(share * len(values))) - 1)])


def quantiles_of(held_back_ns: Integers) -> dict[str, int] | None:
    """How long causal delivery would have held messages back; None if there are none."""
    if not len(held_back_ns):
        return None
    ordered = np.sort(held_back_ns)
    return {name: quantile(ordered, share) for name, share in QUANTILES.items()}


def channels_of(early: Columns, names: Sequence[str]) -> list[Channel]:
    """The channels with most violations."""
    keys = ("run", "process", "early_sender", "late_sender")
    rows = chosen(early, np.lexsort([early[name] for name in ("held_back_ns", *keys[::-1])]))
    total = len(rows["run"])
    starts = np.flatnonzero(np.concatenate([[True] * bool(total), group_changes(rows, keys)]))
    ends = np.append(starts, total)[1:]
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        held_back_ns = rows["held_back_ns"][start:end]
        run, process, early_sender, late_sender = (int(rows[name][start]) for name in keys)
        found.append(
            Channel(
                run_id=names[run],
                process=process,
                early_sender=early_sender,
                late_sender=late_sender,
                violations=end - start,
                held_back_ns=quantile(held_back_ns, 0.5),
                held_back_ns_max=int(held_back_ns[-1]),
            )
        )
    found.sort(
        key=lambda one: (
            -one.violations,
            one.run_id,
            one.process,
            one.early_sender,
            one.late_sender,
        )
    )
    return found[:CHANNELS]
