"""The ordered rule: whole messages, in the order of their submission, and waits with a bound.

If every packet takes between d_min and d_max and none is lost, then a message leaves within
3 d_max - d_min of its submission and is delivered within 4 d_max - d_min. The paper's own rule has
no such bound: what overtakes makes others depend on messages that have not left.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import cast

import pytest

from antecede.core import CausalProcess, Deliver, Effect, Message, Transmit
from antecede.core.packets import DataPacket, Permit
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.long_runs import conversation_waits
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads.groups import Groups
from tests.antecede.core.patched import patched_hybrid
from tests.timed_network import Delays, TimedNetwork, units

ALICE, BOB, CAROL, DAVE = range(4)
EVERYONE = [ALICE, BOB, CAROL, DAVE]
MS = 1_000_000

Create = Callable[[int, list[int]], CausalProcess]


def bob_with_missing_permits(*owing: int, name: str = "hybrid") -> CausalProcess:
    """Bob, who has delivered a flagged message of each of these."""
    bob = PROTOCOLS[name].create(BOB, EVERYONE)
    for sender in owing:
        bob.arrive(sender, DataPacket(Message(sender, 1, b""), 0, True), 0)
    return bob


def left(effects: list[Effect]) -> list[tuple[int, int]]:
    """The copies that leave, as (target, id)."""
    return [
        (int(effect.target), int(effect.packet.carried.sequence))
        for effect in effects
        if isinstance(effect, Transmit) and isinstance(effect.packet, DataPacket)
    ]


# What leaves when.


def test_the_head_need_not_wait_for_permits_of_its_only_target() -> None:
    bob = bob_with_missing_permits(ALICE)

    assert left(bob.submit([ALICE], b"", 0)) == [(ALICE, 1)]
    assert left(bob.submit([ALICE, BOB], b"", 0)) == [(ALICE, 2)], "oneself is no target"


def test_nothing_overtakes_a_message_that_waits() -> None:
    bob = bob_with_missing_permits(ALICE)

    assert left(bob.submit([CAROL], b"", 0)) == []
    assert left(bob.submit([ALICE], b"", 0)) == []
    assert left(bob.arrive(ALICE, Permit(1), 0)) == [(CAROL, 1), (ALICE, 2)]


def test_what_overtakes_under_the_papers_rule() -> None:
    bob = bob_with_missing_permits(ALICE, name="hybrid-sps")

    assert left(bob.submit([CAROL], b"", 0)) == []
    assert left(bob.submit([ALICE], b"", 0)) == [(ALICE, 2)]


def test_the_copies_of_a_multicast_leave_together() -> None:
    bob = bob_with_missing_permits(ALICE)

    assert left(bob.submit([CAROL, ALICE], b"", 0)) == []
    assert left(bob.arrive(ALICE, Permit(1), 0)) == [(CAROL, 1), (ALICE, 1)]


def test_a_permit_that_somebody_else_owes_holds_the_head_back() -> None:
    bob = bob_with_missing_permits(ALICE, CAROL)

    assert left(bob.submit([ALICE], b"", 0)) == []
    assert left(bob.arrive(CAROL, Permit(1), 0)) == [(ALICE, 1)]


def test_a_permit_missing_since_the_submission_holds_nothing_back() -> None:
    bob = bob_with_missing_permits(ALICE)
    bob.submit([DAVE], b"", 0)
    bob.arrive(CAROL, DataPacket(Message(CAROL, 1, b""), 0, True), 0)

    assert left(bob.arrive(ALICE, Permit(1), 0)) == [(DAVE, 1)]


def test_a_message_to_oneself_is_delivered_at_once_and_holds_nothing_up() -> None:
    bob = bob_with_missing_permits(ALICE)

    assert bob.submit([BOB], b"note", 0) == [Deliver(Message(BOB, 1, b"note"))]
    assert left(bob.submit([ALICE], b"", 0)) == [(ALICE, 2)]


# The bound.


def longest_wait(network: TimedNetwork) -> int:
    """The longest time between a submission and the last of its copies leaving."""
    submitted = {it.payload: it.time_ns for it in network.happenings if it.what == "submitted"}
    return max(
        it.time_ns - submitted[it.payload]
        for it in network.happenings
        if it.what == "transmitted" and it.payload
    )


@pytest.mark.parametrize(("least", "most", "wait"), [(0.0, 1.0, 3.0), (0.5, 1.5, 4.0), (1, 1, 2)])
def test_the_bound_is_reached(least: float, most: float, wait: float) -> None:
    """k sends x0 to p and x to i; x is quick, all else slow; i submits on delivery of x."""
    k, p, i, r = range(4)
    create = quick(PROTOCOLS["hybrid"].create)
    delays = Delays(usual_ns=units(most), of_copies={(b"x", i): units(least)})
    network = TimedNetwork({me: create(me, EVERYONE) for me in EVERYONE}, delays)
    network.submit_at(0, k, [p], b"x0")
    network.submit_at(0, k, [i], b"x")
    just_after = 1
    network.submit_at(units(least) + just_after, i, [r], b"m")
    network.run(units(100))

    assert longest_wait(network) + just_after == units(wait) == units(3 * most - least)


class Extreme(Delays):
    """Every packet takes either the least or the most time."""

    def __init__(self, random: Random, least_ns: int, most_ns: int) -> None:
        super().__init__()
        self._random = random
        self._both = (least_ns, most_ns)

    def delay_ns(self, source: int, target: int, packet: object) -> int:  # noqa: ARG002 - all alike
        return self._random.choice(self._both)


def share_of_bound(create: Create, seed: int) -> float:
    """The longest wait of a random run with extreme delays, as a share of what is allowed."""
    random = Random(seed)
    everyone = list(range(random.randint(3, 6)))
    least, most = random.choice([(0.0, 1.0), (0.5, 1.5), (0.9, 1.0)])
    delays = Extreme(random, units(least), units(most))
    processes = {me: create(me, everyone) for me in everyone}
    network = TimedNetwork(processes, delays, judge=False)
    for number in range(60):
        me = random.choice(everyone)
        others = [process for process in everyone if process != me]
        targets = random.sample(others, random.choice([1, 1, 2]))
        network.submit_at(units(random.random() * 12), me, targets, b"%d" % number)
    network.run(units(900))
    return longest_wait(network) / units(3 * most - least)


def quick(create: Create) -> Create:
    """Without retransmissions: they start after a thousand units."""
    return cast(
        Create, partial(cast(Callable[..., CausalProcess], create), patience_ns=units(1_000))
    )


def longest_share(create: Create, runs: int) -> float:
    return max(share_of_bound(quick(create), seed) for seed in range(runs))


def test_no_wait_exceeds_the_bound() -> None:
    assert 0.7 < longest_share(PROTOCOLS["hybrid"].create, 60) <= 1.0


@pytest.mark.long
def test_no_wait_of_a_long_campaign_exceeds_the_bound() -> None:
    assert 0.9 < longest_share(PROTOCOLS["hybrid"].create, 2_000) <= 1.0


def test_the_papers_rule_exceeds_the_bound() -> None:
    assert longest_share(PROTOCOLS["hybrid-sps"].create, 60) > 1.0


UNBOUNDED = {
    "exempt copies overtake what waits": (
        "if self._overtakes and first_missing",
        "if self._sps and first_missing",
    ),
    "copies of a multicast leave apart, its exempt one first": (
        "                if entry.permits_before > first_missing and not self._is_exempt(entry):\n"
        "                    break\n",
        "                if entry.permits_before > first_missing and not self._is_exempt(entry):\n"
        "                    owing = self._peers.known(self._missing.first_sender())\n"
        "                    if (\n"
        "                        owing.place in entry.targets\n"
        "                        and entry.permits_before <= self._missing.second\n"
        "                        and owing.last_transmitted < entry.sequence\n"
        "                    ):\n"
        "                        self._transmit_first(owing, entry, now_ns, outbox)\n"
        "                    break\n",
    ),
}


@pytest.mark.parametrize("change", UNBOUNDED)
def test_what_breaks_only_the_bound_is_seen_by_it(change: str) -> None:
    """Both are as causal as the paper's rule: nothing but the bound tells them apart."""
    module = patched_hybrid(UNBOUNDED[change], as_package="unbounded")

    assert longest_share(module.HybridProcess, 200) > 1.0


