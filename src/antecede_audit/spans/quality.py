"""What traces are like, before anybody believes what they say: gaps, clocks, and raw times.

It reads the spans themselves, without Spark, up to a number of them, and says so if there are more.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede_audit.columns.arrow_rows import Batch, Integers, concat_batches
from antecede_audit.columns.clock_offsets import ClockOffsets, Gap
from antecede_audit.shuffle import Keyed, LocalShuffle
from antecede_audit.spans.clocks import MEASURE_TABLE, MESSAGE_TABLE, gap_rows, repair_clocks
from antecede_audit.spans.formats.catalogue import AUTO
from antecede_audit.spans.messages import DUPLICATES, ORPHANS, UNHEARD, call_messages
from antecede_audit.spans.partitioning import CALL_SPANS, fields_of
from antecede_audit.spans.reading import ReadOptions, check_readable, read_together, record_batches
from antecede_audit.spans.schemas import FILES, MESSAGES, REJECTS
from antecede_audit.spans.summary import names_of
from antecede_audit.spans.trace_files import find_files, parts_of

SPANS_MAX: Final = 1_000_000
"""A million spans are looked at: a few gigabytes of memory at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQuality:
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
class ProcessPair:
    """Two processes whose messages no offset puts in order."""

    sender: str
    receiver: str
    messages: int
    backwards: int
    worst_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceQuality:
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
    services: list[ServiceQuality]
    impossible: list[ProcessPair]

    def as_object(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def quality_of(
    paths: Sequence[str], *, format_name: str = AUTO, spans_max: int = SPANS_MAX
) -> TraceQuality:
    """What the traces at these paths are like; `LocalError` if there are none."""
    rejects: Counter[str] = Counter()
    batches: list[Batch] = []
    count = 0
    options = ReadOptions(format_name=format_name)
    parts = parts_of(find_files(paths).files)
    records = (record for part in parts for record in read_together(part, options))
    for batch in record_batches(records):
        check_readable(fields_of(batch, "file", FILES).to_pylist())
        rejects.update(fields_of(batch, "reject", REJECTS)["reason"].to_pylist())
        batches.append(fields_of(batch, "span", CALL_SPANS))
        count += batches[-1].num_rows
        if count > spans_max:
            break
    spans = concat_batches(batches, CALL_SPANS).slice(0, spans_max)
    return described(spans, rejects, count <= spans_max)


def described(spans: Batch, rejects: Counter[str], complete: bool) -> TraceQuality:
    """The figures of these spans, which are rows of `CALL_SPANS`."""
    tally: Counter[str] = Counter()
    names = names_of(spans["process"].to_pylist())
    keys = list(names)
    messages = concat_batches([*call_messages(spans, pa.array(keys, pa.string()), tally)], MESSAGES)
    found = [Keyed(MESSAGE_TABLE, messages), Keyed(MEASURE_TABLE, gap_rows(messages))]
    gaps, clocks = repair_clocks(LocalShuffle([found]), keys)
    return TraceQuality(
        spans=spans.num_rows,
        complete=complete,
        traces=pc.count_distinct(spans["trace"]).as_py(),
        rejects=dict(rejects.most_common()),
        missing_parents=tally[ORPHANS],
        duplicate_spans=tally[DUPLICATES],
        unreceived_calls=tally[UNHEARD],
        before_parent=before_parent(spans),
        messages=messages.num_rows,
        backwards=backwards(messages, np.zeros(len(keys), np.int64)),
        backwards_repaired=backwards(messages, clocks.by_number(keys)),
        services=services_of(spans, names, clocks, gaps),
        impossible=impossible_pairs(gaps, clocks, names),
    )


def before_parent(spans: Batch) -> int:
    """How many spans start before their parent although both have the same clock."""
    names = ["trace", "process", "span"]
    told = pa.Table.from_batches([spans.select([*names, "parent", "start_ns"])])
    above = told.group_by(names, use_threads=False).aggregate([("start_ns", "last")])
    both = told.join(above, ["trace", "process", "parent"], names, "inner")
    return int(pc.sum(pc.less(both["start_ns"], both["start_ns_last"])).as_py() or 0)


def backwards(messages: Batch, offsets: Integers) -> int:
    """How many messages seem to arrive before they were sent, by clocks that are moved so."""
    ahead, behind = (offsets[messages[role].to_numpy()] for role in ("sender", "receiver"))
    gaps = pc.subtract(messages["received_ns"], messages["sent_ns"])
    return int(pc.sum(pc.less(pc.add(gaps, pa.array(behind - ahead)), 0)).as_py() or 0)


def services_of(
    spans: Batch, names: dict[str, str], clocks: ClockOffsets, gaps: Sequence[Gap]
) -> list[ServiceQuality]:
    """Every process: how many spans, how fine its clock is, how far it is moved."""
    process = pc.index_in(spans["process"], pa.array(list(names), pa.string())).to_numpy()
    ends = pc.coalesce(spans["end_ns"], spans["start_ns"]).to_numpy()
    counts = np.bincount(process, minlength=len(names)).tolist()
    resolution = np.zeros(len(names), np.int64)
    np.gcd.at(resolution, process, np.gcd(spans["start_ns"].to_numpy(), ends))
    uncertain = uncertainties(gaps)
    return [
        ServiceQuality(
            name=name,
            spans=counts[number],
            resolution_ns=rounded_unit(int(resolution[number])),
            offset_ns=clocks.offsets_ns.get(key, 0),
            uncertain_ns=uncertain.get(key),
        )
        for number, (key, name) in enumerate(names.items())
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


def impossible_pairs(
    gaps: Sequence[Gap], clocks: ClockOffsets, names: dict[str, str]
) -> list[ProcessPair]:
    """The pairs that no offsets put right, the worst first."""
    found = [
        ProcessPair(
            sender=names[gap.sender],
            receiver=names[gap.receiver],
            messages=gap.copies,
            backwards=gap.negative,
            worst_ns=gap.smallest_ns,
        )
        for gap in clocks.beyond_repair(gaps)
    ]
    return sorted(found, key=lambda pair: (pair.worst_ns, pair.sender, pair.receiver))
