"""Columns come out of their text as they went in."""

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede_audit.report.spacetime.diagram import packed, varints

NUMBERS = st.integers(min_value=-(2**62), max_value=2**62)


def unpacked(text: str, *, growing: bool = False) -> list[int]:
    """What `packed` was given."""
    values: list[int] = []
    number = shift = total = 0
    for byte in zlib.decompress(base64.b64decode(text)):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            value = number >> 1 if number % 2 == 0 else -((number + 1) >> 1)
            total = total + value if growing else value
            values.append(total)
            number = shift = 0
    return values


@pytest.mark.parametrize("growing", [False, True])
@given(values=st.lists(NUMBERS, max_size=50))
def test_numbers_survive(growing: bool, values: list[int]) -> None:
    assert unpacked(packed(values, growing=growing), growing=growing) == values


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, b"\x00"), (-1, b"\x01"), (1, b"\x02"), (63, b"\x7e"), (-64, b"\x7f"), (64, b"\x80\x01")],
)
def test_small_numbers_are_short(value: int, expected: bytes) -> None:
    assert varints([value]) == expected


def test_a_growing_column_is_written_as_steps() -> None:
    text = packed([1000, 1001, 1003], growing=True)

    assert zlib.decompress(base64.b64decode(text)) == varints([1000, 1, 2])
