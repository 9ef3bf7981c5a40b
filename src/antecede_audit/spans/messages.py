"""Spans of whole traces to messages, column by column; lines of message tables become such too.

A partition has all spans of its traces, and all spans elsewhere that name one of these as a cause.
So messages within traces and between them are found in one go, and whatever was received twice.

A span whose parent lives in another process is a received request, and its end a reply. Spans of
producers and consumers are one-way messages: one message per producer, however many consume it.

When was a request sent? If the parent is a client span, it is that very call: the request was sent
at its start and the reply received at its end. If it is the handler from within which the call was
made, the call is only known to lie inside it: such instants are given as ranges. A span that does
not say whether it is a client span is taken for one if it does nothing but call: all its children
are in one other process, and its own parent is in its own.

Both sides of a call may have the same id: then the sending side is the parent of the other, and of
spans that name this id as their parent, it is that of the side in their own process or, if there is
none, of the receiving side. Of spans that are there twice the first counts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import (
    Batch,
    Column,
    Flags,
    Integers,
    are_valid,
    batch_of_rows,
    concat_batches,
    conform,
)
from antecede_audit.columns.hashing import hash_texts
from antecede_audit.shuffle import Keyed, Table, whole_partition
from antecede_audit.spans.clocks import MEASURE_TABLE, MESSAGE_TABLE, gap_rows
from antecede_audit.spans.formats import records
from antecede_audit.spans.formats.records import CONSUMER, PRODUCER
from antecede_audit.spans.formats.records import LINE as LINE_LABEL
from antecede_audit.spans.partitioning import (
    CALL_SPANS,
    EFFECT_TABLE,
    LINE_TABLE,
    SPAN_TABLE,
)
from antecede_audit.spans.schemas import HASHED, LONG, MESSAGES, NUMBERED, TEXT, table

DUPLICATES: Final = "duplicate_spans"
ORPHANS: Final = "missing_parents"
UNHEARD: Final = "unreceived_calls"
COUNTED: Final = (DUPLICATES, ORPHANS, UNHEARD)
"""What else there may be in spans."""

NOBODY: Final = -1
KINDS: Final = (records.UNKNOWN, records.CLIENT, records.PRODUCER, records.CONSUMER, records.SERVER)
"""The kinds of spans that matter here; a number for each, and for all others the next one."""
IS_UNKNOWN, IS_CLIENT, IS_PRODUCER, IS_CONSUMER, IS_SERVER, IS_ANY = range(6)
SENDING_SIDE: Final = np.array([NOBODY, NOBODY, NOBODY, IS_PRODUCER, IS_CLIENT, NOBODY])
"""By kind: that of the other side, if this one receives."""

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

TALLY_TABLE: Final = Table("tallies", TALLIES)
SAMPLE_TABLE: Final = Table("sample", SAMPLED)
"""Both are collected."""

RECEPTIONS: Final = ("received_ns", "received_span", "sender", "sent_ns", "sent_latest_ns")
"""How receptions of one message by one process are sorted. Spans that share an id may both be the
sender: then who is chosen must not depend on how Spark has spread them."""

NULL_NS: Final = -(1 << 63)


def messages_of_traces(
    rows: Iterable[Keyed], keys: Sequence[str], sampled: float
) -> Iterator[Keyed]:
    """The messages of all spans and lines, between processes that are called so.

    In:  `SPAN_TABLE` and `EFFECT_TABLE`, whole traces; `LINE_TABLE`.
    Out: `MESSAGE_TABLE`, `MEASURE_TABLE`, `TALLY_TABLE`, and `SAMPLE_TABLE`: this part of all
         messages.
    """
    names = pa.array(keys, pa.string())
    number, (spans, effects, lines) = whole_partition(rows, SPAN_TABLE, EFFECT_TABLE, LINE_TABLE)
    spans = spans.select(CALL_SPANS.names)
    tally: Counter[str] = Counter()
    calls = [*call_messages(spans, names, tally), *link_messages(spans, effects, names)]
    tally[FOUND] = lines.num_rows + sum(one.num_rows for one in calls)
    heard = deduplicated(concat_batches(calls, MESSAGES))
    messages = concat_batches([heard, *lines_as_messages(lines, names)], MESSAGES)
    yield Keyed(MESSAGE_TABLE, messages, number)
    yield Keyed(MEASURE_TABLE, gap_rows(messages))
    yield Keyed(TALLY_TABLE, batch_of_rows([*tally.items()], TALLIES))
    chance = np.random.default_rng(number)
    some = np.flatnonzero(chance.random(messages.num_rows) < sampled)
    yield Keyed(SAMPLE_TABLE, messages.select(SAMPLED.names).take(pa.array(some)))


def link_messages(spans: Batch, effects: Batch, keys: Column) -> Iterator[Batch]:
    """The one-way messages from spans to those that name them as a cause besides their parent.

    In:  `CALL_SPANS`, `EFFECTS`.
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


