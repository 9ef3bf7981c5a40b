"""All interleavings of small programs with an expulsion, right or wrong, hold no violation."""

import pytest

from antecede import compiled
from antecede_lab.catalogue import PROTOCOLS
from tests.antecede.core.expulsion_mutants import mutant
from tests.antecede.core.expulsion_search import Crash, Expel, Search, Send, Step
from tests.broken.mutants import info_like

PROGRAMS: dict[str, list[list[Step]]] = {
    "a triangle whose first is expelled": [
        [Send("b", (1,)), Send("a", (2,))],
        [],
        [Send("m", (1,), "a"), Expel(0)],
    ],
    "a triangle whose target is expelled": [
        [],
        [Send("m", (0,), "a")],
        [Send("b", (0,)), Send("a", (1,)), Expel(0)],
    ],
    "a crash, and whoever waits for it decides": [
        [Send("b", (1,)), Send("a", (2,)), Crash()],
        [],
        [Send("m", (1,), "a"), Expel(0, "a")],
    ],
}
LARGE: dict[str, list[list[Step]]] = {
    **PROGRAMS,
    "two suspect each other": [
        [Send("a", (1, 2)), Expel(1)],
        [Send("b", (2,)), Expel(0)],
        [Send("c", (0, 1), "a")],
    ],
}


@pytest.mark.parametrize("rule", ["hybrid", "hybrid-sps", "hybrid-csps"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_interleaving_breaks_the_order(rule: str, program: str) -> None:
    search = Search(PROTOCOLS[rule], PROGRAMS[program])

    assert search.run(20_000), search.states
    assert search.wrong == []
    assert search.states > 30


@pytest.mark.long
@pytest.mark.parametrize("program", LARGE)
def test_no_interleaving_with_a_timer_breaks_the_order(program: str) -> None:
    search = Search(PROTOCOLS["hybrid"], LARGE[program], timers=1)

    search.run(100_000)
    assert search.wrong == []


@pytest.mark.skipif(
    compiled(),
    reason="mutants of several files cannot inherit from compiled classes; they run interpreted",
)
@pytest.mark.parametrize(
    "name",
    [
        "messages do not carry notices",
        "permits do not carry notices",
        "the packet is taken before its notices",
    ],
)
def test_the_search_finds_what_is_left_out(name: str) -> None:
    info = info_like(PROTOCOLS["hybrid"], name, mutant(name))
    searches = [Search(info, program) for program in PROGRAMS.values()]
    for search in searches:
        search.run(20_000)

    assert any(search.wrong for search in searches)
