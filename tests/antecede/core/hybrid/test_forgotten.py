"""State follows what is unacknowledged, not what has been sent since.

One message that a silent peer does not acknowledge keeps all later ones from settling. What is kept
of those is the permits that will be due: one id per peer between any two messages that are still
open. Decisions do not change by it.
"""

from functools import partial
from random import Random

import pytest

from antecede.core import BufferFull, NodeProcess, Transmit
from antecede.core.packets import Ack, DataPacket, Permit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.comparison.space import integers_in
from tests.antecede.core.hybrid.optimality_oracle import Definition, Plan, WatchedRun, random_run
from tests.seeds import seeds

ALICE, BOB, CAROL, SILENT = range(4)
EVERYONE = [ALICE, BOB, CAROL, SILENT]

RULES = {
    "hybrid": Definition(sps=True, ordered=True),
    "hybrid-sps": Definition(sps=True),
    "hybrid-csps": Definition(sps=False),
}
every_rule = pytest.mark.parametrize("name", RULES)
for_nodes = pytest.mark.parametrize("name", [*RULES, "fifo", "none"])


def process(name: str, **options: object) -> NodeProcess:
    made = PROTOCOLS[name].create(ALICE, EVERYONE, **options)
    assert isinstance(made, NodeProcess)
    return made


def exchange(alice: NodeProcess, target: int, messages: int) -> int:
    """Messages to somebody who acknowledges them; the id of the last."""
    last = 0
    for _ in range(messages):
        for effect in alice.submit([target], b"", 0):
            if isinstance(effect, Transmit) and isinstance(effect.packet, DataPacket):
                last = int(effect.packet.carried.sequence)
                alice.arrive(target, Ack(last), 0)
    return last


@for_nodes
def test_acknowledged_messages_behind_an_open_one_cost_nothing(name: str) -> None:
    alice = process(name)
    alice.submit([SILENT], b"", 0)
    exchange(alice, BOB, 100)
    few = integers_in(alice.fingerprint())
    exchange(alice, BOB, 10_000)

    assert alice.buffered() == 1
    assert integers_in(alice.fingerprint()) <= few + 100


@for_nodes
def test_there_is_room_as_long_as_little_is_open(name: str) -> None:
    """One message to a silent peer, and more acknowledged ones than the limit."""
    alice = process(name, send_limit=8)
    alice.submit([SILENT], b"", 0)
    exchange(alice, BOB, 100)
    alice.submit([ALICE], b"to oneself", 0)
    assert alice.buffered() == 1

    for _ in range(7):
        alice.submit([CAROL], b"", 0)
    with pytest.raises(BufferFull):
        alice.submit([CAROL], b"", 0)


@every_rule
def test_the_permits_of_what_was_forgotten_leave_when_they_are_due(name: str) -> None:
    alice = process(name)
    alice.submit([SILENT], b"", 0)
    before = exchange(alice, BOB, 200)
    exchange(alice, CAROL, 1)
    alice.submit([SILENT], b"", 0)
    after = exchange(alice, BOB, 200)
    assert (before, after) == (201, 403)

    cautious = [Transmit(SILENT, Permit(203))] if name == "hybrid-csps" else []
    assert alice.arrive(SILENT, Ack(1), 0) == [
        Transmit(BOB, Permit(201)),
        Transmit(CAROL, Permit(202)),
        *cautious,
    ]
    assert alice.arrive(SILENT, Ack(203), 0) == [Transmit(BOB, Permit(403))]


@every_rule
def test_decisions_do_not_depend_on_what_is_forgotten(name: str) -> None:
    """Random runs in which acknowledged entries go at once are what the definition says."""
    deliveries = 0
    for seed in seeds(60):
        random = Random(seed)
        plan = Plan(
            processes=random.randint(3, 5),
            submissions=80,
            eagerness=random.choice([0.1, 0.3, 0.6]),
            multicast=seed % 2 == 0,
            fifo=seed % 3 == 0,
        )
        everyone = list(range(plan.processes))
        create = partial(PROTOCOLS[name].create, forgotten_min=0)
        run = WatchedRun({me: create(me, everyone) for me in everyone}, RULES[name])
        random_run(run, plan, random)
        deliveries += run.deliveries
    assert deliveries > 17 * len(seeds(60))
