"""Hostile datagrams change nothing at a node with keys; a campaign is in `hostile_state.py`."""

import pytest

from tests.fuzz.hostile_state import OBJECTS_MORE, Siege, besiege, state_of
from tests.link.endpoints import ANN, submit


def test_hostile_datagrams_change_no_state_and_take_no_memory() -> None:
    assert besiege(100_000) < OBJECTS_MORE


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_a_million_hostile_datagrams_change_nothing(seed: int) -> None:
    assert besiege(100_000, seed) < OBJECTS_MORE


def test_what_a_peer_really_sends_does_change_the_state() -> None:
    """Or the comparison would be worth nothing."""
    siege = Siege(1)
    before = state_of(siege.ann)
    submit(siege.bob, [ANN], b"new", siege.post.now_ns)
    siege.post.carry()
    assert state_of(siege.ann) != before
