"""Makes messages of the spans of many traces at once, column by column.

It finds what `calls` explains, and finds the same. Traces in which an id stands for several spans,
or in which a span is its own ancestor, are left to `calls`, which takes them one by one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede.pipeline.ingest.arrow_rows import Batch, arrow_schema, groups_of, rows_of
from antecede.pipeline.ingest.calls import ORPHANS, UNHEARD, Call, calls_of_trace
from antecede.pipeline.ingest.formats.records import (
    CLIENT,
    CONSUMER,
    PRODUCER,
    TIME_NS_MAX,
    UNKNOWN,
    Span,
)
from antecede.pipeline.ingest.layouts import COPIES, HASHED, MESSAGES, NUMBERED
from antecede.pipeline.ingest.packing import CALLING
from antecede.pipeline.ingest.xxhash import hashes_of

Column: TypeAlias = Any
"""An array of pyarrow's, which has no types."""
Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

NOBODY: Final = -1
KINDS: Final = (UNKNOWN, CLIENT, PRODUCER, CONSUMER)
"""The kinds of spans that matter here; a number for each, and for all others the next one."""
IS_UNKNOWN, IS_CLIENT, IS_PRODUCER, IS_CONSUMER = range(4)


def calls_among(spans: Batch, keys: Column, tally: Counter[str]) -> Iterator[Batch]:
    """The messages of these spans, which are all of their traces; `keys` is what processes are
    called, by their numbers.

    In:  `MOVED_SPANS`.
    Out: `MESSAGES`.
    """
    if not spans.num_rows:
        return
    forest = Forest(spans, keys)
    tally.update(forest.counted())
    yield from forest.calls()
    if not forest.regular.all():
        odd = spans.filter(pa.array(~forest.regular))
        order = [(name, "ascending") for name in ("trace", "part", "ordinal")]
        rows = rows_of([odd.sort_by(order)], CALLING)
        yield messages_of(
            [
                call
                for _, group in groups_of(rows, 1)
                for call in calls_of_trace(
                    [Span._make((*row, [], None, None)) for row in group], tally
                )
            ],
            keys,
        )


def messages_of(calls: Sequence[Call], keys: Column) -> Batch:
    """Calls that were found one by one, as rows of `MESSAGES`."""
    rows = pa.Table.from_arrays(
        [
            pa.array([call[place] for call in calls], field.type)
            for place, field in enumerate(arrow_schema(COPIES))
        ],
        schema=arrow_schema(COPIES),
    )
    return compacted({name: rows[name].combine_chunks() for name in COPIES.names}, keys)


