"""A small campaign of every attacker with every run; `python -m tests.fuzz.campaign` has no end."""

from collections.abc import Callable

import pytest

from tests.fuzz.campaign import ATTACKS, attack_by_a_member

BRIEF = 1_000
MILLION = 1_000_000


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_short_attack_changes_nothing(attack: Callable[[int, int], None]) -> None:
    attack(BRIEF, 14)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_million_datagrams_change_nothing(attack: Callable[[int, int], None], seed: int) -> None:
    attack(MILLION // (4 * len(ATTACKS)), 100 + seed)


def test_an_attack_that_takes_memory_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker itself: a target that keeps everything is found out."""
    kept: list[bytes] = []

    class Leaking:
        def __init__(self, order: str = "") -> None:
            assert isinstance(order, str)

        def is_over(self) -> bool:
            return False

        def receive(self, data: bytes) -> None:
            kept.extend(bytes([n]) + data for n in range(3))

    monkeypatch.setattr("tests.fuzz.campaign.Target", Leaking)
    with pytest.raises(AssertionError, match="blocks more than at first"):
        attack_by_a_member(12_000, 1)
