"""The paper's algorithms and the controls under random schedules, judged by the definition.

A schedule carries packets in any order, loses some and repeats some; then the faults stop, and
everything must arrive, exactly once and in the promised order, and every buffer must empty.
"""

from contextlib import suppress
from random import Random

import pytest

from antecede.core import BufferFull
from antecede.core.retransmission import PATIENCE_NS
from antecede_lab.catalogue import PROTOCOLS
from tests.papers.carrying import HandCarried

CAUSAL = ["paper-basic", "paper-sps", "paper-multicast"]
CONTROLS = ["fifo", "none"]
SEEDS = range(60)


def random_run(protocol: str, seed: int) -> HandCarried:
    random = Random(seed)
    count = random.randint(2, 5)
    limits = {"send_limit": random.choice([3, 1000]), "receive_limit": random.choice([1, 1000])}
    net = HandCarried(protocol, count, patience_ns=1_000_000, **limits)
    for step in range(random.randint(20, 160)):
        roll = random.random()
        if roll < random.choice([0.15, 0.5]):
            submit(net, random, protocol, step)
        elif net.table:
            meddle(net, random)
        elif roll > 0.9:
            net.ring(random.randrange(count))
    assert net.ledger.violations == [] or PROTOCOLS[protocol].ordering != "causal"
    net.settle()
    return net


def submit(net: HandCarried, random: Random, protocol: str, step: int) -> None:
    count = len(net.processes)
    most = count if PROTOCOLS[protocol].multicast else 1
    targets = random.sample(range(count), random.randint(1, most))
    with suppress(BufferFull):
        net.send(random.randrange(count), targets, b"" if step % 5 == 0 else b"%d" % step)


def meddle(net: HandCarried, random: Random) -> None:
    letter = random.choice(net.table)
    fate = random.random()
    if fate < 0.1:
        net.drop(letter)
    elif fate < 0.2:
        net.repeat(letter)
    elif fate < 0.25:
        net.ring(letter.target)
    else:
        net.carry(letter)


@pytest.mark.parametrize("protocol", CAUSAL)
def test_delivery_is_causal_complete_and_exactly_once(protocol: str) -> None:
    for seed in SEEDS:
        net = random_run(protocol, seed)
        assert net.ledger.violations == [], seed
        assert net.ledger.undelivered() == [], seed


@pytest.mark.parametrize("protocol", CONTROLS)
def test_a_control_delivers_everything_exactly_once(protocol: str) -> None:
    overtaken = 0
    for seed in SEEDS:
        net = random_run(protocol, seed)
        wrong = [text for text in net.ledger.violations if "overtakes" not in text]
        assert wrong == [], seed
        assert net.ledger.undelivered() == [], seed
        if protocol == "fifo":
            assert net.ledger.fifo_breaks() == [], seed
        overtaken += len(net.ledger.violations)
    assert overtaken > 0, "a control that happened to be causal would judge nothing"


def test_none_does_not_even_keep_fifo_order() -> None:
    assert any(random_run("none", seed).ledger.fifo_breaks() for seed in SEEDS)


@pytest.mark.parametrize("protocol", CAUSAL + CONTROLS)
def test_a_clone_goes_its_own_way_and_answers_alike(protocol: str) -> None:
    """After every step a clone has the same fingerprint, and the next step the same effects."""
    random = Random(1)
    net = HandCarried(protocol, 3)
    for step in range(150):
        if random.random() < 0.4:
            submit(net, random, protocol, step)
        elif net.table:
            letter = random.choice(net.table)
            process = net.processes[letter.target]
            before = process.fingerprint()
            twin = process.clone()
            assert twin.fingerprint() == before
            effects = twin.arrive(letter.source, letter.packet, net.now_ns)
            assert process.fingerprint() == before
            assert process.clone().arrive(letter.source, letter.packet, net.now_ns) == effects
            net.carry(letter)
            assert process.fingerprint() == twin.fingerprint()
            later_ns = net.now_ns + 10 * PATIENCE_NS
            assert process.clone().expire(later_ns) == twin.expire(later_ns)
