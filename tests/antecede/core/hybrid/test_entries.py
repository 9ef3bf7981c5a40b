"""The window of a process's own messages against a list, its cost, and its memory."""

from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from antecede.core.cloning import twin_of
from antecede.core.hybrid.state import SentEntry, SentWindow
from antecede.core.packets import Message
from antecede.core.sliding import RING_SIZE_KEPT
from tests.papers.counting import LineCounter, assert_constant, interpreted_only


def entry(sequence: int) -> SentEntry:
    return SentEntry(Message(0, sequence, b""), 1, vec[i64]([0]))


def filled(count: int) -> SentWindow:
    """Entries with the even ids from 2 on."""
    entries = SentWindow()
    for number in range(1, count + 1):
        entries.add(entry(2 * number))
    return entries


@given(
    steps=st.lists(st.one_of(st.integers(1, 30), st.just(0)), max_size=40), start=st.integers(1, 9)
)
def test_entries_behave_as_a_list_with_an_offset(steps: list[int], start: int) -> None:
    entries = SentWindow(start)
    plain: list[int] = []
    first, highest = start, 0
    for step in steps:
        if step > 0:
            highest += step
            entries.add(entry(highest))
            plain.append(highest)
        elif plain:
            assert entries.peek().sequence == plain[0]
            assert entries.remove().sequence == plain.pop(0)
            first += 1
        assert (entries.first, entries.next, len(entries)) == (
            first,
            first + len(plain),
            len(plain),
        )
        assert [entries.at(first + place).sequence for place in range(len(plain))] == plain
        assert [one.sequence for one in entries] == plain
    for sequence in range(highest + 2):
        below = sum(1 for one in plain if one < sequence)
        assert entries.find_from(sequence) == first + below
        assert entries.find(sequence) == (first + below if sequence in plain else -1)


def test_a_copy_of_entries_shares_nothing_with_them() -> None:
    entries = filled(3)
    twin = twin_of(entries)
    twin.peek().unsent -= 1
    twin.remove()
    twin.add(entry(8))
    assert [one.sequence for one in entries] == [2, 4, 6]
    assert [one.sequence for one in twin] == [4, 6, 8]
    assert entries.peek().unsent == 1


def come_and_go(count: int) -> None:
    entries = filled(count)
    for number in range(1, count + 1):
        assert entries.find(2 * number) == number
        entries.remove()


@interpreted_only
def test_an_entry_takes_the_same_steps_however_many_there_are() -> None:
    counter = LineCounter("hybrid/state.py")
    assert_constant({n: counter.run(come_and_go, n) / n for n in (100, 400, 1_600)}, 1.5)


def test_many_entries_give_their_memory_back() -> None:
    entries = filled(10_000)
    assert len(entries._ring) >= 10_000
    while len(entries) > 1:
        entries.remove()
    assert len(entries._ring) <= RING_SIZE_KEPT
    assert entries.peek().sequence == 20_000
