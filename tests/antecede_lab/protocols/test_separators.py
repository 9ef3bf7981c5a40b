"""Separators: a matrix for each domain, gateways between, and order across all of them."""

from random import Random

import pytest

from antecede.core import Deliver, Effect, LocalError, Message, RemoteError, Transmit
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.members import Members
from antecede_lab.protocols.rst import RstPacket
from antecede_lab.protocols.separators import (
    Domains,
    SeparatorPacket,
    SeparatorsProcess,
    checked_domains,
    cut,
    usual_count,
)
from antecede_lab.protocols.vectors import Vector
from tests.antecede.core.wrong_on_purpose import changed, goes_wrong
from tests.properties.schedule import CALM, Schedule, broken_promises, run_randomly
from tests.random_network import play

SEPARATORS = PROTOCOLS["separators"]
NINE = range(9)
"""By default three domains of three: 0 1 2, 3 4 5, 6 7 8, with the gateways 0, 3 and 6."""


def hops(effects: list[Effect]) -> list[tuple[int, SeparatorPacket]]:
    found: list[tuple[int, SeparatorPacket]] = []
    for effect in effects:
        assert isinstance(effect, Transmit)
        assert isinstance(effect.packet, SeparatorPacket)
        found.append((effect.target, effect.packet))
    return found


# Domains.


@pytest.mark.parametrize(
    ("size", "lengths"),
    [(1, [1]), (2, [1, 1]), (3, [1, 2]), (4, [2, 2]), (9, [3, 3, 3]), (10, [2, 3, 2, 3])],
)
def test_by_default_there_are_about_as_many_domains_as_each_has_members(
    size: int, lengths: list[int]
) -> None:
    pieces = cut(list(range(size)), usual_count(size))

    assert [len(piece) for piece in pieces] == lengths
    assert [process for piece in pieces for process in piece] == list(range(size))


def test_domains_can_be_named_or_counted() -> None:
    members = Members(0, range(5))
    assert checked_domains(members, 2).lists == [[0, 1], [2, 3, 4]]
    assert checked_domains(members, [[4, 0], [1, 3, 2]]).gateways == [4, 1]
    domains = Domains([[4, 0], [1, 3, 2]])
    assert (domains.gateway_of(2), domains.home_of(0)) == (1, [4, 0])


@pytest.mark.parametrize(
    "wanted",
    [0, 6, -1, True, "two", [[0, 1]], [[0, 1, 2], [2, 3, 4]], [[0, 1, 2, 3, 4], []], [3], 1.5],
)
def test_domains_that_make_no_sense_are_refused(wanted: object) -> None:
    with pytest.raises(LocalError):
        SeparatorsProcess(0, range(5), domains=wanted)


# The way of a message.


def test_a_message_at_home_goes_straight_with_the_matrix_of_its_domain() -> None:
    packet = SeparatorPacket(Message(1, 1, b"hi"), (2,), RstPacket(Message(1, 1, b""), (2,), 3, {}))

    assert SeparatorsProcess(1, NINE).submit([2], b"hi", 0) == [Transmit(2, packet)]
    assert packet.metadata_integers == 2 + 1 + 3 * 3


def test_a_message_abroad_takes_three_hops_through_two_gateways() -> None:
    processes = {me: SeparatorsProcess(me, NINE) for me in NINE}
    [(first, packet)] = hops(processes[1].submit([7], b"far", 0))
    [(second, onward)] = hops(processes[first].arrive(1, packet, 0))
    [(third, last)] = hops(processes[second].arrive(first, onward, 0))

    assert (first, second, third) == (0, 6, 7)
    assert (packet.targets, onward.targets, last.targets) == ((7,), (7,), (7,))
    assert (packet.hop.size, onward.hop.size, last.hop.size) == (3, 3, 3)
    assert processes[third].arrive(second, last, 0) == [Deliver(Message(1, 1, b"far"))]


def test_a_multicast_takes_each_hop_once() -> None:
    processes = {me: SeparatorsProcess(me, NINE) for me in NINE}
    sent = hops(processes[1].submit([2, 7, 0, 8, 4], b"all", 0))
    assert [(target, packet.targets) for target, packet in sent] == [(2, (2,)), (0, (0, 4, 7, 8))]

    at_gateway = processes[0].arrive(1, sent[1][1], 0)
    assert at_gateway[-1] == Deliver(Message(1, 1, b"all"))
    onward = hops(at_gateway[:-1])
    assert [(target, packet.targets) for target, packet in onward] == [(3, (4,)), (6, (7, 8))]


def test_what_depends_on_a_message_waits_for_it_on_every_hop() -> None:
    """1 writes to 7 and then to 2; the answer of 2 to 7 overtakes at the gateway, and waits."""
    processes = {me: SeparatorsProcess(me, NINE) for me in NINE}
    [(_, far)] = hops(processes[1].submit([7], b"first", 0))
    [(_, near)] = hops(processes[1].submit([2], b"relay", 0))
    processes[2].arrive(1, near, 0)
    [(_, answer)] = hops(processes[2].submit([7], b"answer", 0))

    assert processes[0].arrive(2, answer, 0) == []
    passed_on = hops(processes[0].arrive(1, far, 0))
    assert [packet.carried.payload for _, packet in passed_on] == [b"first", b"answer"]


