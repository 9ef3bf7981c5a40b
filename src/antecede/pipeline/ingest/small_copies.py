"""What the stages between spans and events have Spark do, done here on lists and numpy's columns.

The results are the same to the last row: ties are broken by the same hash that Spark takes, so that
nobody can tell from a log which of the two has made it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from antecede.pipeline.ingest.calls import Call, calls_of_trace
from antecede.pipeline.ingest.constraints import Gap
from antecede.pipeline.ingest.formats.records import (
    CONSUMER,
    LINE,
    PRODUCER,
    Copy,
    Span,
    span_key,
)
from antecede.pipeline.ingest.messages import RECEPTIONS
from antecede.pipeline.ingest.order import MUTUAL, ORDINARY, SENDING
from antecede.pipeline.ingest.ties import ranks_among
from antecede.pipeline.ingest.xxhash import xxhash64

Integers: TypeAlias = npt.NDArray[np.int64]


class Instants(NamedTuple):
    """When a copy was submitted and delivered, on one clock for all processes."""

    submitted_ns: int
    delivered_ns: int
    backwards: bool
    clamped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The events of all processes in order: which copy, which end of it, and where."""

    copy: list[int]
    is_delivery: list[bool]
    process: list[int]
    position: Integers
    time_ns: list[int]
    sequence: Integers
    """By copy."""
    backwards: int
    clamped: int
    mutual: int


