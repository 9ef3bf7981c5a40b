"""The second stage: spans of whole traces in, messages out; lines of tables become such too.

A task has all spans of its traces, and all spans elsewhere that name one of these as a cause. So
messages within traces and between them are found in one go, and whatever was received twice.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Batch, Column, batch_of_rows, concat_batches
from antecede_audit.parcels import parcels_of_one, tables_of_partition
from antecede_audit.spans.call_columns import call_messages, compacted
from antecede_audit.spans.clocks import GAP, MESSAGE, gap_rows
from antecede_audit.spans.formats.records import CONSUMER, PRODUCER
from antecede_audit.spans.formats.records import LINE as LINE_LABEL
from antecede_audit.spans.partitioning import (
    ALL_OF_A_SPAN,
    EFFECT,
    EFFECTS,
    LINE,
    MOVED_SPANS,
    SPAN_SORT,
)
from antecede_audit.spans.schemas import LONG, MESSAGES, STORED_LINES, TEXT, table

SAMPLE: Final = "sample"
TALLY: Final = "tally"

TALLIES: Final = table(tally=TEXT, count=LONG)
FOUND: Final = "found"
"""Counted like a tally: all copies, also those that were received before."""

SAMPLED: Final = pa.schema(
    [
        MESSAGES.field(name)
        for name in (
            *("sender", "receiver", "sent_ns", "sent_latest_ns", "received_ns"),
            "received_earliest_ns",
        )
    ]
)
"""What says when and where a message was sent and received."""

RECEPTIONS: Final = ("received_ns", "received_span", "sender", "sent_ns", "sent_latest_ns")
"""How receptions of one message by one process are sorted. Spans that share an id may both be the
sender: then who is chosen must not depend on how Spark has spread them."""

NULL_NS: Final = -(1 << 63)


def messages_of_traces(
    batches: Iterable[Batch], keys: Sequence[str], sampled: float
) -> Iterator[Batch]:
    """The messages of all spans and lines, between processes that are called so.

    In:  parcels of `packing`.
    Out: parcels of `MESSAGES`, `MEASURES`, `TALLIES` and, of this part of all messages, `SAMPLED`.
    """
    names = pa.array(keys, pa.string())
    sorts = {SPAN_SORT: ALL_OF_A_SPAN, EFFECT: EFFECTS, LINE: STORED_LINES}
    bucket, found = tables_of_partition(batches, sorts)
    spans, effects, lines = found.values()
    spans = spans.select(MOVED_SPANS.names)
    tally: Counter[str] = Counter()
    calls = [*call_messages(spans, names, tally), *link_messages(spans, effects, names)]
    tally[FOUND] = lines.num_rows + sum(one.num_rows for one in calls)
    heard = deduplicated(concat_batches(calls, MESSAGES))
    messages = concat_batches([heard, *lines_as_messages(lines, names)], MESSAGES)
    yield from parcels_of_one(MESSAGE, messages, bucket)
    yield from parcels_of_one(GAP, gap_rows(messages))
    yield from parcels_of_one(TALLY, batch_of_rows([*tally.items()], TALLIES))
    chance = np.random.default_rng(bucket)
    some = np.flatnonzero(chance.random(messages.num_rows) < sampled)
    yield from parcels_of_one(SAMPLE, messages.select(SAMPLED.names).take(pa.array(some)))


def link_messages(spans: Batch, effects: Batch, keys: Column) -> Iterator[Batch]:
    """The one-way messages from spans to those that name them as a cause besides their parent.

    In:  `MOVED_SPANS`, `EFFECTS`.
    Out: `MESSAGES`.
    """
    if not effects.num_rows:
        return
    links = pc.binary_join_element_wise(spans["trace"], spans["span"], "/")
    causes = pa.table([links, *spans.columns], ["link", *spans.schema.names])
    named = causes.filter(pc.is_in(links, effects["link"]))
    both = pa.Table.from_batches([effects]).join(
        named, "link", join_type="inner", left_suffix="_effect", use_threads=False
    )
    pairs = {name: both[name].combine_chunks() for name in both.column_names}
    produced = pc.equal(pairs["kind"], PRODUCER)
    consumed = pc.and_(produced, pc.equal(pairs["kind_effect"], CONSUMER))
    elsewhere = pc.not_equal(pairs["process"], pairs["process_effect"])
    wanted = pc.or_(elsewhere, consumed)
    pairs = {name: column.filter(wanted) for name, column in pairs.items()}
    yield compacted(linked_columns(pairs, produced.filter(wanted)), keys)


def linked_columns(pairs: dict[str, Column], produced: Column) -> dict[str, Column]:
    """Columns for `compacted`; the messages of a producer are shared by all their effects."""
    count = len(produced)
    shared = pc.binary_join_element_wise(pairs["link"], "*", "")
    own = pc.binary_join_element_wise(
        shared, pairs["trace_effect"], pa.scalar("/"), pairs["span_effect"], ""
    )
    latest = pc.coalesce(pairs["end_ns"], pairs["start_ns"])
    return {
        "message": pc.if_else(produced, shared, own),
        "sender": pairs["process"],
        "receiver": pairs["process_effect"],
        "sent_ns": pairs["start_ns"],
        "sent_latest_ns": pc.if_else(produced, pa.scalar(None, pa.int64()), latest),
        "received_ns": pairs["start_ns_effect"],
        "sent_in": pairs["trace"],
        "sent_by": pairs["span"],
        "received_in": pairs["trace_effect"],
        "received_by": pairs["span_effect"],
        "one_way": pa.repeat(True, count),
        "payload_bytes": pa.array(np.zeros(count, np.int32)),
        "sent_span": pairs["span"],
        "received_span": pairs["span_effect"],
    }


def deduplicated(messages: Batch) -> Batch:
    """The messages without one-way ones that the same process received before.

    Consumers have spans for polling and for handling the same message.

    In, out: `MESSAGES`.
    """
    one_way = messages["one_way"]
    if not pc.any(one_way).as_py():
        return messages
    alone = messages.filter(one_way)
    # What is null comes first.
    least = {"received_ns": NULL_NS, "sent_latest_ns": NULL_NS, "received_span": ""}
    names = ("message", "receiver", *RECEPTIONS)
    keys = [
        pc.fill_null(alone[name], least[name]) if name in least else alone[name] for name in names
    ]
    sorting = [(name, "ascending") for name in names]
    ordered = alone.take(pc.sort_indices(pa.record_batch(keys, list(names)), sort_keys=sorting))
    first = np.ones(ordered.num_rows, np.bool_)
    first[1:] = False
    for name in ("message", "receiver"):
        first[1:] |= np.diff(ordered[name].to_numpy()) != 0
    kept = ordered.filter(pa.array(first))
    return concat_batches([messages.filter(pc.invert(one_way)), kept], MESSAGES)


def lines_as_messages(lines: Batch, keys: Column) -> Iterator[Batch]:
    """What message tables say, in the columns that spans have too.

    In:  `STORED_LINES`.
    Out: `MESSAGES`.
    """
    if not lines.num_rows:
        return
    source = lines["source"]
    causes = lines["causes"]
    flat = in_its_file(pc.list_flatten(causes), source.take(pc.list_parent_indices(causes)))
    lengths = pc.fill_null(pc.list_value_length(causes), 0).to_numpy()
    ends = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    named = pa.ListArray.from_arrays(ends, flat, mask=causes.is_null())
    known = {name: lines[name] for name in ("message", "sender", "receiver", "sent_ns")}
    known |= {name: lines[name] for name in ("received_ns", "payload_bytes")}
    known |= {"label": in_its_file(lines["label"], source), "causes": named}
    yield compacted(known | {"one_way": pa.repeat(True, lines.num_rows)}, keys)


def in_its_file(labels: Column, source: Column) -> Column:
    """Labels that no other file has too, if they are the numbers of lines."""
    own = pc.binary_join_element_wise(source, labels, "")
    is_line = pc.fill_null(pc.starts_with(labels, LINE_LABEL), False)
    return pc.if_else(is_line, own, labels)