# As a whole.


@pytest.mark.parametrize("seed", range(20))
def test_everything_is_delivered_causally_and_once(seed: int) -> None:
    run = play(SEPARATORS, seed)

    assert run.ledger.violations == []
    assert run.ledger.undelivered() == []
    assert run.refused == 0


@pytest.mark.parametrize("domains", [1, 2, 3, 4, [[3, 0], [1, 2]]], ids=repr)
def test_it_is_so_however_the_processes_are_divided(domains: object) -> None:
    assert not any(goes_wrong(SEPARATORS, seed, domains=domains) for seed in range(20))


@pytest.mark.parametrize("seed", range(10))
def test_it_is_so_among_many(seed: int) -> None:
    schedule = Schedule(SEPARATORS, 11, domains=3 + seed % 3)
    run_randomly(schedule, Random(seed), messages=60, eagerness=0.4, trouble=CALM)

    assert broken_promises(SEPARATORS, schedule) == []
    assert schedule.refused == 0


WRONG_ON_PURPOSE: dict[str, tuple[int, str, str]] = {
    "passes on in another order than it takes in": (
        2,
        "        for ready in domain.take(source, packet, now_ns):\n",
        "        for ready in reversed(domain.take(source, packet, now_ns)):\n",
    ),
    "passes on before it is its turn": (
        2,
        "        ready: list[SeparatorPacket] = []\n",
        "        return [packet]\n        ready: list[SeparatorPacket] = []\n",
    ),
    "sends a copy at a time": (
        1,
        '        for effect in self.order.submit(list(parts), b"", now_ns):\n',
        '        for effect in [self.order.submit([one], b"", now_ns)[0] for one in parts]:\n',
    ),
    "goes to other gateways past its own": (
        2,
        "            elif self._backbone is None:\n",
        "            elif self._backbone is None and len(remote) > 1:\n",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    domains, sound, wrong = WRONG_ON_PURPOSE[name]
    info = changed(
        SEPARATORS, "antecede_lab/protocols/separators.py", "SeparatorsProcess", (sound, wrong)
    )

    assert any(goes_wrong(info, seed, domains=domains) for seed in range(30))


# Packets that no correct process sends, by who gets them and from whom.


def forged(
    source: int, origin: int, targets: tuple[int, ...], hop_target: int, payload: bytes = b""
) -> SeparatorPacket:
    hop = RstPacket(Message(source, 1, payload), (hop_target,), 3, {})
    return SeparatorPacket(Message(origin, 1, b""), targets, hop)


FORGERIES: dict[str, tuple[int, int, SeparatorPacket]] = {
    "for somebody else": (1, 2, forged(2, 2, (0,), 1)),
    "for two": (1, 2, forged(2, 2, (1, 7), 1)),
    "passed on by no gateway": (1, 2, forged(2, 7, (1,), 1)),
    "from home, passed on": (1, 0, forged(0, 2, (1,), 1)),
    "from abroad to no gateway": (1, 3, forged(3, 3, (1,), 1)),
    "from no gateway abroad": (0, 4, forged(4, 4, (1,), 0)),
    "of another domain than it comes from": (0, 3, forged(3, 7, (1,), 0)),
    "on to a third domain": (0, 3, forged(3, 4, (7,), 0)),
    "to a neighbour through the gateway": (0, 1, forged(1, 1, (2,), 0)),
    "to its sender": (0, 1, forged(1, 1, (1,), 0)),
    "for nobody": (0, 1, forged(1, 1, (), 0)),
    "for a stranger": (0, 1, forged(1, 1, (77,), 0)),
    "out of order": (0, 1, forged(1, 1, (7, 4), 0)),
    "a hop to somebody else": (1, 2, forged(2, 2, (1,), 0)),
    "a hop with a payload": (1, 2, forged(2, 2, (1,), 1, b"x")),
    "a hop of somebody else": (1, 2, forged(0, 2, (1,), 1)),
    "from a stranger": (1, 77, forged(77, 77, (1,), 1)),
    "of a stranger": (1, 0, forged(0, 77, (1,), 1)),
    "from oneself": (1, 1, forged(1, 1, (1,), 1)),
    "a bad matrix": (
        1,
        2,
        SeparatorPacket(
            Message(2, 1, b""),
            (1,),
            RstPacket(Message(2, 1, b""), (1,), 3, {7: Vector({1: 1})}),
        ),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str) -> None:
    me, source, packet = FORGERIES[name]
    process = SeparatorsProcess(me, NINE)
    before = process.fingerprint()

    with pytest.raises(RemoteError):
        process.arrive(source, packet, 0)
    assert process.fingerprint() == before


def test_a_hop_that_comes_again_is_refused() -> None:
    process = SeparatorsProcess(1, NINE)
    process.arrive(2, forged(2, 2, (1,), 1), 0)
    before = process.fingerprint()

    with pytest.raises(RemoteError, match="came again"):
        process.arrive(2, forged(2, 2, (1,), 1), 0)
    assert process.fingerprint() == before
