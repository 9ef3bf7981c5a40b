"""Integers on the wire: each has one form, and a reader never trusts what it reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from antecede.core import LocalError, RemoteError
from antecede.wire.varint import VARINT_SIZE_MAX, WireReader, varint_size, write_varint

integers = st.one_of(st.integers(0, 1 << 15), st.integers(0, (1 << 62) - 1))


def written(*values: int) -> bytes:
    writer = BytesWriter()
    for value in values:
        write_varint(writer, value)
    return writer.getvalue()


@given(values=st.lists(integers, max_size=10))
def test_integers_come_back_in_the_order_in_which_they_were_written(values: list[int]) -> None:
    reader = WireReader(written(*values))

    assert [reader.varint() for _ in values] == values
    reader.end()


@given(value=integers)
def test_the_size_of_an_integer_is_what_writing_it_takes(value: int) -> None:
    assert varint_size(value) == len(written(value)) == max(1, (value.bit_length() + 6) // 7)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16_383, "ff7f"),
        (16_384, "808001"),
        ((1 << 62) - 1, "ffffffffffffffff3f"),
    ],
)
def test_the_form_of_an_integer_is_leb128(value: int, form: str) -> None:
    assert written(value).hex() == form
    assert WireReader(bytes.fromhex(form)).varint() == value


@pytest.mark.parametrize("value", [-1, -(1 << 62), 1 << 62, (1 << 63) - 1])
def test_an_integer_outside_the_range_is_not_written(value: int) -> None:
    with pytest.raises(LocalError, match="outside 0 <= value"):
        written(value)
    with pytest.raises(LocalError, match="outside 0 <= value"):
        varint_size(value)


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("", "ends too early"),
        ("80", "ends too early"),
        ("ffffffffffffffff", "ends too early"),
        ("8000", "padded"),
        ("ff8000", "padded"),
        ("ffffffffffffffff00", "padded"),
        ("ffffffffffffffff40", r"not below 2\*\*62"),
        ("ffffffffffffffff7f", r"not below 2\*\*62"),
        ("ffffffffffffffff8001", "more than nine bytes"),
        ("80" * 40, "more than nine bytes"),
    ],
)
def test_anything_but_the_one_form_is_refused(form: str, why: str) -> None:
    with pytest.raises(RemoteError, match=why):
        WireReader(bytes.fromhex(form)).varint()


@given(data=st.binary(max_size=12))
def test_bytes_that_are_read_as_an_integer_are_what_writing_it_makes(data: bytes) -> None:
    reader = WireReader(data)
    try:
        value = reader.varint()
    except RemoteError:
        return

    assert data == written(value) + reader.rest()
    assert len(written(value)) <= VARINT_SIZE_MAX


def test_an_id_is_never_zero() -> None:
    assert WireReader(b"\x01").positive() == 1
    with pytest.raises(RemoteError, match="zero"):
        WireReader(b"\x00").positive()


def test_a_count_cannot_promise_more_items_than_bytes_are_left() -> None:
    """Or three bytes could make a receiver allocate a list of millions."""
    assert WireReader(b"\x02ab").count() == 2
    with pytest.raises(RemoteError, match="3 items cannot follow in 2 bytes"):
        WireReader(b"\x03ab").count()


def test_bytes_are_taken_in_pieces_and_then_the_rest() -> None:
    reader = WireReader(b"abcdef")

    assert (reader.byte(), reader.take(2), reader.remaining(), reader.rest()) == (
        97,
        b"bc",
        3,
        b"def",
    )
    assert reader.rest() == b""
    reader.end()


def test_nothing_can_be_read_beyond_the_end() -> None:
    reader = WireReader(b"ab")
    for size in (3, 1 << 40, -1):
        with pytest.raises(RemoteError, match="bytes were announced, 2 follow"):
            reader.take(size)
    reader.rest()

    with pytest.raises(RemoteError, match="ends too early"):
        reader.byte()


def test_bytes_left_at_the_end_are_refused() -> None:
    with pytest.raises(RemoteError, match="2 bytes follow the end"):
        WireReader(b"ab").end()
