"""Real processes that are killed in the middle of everything lose, double and reorder nothing."""

from pathlib import Path

import pytest

from antecede.live.security.keys import SecretKey
from tests.journal.storm import Plan, Storm, judge

NAMES = ("ann", "bob", "cat")
SHARED = SecretKey(bytes(range(32)))


def weather(plan: Plan, seed: int, kills: int, pause: float, patience: float) -> int:
    """A storm and its judgement; how many were killed."""
    storm = Storm(plan, seed)
    storm.rage(kills, pause)
    storm.settle(patience)
    assert judge(plan) == [], f"seed {seed}"
    return storm.kills


@pytest.mark.parametrize("durable", ["process", "sync"])
def test_killed_senders_and_receivers_lose_nothing(tmp_path: Path, durable: str) -> None:
    plan = Plan(tmp_path, NAMES, 600, 0.05, 0.05, options={"durable": durable})
    assert weather(plan, 1, kills=30, pause=0.04, patience=30) >= 30


@pytest.mark.long
@pytest.mark.parametrize("seed", range(34))
def test_thousands_of_kills(tmp_path: Path, seed: int) -> None:
    """300 each, so 10,200 in all: synced or not, sealed or not, with files that are begun anew."""
    options: dict[str, object] = {"durable": "sync" if seed % 2 else "process"}
    if seed % 3 == 0:
        options["cluster_key"] = SHARED
    if seed % 4 == 0:
        options["journal_limit"] = 2 << 20
    plan = Plan(tmp_path, NAMES, 3000, 0.1, 0.1, options=options)
    assert weather(plan, seed, kills=300, pause=0.03, patience=120) >= 300
