"""What traces are like, before anybody believes what they say: gaps, clocks, and raw times.

It reads the spans themselves, without Spark, up to a number of them, and says so if there are more.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from antecede.pipeline.ingest.calls import DUPLICATES, ORPHANS, UNHEARD, Call, calls_of_trace
from antecede.pipeline.ingest.constraints import Clocks, Gap, repaired_clocks
from antecede.pipeline.ingest.formats.catalogue import AUTO
from antecede.pipeline.ingest.formats.records import Reject, Span
from antecede.pipeline.ingest.names import names_of
from antecede.pipeline.ingest.reading import Manner, read_part
from antecede.pipeline.ingest.small_copies import gaps_among
from antecede.pipeline.ingest.sources import find_files, parts_of

SPANS_MAX: Final = 1_000_000
"""So many spans are looked at: a few gigabytes of memory at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One process as its spans show it."""

    name: str
    spans: int
    resolution_ns: int
    """All its times are multiples of this."""
    offset_ns: int
    """What has to be added to its clock."""
    uncertain_ns: int | None
    """How far the offset could be moved without any message arriving before it was sent; None if
    it is held from one side only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two processes whose messages no offset puts in order."""

    sender: str
    receiver: str
    messages: int
    backwards: int
    worst_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Everything there is to say about some traces."""

    spans: int
    complete: bool
    """Whether that is all of them."""
    traces: int
    rejects: dict[str, int]
    """By reason; spans that end before they start are among them."""
    missing_parents: int
    duplicate_spans: int
    unreceived_calls: int
    before_parent: int
    """Spans that start before their parent, by the same clock."""
    messages: int
    backwards: int
    """Messages that arrive before they are sent, by the clocks as they were recorded."""
    backwards_repaired: int
    """The same, by clocks that are moved."""
    services: list[Service]
    impossible: list[Pair]

    def as_object(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def quality_of(
    paths: Sequence[str], *, format_name: str = AUTO, spans_max: int = SPANS_MAX
) -> Quality:
    """What the traces at these paths are like; `LocalError` if there are none."""
    rejects: Counter[str] = Counter()
    traces: dict[str, list[Span]] = {}
    count = 0
    complete = True
    for record in records_at(paths, format_name):
        if isinstance(record, Reject):
            rejects[record.reason] += 1
        elif count == spans_max:
            complete = False
            break
        else:
            traces.setdefault(record.trace, []).append(record)
            count += 1
    return described(traces, rejects, count, complete)


def records_at(paths: Sequence[str], format_name: str) -> Iterator[Span | Reject]:
    """The spans at these paths, and what could not be read."""
    for part in parts_of(find_files(paths).files):
        for _, _, _, record in read_part(part, Manner(format_name=format_name)):
            if isinstance(record, Span | Reject):
                yield record


def described(
    traces: dict[str, list[Span]], rejects: Counter[str], count: int, complete: bool
) -> Quality:
    """The figures of these traces."""
    tally: Counter[str] = Counter()
    calls = [call for spans in traces.values() for call in calls_of_trace(spans, tally)]
    gaps = gaps_among(calls)
    clocks = repaired_clocks(gaps)
    spans = [span for group in traces.values() for span in group]
    names = names_of(span.process for span in spans)
    moved = clocks.offsets_ns
    return Quality(
        spans=count,
        complete=complete,
        traces=len(traces),
        rejects=dict(rejects.most_common()),
        missing_parents=tally[ORPHANS],
        duplicate_spans=tally[DUPLICATES],
        unreceived_calls=tally[UNHEARD],
        before_parent=sum(before_parent(group) for group in traces.values()),
        messages=len(calls),
        backwards=sum(is_backwards(call, {}) for call in calls),
        backwards_repaired=sum(is_backwards(call, moved) for call in calls),
        services=services_of(spans, names, clocks, gaps),
        impossible=impossible_pairs(gaps, clocks, names),
    )


def before_parent(spans: Iterable[Span]) -> int:
    """How many spans start before their parent although both have the same clock."""
    started = {(span.process, span.span): span.start_ns for span in spans}
    return sum(
        span.start_ns < started.get((span.process, span.parent or ""), span.start_ns)
        for span in spans
    )


def gap_of(call: Call) -> int | None:
    """How long a message took at most, by the recorded clocks; None if nobody noted it."""
    return None if call.received_ns is None else call.received_ns - call.sent_ns


def is_backwards(call: Call, offsets: dict[str, int]) -> bool:
    """Whether a message seems to arrive before it was sent, by clocks that are moved so."""
    gap = gap_of(call)
    moved = offsets.get(call.receiver, 0) - offsets.get(call.sender, 0)
    return gap is not None and gap + moved < 0


def services_of(
    spans: Sequence[Span], names: dict[str, str], clocks: Clocks, gaps: Sequence[Gap]
) -> list[Service]:
    """Every process: how many spans, how fine its clock is, how far it is moved."""
    counts: Counter[str] = Counter()
    resolution: dict[str, int] = {}
    for span in spans:
        counts[span.process] += 1
        times = math.gcd(span.start_ns, span.end_ns or span.start_ns)
        resolution[span.process] = math.gcd(resolution.get(span.process, 0), times)
    uncertain = uncertainties(gaps)
    return [
        Service(
            name=name,
            spans=counts[key],
            resolution_ns=rounded_unit(resolution[key]),
            offset_ns=clocks.offsets_ns.get(key, 0),
            uncertain_ns=uncertain.get(key),
        )
        for key, name in names.items()
    ]


def rounded_unit(divisor: int) -> int:
    """The largest power of ten that divides all times."""
    unit = 1
    while divisor % (unit * 10) == 0 and unit < 10**9:
        unit *= 10
    return unit


def uncertainties(gaps: Sequence[Gap]) -> dict[str, int]:
    """By process: the shortest round trip to anybody, within which its clock may lie."""
    by_pair = {(gap.sender, gap.receiver): gap.smallest_ns for gap in gaps}
    found: dict[str, int] = {}
    for (sender, receiver), gap_ns in by_pair.items():
        back_ns = by_pair.get((receiver, sender))
        if back_ns is not None and gap_ns + back_ns >= 0:
            around_ns = gap_ns + back_ns
            found[sender] = min(found.get(sender, around_ns), around_ns)
    return found


def impossible_pairs(gaps: Sequence[Gap], clocks: Clocks, names: dict[str, str]) -> list[Pair]:
    """The pairs that no offsets put right, the worst first."""
    contrary = set(clocks.contradictory)
    found = [
        Pair(
            sender=names[gap.sender],
            receiver=names[gap.receiver],
            messages=gap.copies,
            backwards=gap.negative,
            worst_ns=gap.smallest_ns,
        )
        for gap in gaps
        if (gap.sender, gap.receiver) in contrary and gap.negative
    ]
    return sorted(found, key=lambda pair: (pair.worst_ns, pair.sender, pair.receiver))
