"""Every mutant of `hybrid-facts` is caught by random runs, the sound protocol by none of them."""

from typing import Any

import pytest

from antecede import compiled
from antecede_audit.judging.oracle import check_log
from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede_lab.protocols.facts.campaign import Make, Plan, product, run
from tests.antecede_lab.protocols.facts.lockstep import Twins
from tests.antecede_lab.protocols.facts.reference import Parameters
from tests.broken.facts_mutants import FACTS_MUTANTS, FactsMutant, load
from tests.properties.schedule import EndlessError

pytestmark = pytest.mark.skipif(
    compiled(),
    reason="mutants of several files cannot inherit from compiled classes; they run interpreted",
)

RARE = [mutant for mutant in FACTS_MUTANTS if len(mutant.seeds) == 1]
CAMPAIGN = range(2_000)


def maker(process: type[FactsProcess]) -> Make:
    """Makes processes of a mutant."""

    def make(me: int, everyone: list[int], p: Parameters, options: dict[str, Any]) -> FactsProcess:
        return process(
            me,
            everyone,
            facts=p.B,
            filter_bits=p.W,
            hops=p.H,
            watermarks=p.G,
            exceptions=p.E,
            **options,
        )

    return make


def finding(plan: Plan, seed: int, make: Make) -> str:
    """What is wrong with one run: its order, a loss, or nothing."""
    try:
        verdict = check_log(run(plan, seed, make).log)
    except EndlessError:
        return "loss"
    if verdict.violations:
        return "order"
    return "loss" if verdict.losses else ""


def first_found(mutant: FactsMutant, seeds: range) -> str:
    """What the first run finds that finds anything."""
    process = load(mutant)
    if mutant.finds == "reference":
        return next((found for seed in seeds if (found := beside(mutant, seed, process))), "")
    make = maker(process)
    return next((found for seed in seeds if (found := finding(mutant.plan, seed, make))), "")


def beside(mutant: FactsMutant, seed: int, process: type[FactsProcess]) -> str:
    """Whether a run beside the reference shows a difference."""

    def make(me: int, everyone: list[int], p: Parameters, options: dict[str, Any]) -> Twins:
        return Twins(me, everyone, p, process, **options)

    try:
        run(mutant.plan, seed, make)
    except AssertionError:
        return "reference"
    return ""


@pytest.mark.parametrize("mutant", FACTS_MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: FactsMutant) -> None:
    assert first_found(mutant, mutant.seeds) == mutant.finds


@pytest.mark.long
@pytest.mark.parametrize("mutant", RARE, ids=lambda mutant: mutant.name)
def test_a_rare_mutant_is_caught_without_knowing_where(mutant: FactsMutant) -> None:
    assert first_found(mutant, CAMPAIGN) in ("order", "loss")


def test_the_sound_protocol_is_not_caught_where_mutants_are() -> None:
    sound = maker(load_sound())
    for mutant in FACTS_MUTANTS:
        assert finding(mutant.plan, mutant.seeds[0], product) == "", mutant.name
        assert finding(mutant.plan, mutant.seeds[0], sound) == "", mutant.name


def load_sound() -> type[FactsProcess]:
    """The sources loaded like a mutant's, unchanged."""
    sound = FACTS_MUTANTS[0]
    return load(FactsMutant(name="sound", why="", changes=(), plan=sound.plan))
