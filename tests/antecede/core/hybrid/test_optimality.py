"""Without loss, every flag, release and permit happens exactly when the definition says.

`optimality_oracle.py` has the definitions; here they meet the protocols, and protocols that are
causal but too cautious.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import cast

import pytest

from antecede.core import CausalProcess
from antecede_lab.catalogue import PROTOCOLS
from tests.antecede.core.hybrid.optimality_oracle import (
    Decisions,
    Definition,
    NotOptimalError,
    Plan,
    WatchedRun,
    random_run,
)
from tests.antecede.core.patched import patched_hybrid
from tests.seeds import seeds

DEFINITIONS = {
    "hybrid": Definition(sps=True, ordered=True),
    "hybrid-sps": Definition(sps=True),
    "hybrid-csps": Definition(sps=False),
    "paper-basic": Definition(sps=False, cumulative=False),
    "paper-sps": Definition(sps=True, cumulative=False),
}
OPTIMAL = list(DEFINITIONS)

RUNS = 400
DECISIONS_MIN = 20_000
LONG_RUNS = 6_000
LONG_DECISIONS_MIN = 300_000

Create = Callable[[int, list[int]], CausalProcess]


def watch(
    create: Create, rule: Definition, *, seed: int, multicast: bool, fifo: bool
) -> WatchedRun:
    random = Random(seed)
    plan = Plan(
        processes=random.randint(3, 5),
        submissions=random.randint(10, 50),
        eagerness=random.choice([0.1, 0.2, 0.3, 0.5, 0.7]),
        multicast=multicast,
        fifo=fifo,
    )
    everyone = list(range(plan.processes))
    run = WatchedRun({me: create(me, everyone) for me in everyone}, rule)
    random_run(run, plan, random)
    return run


def assert_all_delivered(run: WatchedRun) -> None:
    copies = sum(len(m.targets) for h in run.histories.values() for m in h.submitted)
    assert run.deliveries == copies == run.counted.released


def campaign(name: str, runs: Sequence[int]) -> Decisions:
    """Runs of a protocol on networks of both sorts, half of them with multicast if it has that."""
    total = Decisions()
    for seed in runs:
        run = watch(
            PROTOCOLS[name].create,
            DEFINITIONS[name],
            seed=seed,
            multicast=PROTOCOLS[name].multicast and seed % 4 < 2,
            fifo=seed % 2 == 0,
        )
        assert_all_delivered(run)
        total.add(run.counted)
    return total


@pytest.mark.parametrize("name", OPTIMAL)
def test_every_decision_is_the_one_of_the_definition(name: str) -> None:
    runs = seeds(RUNS)
    total = campaign(name, runs)

    assert total.taken() >= DECISIONS_MIN * len(runs) // RUNS, total
    assert min(vars(total).values()) > 0, "some sort of decision was never taken"


@pytest.mark.long
@pytest.mark.parametrize("name", OPTIMAL)
def test_every_decision_of_a_long_campaign_is_the_one_of_the_definition(name: str) -> None:
    total = campaign(name, range(LONG_RUNS))

    assert total.taken() >= LONG_DECISIONS_MIN, total


# Too cautious, though causal: the oracle must see it.


TOO_CAUTIOUS = {
    "every copy is flagged": ("flagged = sequence > self._frontier(peer)", "flagged = True"),
    "no release ahead of permits that the receiver itself owes": (
        "if self._overtakes and first_missing < self._missing.next:",
        "if False:",
    ),
    "permits wait until the message itself is acknowledged by all": (
        "if place == waited_for.place and entry.sequence <= waited_for.last_transmitted:",
        "if False:",
    ),
    "permits leave only when the next message is settled, too": (
        "            if not entry.is_only_unacked_by(waited_for.place):",
        "            here = self._settled + 1 == stop\n"
        "            if here or not entry.is_only_unacked_by(waited_for.place):",
    ),
    "a copy is held back by permits of messages delivered after it was submitted": (
        "if entry.permits_before > first_missing and",
        "if first_missing < self._missing.next and",
    ),
}


def too_cautious(sound: str, changed: str) -> Create:
    """The hybrid process under the paper's own rule, with one condition changed."""
    module = patched_hybrid((sound, changed), as_package="too_cautious")
    return cast(Create, partial(module.HybridProcess, rule="sps"))


@pytest.mark.parametrize("change", TOO_CAUTIOUS)
def test_a_protocol_that_is_too_cautious_is_caught(change: str) -> None:
    create = too_cautious(*TOO_CAUTIOUS[change])

    assert objections(create, DEFINITIONS["hybrid-sps"], multicast=True) > 0


@pytest.mark.parametrize("name", ["hybrid", "hybrid-csps"])
def test_neither_order_nor_caution_is_optimal_for_sps(name: str) -> None:
    """What is bounded releases later than the definition of SPS would, some of the time."""
    assert objections(PROTOCOLS[name].create, DEFINITIONS["hybrid-sps"], multicast=False) > 0


def objections(create: Create, rule: Definition, *, multicast: bool) -> int:
    """In how many of ten runs the oracle objects."""
    objected = 0
    for seed in range(10):
        try:
            watch(create, rule, seed=seed, multicast=multicast, fifo=False)
        except NotOptimalError:
            objected += 1
    return objected
