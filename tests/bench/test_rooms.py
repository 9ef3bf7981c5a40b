"""Benchmarks of rooms, small."""

import asyncio

from bench.room_fan import Load, run_one
from bench.rooms import Churn

WRONG = ("early", "doubled", "invented", "missing", "gaps", "joins_failed")


def test_nothing_goes_wrong_while_guests_join_and_leave() -> None:
    churn = Churn(members=3, guests=2, joins=12, rate=200, seconds=4, rounds=1)
    outcome = asyncio.run(churn.run())
    assert {key: outcome[key] for key in WRONG} == dict.fromkeys(WRONG, 0)
    assert outcome["joins_and_leaves"] > 0
    assert outcome["deliveries"] > 100


def test_everything_that_is_said_in_a_large_room_is_counted() -> None:
    outcome = run_one("antecede", Load(members=4, messages=50), alone=False)
    assert not isinstance(outcome, str), outcome
    assert outcome["deliveries"] == 150
