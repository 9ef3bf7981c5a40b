"""Steps are executed lines, on whichever side they are executed."""

import sys

import pytest

from antecede import compiled
from antecede.core.errors import LocalError
from antecede_lab.comparison.line_counts import can_count, count_steps, steps_here
from tests.antecede_lab.comparison import looping

LOOPING = "tests.antecede_lab.comparison.looping:INFO"


def test_loop_counts_as_often_as_it_turns_and_on_its_side() -> None:
    sender, receiver = count_steps(LOOPING, 3, 1)
    assert 2 * looping.TURNS <= sender < 2 * looping.TURNS + 20
    assert 1 <= receiver < 20


def test_work_of_hybrid_does_not_grow_and_that_of_ks_does() -> None:
    """Whatever the build, the sources are counted."""
    assert can_count()
    small, large = (count_steps("hybrid", n, 1) for n in (4, 12))
    assert large[0] < 1.2 * small[0]
    assert large[1] < 1.2 * small[1]
    assert count_steps("ks", 12, 1)[1] > 2 * count_steps("ks", 4, 1)[1]


def test_rst_sender_does_the_same_whatever_the_size() -> None:
    assert count_steps("rst", 4, 1)[0] == count_steps("rst", 12, 1)[0]


def test_rst_is_not_spared_work_by_objects_that_processes_share() -> None:
    """As bytes the matrices are compared entry by entry: more than a factor of n."""
    small, large = (count_steps("rst", n, 1)[1] for n in (8, 16))
    assert large > 2.2 * small


def test_counting_leaves_no_trace_function_behind() -> None:
    before = sys.gettrace()
    count_steps("mf", 3, 1)
    assert sys.gettrace() is before


@pytest.mark.skipif(not compiled(), reason="the interpreted build can always count")
def test_compiled_code_cannot_be_counted_where_it_runs() -> None:
    with pytest.raises(LocalError, match="executes no lines"):
        steps_here("mf", 3, 1)


def test_unknown_protocol_is_the_callers_mistake() -> None:
    with pytest.raises(LocalError):
        count_steps("guess", 3, 1)
