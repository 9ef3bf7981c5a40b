"""What a protocol needs below it, found out by taking it away."""

import pytest

from antecede.core.catalogue import ProtocolInfo
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.trials import (
    LOSING,
    LOSSY,
    REORDERING,
    WITHOUT_TIMERS,
    finishes,
    is_clean,
    starved_for,
    troubled,
)
from tests.antecede_lab.comparison.tiny import TINY

SEEDS = (1, 2)


def clean_runs(name: str, trouble: str) -> int:
    return sum(is_clean(PROTOCOLS[name], trouble, TINY, seed) for seed in SEEDS)


@pytest.mark.parametrize("name", ["hybrid", "hybrid-sps", "hybrid-csps", "paper-basic", "mf"])
def test_any_network_will_do_for_protocols_that_repeat_what_is_lost(name: str) -> None:
    assert clean_runs(name, LOSING) == clean_runs(name, REORDERING) == len(SEEDS)


@pytest.mark.parametrize("name", ["rst", "ks", "bss", "cykas"])
def test_classic_protocols_need_reliability_but_no_order(name: str) -> None:
    assert (clean_runs(name, LOSING), clean_runs(name, REORDERING)) == (0, len(SEEDS))


@pytest.mark.parametrize("name", ["newtop", "tree"])
def test_some_need_both(name: str) -> None:
    assert (clean_runs(name, LOSING), clean_runs(name, REORDERING)) == (0, 0)


def test_trial_has_one_trouble_only() -> None:
    losing = [troubled(PROTOCOLS[name], LOSING) for name in ("newtop", "rst")]
    assert [(faults.fifo, faults.loss > 0) for faults in losing] == [(True, True), (False, True)]
    reordering = troubled(PROTOCOLS["newtop"], REORDERING)
    assert (reordering.fifo, reordering.lossless) == (False, True)


def test_trial_is_judged_by_what_the_protocol_promises() -> None:
    """No order is right where none is promised, and wrong where causal order is."""
    assert clean_runs("none", REORDERING) == len(SEEDS)
    boaster = ProtocolInfo(
        "boaster",
        PROTOCOLS["none"].create,
        ordering="causal",
        multicast=True,
        network="lossy",
        paper="none",
    )
    assert not all(is_clean(boaster, REORDERING, TINY, seed) for seed in SEEDS)


@pytest.mark.parametrize("name", ["hybrid", "rst", "newtop", "cykas"])
def test_everybody_finishes_on_a_lossy_network_over_a_link_if_need_be(name: str) -> None:
    result = finishes(PROTOCOLS[name], LOSSY, TINY, 1)
    assert result.leftovers.undelivered == 0
    assert result.protocol == (name if name == "hybrid" else f"{name}+link")


def test_newtop_does_not_finish_without_null_messages_and_the_others_do() -> None:
    left = {
        name: finishes(PROTOCOLS[name], WITHOUT_TIMERS, TINY, 1).leftovers.undelivered
        for name in ("newtop", "bss", "hybrid", "mf")
    }
    assert left.pop("newtop") > 0
    assert set(left.values()) == {0}


def test_cykas_starves_for_as_long_as_the_others_talk() -> None:
    assert [starved_for(PROTOCOLS["cykas"], turns) for turns in (4, 8)] == [3.9, 7.9]
    assert [starved_for(PROTOCOLS["hybrid-csps"], turns) for turns in (4, 8)] == [0.75, 0.75]
