"""Since when something waits, found by looking now and then."""

from random import Random

from antecede.runtime.observe.durations import MARKS_MAX, Ages, Unchanged
from tests.antecede.endpoint.endpoints import SECOND


def test_a_message_is_as_old_as_the_first_look_that_saw_it() -> None:
    ages = Ages()
    ages.mark(3, 10)
    ages.mark(3, 20)
    ages.mark(7, 30)
    assert [ages.age_ns(sequence, 100) for sequence in (1, 3, 4, 7, 8)] == [90, 90, 70, 70, 0]
    ages.forget(4)
    assert ages.age_ns(4, 100) == 70


def test_marks_are_bounded_and_nothing_seems_older_than_it_is() -> None:
    random = Random(1)
    ages = Ages()
    seen: dict[int, int] = {}
    last = 0
    for now in range(5_000):
        fresh = random.randint(0, 3)
        seen.update(dict.fromkeys(range(last + 1, last + fresh + 1), now))
        last += fresh
        ages.mark(last, now * SECOND)
        assert len(ages._ids) == len(ages._times) <= MARKS_MAX
    for sequence, sent in seen.items():
        age = ages.age_ns(sequence, 5_000 * SECOND)
        assert age <= (5_000 - sent) * SECOND
    assert ages.age_ns(1, 5_000 * SECOND) >= 4_990 * SECOND, "the oldest is exact"


def test_a_value_is_unchanged_since_it_was_first_seen() -> None:
    values = Unchanged()
    values.update({1: 5, 2: 6}, 10)
    values.update({1: 5, 2: 7}, 20)
    assert [values.for_ns(1, 5, 30), values.for_ns(2, 7, 30), values.for_ns(1, 6, 30)] == [
        20,
        10,
        0,
    ]
    values.update({2: 7}, 40)
    values.update({1: 5}, 50)
    assert values.for_ns(1, 5, 60) == 10
    assert values.for_ns(2, 7, 60) == 0
