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

from antecede.pipeline.metrics.instants import open_at_once
from antecede.pipeline.profile.structure import INDEX_BITS, NEVER, TIME_NS_MAX, Integers, by_run
from antecede.trace.parquet import ArrowArray, ArrowBatch, ArrowTable

VALUES: Final = "run_id string, measure string, value long, count long"


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
    return {
        "targets": pc.list_value_length(structure["targets"]),
        "causes": causes,
        "depth": structure["depth"],
        "think_ns": structure["delay_ns"].filter(pc.greater(causes, 0)),
        "payload_bytes": structure["payload_bytes"],
        "effects": pc.list_flatten(structure["target_effects"]),
        **conversation_values(structure),
        "errands_at_once": errands_at_once(structure),
    }


def conversation_values(structure: ArrowTable) -> dict[str, ArrowArray]:
    """What conversations have: messages, processes, and how long they take with no network."""
    places = structure["conversation"].to_numpy()
    ready_ns = pc.fill_null(structure["ready_ns"], NEVER).to_numpy()
    first_ns, last_ns = extremes(places[ready_ns >= 0], ready_ns[ready_ns >= 0], len(places))
    sizes = np.bincount(places)
    everywhere = np.concatenate([places, places[sources(structure)]])
    pairs = np.unique((everywhere << INDEX_BITS) | at_processes(structure))
    people = np.bincount(pairs >> INDEX_BITS)
    return {
        "conversation_messages": pa.array(sizes[sizes > 0]),
        "conversation_processes": pa.array(people[people > 0]),
        "conversation_ns": pa.array((last_ns - first_ns)[last_ns >= 0]),
    }


def errands_at_once(structure: ArrowTable) -> ArrowArray:
    """How many errands a process is on whenever one begins, over a network that takes no time."""
    errands = both(structure, "errand", "target_errands")
    ready_ns = pc.fill_null(structure["ready_ns"], NEVER).to_numpy()
    ready_ns = np.concatenate([ready_ns, ready_ns[sources(structure)]])
    known = ready_ns >= 0
    first_ns, last_ns = extremes(errands[known], ready_ns[known], len(errands))
    # An errand stays at one process, and goes by the number of one of its members.
    owners = np.zeros(len(errands), np.int32)
    owners[errands] = at_processes(structure)
    lasting = last_ns >= 0
    spans = (owners[lasting], first_ns[lasting], last_ns[lasting] + 1)
    levels = open_at_once(*map(pa.array, spans))
    return as_often(levels["level"], levels["opened"])


def extremes(groups: Integers, values: Integers, count: int) -> tuple[Integers, Integers]:
    """The least and the greatest value of each of so many groups; `NEVER` where there is none."""
    least, greatest = np.full(count, TIME_NS_MAX + 1), np.full(count, NEVER)
    np.minimum.at(least, groups, values)
    np.maximum.at(greatest, groups, values)
    return least, greatest


def sources(structure: ArrowTable) -> Integers:
    """For each copy, the row of its message."""
    rows: Integers = pc.list_parent_indices(structure["targets"]).to_numpy()
    return rows


def at_processes(structure: ArrowTable) -> Integers:
    """Where messages are sent and then where copies are delivered."""
    return both(structure, "sender", "targets")


def both(structure: ArrowTable, own: str, of_targets: str) -> Integers:
    """A column of messages and then one of their copies."""
    flat = pc.list_flatten(structure[of_targets])
    return np.concatenate([structure[own].to_numpy(), flat.to_numpy()])


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
