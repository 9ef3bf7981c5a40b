"""Section "Correctness of the basic algorithm", for every algorithm of the hybrid family.

The safety propositions say that FIFO and (C)SPS are enforced: here every transmission of random
runs is held against the definition of the strategy, evaluated from scratch. The liveness lemmas say
that nothing lost stays lost: here every kind of packet is lost in turn.
"""

from random import Random

import pytest

from antecede.core import Effect, Transmit
from antecede_lab.catalogue import PROTOCOLS
from tests.papers.carrying import HandCarried, Identity, Letter

CSPS = ["paper-basic", "paper-multicast", "hybrid-csps"]
SPS = ["paper-sps", "hybrid-sps", "hybrid"]
HYBRID_FAMILY = CSPS + SPS
CONTROLS = ["fifo", "none"]
SEEDS = range(40)


class Watched(HandCarried):
    """Holds every first transmission of a copy against the definition of the strategy."""

    def __init__(self, protocol: str, count: int, *, sps: bool) -> None:
        super().__init__(protocol, count)
        self.sps = sps
        self.premature: list[str] = []
        self.copies_sent = 0
        self._sent: set[tuple[Identity, int]] = set()

    def _perform(self, process: int, effects: list[Effect]) -> list[Letter]:
        for effect in effects:
            if isinstance(effect, Transmit) and effect.packet.message is not None:
                self._watch(process, int(effect.target), int(effect.packet.message.sequence))
        return super()._perform(process, effects)

    def _watch(self, i: int, j: int, sequence: int) -> None:
        """Definitions SPS and CSPS: what must have been delivered before m leaves i for j?"""
        m = (i, sequence)
        if (m, j) in self._sent:
            return
        self._sent.add((m, j))
        self.copies_sent += 1
        ledger = self.ledger
        for earlier in sorted(ledger.past[m]):
            k = earlier[0]
            if k == i or not self._sent_messages(k, i) or (self.sps and k == j):
                continue
            for target in ledger.targets[earlier]:
                if earlier not in ledger.identities(target) and not (self.sps and target == i):
                    self.premature.append(f"{m} left for {j}, {earlier} is not at {target}")

    def _sent_messages(self, source: int, target: int) -> bool:
        return any(s == source and target in to for (s, _), to in self.ledger.targets.items())


def random_run(net: HandCarried, random: Random, multicast: bool) -> None:
    count = len(net.processes)
    for step in range(random.randint(40, 120)):
        if random.random() < 0.3:
            most = random.randint(1, count) if multicast else 1
            net.send(random.randrange(count), random.sample(range(count), most), b"%d" % step)
        elif net.table:
            letter = random.choice(net.table)
            if random.random() < 0.1:
                net.drop(letter)
            else:
                net.carry(letter)


def watched_run(protocol: str, seed: int, *, sps: bool) -> Watched:
    random = Random(seed)
    net = Watched(protocol, random.randint(3, 5), sps=sps)
    random_run(net, random, PROTOCOLS[protocol].multicast)
    net.settle()
    return net


@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
def test_fifo_is_enforced(protocol: str) -> None:
    """Proposition "The basic algorithm enforces FIFO"."""
    for seed in SEEDS:
        assert watched_run(protocol, seed, sps=True).ledger.fifo_breaks() == [], seed


@pytest.mark.parametrize("protocol", CSPS)
def test_csps_is_enforced(protocol: str) -> None:
    """Proposition "The basic algorithm enforces CSPS"."""
    for seed in SEEDS:
        assert watched_run(protocol, seed, sps=False).premature == [], seed


@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
def test_sps_is_enforced(protocol: str) -> None:
    """Algorithm 2 enforces SPS; and what enforces CSPS enforces SPS."""
    copies = 0
    for seed in SEEDS:
        net = watched_run(protocol, seed, sps=True)
        assert net.premature == [], seed
        assert net.ledger.violations == [], seed
        copies += net.copies_sent
    assert copies > 500


@pytest.mark.parametrize("protocol", SPS)
def test_sps_is_less_than_csps(protocol: str) -> None:
    """The definitions differ, and this judge can tell: SPS algorithms do not enforce CSPS."""
    assert any(watched_run(protocol, seed, sps=False).premature for seed in SEEDS)


@pytest.mark.parametrize("protocol", CONTROLS)
def test_controls_do_not_enforce_sps(protocol: str) -> None:
    """The same judge finds fault with what orders less."""
    assert any(watched_run(protocol, seed, sps=True).premature for seed in SEEDS)


@pytest.mark.parametrize("protocol", HYBRID_FAMILY)
@pytest.mark.parametrize("kind", ["message", "ack", "permit"])
@pytest.mark.parametrize("losses", [1, 2, 5])
def test_a_lost_packet_is_made_good(protocol: str, kind: str, losses: int) -> None:
    """Lemmas on the unacked buffer and on permits: every sort of loss, also several times."""
    net = HandCarried(protocol, 3)
    lost = lose(net, kind, losses)
    assert lost == losses
    assert net.payloads(1) == [b"first", b"answer"]
    assert net.ledger.violations == []
    for process in net.processes:
        assert process.expire(1 << 60) == [], "nothing is outstanding any more"


def lose(net: HandCarried, kind: str, losses: int) -> int:
    """A message, a flagged one, one that depends on it; the first packets of a kind get lost."""
    lost = 0
    net.send(0, [1], b"first")
    net.send(0, [2], b"relay")
    submitted = False
    for _ in range(1_000):
        if net.payloads(2) and not submitted:
            submitted = True
            net.send(2, [1], b"answer")
        # The first message comes last, so that the relay is flagged and its permit is needed.
        letters = sorted(net.table, key=lambda letter: (letter.source, letter.target) == (0, 1))
        if letters:
            if letters[0].packet.kind == kind and lost < losses:
                lost += 1
                net.drop(letters[0])
            else:
                net.carry(letters[0])
            continue
        rung = [net.ring(process) for process in range(3)]
        if not any(rung):
            return lost
    raise AssertionError(f"still busy: {net.table}")


@pytest.mark.parametrize("protocol", HYBRID_FAMILY + CONTROLS)
def test_every_message_is_delivered_in_the_end(protocol: str) -> None:
    """Proposition "any causal-sent message will be eventually delivered"."""
    for seed in SEEDS:
        net = watched_run(protocol, seed, sps=True)
        assert net.ledger.undelivered() == [], seed
        assert all(process.expire(1 << 60) == [] for process in net.processes), seed
