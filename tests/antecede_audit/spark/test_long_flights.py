"""Long flights, judged while the log streams by in tiny slices, without Spark."""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from antecede_audit.judging import ORDERS
from antecede_audit.judging.copies import NEVER, ArrowBatch, Rows, gather_copies
from antecede_audit.judging.long_flights import FlightEnds, judged_groups
from antecede_audit.judging.raw_findings import OPEN
from antecede_audit.judging.slices import Slice
from antecede_audit.spark.long_flights import RATIO, FlightWindows, pack_ends, pack_slices
from tests.antecede_audit.judging.random_traffic import hectic, in_traces
from tests.antecede_audit.spark.rows_of_events import rows_of
from tests.antecede_audit.spark.test_slices import (
    Row,
    cut,
    expected,
    findings,
    is_seen,
    long_flights_of,
    violations,
)
from tests.seeds import seeds

ENDS = pa.schema(
    [
        (name, pa.int64())
        for name in (
            *("run", "sender", "sequence", "process", "position", "time_ns", "clock_ns"),
            *("other_position", "other_ns", "other_clock_ns", "other_sequence", "deliveries"),
            *("width_ns", "window"),
        )
    ]
)
BEGIN = ("position", "time_ns", "clock_ns")
END = ("other_position", "other_ns", "other_clock_ns", "other_sequence")


def open_ends(rows: Sequence[Row], shortest_ns: int) -> list[dict[str, int | None]]:
    """What slices could not put together, as Spark puts it together for the judge."""
    opened: dict[tuple[int, int, int], list[Row]] = {}
    for row in rows:
        if row["what"] == OPEN:
            key = row["sender"], row["sequence"], row["process"]
            opened.setdefault(key, []).append(row)
    ends: list[dict[str, int | None]] = []
    for key, reports in opened.items():
        begun = [[row[name] for name in BEGIN] for row in reports if row["position"] != NEVER]
        ended = [[row[name] for name in END] for row in reports if row["other_position"] != NEVER]
        met = any(row["position"] != NEVER != row["other_position"] for row in reports)
        if not ended or met:
            continue
        end: dict[str, int | None] = dict.fromkeys(ENDS.names)
        end |= dict(zip(("sender", "sequence", "process"), key, strict=True))
        end |= dict(zip(END, min(ended), strict=True)) | {"run": 0, "deliveries": len(ended)}
        if begun:
            end |= dict(zip(BEGIN, min(begun), strict=True))
            begin_ns, end_ns = min(begun)[2], min(ended)[2]
            width_ns = shortest_ns
            while width_ns < end_ns - begin_ns:
                width_ns *= RATIO
            end |= {"width_ns": width_ns, "window": begin_ns // width_ns}
        ends.append(end)
    return ends


def windows_of(ends: Sequence[dict[str, int | None]], random: Random) -> FlightWindows:
    """The windows of long flights, each with some groups."""
    flights: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for end in ends:
        if end["width_ns"] is not None:
            number, begin_ns, end_ns = (
                end[name] or 0 for name in ("window", "clock_ns", "other_clock_ns")
            )
            flights.setdefault((end["width_ns"], number), []).append((begin_ns, end_ns))
    keys = sorted(flights)
    parts = np.array([random.randint(1, 3) for _ in keys], np.int64)
    return FlightWindows(
        run=np.zeros(len(keys), np.int64),
        width_ns=np.array([width_ns for width_ns, _ in keys], np.int64),
        window=np.array([number for _, number in keys], np.int64),
        begin_ns=np.array([min(a for a, _ in flights[key]) for key in keys], np.int64),
        end_ns=np.array([max(b for _, b in flights[key]) for key in keys], np.int64),
        parts=parts,
        first=np.cumsum(parts) - parts,
    )


def in_slices(rows: Rows, slices: Sequence[Slice]) -> Iterator[ArrowBatch]:
    """The rows of each slice as Spark would hand them over."""
    for number, stretch in enumerate(slices):
        part = rows.chosen(is_seen(rows, stretch))
        if len(part):
            yield pa.record_batch(
                [pa.array([number], pa.int64()), pa.array([part.packed()], pa.binary())],
                names=["partition", "content"],
            )


def handed_over(packed: Sequence[ArrowBatch], random: Random) -> Iterator[ArrowBatch]:
    """Packed batches, sorted as the judge wants them, some at a time."""
    table = pa.Table.from_batches(packed).sort_by(
        [("partition", "ascending"), ("start_ns", "ascending")]
    )
    start = 0
    while start < len(table):
        length = random.randint(1, 7)
        yield from table.slice(start, length).combine_chunks().to_batches()
        start += length


@pytest.mark.parametrize("most", [1, 2, 50])
def test_slices_and_long_flights_apart_say_what_the_oracle_says(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antecede_audit.spark.long_flights.PACKED_ROWS", most)
    groups = long = found = 0
    tried = seeds(120)
    for seed in tried:
        random = Random(seed)
        events = in_traces(hectic(random), random)
        whole = rows_of(events)
        slices = cut(events, random)
        rows: list[Row] = []
        for number, stretch in enumerate(slices):
            part = whole.chosen(is_seen(whole, stretch))
            rows += findings(part, number, stretch) if len(part) else []
        ends = open_ends(rows, max(1, slices[0].end_ns - slices[0].next_ns))
        long += len(long_flights_of(rows, events))
        windows = windows_of(ends, random)

        table = pa.Table.from_pylist(ends, ENDS)
        packed = [*pack_ends(iter(table.to_batches()), windows, {})]
        packed += pack_slices(in_slices(whole, slices), dict(enumerate(slices)), windows, {})
        if packed:
            for judged in judged_groups(handed_over(packed, random), ORDERS):
                rows += judged.to_pylist()
                found += len(judged)

        for order in ORDERS:
            assert violations(rows, order) == expected(events, order), f"seed {seed}"
        groups += windows.groups
    assert long > len(tried) * 5 // 3
    assert groups > len(tried)
    assert found > len(tried)


def test_messages_that_share_a_key_are_not_mistaken_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "antecede_audit.judging.long_flights.message_keys",
        lambda copies: np.zeros(len(copies), np.int64),
    )
    random = Random(5)
    whole = rows_of(hectic(random))
    copies = gather_copies(whole).copies
    message, end = FlightEnds(copies).of(copies)
    assert len(end) >= len(copies)
    assert (copies.sender[end] == copies.sender[message]).all()
    assert (copies.sequence[end] == copies.sequence[message]).all()