def call_messages(spans: Batch, keys: Column, tally: Counter[str]) -> Iterator[Batch]:
    """The messages of these spans, which are all of their traces; `keys` is what processes are
    called, by their numbers. What else is worth counting goes to `tally`.

    In:  `CALL_SPANS`.
    Out: `MESSAGES`.
    """
    if not spans.num_rows:
        return
    ids = SpanIndex(spans)
    if ids.is_shared.any():
        first = without_duplicates(spans)
        tally[DUPLICATES] += spans.num_rows - first.num_rows
        spans, ids = first, SpanIndex(first)
    forest = SpanForest(spans, ids, keys)
    tally.update(forest.counted())
    yield from forest.calls()


def without_duplicates(spans: Batch) -> Batch:
    """The spans in the order of their files; of those that are there twice, with the same id in the
    same process, the first alone."""
    spans = spans.take(pa.array(in_files(spans)))
    codes = codes_of(spans["trace"], spans["span"], spans["process"])
    first = np.sort(np.unique(codes, return_index=True)[1])
    return spans.take(pa.array(first))


def in_files(spans: Batch) -> Integers:
    """The order in which spans stand in their files."""
    order: Integers = np.lexsort((spans["ordinal"].to_numpy(), spans["part"].to_numpy()))
    return order


def compacted(copies: Mapping[str, Column], keys: Column) -> Batch:
    """Rows of `MESSAGES`, from columns in which processes and names are texts."""
    known = dict(copies)
    for name in NUMBERED:
        known[name] = pc.index_in(copies[name], keys)
    for name in HASHED:
        if name in copies:
            known[name] = hashes_or_null(copies[name])
    if "received_in" in copies:
        same = pc.fill_null(pc.equal(copies["received_in"], copies["sent_in"]), False)
        known["received_in"] = pc.if_else(same, pa.scalar(None, pa.string()), copies["received_in"])
    return conform(MESSAGES, known)


def hashes_or_null(texts: Column) -> Column:
    """A hash for every text, and null for null."""
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(hash_texts(texts), mask=missing)


class SpanIndex:
    """The ids of spans and of their parents, as numbers; and who has them."""

    def __init__(self, spans: Batch) -> None:
        trace = codes_of(spans["trace"])
        names = spans["span"].dictionary_encode()
        parent = pc.index_in(spans["parent"], names.dictionary)
        width = len(names.dictionary)
        self.own: Final = trace * width + names.indices.to_numpy()
        self.parent: Final = np.where(
            are_valid(parent), trace * width + pc.fill_null(parent, 0).to_numpy(), NOBODY
        )
        """What is not the id of any span is nobody's."""
        self._order: Final = np.argsort(self.own, kind="stable")
        self._sorted: Final = self.own[self._order]
        again = np.diff(self._sorted, prepend=NOBODY) == 0
        again[:-1] |= again[1:]
        self.is_shared: Final = np.zeros(len(again), np.bool_)
        """Which spans have their id in common with another."""
        self.is_shared[self._order] = again

    def bearers(self, places: Integers, ids: Integers) -> tuple[Integers, Integers]:
        """For each of these spans all that have the id it names: pairs of places, in order."""
        start, end = (np.searchsorted(self._sorted, ids, side) for side in ("left", "right"))
        sizes = end - start
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(places, sizes), self._order[np.repeat(start, sizes) + within]


