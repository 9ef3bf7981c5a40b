"""What single messages, conversations and errands of a run look like: values, and how often.

They follow from the structure of a run, which one task has as a whole anyway: so this is worked out
there and then as columns, wherever that task runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructField, StructType

from antecede.pipeline.metrics.small_stages import open_at_once
from antecede.pipeline.profile.structure import by_run
from antecede.trace.parquet import ArrowArray, ArrowBatch, ArrowTable

VALUES: Final = StructType(
    [
        StructField("run_id", StringType()),
        StructField("measure", StringType()),
        StructField("value", LongType()),
        StructField("count", LongType()),
    ]
)


def structure_values(structure: DataFrame) -> DataFrame:
    """What messages, conversations and errands look like.

    In:  what `causal_structure` gives, every run in one partition and in one piece, as it does.
    Out: `VALUES`.
    """
    return structure.mapInArrow(valued_batches, VALUES)


def valued_batches(batches: Iterable[ArrowBatch]) -> Iterator[ArrowBatch]:
    """The same for the rows of a partition."""
    for run_id, table in by_run(batches):
        counted = value_counts(values_of(table))
        runs = pa.repeat(run_id, len(counted))
        yield from counted.add_column(0, "run_id", runs).to_batches()


def values_of(structure: ArrowTable) -> dict[str, ArrowArray]:
    """By measure, the values in one run; a message without causes has no think time."""
    structure = structure.combine_chunks()
    causes = pc.list_value_length(structure["cause_ranks"])
    parts = parts_of(structure)
    lasting = [("ready_ns", "min"), ("ready_ns", "max")]
    sizes = structure.group_by("conversation").aggregate([([], "count_all")])
    people = parts.group_by("conversation").aggregate([("process", "count_distinct"), *lasting])
    ready = parts.filter(pc.is_valid(parts["ready_ns"]))
    errands = ready.group_by(["process", "errand"]).aggregate(lasting)
    after_ns = pc.add(errands["ready_ns_max"], 1)
    levels = open_at_once(errands["process"], errands["ready_ns_min"], after_ns)
    return {
        "targets": pc.list_value_length(structure["targets"]),
        "causes": causes,
        "depth": structure["depth"],
        "think_ns": structure["delay_ns"].filter(pc.greater(causes, 0)),
        "payload_bytes": structure["payload_bytes"],
        "effects": pc.list_flatten(structure["target_effects"]),
        "conversation_messages": sizes["count_all"],
        "conversation_processes": people["process_count_distinct"],
        "conversation_ns": pc.subtract(people["ready_ns_max"], people["ready_ns_min"]),
        "errands_at_once": as_often(levels["level"], levels["opened"]),
    }


def parts_of(structure: ArrowTable) -> ArrowTable:
    """Messages at their senders and copies at their targets: conversation, ready_ns, process,
    errand.
    """
    where = ["conversation", "ready_ns"]
    names = [*where, "process", "errand"]
    sent = structure.select([*where, "sender", "errand"]).rename_columns(names)
    copies = structure.select(where).take(pc.list_parent_indices(structure["targets"]))
    received = copies.append_column("process", pc.list_flatten(structure["targets"]))
    received = received.append_column("errand", pc.list_flatten(structure["target_errands"]))
    return pa.concat_tables([sent, received], promote_options="default")


def as_often(values: ArrowArray, counts: ArrowArray) -> ArrowArray:
    """Each value as often as it is counted."""
    return pa.array(np.repeat(values.to_numpy(), counts.to_numpy()))


def value_counts(values: Mapping[str, ArrowArray]) -> ArrowTable:
    """How often which values occur: measure, value, count; nulls are none."""
    tables = []
    for measure, column in values.items():
        found = pc.value_counts(pc.drop_null(column))
        columns = {
            "measure": pa.repeat(measure, len(found)),
            "value": found.field("values").cast(pa.int64()),
            "count": found.field("counts"),
        }
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)
