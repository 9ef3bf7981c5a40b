"""What an ingest makes of records, done row by row: slow, and nothing in common with the stages.

Three functions are those of the product, as others judge them: how clocks are repaired (here the
offsets are given), the hash of texts, and the ranks of processes that write to each other at once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from antecede_audit.columns.hashing import hash_texts
from antecede_audit.spans.formats.records import MessageRecord, SpanRecord
from antecede_audit.spans.ties import ranks_of
from tests.antecede_audit.spans.call_oracle import Call, calls_of_trace, span_key

LINE = "\x1f"
RECALLED = 16
DELIVERING, SENDING, DELIVERING_MUTUALLY = range(3)


class Sent(NamedTuple):
    """A copy with its numbers and its instants."""

    call: Call
    sender: int
    receiver: int
    submitted_ns: int
    delivered_ns: int
    sequence: int = 0
    message_id: int = 0
    rank: int = 0
    mutual: bool = False


class Happened(NamedTuple):
    """An event, and how it is sorted."""

    process: int
    time_ns: int
    phase: int
    submitted_ns: int
    rank: int
    sender: int
    sequence: int
    target: int
    copy: Sent


def messages_among(
    spans: Sequence[SpanRecord],
    copies: Iterable[tuple[str, MessageRecord]],
    numbers: Mapping[str, int],
) -> list[Call]:
    """All messages, and of one-way ones that a process received twice the first."""
    traces: dict[str, list[SpanRecord]] = defaultdict(list)
    for span in spans:
        traces[span.trace].append(span)
    tally: Counter[str] = Counter()
    found = [call for trace in traces.values() for call in calls_of_trace(trace, tally)]
    found += [
        linked_call(cause, effect, link)
        for effect in spans
        for link in effect.links
        for cause in spans
        if span_key(cause.trace, cause.span) == link
        if cause.process != effect.process or (cause.kind, effect.kind) == ("producer", "consumer")
    ]
    heard: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in found:
        if call.one_way:
            heard[call.message, call.receiver].append(call)
    first = [min(calls, key=lambda call: turn_of(call, numbers)) for calls in heard.values()]
    told = [call_of_copy(source, copy) for source, copy in copies]
    return [*(call for call in found if not call.one_way), *first, *told]


def linked_call(cause: SpanRecord, effect: SpanRecord, link: str) -> Call:
    """The message from one span to another that names it."""
    produced = cause.kind == "producer"
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


def turn_of(call: Call, numbers: Mapping[str, int]) -> tuple[object, ...]:
    """By what receptions of one message are compared; nothing comes first."""
    values = (call.received_ns, call.received_span, numbers[call.sender], call.sent_ns)
    return tuple((value is not None, value) for value in (*values, call.sent_latest_ns))


def call_of_copy(source: str, copy: MessageRecord) -> Call:
    """A line of a message table; numbers of lines mean those of the same file."""

    def own(label: str) -> str:
        return source + label if label.startswith(LINE) else label

    unknown: dict[str, Any] = dict.fromkeys(Call._fields)
    known = copy._asdict() | {
        "one_way": True,
        "label": None if copy.label is None else own(copy.label),
        "causes": None if copy.causes is None else [own(one) for one in copy.causes],
    }
    return Call(**(unknown | known))


def instants_of(call: Call, ahead: int, behind: int) -> tuple[int, int]:
    """When a copy was submitted and delivered, by clocks that are moved so."""
    submitted = call.sent_ns + ahead
    received = None if call.received_ns is None else call.received_ns + behind
    if call.sent_latest_ns is not None:
        latest = call.sent_latest_ns + ahead
        submitted = max(submitted, latest if received is None else min(received, latest))
    if call.received_earliest_ns is not None:
        earliest = max(submitted, call.received_earliest_ns + behind)
        received = earliest if received is None else min(received, earliest)
    return submitted, submitted if received is None else max(submitted, received)


def copies_of(
    calls: Sequence[Call], numbers: Mapping[str, int], offsets: Mapping[str, int]
) -> list[Sent]:
    """The copies with their numbers: by sender, time and hash."""
    hashes = hash_texts(pa.array([call.message for call in calls], pa.string()))
    placed = []
    for call, name in zip(calls, hashes.tolist(), strict=True):
        times = instants_of(call, offsets[call.sender], offsets[call.receiver])
        placed.append((numbers[call.sender], times[0], name, call, times[1]))
    placed.sort(key=lambda one: one[:3])
    firsts: dict[tuple[int, ...], int] = {}
    counts: Counter[int] = Counter()
    found = []
    for place, (sender, submitted, name, call, delivered) in enumerate(placed):
        counts[sender] += 1
        sequence = firsts.setdefault((sender, submitted, name), counts[sender])
        message_id = place + sequence - counts[sender]
        receiver = numbers[call.receiver]
        found.append(Sent(call, sender, receiver, submitted, delivered, sequence, message_id))
    ranks = ranks_at(found)
    return [ranked(one, ranks) for one in found]


def ranks_at(copies: Sequence[Sent]) -> dict[int, dict[int, int]]:
    """By time: the ranks of processes, if one of them receives and sends in no time."""
    edges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for copy in sorted(copies, key=lambda one: (one.submitted_ns, one.sender, one.receiver)):
        if copy.submitted_ns == copy.delivered_ns:
            edges[copy.submitted_ns].append((copy.sender, copy.receiver))
    return {
        time: ranks_of(dict.fromkeys(some))
        for time, some in edges.items()
        if {sender for sender, _ in some} & {receiver for _, receiver in some}
    }


def ranked(copy: Sent, ranks: Mapping[int, Mapping[int, int]]) -> Sent:
    """The copy with the rank of its sender, and whether it came back at once."""
    at_once = ranks.get(copy.submitted_ns, {})
    rank = at_once.get(copy.sender)
    quick = copy.submitted_ns == copy.delivered_ns
    mutual = quick and rank is not None and rank == at_once.get(copy.receiver)
    return copy._replace(rank=rank or 0, mutual=mutual)


def happened(copies: Iterable[Sent]) -> list[Happened]:
    """The events of all processes, in order."""
    found = []
    for one in copies:
        along = (one.submitted_ns, one.rank, one.sender, one.sequence, one.receiver, one)
        phase = DELIVERING_MUTUALLY if one.mutual else DELIVERING
        found.append(Happened(one.sender, one.submitted_ns, SENDING, *along))
        found.append(Happened(one.receiver, one.delivered_ns, phase, *along))
    return sorted(found, key=lambda event: event[:-1])


def event_rows(events: Iterable[Happened]) -> Iterator[dict[str, Any]]:
    """The event log."""
    positions: Counter[int] = Counter()
    for event in events:
        call = event.copy.call
        is_sent = event.phase == SENDING
        received_in = call.sent_in if call.received_in is None else call.received_in
        yield {
            "process": event.process,
            "position": positions[event.process],
            "kind": "submitted" if is_sent else "delivered",
            "sender": event.sender,
            "sequence": event.sequence,
            "target": event.target,
            "packet": None,
            "packet_kind": None,
            "time_ns": event.time_ns,
            "payload_bytes": call.payload_bytes,
            "metadata_bytes": 0,
            "trace_id": call.sent_in if is_sent else received_in,
            "span_id": call.sent_span if is_sent else call.received_span,
        }
        positions[event.process] += 1


class Delivered(NamedTuple):
    """What a process has been told."""

    number: int
    message_id: int
    time_ns: int


def work_rows(events: Sequence[Happened]) -> Iterator[dict[str, Any]]:
    """What each message waits for, of what its process did before in the same trace."""
    first_ns = min((event.time_ns for event in events), default=0)
    groups: dict[tuple[int, str | None], list[Happened]] = defaultdict(list)
    for event in events:
        call = event.copy.call
        scope = call.sent_in if event.phase == SENDING else call.received_in
        groups[event.process, scope].append(event)
    for (process, scope), some in groups.items():
        for sent, causes in waits_among(some, scope):
            since_ns = max((one.time_ns for one in causes), default=first_ns)
            yield {
                "message_id": sent[0].copy.message_id,
                "sender": process,
                "targets": list(dict.fromkeys(event.target for event in sent)),
                "causes": list(dict.fromkeys(one.message_id for one in causes)),
                "delay_ns": sent[0].time_ns - since_ns,
                "payload_bytes": max(event.copy.call.payload_bytes for event in sent),
            }


def waits_among(
    events: Sequence[Happened], scope: str | None
) -> Iterator[tuple[list[Happened], list[Delivered]]]:
    """The messages that are sent, each as its copies, and what they wait for."""
    heard: list[Delivered] = []
    by_handler: dict[str, list[Delivered]] = defaultdict(list)
    asked: dict[str, int] = {}
    labelled: dict[str, Delivered] = {}
    count = 0
    for event in events:
        call = event.copy.call
        if event.phase != SENDING:
            told = Delivered(count, event.copy.message_id, event.time_ns)
            count += 1
            since = asked.pop(call.answers, 0) if call.answers is not None else 0
            heard = [one for one in heard if one.number >= since] + [told]
            if call.received_by is not None:
                own = [one for one in by_handler[call.received_by] if one.number >= since]
                by_handler[call.received_by] = [*own, told]
            if call.label is not None:
                labelled[call.label] = told
            continue
        copies = [
            one
            for one in events
            if one.phase == SENDING and one.copy.message_id == event.copy.message_id
        ]
        if event is not copies[0]:
            continue
        if call.causes is not None:
            named = [label for one in copies for label in one.copy.call.causes or []]
            yield copies, sorted(labelled[label] for label in named if label in labelled)
        elif call.answers is not None and call.sent_by is not None:
            yield copies, by_handler.pop(call.sent_by, [])
        else:
            yield copies, heard
            heard = heard[-RECALLED:]
            if scope is not None:
                asked[call.message] = count
