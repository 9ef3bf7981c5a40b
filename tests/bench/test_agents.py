"""The discussion of agents: what goes wrong, by the way they talk."""

import asyncio

from bench.agents import Parents, Rooms, discuss

WRONG = ("early", "held", "lost", "stale")


def test_in_rooms_nothing_goes_wrong_although_one_comes_late_and_one_crashes() -> None:
    outcome = asyncio.run(discuss(Rooms(), agents=5, topics=3, seed=1))
    assert {key: outcome[key] for key in WRONG} == dict.fromkeys(WRONG, 0)
    assert outcome["read"] > 100


def test_words_that_name_their_parents_wait_for_ever_for_those_that_went_to_others() -> None:
    outcome = asyncio.run(discuss(Parents(), agents=5, topics=3, seed=1))
    assert outcome["early"] == 0
    assert outcome["held"] > 0
