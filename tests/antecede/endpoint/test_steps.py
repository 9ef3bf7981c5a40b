"""The work per message does not grow with the number of peers.

Counted in executed lines of core and link (`bench/peer_steps.py`), so it holds on any machine.
"""

import pytest

import antecede
from bench.peer_steps import steps_of_a_multicast, steps_with_peers
from bench.steps import spread

pytestmark = pytest.mark.skipif(
    antecede.compiled(), reason="compiled code reports no lines; the interpreted build counts them"
)


def test_steps_per_message_do_not_grow_with_the_peers() -> None:
    series = [steps_with_peers(peers) for peers in (2, 32, 500)]

    # A peer that is soon written to again needs no datagram of its own for a permit.
    assert spread(series) < 1.3, series
    assert spread(series[1:]) < 1.05, series


def test_a_copy_of_a_multicast_takes_no_more_steps_the_more_targets_there_are() -> None:
    one, *several = [steps_of_a_multicast(targets) for targets in (1, 8, 32, 128)]

    assert spread(several) < 1.15, several
    assert several[0].steps_per_message < 1.1 * one.steps_per_message, (one, several)
