"""What is packed comes out again, whatever its columns are."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from antecede_audit.columns.arrow_rows import Batch
from antecede_audit.columns.packed_batch import NARROWED_ROWS, pack, unpack
from antecede_audit.spans.schemas import INTEGER, LONG, TEXT, TEXTS, table

ROWS = table(number=LONG, name=TEXT, small=INTEGER, missing=LONG, names=TEXTS, same=LONG)
INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1


def rows(count: int, low: int = 0, high: int = 9) -> Batch:
    """Rows in which much is null or empty."""
    chance = Random(count)
    numbers = [low, high, *(chance.randint(low, high) for _ in range(count))][:count]
    columns = [
        pa.array(numbers, pa.int64()),
        pa.array([None if one % 3 == 0 else "x" * (one % 7) for one in range(count)], TEXT),
        pa.array([chance.randint(-INT32_MAX - 1, INT32_MAX) for _ in range(count)], pa.int32()),
        pa.array([None if one % 5 == 0 else one for one in range(count)], pa.int64()),
        pa.array([None if one % 4 == 0 else ["a", None][: one % 3] for one in range(count)], TEXTS),
        pa.array(np.full(count, -7)),
    ]
    return pa.record_batch(columns, schema=ROWS)


@pytest.mark.parametrize("count", [0, 1, NARROWED_ROWS - 1, NARROWED_ROWS, 2000])
@pytest.mark.parametrize(
    ("low", "high"),
    [(5, 5), (-100, 100), (-(1 << 31), 1 << 31), (0, (1 << 32) - 1), (-INT64_MAX - 1, INT64_MAX)],
)
def test_rows_come_out_of_a_packed_batch_as_they_went_in(count: int, low: int, high: int) -> None:
    found = rows(count + 20, low, high)[10 : 10 + count]
    content = pa.scalar(pack(found), pa.binary())

    again = unpack(content, ROWS)

    assert again.schema == ROWS
    assert again.to_pylist() == found.to_pylist()


@pytest.mark.parametrize("names", [["number", "small", "same"], ["name"], ["missing", "names"]])
def test_a_packed_batch_may_have_integers_only_or_none(names: list[str]) -> None:
    found = rows(1000).select(names)

    assert unpack(pa.scalar(pack(found), pa.binary()), found.schema).equals(found)


def test_integers_that_are_close_to_each_other_take_little_room() -> None:
    close = pa.record_batch([np.arange(10_000) % 200 + 10**18], names=["number"])

    assert len(pack(close)) < 10_100
