"""The work per message does not grow with the number of processes, nor of unacked messages.

Counted in executed lines of the core (`bench/steps.py`), so it holds on any machine.
"""

import pytest

import antecede
from bench.steps import PROCESSES, UNACKED, spread, steps_with_processes, steps_with_unacked

SPREAD_MAX = 1.2

pytestmark = pytest.mark.skipif(
    antecede.compiled(), reason="compiled code reports no lines; the interpreted build counts them"
)


@pytest.mark.parametrize("name", ["hybrid", "hybrid-sps", "hybrid-csps"])
def test_steps_per_message_do_not_grow_with_the_processes(name: str) -> None:
    series = [steps_with_processes(name, processes) for processes in PROCESSES]

    assert spread(series) < SPREAD_MAX, series


@pytest.mark.parametrize(
    "name", ["hybrid", "hybrid-sps", "hybrid-csps", "paper-basic", "paper-sps"]
)
def test_steps_per_message_do_not_grow_with_the_unacked(name: str) -> None:
    """100 000 unacknowledged messages cost no more steps than a hundred (E6, among others)."""
    series = [steps_with_unacked(name, unacked) for unacked in UNACKED]

    assert spread(series) < SPREAD_MAX, series
