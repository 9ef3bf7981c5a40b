"""Long flights, judged while the log streams by, in chunks as small as can be."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from antecede.audit import ORDERS
from antecede.pipeline.audit import long_flights
from antecede.pipeline.audit.copies import (
    COLUMNS,
    NEVER,
    ArrowBatch,
    Copies,
    Integers,
    gather,
)
from antecede.pipeline.audit.long_flights import judged_groups
from tests.audit.random_traffic import hectic, in_traces
from tests.pipeline.audit.rows_of_events import rows_of
from tests.pipeline.audit.test_slices import Row, judged_apart, violations
from tests.share import seeds

Flight = tuple[int, int, int]


def with_message_start(copies: Copies) -> Copies:
    """Each copy begins with its message; without those never submitted, or never delivered."""
    starts: dict[tuple[int, int], tuple[int, ...]] = {}
    keys = list(zip(copies.sender.tolist(), copies.sequence.tolist(), strict=True))
    names = [f"submitted_{name}" for name in ("position", "ns", "clock_ns", "trace")]
    sent = zip(*(getattr(copies, name).tolist() for name in names), strict=True)
    for key, start in zip(keys, sent, strict=True):
        if start[0] != NEVER:
            starts[key] = min(start, starts.get(key, start))
    nowhere = (NEVER, 0, 0, 0)
    columns = zip(*(starts.get(key, nowhere) for key in keys), strict=True) if keys else []
    begun = copies.replaced(
        **{name: np.array(column, np.int64) for name, column in zip(names, columns, strict=False)}
    )
    both = (begun.submitted_position != NEVER) & (begun.delivered_position != NEVER)
    return begun.chosen(both)


def flights_of(copies: Copies) -> list[Flight]:
    columns = (copies.sender, copies.sequence, copies.process)
    return [(int(a), int(b), int(c)) for a, b, c in zip(*columns, strict=True)]


def groups_of(copies: Copies, long: set[Flight], size: int) -> list[Copies]:
    """The long flights that end one after the other, so many at a time."""
    chosen = np.array([flight in long for flight in flights_of(copies)], np.bool_)
    flights = copies.chosen(chosen)
    by_end = np.lexsort((flights.delivered_position, flights.process, flights.delivered_ns))
    flights = flights.chosen(by_end)
    numbers = np.arange(len(flights))
    return [flights.chosen(numbers // size == part) for part in range(-(-len(flights) // size))]


def around(copies: Copies, group: Copies) -> Copies:
    """The group announced, then all that went on meanwhile in the order of submission."""
    meanwhile = copies.chosen(
        (copies.submitted_ns >= group.submitted_ns.min())
        & (copies.delivered_ns <= group.delivered_ns.max())
    )
    order = (
        meanwhile.sequence,
        meanwhile.submitted_position,
        meanwhile.sender,
        meanwhile.submitted_ns,
    )
    never: Integers = np.full(len(group), NEVER)
    return Copies.joined(
        [replace(group, submitted_position=never), meanwhile.chosen(np.lexsort(order))]
    )


def batches_of(parts: list[Copies], random: Random) -> Iterator[ArrowBatch]:
    """The groups as Spark would hand them over, cut anywhere."""
    for number, part in enumerate(parts):
        columns = {name: getattr(part, name) for name in COLUMNS}
        table = pa.table({"group": np.full(len(part), number), **columns})
        start = 0
        while start < len(part):
            length = random.randint(1, 7)
            yield from table.slice(start, length).combine_chunks().to_batches()
            start += length


@pytest.mark.parametrize("chunk", [1, 2, 5, 40])
def test_the_size_of_chunks_changes_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_flights, "CHUNK_COPIES", chunk)
    found = 0
    tried = seeds(100)
    for seed in tried:
        random = Random(seed)
        events = in_traces(hectic(random), random)
        copies = gather(rows_of(events)).copies
        begun = with_message_start(copies)
        both = (copies.submitted_position != NEVER) & (copies.delivered_position != NEVER)
        long = {flight for flight in flights_of(copies.chosen(both)) if random.random() < 0.6}
        groups = groups_of(begun, long, random.randint(1, 6))
        parts = [around(begun, group) for group in groups]

        rows: list[Row] = []
        for table in judged_groups(batches_of(parts, random), ORDERS, {}):
            rows += table.to_pylist()

        apart = judged_apart(events, long)
        for order in ORDERS:
            expected = violations(apart, order)
            assert violations(rows, order) == expected, f"seed {seed}"
        found += len(expected)
    assert found > len(tried) // 5