# Where the paper's rule diverges.


def test_a_conversation_waits_for_one_round_trip_however_long_it_is() -> None:
    waits = {
        name: [conversation_waits(PROTOCOLS[name], turns).longest for turns in (25, 100)]
        for name in ("hybrid", "hybrid-csps", "hybrid-sps")
    }

    assert waits == {"hybrid": [1, 1], "hybrid-csps": [1, 1], "hybrid-sps": [24, 99]}


def latency_of_groups(name: str, messages: int) -> tuple[float, float]:
    """The mean and the longest latency, in milliseconds."""
    workload = Groups(20, posts=messages // 2, interval_ns=MS, seed=0)
    faults = Faults(latency=Uniform(MS // 2, 3 * MS // 2))
    measures = simulate(name, workload, faults=faults, seed=0).measures
    assert measures is not None
    return measures.delays.latency.mean() / MS, measures.delays.latency.greatest / MS


def assert_flat(messages: int) -> None:
    mean, longest = latency_of_groups("hybrid", messages)
    assert mean <= 3.5
    assert longest <= 5.5, "the bound: four times the longest delay, less the shortest"


def test_groups_do_not_diverge() -> None:
    assert_flat(2_000)
    assert_flat(4_000)


def test_groups_diverge_under_the_papers_rule() -> None:
    short, long = (latency_of_groups("hybrid-sps", messages)[0] for messages in (2_000, 6_000))

    assert long > 1.5 * short


@pytest.mark.long
@pytest.mark.parametrize("messages", [8_000, 16_000])
def test_long_runs_of_groups_do_not_diverge(messages: int) -> None:
    assert_flat(messages)