def calls_among(spans: Iterable[Span], tally: Counter[str]) -> list[Call]:
    """The messages that spans stand for, trace by trace."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    return [call for trace in traces.values() for call in calls_of_trace(trace, tally)]


def linked_among(spans: Sequence[Span]) -> list[Call]:
    """The one-way messages from spans to those that name them as a cause besides their parent."""
    wanted = {link for span in spans for link in span.links}
    causes: dict[str, list[Span]] = {}
    for span in spans if wanted else []:
        key = span_key(span.trace, span.span)
        if key in wanted:
            causes.setdefault(key, []).append(span)
    return [
        linked_call(cause, effect, link)
        for effect in spans
        for link in effect.links
        for cause in causes.get(link, [])
        if cause.process != effect.process or (cause.kind, effect.kind) == (PRODUCER, CONSUMER)
    ]


def linked_call(cause: Span, effect: Span, link: str) -> Call:
    """The message from one span to another that names it."""
    produced = cause.kind == PRODUCER
    end_ns = cause.start_ns if cause.end_ns is None else cause.end_ns
    return Call(
        message=f"{link}*" if produced else f"{link}*{span_key(effect.trace, effect.span)}",
        sender=cause.process,
        receiver=effect.process,
        sent_ns=cause.start_ns,
        sent_latest_ns=None if produced else end_ns,
        received_ns=effect.start_ns,
        received_earliest_ns=None,
        sent_in=cause.trace,
        sent_by=cause.span,
        received_in=effect.trace,
        received_by=effect.span,
        answers=None,
        one_way=True,
        sent_span=cause.span,
        received_span=effect.span,
    )


def first_receptions(calls: Iterable[Call], numbers: Mapping[str, int]) -> Iterator[Call]:
    """The calls without one-way messages that the same process received before."""
    first: dict[tuple[str, str], Call] = {}
    for call in calls:
        if not call.one_way:
            yield call
            continue
        key = (call.message, call.receiver)
        other = first.get(key)
        if other is None or turn_of(call, numbers) < turn_of(other, numbers):
            first[key] = call
    yield from first.values()


def turn_of(call: Call, numbers: Mapping[str, int]) -> tuple[object, ...]:
    """By what receptions of one message are compared; like Spark, nothing comes first."""
    known = call._asdict() | {"sender": numbers[call.sender]}
    values = (known[name] for name in RECEPTIONS)
    return tuple((value is not None, value) for value in values)


def call_of_copy(source: str, copy: Copy) -> Call:
    """A line of a message table in the columns that spans have too."""
    return Call(
        message=copy.message,
        sender=copy.sender,
        receiver=copy.receiver,
        sent_ns=copy.sent_ns,
        sent_latest_ns=None,
        received_ns=copy.received_ns,
        received_earliest_ns=None,
        sent_in=None,
        sent_by=None,
        received_in=None,
        received_by=None,
        answers=None,
        one_way=True,
        label=None if copy.label is None else in_its_file(source, copy.label),
        causes=None if copy.causes is None else [in_its_file(source, one) for one in copy.causes],
        payload_bytes=copy.payload_bytes,
    )


def in_its_file(source: str, label: str) -> str:
    """A label that no other file has too, if it is the number of a line."""
    return source + label if label.startswith(LINE) else label


def gaps_among(calls: Iterable[Call]) -> list[Gap]:
    """How long messages seem to take, for every ordered pair of processes."""
    found: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        if call.received_ns is not None and call.sender != call.receiver:
            gap = call.received_ns - call.sent_ns
            found.setdefault((call.sender, call.receiver), []).append(gap)
    return [
        Gap(
            sender=sender,
            receiver=receiver,
            smallest_ns=min(gaps),
            median_ns=sorted(gaps)[(len(gaps) - 1) // 2],
            copies=len(gaps),
            negative=sum(gap < 0 for gap in gaps),
        )
        for (sender, receiver), gaps in found.items()
    ]


def instants_of(call: Call, offsets: Mapping[str, int]) -> Instants:
    """When a copy was submitted and delivered, as `clocks.instants` explains it."""
    ahead, behind = offsets.get(call.sender, 0), offsets.get(call.receiver, 0)
    submitted = call.sent_ns + ahead
    received = None if call.received_ns is None else call.received_ns + behind
    if call.sent_latest_ns is not None:
        latest = call.sent_latest_ns + ahead
        submitted = max(submitted, latest if received is None else min(received, latest))
    seen = received
    if call.received_earliest_ns is not None:
        earliest = max(submitted, call.received_earliest_ns + behind)
        seen = earliest if received is None else min(received, earliest)
    return Instants(
        submitted_ns=submitted,
        delivered_ns=submitted if seen is None else max(submitted, seen),
        backwards=call.received_ns is not None and call.received_ns < call.sent_ns,
        clamped=seen is not None and seen < submitted,
    )


def placed(calls: Sequence[Call], numbers: Mapping[str, int], offsets: Mapping[str, int]) -> Placed:
    """The events of these copies in order; `numbers` are those of the processes."""
    count = len(calls)
    instants = [instants_of(call, offsets) for call in calls]
    sender = integers(numbers[call.sender] for call in calls)
    receiver = integers(numbers[call.receiver] for call in calls)
    submitted = integers(one.submitted_ns for one in instants)
    delivered = integers(one.delivered_ns for one in instants)
    rank, mutual = ranks_among(sender, receiver, submitted, delivered)
    sequence = sequences_of(sender, submitted, xxhash64([call.message for call in calls]))
    phase = np.where(mutual, MUTUAL, ORDINARY)
    along = (
        np.concatenate([sender, receiver]),
        np.concatenate([submitted, delivered]),
        np.concatenate([np.full(count, SENDING), phase]),
        *(np.concatenate([one, one]) for one in (submitted, rank, sender, sequence, receiver)),
    )
    order = np.lexsort(along[::-1])
    process = along[0][order]
    starts = np.flatnonzero(np.diff(process, prepend=-1))
    sizes = np.diff(np.append(starts, len(process)))
    return Placed(
        copy=(order % max(count, 1)).tolist(),
        is_delivery=(order >= count).tolist(),
        process=process.tolist(),
        position=np.arange(len(process)) - np.repeat(starts, sizes),
        time_ns=along[1][order].tolist(),
        sequence=sequence,
        backwards=sum(one.backwards for one in instants),
        clamped=sum(one.clamped for one in instants),
        mutual=int(mutual.sum()),
    )


def integers(values: Iterable[int]) -> Integers:
    """A column of whole numbers."""
    return np.fromiter(values, np.int64)


def sequences_of(sender: Integers, submitted: Integers, message: Integers) -> Integers:
    """The sequence of every copy's message, as `order.sequenced` explains it."""
    order = np.lexsort((message, submitted, sender))
    own, time, name = sender[order], submitted[order], message[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.diff(own) != 0
    leads = is_first.copy()
    leads[1:] |= (np.diff(time) != 0) | (name[1:] != name[:-1])
    places = np.arange(len(order))
    leader = np.maximum.accumulate(np.where(leads, places, 0))
    first = np.maximum.accumulate(np.where(is_first, places, 0))
    sequence = np.zeros(len(order), np.int64)
    sequence[order] = leader - first + 1
    return sequence