def compacted(copies: Mapping[str, Column], keys: Column) -> Batch:
    """Copies with numbers for processes, and hashes for names; columns that are not there are null.

    In:  columns of `COPIES`.
    Out: `MESSAGES`.
    """
    count = len(copies["message"])
    known = dict(copies)
    for name in NUMBERED:
        known[name] = pc.index_in(copies[name], keys)
    for name in HASHED:
        if name in copies:
            known[name] = hashes_or_null(copies[name])
    if "received_in" in copies:
        same = pc.fill_null(pc.equal(copies["received_in"], copies["sent_in"]), False)
        known["received_in"] = pc.if_else(same, pa.scalar(None, pa.string()), copies["received_in"])
    schema = arrow_schema(MESSAGES)
    columns = [known.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def hashes_or_null(texts: Column) -> Column:
    """A hash for every text, and null for null."""
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(hashes_of(texts), mask=missing)


@dataclass(frozen=True, slots=True)
class Edges:
    """Messages between spans: from which to which, and who handles them at either end."""

    message: Integers
    sent: Integers
    received: Integers
    sent_ns: Column
    sent_latest_ns: Column
    received_ns: Column
    received_earliest_ns: Column
    answers: Column
    one_way: bool


class Forest:
    """The spans of some traces, each with its parent and its handler."""

    def __init__(self, spans: Batch, keys: Column) -> None:
        self._column: Final[dict[str, Column]] = {name: spans[name] for name in CALLING}
        self._trace: Final = codes_of(self._column["trace"])
        self._process: Final = pc.index_in(self._column["process"], keys).to_numpy()
        self._span_hash: Final = hashes_of(self._column["span"])
        kinds = pc.fill_null(pc.index_in(self._column["kind"], pa.array(KINDS)), len(KINDS))
        self._kind: Final = kinds.to_numpy()
        self._parent, repeated = self._parents()
        self._received: Final = self._are_received()
        self._is_caller: Final = self._are_callers()
        self._handler, endless = self._handlers()
        odd = np.zeros(self._trace.max() + 1, np.bool_)
        odd[self._trace[repeated | endless]] = True
        self.regular: Final[Flags] = ~odd[self._trace]
        """Whether a span's trace is dealt with here."""

    def counted(self) -> dict[str, int]:
        """What is worth counting."""
        orphans = (self._parent == NOBODY) & self._valid("parent")
        calling = (self._kind == IS_CLIENT) | (self._kind == IS_PRODUCER)
        unheard = calling & ~self._are_parents()
        return {
            ORPHANS: int((orphans & self.regular).sum()),
            UNHEARD: int((unheard & self.regular).sum()),
        }

    def calls(self) -> Iterator[Batch]:
        """The messages of all traces that are dealt with here."""
        place = np.flatnonzero(self._received & self.regular)
        parent = self._parent[place]
        follows = self._column["follows"].fill_null(False).to_numpy(zero_copy_only=False)
        produced = self._kind[parent] == IS_PRODUCER
        alone = follows[place] | (self._kind[place] == IS_CONSUMER) | produced
        for edges in (
            self._requests(place[~alone]),
            self._replies(place[~alone & self._valid("end_ns")[place]]),
            self._one_way(place[alone & produced], shared=True),
            self._one_way(place[alone & ~produced], shared=False),
        ):
            if len(edges.sent):
                yield self._batch(edges)

    def _requests(self, place: Integers) -> Edges:
        """The messages that started these spans."""
        parent = self._parent[place]
        latest = pc.fill_null(self._take("end_ns", parent), TIME_NS_MAX)
        return Edges(
            message=hashes_of(self._keys(place)),
            sent=parent,
            received=place,
            sent_ns=self._take("start_ns", parent),
            sent_latest_ns=without(latest, self._is_caller[parent]),
            received_ns=self._take("start_ns", place),
            received_earliest_ns=pa.nulls(len(place), pa.int64()),
            answers=pa.nulls(len(place), pa.int64()),
            one_way=False,
        )

    def _replies(self, place: Integers) -> Edges:
        """The messages that the ends of these spans are, back to whoever started them."""
        parent = self._parent[place]
        key = self._keys(place)
        return Edges(
            message=hashes_of(pc.binary_join_element_wise(key, "<", "")),
            sent=place,
            received=parent,
            sent_ns=self._take("end_ns", place),
            sent_latest_ns=pa.nulls(len(place), pa.int64()),
            received_ns=self._take("end_ns", parent),
            received_earliest_ns=without(self._take("start_ns", parent), self._is_caller[parent]),
            answers=pa.array(hashes_of(key)),
            one_way=False,
        )

    def _one_way(self, place: Integers, *, shared: bool) -> Edges:
        """The messages that started spans whose parents do not wait for them; those of a producer
        are shared by all who consume it."""
        request = self._requests(place)
        name = pc.binary_join_element_wise(self._keys(request.sent), "*", "")
        if not shared:
            name = pc.binary_join_element_wise(name, self._keys(place), "")
        return Edges(
            hashes_of(name),
            request.sent,
            place,
            request.sent_ns,
            request.sent_latest_ns,
            request.received_ns,
            request.received_earliest_ns,
            request.answers,
            one_way=True,
        )

    def _batch(self, edges: Edges) -> Batch:
        """Messages as rows of `MESSAGES`."""
        count = len(edges.sent)
        known = {
            "message": pa.array(edges.message),
            "sender": pa.array(self._process[edges.sent]),
            "receiver": pa.array(self._process[edges.received]),
            "sent_ns": edges.sent_ns,
            "sent_latest_ns": edges.sent_latest_ns,
            "received_ns": edges.received_ns,
            "received_earliest_ns": edges.received_earliest_ns,
            "sent_in": self._take("trace", edges.sent),
            "sent_by": pa.array(self._span_hash[self._handler[edges.sent]]),
            "received_by": pa.array(self._span_hash[self._handler[edges.received]]),
            "answers": edges.answers,
            "one_way": pa.repeat(edges.one_way, count),
            "payload_bytes": pa.array(np.zeros(count, np.int32)),
            "sent_span": self._take("span", edges.sent),
            "received_span": self._take("span", edges.received),
        }
        schema = arrow_schema(MESSAGES)
        columns = [known.get(field.name, pa.nulls(count, field.type)) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _parents(self) -> tuple[Integers, Flags]:
        """The place of every span's parent, and which spans share their id with another."""
        spans = self._column["span"].dictionary_encode()
        width = len(spans.dictionary)
        own = self._trace * width + spans.indices.to_numpy()
        order = np.argsort(own, kind="stable")
        same = np.zeros(len(own), np.bool_)
        same[1:] = np.diff(own[order]) == 0
        same[:-1] |= same[1:]
        repeated = np.zeros(len(own), np.bool_)
        repeated[order] = same
        index = pc.index_in(self._column["parent"], spans.dictionary)
        wanted = self._trace * width + pc.fill_null(index, 0).to_numpy()
        found = order[np.minimum(np.searchsorted(own[order], wanted), len(own) - 1)]
        there = index.is_valid().to_numpy(zero_copy_only=False) & (own[found] == wanted)
        there &= found != np.arange(len(own))
        return np.where(there, found, NOBODY), repeated

    def _are_received(self) -> Flags:
        """Which spans started because a message came in."""
        elsewhere = self._process != self._process[self._parent]
        consumed = (self._kind == IS_CONSUMER) & (self._kind[self._parent] == IS_PRODUCER)
        received: Flags = (self._parent != NOBODY) & (elsewhere | consumed)
        return received

    def _are_parents(self) -> Flags:
        """Which spans have children."""
        known = np.zeros(len(self._parent), np.bool_)
        known[self._parent[self._parent != NOBODY]] = True
        return known

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

    def _handlers(self) -> tuple[Integers, Flags]:
        """For every span the place of the one whose work it is part of, and which have none."""
        starts = self._received | (self._parent == NOBODY)
        handler = np.where(starts, np.arange(len(starts)), self._parent)
        for _ in range(len(starts).bit_length()):
            further = handler[handler]
            if np.array_equal(further, handler):
                break
            handler = further
        return handler, ~starts[handler]

    def _keys(self, place: Integers) -> Column:
        """What the requests that started these spans are called."""
        return pc.binary_join_element_wise(
            self._take("trace", place), self._take("span", place), "/"
        )

    def _take(self, name: str, place: Integers) -> Column:
        return self._column[name].take(pa.array(place))

    def _valid(self, name: str) -> Flags:
        valid: Flags = self._column[name].is_valid().to_numpy(zero_copy_only=False)
        return valid


def codes_of(texts: Column) -> Integers:
    """Equal numbers for equal texts."""
    codes: Integers = texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def without(values: Column, gone: Flags) -> Column:
    """The values, null where they are gone."""
    return pc.if_else(pa.array(gone), pa.scalar(None, values.type), values)
