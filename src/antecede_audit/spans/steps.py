"""The steps of an ingest between reading and writing, over any `Shuffle`.

Records become messages, which clocks are found by; then messages and events are put in order.
`antecede_audit.jobs.ingest` does that in this process, `antecede_audit.spark.ingest` on Spark.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Batch, Integers, conform
from antecede_audit.columns.clock_offsets import ClockOffsets
from antecede_audit.shuffle import SUM, Keyed, LastStage, Shuffle, chunks
from antecede_audit.spans import order, ties
from antecede_audit.spans.clocks import MESSAGE_TABLE, instants, repair_clocks
from antecede_audit.spans.messages import FOUND, SAMPLE_TABLE, TALLY_TABLE, messages_of_traces
from antecede_audit.spans.partitioning import (
    COPIED,
    EFFECT_TABLE,
    FACT_TABLE,
    FILE_TABLE,
    INVOLVED,
    LINE_TABLE,
    RAN,
    SPAN_TABLE,
    WHY_NOT,
)
from antecede_audit.spans.reading import KNOWN, NOT_READ, check_readable, damaged_files
from antecede_audit.spans.schemas import STORED_AS, STORED_SPANS
from antecede_audit.spans.summary import (
    BACKWARDS,
    CLAMPED,
    MUTUAL,
    FormatCount,
    IngestFacts,
    OrderCounts,
    ReadCounts,
    names_of,
)

SAMPLE_OF_A_TASK: Final = 1 << 11
"""2,048 copies are looked at for every task, to find out where to cut."""

SAMPLE_MAX: Final = 1 << 22
"""And at most 4,194,304 in all: they come to the driver, 40 bytes each."""


def stored_spans(rows: Iterable[Keyed], keys: Sequence[str]) -> Iterator[Batch]:
    """What each span is called, for findings to lead back to it, and all else that is known of it.

    In:  `SPAN_TABLE`; what processes are called, by their numbers.
    Out: `STORED_SPANS`.
    """
    names = pa.array(keys, pa.string())
    for spans in chunks(rows):
        renamed = {outside: spans[inside] for inside, outside in STORED_AS.items()}
        number = pc.index_in(spans["process"], names)
        yield conform(
            STORED_SPANS, renamed | {"process": number, "process_key": spans["process"]}, spans
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedMessages:
    """Messages, and what the clocks say about them."""

    messages: Shuffle
    """What `messages_of_traces` yields."""
    sample: Batch
    """Some of them."""
    known: IngestFacts


def extract_messages(
    records: Shuffle, read_keys: int, reading: ReadCounts, repair: bool, stack: ExitStack
) -> ExtractedMessages:
    """The messages in records, and clocks that suit them.

    It exchanges spans, and what names a cause in them, by trace, and lines by thousands.

    In: what `partition_records` yields, keyed from 0 up to `read_keys`.
    """
    names = names_of(reading.processes)
    keys = list(names)
    count = reading.spans + reading.copies
    tasks = min(records.partitions_for(count), read_keys)
    sampled = min(1.0, min(2 * tasks * SAMPLE_OF_A_TASK, SAMPLE_MAX) / max(count, 1))
    stage = partial(messages_of_traces, keys=keys, sampled=sampled)
    traces = records.exchange((SPAN_TABLE, EFFECT_TABLE, LINE_TABLE), tasks, read_keys)
    messages = traces.map(stage).persist(stack)
    tallies, sample = count_messages(messages)
    gaps, clocks = (
        repair_clocks(messages, keys) if repair else ([], ClockOffsets(offsets_ns={}, basis={}))
    )
    known = IngestFacts(
        reading=reading,
        rows=tallies.pop(FOUND, 0),
        tallies=dict(tallies),
        names=names,
        gaps=gaps,
        clocks=clocks,
    )
    return ExtractedMessages(messages=messages, sample=sample, known=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedCopies:
    """The copies of all messages with their numbers, and how to put their events in order."""

    copies: Shuffle
    """What `order.numbered` takes."""
    numbering: order.MessageNumbering | None
    by_process: order.RangePartitioning
    positions: order.PartitionOffsets
    placing: OrderCounts

    def ends(self) -> Shuffle:
        """What `stage` makes the event log of: the ends of copies, by process and time."""
        ends = partial(order.keyed_by_process, numbering=self.numbering, by_process=self.by_process)
        return self.copies.map(ends).exchange([order.END_TABLE], self.by_process.tasks)

    def stage(self) -> LastStage:
        """How a partition of ends becomes events."""
        return partial(order.event_batches, offsets=self.positions)


def order_events(traffic: ExtractedMessages, stack: ExitStack) -> OrderedCopies:
    """The events of every process in order. It exchanges copies by sender and time."""
    known, messages = traffic.known, traffic.messages
    offsets = known.clocks.by_number(list(known.names))
    tasks = messages.partitions_for(known.rows), messages.partitions_for(2 * known.rows)
    by_sender, by_process = stretches_of(traffic.sample, offsets, *tasks)
    stage = partial(order.place_copies, offsets=offsets, by_sender=by_sender)
    copies = messages.select(MESSAGE_TABLE).map(stage)
    found = number_and_order(copies, by_sender.tasks, by_process, stack)
    messages.unpersist()
    return found


def number_and_order(
    copies: Shuffle, tasks: int, by_process: order.RangePartitioning, stack: ExitStack
) -> OrderedCopies:
    """The copies with the numbers of their messages, and where their events belong.

    It exchanges copies by sender and time and, if times tie, once more by time.

    In: `PLACED_TABLE`, for so many partitions.
    """
    stage = partial(order.sort_by_sender, by_process=by_process)
    sent = copies.exchange([order.PLACED_TABLE], tasks).map(stage).persist(stack)
    counts, sequences, positions, at_once = count_sends(sent)
    numbering = order.MessageNumbering(sequences, counts.first_ids())
    found = OrderedCopies(
        copies=sent.select(order.SENT_TABLE),
        numbering=numbering,
        by_process=by_process,
        positions=positions,
        placing=counts,
    )
    if not at_once or (
        at_once <= ties.EDGES_MAX and not ties.is_tied(sent.collect(order.EDGE_TABLE)[0])
    ):
        return found
    timed = found.copies.map(partial(ties.keyed_by_time, numbering=numbering, tasks=tasks))
    ranked = timed.exchange([order.NUMBERED_TABLE], tasks).map(ties.rank_ties).persist(stack)
    tied = ranked.select(order.NUMBERED_TABLE)
    mutual = pc.sum(tied.collect_last(ties.mutual_counts, ties.MUTUALS)["mutual"]).as_py() or 0
    sent.unpersist()
    counts = replace(counts, counts=counts.counts | {MUTUAL: mutual})
    return replace(found, copies=tied, numbering=None, placing=counts)


def stretches_of(
    sample: Batch, offsets: Integers, sending: int, having: int
) -> tuple[order.RangePartitioning, order.RangePartitioning]:
    """Where copies are cut by their senders, and their events by their processes, into so many
    tasks each."""
    times = instants(sample, offsets)
    submitted, delivered = (times[name].to_numpy() for name in ("submitted_ns", "delivered_ns"))
    sender, receiver = (sample[name].to_numpy() for name in ("sender", "receiver"))
    process, time_ns = np.append(sender, receiver), np.append(submitted, delivered)
    return order.range_partitioning(sender, submitted, sending), order.range_partitioning(
        process, time_ns, having
    )


def count_records(records: Shuffle) -> tuple[ReadCounts, Batch]:
    """The counts of what was read, and the files; this is what makes Spark read them.

    In:  what `partition_records` yields.
    Out: also `FILES`.
    """
    facts, files_read = records.collect(FACT_TABLE, FILE_TABLE)
    counts: Counter[tuple[str, str]] = Counter()
    for row in facts.to_pylist():
        counts[row["fact"], row["name"]] += row["count"]
    files = files_read.to_pylist()
    check_readable(files)
    reasons = {name: count for (fact, name), count in counts.items() if fact == WHY_NOT}
    reading = ReadCounts(
        formats=format_counts([file for file in files if file["format"] not in NOT_READ]),
        rejects_by_reason=dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))),
        spans=sum(count for (fact, _), count in counts.items() if fact == RAN),
        copies=counts[COPIED, ""],
        skipped=sorted(file["source"] for file in files if file["format"] == KNOWN),
        damaged=damaged_files(files),
        processes=frozenset(name for fact, name in counts if fact in (RAN, INVOLVED)),
    )
    return reading, files_read


def format_counts(files: list[dict[str, Any]]) -> list[FormatCount]:
    """How many files and records there are of each format, from rows of `FILES`."""
    records: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for file in files:
        records[file["format"]] += file["records"]
        whole[file["format"]] += file["fingerprint"] is not None
    return [
        FormatCount(format=name, files=whole[name], records=records[name])
        for name in sorted(records)
    ]


def count_messages(messages: Shuffle) -> tuple[Counter[str], Batch]:
    """The counts of what spans and lines came to, and a sample.

    In:  what `messages_of_traces` yields.
    Out: also `SAMPLED`.
    """
    rows, sample = messages.collect(TALLY_TABLE, SAMPLE_TABLE)
    tallies: Counter[str] = Counter()
    for row in rows.to_pylist():
        tallies[row["tally"]] += row["count"]
    return tallies, sample


def count_sends(
    sent: Shuffle,
) -> tuple[OrderCounts, order.PartitionOffsets, order.PartitionOffsets, int]:
    """The counts of copies, the offsets of the sequences of messages and of the positions of
    events, and how many copies take no time.

    This is what makes Spark put them in order. In: what `order.sort_by_sender` yields.
    """
    rows = sent.collect(order.SEND_COUNT_TABLE)[0].to_pylist()
    copies: Counter[int] = Counter()
    for row in rows:
        copies[row["sender"]] += row["copies"]
    counts = OrderCounts(
        messages=sum(row["messages"] for row in rows),
        copies=dict(copies),
        first_ns=min((row["first_ns"] for row in rows), default=None),
        last_ns=max((row["last_ns"] for row in rows), default=None),
        counts={
            BACKWARDS: sum(row["backwards"] for row in rows),
            CLAMPED: sum(row["clamped"] for row in rows),
            MUTUAL: 0,
        },
    )
    having = sent.select(order.EVENT_COUNT_TABLE).aggregate(
        chunks, order.EVENT_COUNTS, order.EVENT_COUNTS.names[:2], {"count": SUM}
    )
    return (
        counts,
        order.offsets_of((row["task"], row["sender"], row["copies"]) for row in rows),
        order.offsets_of((row["task"], row["process"], row["count"]) for row in having),
        sum(row["at_once"] for row in rows),
    )
