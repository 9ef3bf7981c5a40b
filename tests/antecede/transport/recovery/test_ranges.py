"""Which datagrams have come, against a plain set of numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from antecede.core import RemoteError
from antecede.transport.recovery.ack_ranges import (
    RANGES_KEPT,
    RANGES_SENT,
    AckRanges,
    ReceivedRanges,
    read_ranges,
)
from antecede.wire.varint import VARINT_LIMIT, WireReader, write_varint

Range = tuple[int, int]

numbers = st.one_of(st.integers(1, 30), st.integers(1, 400))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), numbers),
        st.tuples(st.just("settle"), st.integers(0, 40)),
    ),
    max_size=300,
)


class Plain:
    """What `ReceivedRanges` should be: a set of all numbers above the floor."""

    def __init__(self) -> None:
        self.floor = 0
        self.came: set[int] = set()

    def add(self, number: int) -> bool:
        if number <= self.floor or number in self.came:
            return False
        self.came.add(number)
        ranges = self.ranges()
        if len(ranges) > RANGES_KEPT:
            self.forget(ranges[0][1])
        return True

    def forget(self, floor: int) -> None:
        self.floor = max(floor, self.floor)
        self.came = {number for number in self.came if number > self.floor}

    def ranges(self) -> list[Range]:
        found: list[Range] = []
        for number in sorted(self.came):
            if found and found[-1][1] == number - 1:
                found[-1] = found[-1][0], number
            else:
                found.append((number, number))
        return found


def written(received: ReceivedRanges) -> bytes:
    writer = BytesWriter()
    received.write(writer)
    return writer.getvalue()


def acked(data: bytes) -> list[Range]:
    """What an acknowledgement says, newest first."""
    return as_ranges(read_ranges(WireReader(data)))


def as_ranges(acked: AckRanges) -> list[Range]:
    return list(zip(acked.firsts, acked.lasts, strict=True))


def encoded(*integers: int) -> bytes:
    writer = BytesWriter()
    for integer in integers:
        write_varint(writer, integer)
    return writer.getvalue()


@given(steps)
def test_numbers_are_kept_as_a_set_would_keep_them(steps: list[tuple[str, int]]) -> None:
    received, plain = ReceivedRanges(), Plain()
    for what, number in steps:
        if what == "add":
            assert received.has(number) == (number <= plain.floor or number in plain.came)
            assert received.add(number) == plain.add(number)
        else:
            received.forget(number)
            plain.forget(number)
        assert received.ranges() == plain.ranges()
        assert received.floor == plain.floor
        assert received.largest == max(plain.came, default=0)
        assert len(received.ranges()) <= RANGES_KEPT


@given(st.lists(numbers, min_size=1, max_size=200))
def test_an_acknowledgement_names_the_newest_ranges(came: list[int]) -> None:
    received = ReceivedRanges()
    for number in came:
        received.add(number)

    assert acked(written(received)) == received.ranges()[::-1][:RANGES_SENT]


def test_of_many_ranges_only_the_newest_are_named() -> None:
    received = ReceivedRanges()
    for number in range(1, 4 * RANGES_SENT, 2):
        received.add(number)
    assert acked(written(received)) == [
        (number, number) for number in range(4 * RANGES_SENT - 1, 2 * RANGES_SENT, -2)
    ]


def test_a_floor_inside_a_range_cuts_it() -> None:
    received = ReceivedRanges()
    for number in range(3, 9):
        received.add(number)
    received.forget(5)
    assert received.ranges() == [(6, 8)]


def test_of_too_many_ranges_the_oldest_is_given_up() -> None:
    received = ReceivedRanges()
    for number in range(2, 2 * RANGES_KEPT + 2, 2):
        assert received.add(number)
    assert (len(received.ranges()), received.floor) == (RANGES_KEPT, 0)

    assert received.add(1000)
    assert (len(received.ranges()), received.floor) == (RANGES_KEPT, 2)
    assert not received.add(1), "it is too old to tell"
    assert received.add(3)


def test_an_old_number_that_makes_one_range_too_many_is_taken_all_the_same() -> None:
    received = ReceivedRanges()
    for number in range(4, 2 * RANGES_KEPT + 4, 2):
        received.add(number)

    assert received.add(2)
    assert received.floor == 2
    assert not received.add(2)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_are_ranges_in_order(data: bytes) -> None:
    try:
        ranges = acked(data)
    except RemoteError:
        return
    assert 1 <= len(ranges) <= RANGES_SENT
    below = VARINT_LIMIT + 1
    for first, last in ranges:
        assert 1 <= first <= last < below - 1
        below = first


@pytest.mark.parametrize(
    "integers",
    [
        (0,),
        (RANGES_SENT + 1, *[5] * 40),
        (1, 0, 0),
        (1, 5, 5),
        (2, 5, 0, 3, 0),
        (2, 5, 0, 0, 3),
        (2, VARINT_LIMIT - 1, VARINT_LIMIT - 2, VARINT_LIMIT - 1, VARINT_LIMIT - 1),
    ],
    ids=[
        "none",
        "too many",
        "zero",
        "below 1",
        "next below 1",
        "next reaches below 1",
        "far below",
    ],
)
def test_ranges_that_cannot_be_are_refused(integers: tuple[int, ...]) -> None:
    with pytest.raises(RemoteError, match=r"an acknowledgement of|a zero where an id"):
        acked(encoded(*integers))


def test_the_lowest_and_the_highest_number_can_be_acknowledged() -> None:
    top = VARINT_LIMIT - 1
    assert acked(encoded(1, top, top - 1)) == [(1, top)]
    assert acked(encoded(2, 3, 0, 0, 0)) == [(3, 3), (1, 1)]
