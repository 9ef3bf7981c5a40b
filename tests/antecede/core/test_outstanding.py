"""Open ids against a plain list per peer, and the reason why only the oldest one counts."""

from hypothesis import given
from hypothesis import strategies as st

from antecede.core.cloning import twin_of
from antecede.core.outstanding import BATCH, Outstanding
from antecede.core.process import NEVER_NS
from tests.papers.counting import LineCounter, assert_constant, interpreted_only

PATIENCE_NS = 10
PEERS = 3

# What happens with which peer, to which of its ids, and how much time passes before it.
happenings = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "answer", "answer up to", "tick"]),
        st.integers(0, PEERS - 1),
        st.integers(0, 12),
        st.integers(0, 15),
    ),
    max_size=100,
)


@given(steps=happenings)
def test_what_is_open_is_what_was_added_and_not_answered(
    steps: list[tuple[str, int, int, int]],
) -> None:
    outstanding = Outstanding(PATIENCE_NS)
    model: list[list[int]] = [[] for _ in range(PEERS)]
    now_ns = 0
    fresh = 0
    for what, peer, which, passed_ns in steps:
        now_ns += passed_ns
        number = model[peer][which] if which < len(model[peer]) else which
        if what == "add":
            fresh += 1
            outstanding.add(peer, fresh, now_ns)
            model[peer].append(fresh)
        elif what == "answer":
            assert outstanding.answer(peer, number, now_ns) == (number in model[peer])
            model[peer] = [i for i in model[peer] if i != number]
        elif what == "answer up to":
            gone = [i for i in model[peer] if i <= number]
            assert outstanding.answer_up_to(peer, number, now_ns) == gone
            model[peer] = [i for i in model[peer] if i > number]
        else:
            for due in outstanding.due(now_ns):
                assert due.ids == model[due.peer] != []
        twin = twin_of(outstanding)
        for other in range(PEERS):
            assert outstanding.open_ids(other) == twin.open_ids(other) == model[other]
            assert all(
                outstanding.is_open(other, i) == (i in model[other]) for i in range(fresh + 2)
            )
        if any(model):
            assert outstanding.next_ns() < NEVER_NS, "nobody would ever try again"


def test_answers_to_younger_ids_do_not_postpone_the_oldest() -> None:
    """One lost packet in a steady stream of answers is still repaired in time."""
    outstanding = Outstanding(PATIENCE_NS)
    outstanding.add(1, 1, 0)
    for time_ns in range(1, PATIENCE_NS):
        outstanding.add(1, time_ns + 1, time_ns)
        outstanding.answer(1, time_ns + 1, time_ns)
    assert [(due.peer, due.ids) for due in outstanding.due(PATIENCE_NS)] == [(1, [1])]


def test_an_answer_to_the_oldest_is_progress() -> None:
    outstanding = Outstanding(PATIENCE_NS)
    outstanding.add(1, 1, 0)
    outstanding.add(1, 2, 0)
    outstanding.answer(1, 1, 5)
    assert outstanding.due(PATIENCE_NS) == []
    assert [due.ids for due in outstanding.due(PATIENCE_NS + 5)] == [[2]]


def test_one_alarm_tries_a_limited_number_again_the_oldest_first() -> None:
    outstanding = Outstanding(PATIENCE_NS)
    for number in range(1, 1_000):
        outstanding.add(1, number, 0)
    for number in range(1, 1_000, 2):
        outstanding.answer(1, number, 0)
    assert [due.ids for due in outstanding.due(PATIENCE_NS)] == [list(range(2, 2 + 2 * BATCH, 2))]
    assert outstanding.open_ids(1) == list(range(2, 1_000, 2))


def test_a_copy_rings_when_its_original_does() -> None:
    outstanding = Outstanding(PATIENCE_NS)
    outstanding.add(1, 1, 0)
    outstanding.add(2, 2, 3)
    outstanding.due(PATIENCE_NS)
    twin = twin_of(outstanding)
    twin.answer(2, 2, PATIENCE_NS)
    assert outstanding.is_open(2, 2)
    for now_ns in range(PATIENCE_NS, 100):
        one = [(due.peer, due.ids) for due in outstanding.due(now_ns) if due.peer == 1]
        assert one == [(due.peer, due.ids) for due in twin.due(now_ns)]


@interpreted_only
def test_a_timer_costs_what_it_sends_again_not_what_was_answered_long_ago() -> None:
    """Answered ids behind an open one are passed over once, not at every ring."""
    steps = {}
    for count in (100, 10_000):
        outstanding = Outstanding(PATIENCE_NS)
        for number in range(1, count + 1):
            outstanding.add(1, number, 0)
        for number in range(2, count):
            outstanding.answer(1, number, 0)
        outstanding.due(PATIENCE_NS)
        counter = LineCounter("outstanding.py")
        steps[count] = counter.run(outstanding.due, 100 * PATIENCE_NS)
    assert_constant(steps, 1)
