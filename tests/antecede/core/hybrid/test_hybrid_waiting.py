"""What a hybrid process says about what waits: by target and by owner, whatever their number."""

from dataclasses import dataclass, field
from random import Random

import pytest

from antecede.core.effects import Effect, Transmit
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import DataPacket, Message, Permit
from antecede.core.process import EffectList, NodeProcess
from antecede_lab.catalogue import PROTOCOLS
from tests.seeds import seeds

ME = 0
MANY = 8_192


def flagged(sender: int, sequence: int) -> DataPacket:
    """A message whose permit will be missing."""
    return DataPacket(Message(sender, sequence, b""), sequence - 1, True)


@pytest.mark.parametrize("rule", ["ordered", "sps", "csps"])
def test_thousands_that_wait_are_told_as_one_range_by_target_and_one_by_owner(rule: str) -> None:
    """The answers have as many entries as there are peers, however many messages wait."""
    me = PROTOCOLS[{"ordered": "hybrid"}.get(rule, f"hybrid-{rule}")].create(ME, range(4))
    assert isinstance(me, HybridProcess)
    for sequence in range(1, MANY + 1):
        me.arrive(1, flagged(1, sequence), 0)
    for _ in range(MANY):
        me.submit([2], b"", 0)
    me.submit([2, 3], b"", 0)

    assert [repr(held) for held in me.waiting()] == [
        f"{MANY + 1} messages, 1 to {MANY + 1}, to 2 wait for the permits of 1 to {MANY} of 1",
        f"message {MANY + 1} to 3 waits for the permits of 1 to {MANY} of 1",
    ]
    copies = MANY + 2 if rule == "sps" else MANY + 1
    owed = [(one.owner, one.first, one.last, one.since, one.holds) for one in me.owed_permits()]
    assert owed == [(1, 1, MANY, 1, copies)]
    me.arrive(1, Permit(MANY), 0)
    assert (me.waiting(), me.owed_permits()) == ([], [])


def test_answers_to_somebody_do_not_wait_for_its_own_permits() -> None:
    """A thousand answers wait for somebody else; those behind them wait for both."""
    me = PROTOCOLS["hybrid"].create(ME, range(4))
    assert isinstance(me, HybridProcess)
    me.arrive(1, flagged(1, 1), 0)
    me.arrive(2, flagged(2, 1), 0)
    for _ in range(1_000):
        me.submit([2], b"", 0)
    assert [(owed.owner, owed.holds) for owed in me.owed_permits()] == [(1, 1_000)]
    for _ in range(5):
        me.submit([3], b"", 0)
    assert [(owed.owner, owed.since, owed.holds) for owed in me.owed_permits()] == [
        (1, 1, 1_005),
        (2, 1_001, 5),
    ]


# Against the definition, message by message.


@dataclass
class Model:
    """What was submitted and is missing, as whoever drives the process knows it."""

    me: NodeProcess
    rule: str
    missing: list[tuple[int, int, int]] = field(default_factory=list)
    positions: int = 0
    unsent: dict[tuple[int, int], int] = field(default_factory=dict)
    """By id and target: before which position of missing permits it was submitted."""
    alone: dict[int, bool] = field(default_factory=dict)
    next_id: int = 1
    arrived: dict[int, int] = field(default_factory=dict)

    def left(self, effects: list[Effect]) -> None:
        """These packets leave."""
        for effect in effects:
            if isinstance(effect, Transmit) and isinstance(effect.packet, DataPacket):
                self.unsent.pop((effect.packet.carried.sequence, effect.target), None)

    def step(self, random: Random, peers: list[int]) -> None:
        """Something happens."""
        peer = random.choice(peers)
        kind = random.random()
        if kind < 0.35:
            sequence = self.arrived[peer] = self.arrived.get(peer, 0) + 1
            self.missing.append((peer, sequence, self.positions))
            self.positions += 1
            self.left(self.me.arrive(peer, flagged(peer, sequence), 0))
        elif kind < 0.85:
            targets = random.sample(peers, 1 if random.random() < 0.7 else 2)
            for target in targets:
                self.unsent[self.next_id, target] = self.positions
            self.alone[self.next_id] = len(targets) == 1
            self.next_id += 1
            self.left(self.me.submit(targets, b"", 0))
        elif kind < 0.97:
            owed = [sequence for sender, sequence, _ in self.missing if sender == peer]
            if owed:
                upto = random.choice(owed)
                self.missing = [m for m in self.missing if m[0] != peer or m[1] > upto]
                self.left(self.me.arrive(peer, Permit(upto), 0))
        elif len(peers) > 3:
            peers.remove(peer)
            outbox = EffectList()
            self.me.abandon_into(peer, 0, outbox)
            self.unsent = {key: p for key, p in self.unsent.items() if key[1] != peer}
            self.left(outbox.effects)

    def owners(self) -> dict[tuple[int, int], set[int]]:
        """By copy that waits: whose permits."""
        waits: dict[tuple[int, int], set[int]] = {}
        before: set[int] = set()
        for (sequence, target), position in sorted(self.unsent.items()):
            exempt = target if self.rule == "sps" else -1
            if self.rule == "ordered" and self.alone[sequence]:
                exempt = target
            own = {s for s, _, place in self.missing if place < position and s != exempt}
            before |= own
            waits[sequence, target] = own if self.rule == "sps" else set(before)
        if self.rule != "sps":
            for key in waits:  # Copies of one message leave together.
                waits[key] = set().union(*(o for other, o in waits.items() if other[0] == key[0]))
        return waits


@pytest.mark.parametrize("rule", ["ordered", "sps", "csps"])
def test_what_is_said_to_wait_and_for_whom_follows_from_the_definition(rule: str) -> None:
    asked = 0
    for seed in seeds(60):
        random = Random(seed)
        peers = list(range(1, random.randint(4, 6)))
        name = "hybrid" if rule == "ordered" else f"hybrid-{rule}"
        me = PROTOCOLS[name].create(ME, range(6))
        assert isinstance(me, HybridProcess)
        model = Model(me, rule)
        for _ in range(random.randint(10, 60)):
            model.step(random, peers)
            asked += check(model)
    assert asked > 5 * len(seeds(60))


def check(model: Model) -> int:
    """What the process says is what the model says; how many copies wait."""
    waits = model.owners()
    for held in model.me.waiting():
        ids = [sequence for sequence, target in waits if target == held.target]
        assert (held.first, held.last, held.count) == (min(ids), max(ids), len(ids))
        named = {int(owed.owner) for owed in held.missing}
        assert named == waits[max(ids), int(held.target)]
    assert {int(held.target) for held in model.me.waiting()} == {target for _, target in waits}
    told = {int(one.owner): (one.since, one.holds) for one in model.me.owed_permits()}
    expected: dict[int, tuple[int, int]] = {}
    for owner in set().union(*waits.values()):
        copies = [key for key, owners in waits.items() if owner in owners]
        numbers = {sequence for sequence, _ in copies}
        expected[owner] = min(numbers), len(copies) if model.rule == "sps" else len(numbers)
    assert told == expected
    return len(waits)
