"""All interleavings of small worlds hold nothing wrong."""

import pytest

from tests.antecede.groups.mutants import mutant
from tests.antecede.groups.search import Scope, Search

SMALL = [
    Scope(messages=2),
    Scope(messages=1, leaves=1),
    Scope(messages=1, has_queues=True),
    Scope(messages=1, restarts=1),
    Scope(founders=1, messages=2, leaves=1, restarts=1),
    Scope(founders=1, joiners=2, messages=1),
    Scope(crashes=1),
    Scope(sponsors=1),
]
LARGE = [
    Scope(messages=1, crashes=1),
    Scope(messages=1, expulsions=1),
    Scope(messages=1, sponsors=1),
    Scope(messages=1, leaves=1, crashes=1),
    Scope(messages=1, restarts=1, has_queues=True),
    Scope(founders=1, joiners=2, messages=1, leaves=1),
    Scope(founders=3, messages=1),
]
STATES_MAX = 200_000


@pytest.mark.parametrize("scope", SMALL, ids=str)
def test_no_interleaving_breaks_a_promise(scope: Scope) -> None:
    search = Search(scope)

    assert search.run(STATES_MAX), search.wrong
    assert search.ends > 0


@pytest.mark.long
@pytest.mark.parametrize("scope", LARGE, ids=str)
def test_no_interleaving_of_more_breaks_a_promise(scope: Scope) -> None:
    search = Search(scope)

    assert search.run(STATES_MAX), search.wrong


@pytest.mark.parametrize("name", ["no publications are passed on", "complete at once"])
def test_a_search_finds_what_is_wrong(name: str) -> None:
    search = Search(Scope(messages=1), mutant(name))

    assert not search.run(STATES_MAX)
    assert search.wrong