class SpanForest:
    """The spans of some traces, each with its parent and its handler."""

    def __init__(self, spans: Batch, ids: SpanIndex, keys: Column) -> None:
        self._spans: Final = spans
        self._ids: Final = ids
        self._process: Final = pc.index_in(spans["process"], keys).to_numpy()
        self._span_hash: Final = hash_texts(spans["span"])
        kinds = pc.fill_null(pc.index_in(spans["kind"], pa.array(KINDS)), IS_ANY)
        self._kind: Final = kinds.to_numpy()
        self._parent: Final = self._parents()
        self._received: Final = self._are_received()
        self._is_caller: Final = self._are_callers()
        self._handler: Final = self._handlers()

    def counted(self) -> dict[str, int]:
        """What is worth counting."""
        orphans = (self._parent == NOBODY) & self._valid("parent")
        calling = (self._kind == IS_CLIENT) | (self._kind == IS_PRODUCER)
        is_parent = np.zeros(len(self._parent), np.bool_)
        is_parent[self._parent[self._parent != NOBODY]] = True
        return {ORPHANS: int(orphans.sum()), UNHEARD: int((calling & ~is_parent).sum())}

    def calls(self) -> Iterator[Batch]:
        """The messages of all traces, as rows of `MESSAGES`."""
        place = np.flatnonzero(self._received)
        follows = self._spans["follows"].fill_null(False).to_numpy(zero_copy_only=False)
        produced = self._kind[self._parent[place]] == IS_PRODUCER
        alone = follows[place] | (self._kind[place] == IS_CONSUMER) | produced
        names = self._names(place)
        answered = ~alone & self._valid("end_ns")[place]
        if not alone.all():
            yield self._requests(place[~alone], names.filter(pa.array(~alone)), one_way=False)
        if answered.any():
            yield self._replies(place[answered], names.filter(pa.array(answered)))
        if alone.any():
            names = self._names_of_one_way(place[alone], produced[alone])
            yield self._requests(place[alone], names, one_way=True)

    def _requests(self, place: Integers, names: Column, *, one_way: bool) -> Batch:
        """The messages of these names that started these spans."""
        parent = self._parent[place]
        latest = pc.fill_null(self._take("end_ns", parent), records.TIME_NS_MAX)
        return self._messages(
            parent,
            place,
            message=hash_texts(names),
            sent_ns=self._take("start_ns", parent),
            sent_latest_ns=without(latest, self._is_caller[parent]),
            received_ns=self._take("start_ns", place),
            one_way=pa.repeat(one_way, len(place)),
        )

    def _replies(self, place: Integers, requests: Column) -> Batch:
        """The messages that the ends of these spans are, back to whoever started them."""
        parent = self._parent[place]
        return self._messages(
            place,
            parent,
            message=hash_texts(pc.binary_join_element_wise(requests, "<", "")),
            answers=hash_texts(requests),
            sent_ns=self._take("end_ns", place),
            received_ns=self._take("end_ns", parent),
            received_earliest_ns=without(self._take("start_ns", parent), self._is_caller[parent]),
            one_way=pa.repeat(False, len(place)),
        )

    def _messages(self, sent: Integers, received: Integers, **known: Any) -> Batch:  # noqa: ANN401 columns
        """Messages from some spans to others."""
        return conform(
            MESSAGES,
            {
                **known,
                "sender": self._process[sent],
                "receiver": self._process[received],
                "sent_in": self._take("trace", sent),
                "sent_by": self._span_hash[self._handler[sent]],
                "received_by": self._span_hash[self._handler[received]],
                "payload_bytes": np.zeros(len(sent), np.int32),
                "sent_span": self._take("span", sent),
                "received_span": self._take("span", received),
            },
        )

    def _names(self, place: Integers) -> Column:
        """What the requests that started spans are called; the sides of shared ones have their
        own."""
        names = self._keys(place)
        shared = self._ids.is_shared[place]
        if not shared.any():
            return names
        own = pc.binary_join_element_wise(names, self._take("process", place), "@")
        return pc.if_else(pa.array(shared), own, names)

    def _names_of_one_way(self, place: Integers, produced: Flags) -> Column:
        """The same of messages that nobody answers; those of a producer are shared by all who
        consume it."""
        common = pc.binary_join_element_wise(self._keys(self._parent[place]), "*", "")
        own = pc.binary_join_element_wise(common, self._keys(place), "")
        return pc.if_else(pa.array(produced), common, own)

    def _keys(self, place: Integers) -> Column:
        """How links name spans."""
        return pc.binary_join_element_wise(
            self._take("trace", place), self._take("span", place), "/"
        )

    def _parents(self) -> Integers:
        """The place of every span's parent."""
        parent = np.full(len(self._kind), NOBODY)
        named = np.flatnonzero(self._ids.parent != NOBODY)
        child, other = self._ids.bearers(named, self._ids.parent[named])
        child, other = child[child != other], other[child != other]
        elsewhere = self._process[child] != self._process[other]
        is_sender = SENDING_SIDE[self._kind[other]] == NOBODY
        set_first(parent, child, other, 2 * elsewhere + is_sender)
        shared = np.flatnonzero(self._ids.is_shared)
        child, other = self._ids.bearers(shared, self._ids.own[shared])
        sides = self._kind[other] == SENDING_SIDE[self._kind[child]]
        set_first(parent, child[sides], other[sides], np.zeros(sides.sum(), np.int64))
        return parent

    def _are_received(self) -> Flags:
        """Which spans started because a message came in."""
        elsewhere = self._process != self._process[self._parent]
        consumed = (self._kind == IS_CONSUMER) & (self._kind[self._parent] == IS_PRODUCER)
        received: Flags = (self._parent != NOBODY) & (elsewhere | consumed)
        return received

    def _are_callers(self) -> Flags:
        """Which spans are exactly one call, from the request to the reply."""
        child = np.flatnonzero(self._parent != NOBODY)
        above, process = self._parent[child], self._process[child]
        least = np.full(len(self._parent), len(self._parent))
        most = np.full(len(self._parent), -1)
        np.minimum.at(least, above, process)
        np.maximum.at(most, above, process)
        only_calls = (least == most) & (least != self._process)
        implied = (self._parent != NOBODY) & ~self._received & only_calls
        said = (self._kind == IS_CLIENT) | (self._kind == IS_PRODUCER)
        callers: Flags = np.where(self._kind == IS_UNKNOWN, implied, said)
        return callers

    def _handlers(self) -> Integers:
        """For every span the place of the one whose work it is part of: itself, if a message
        started it."""
        starts = self._received | (self._parent == NOBODY)
        handler = np.where(starts, np.arange(len(starts)), self._parent)
        for _ in range(len(starts).bit_length()):
            further = handler[handler]
            if np.array_equal(further, handler):
                break
            handler = further
        endless = ~starts[handler]
        if endless.any():
            files = in_files(self._spans)
            self._close_circles(handler, files[endless[files]].tolist())
        return handler

    def _close_circles(self, handler: Integers, endless: list[int]) -> None:
        """Where spans are their own ancestors, the first that is met again is the handler."""
        found: dict[int, int] = {}
        for place in endless:
            path = []
            while place not in found:
                path.append(place)
                found[place] = place
                place = int(self._parent[place])
            found |= dict.fromkeys(path, found[place])
        handler[list(found)] = list(found.values())

    def _take(self, name: str, place: Integers) -> Column:
        return self._spans[name].take(pa.array(place))

    def _valid(self, name: str) -> Flags:
        return are_valid(self._spans[name])


def set_first(chosen: Integers, place: Integers, other: Integers, rank: Integers) -> None:
    """Choose for places, which come in order, the first of the others that have the least rank."""
    if len(place):
        starts = np.flatnonzero(np.diff(place, prepend=NOBODY))
        least = np.minimum.reduceat(rank * len(place) + np.arange(len(place)), starts)
        chosen[place[starts]] = other[least % len(place)]


def codes_of(*texts: Column) -> Integers:
    """Equal numbers for equal texts, or for several that are equal."""
    codes: Integers = np.zeros(len(texts[0]), np.int64)
    for one in texts:
        known = one.dictionary_encode()
        codes = codes * len(known.dictionary) + known.indices.to_numpy()
    return codes


def without(values: Column, gone: Flags) -> Column:
    """The values, null where they are gone."""
    return pc.if_else(pa.array(gone), pa.scalar(None, values.type), values)
