"""Expulsion under `hybrid-facts`: order is kept, what the expelled told of others stays true."""

from typing import cast

import pytest

from antecede.core import Deliver, Effect, Packet, Transmit
from antecede.core.catalogue import ProtocolInfo
from antecede.core.packets import ExpulsionNotice
from antecede_lab.protocols.facts.packets import Fact, FactsAck, FactsMessage, FactsPermit, Mark
from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede.core.expulsion_world import judge
from tests.seeds import seeds

ANN, KIM, XEN, EVE = range(4)
EVERYONE = [ANN, KIM, XEN, EVE]

NODE = {"hops": 1, "covering": False}
"""How nodes run it: they may expel each other."""

LIVE = [
    {"facts": 0, "filter_bits": 0, "exceptions": 0},
    {"facts": 4, "filter_bits": 8, "exceptions": 0},
    {"facts": 16, "filter_bits": 64, "exceptions": 0},
]
SAFE = [
    {"facts": 2, "filter_bits": 64, "exceptions": 2},
    {"facts": 2, "filter_bits": 64, "exceptions": 2, "hops": 2},
    {"facts": 0, "filter_bits": 64, "exceptions": 2, "hops": 1000, "watermarks": 0},
]


def info(options: dict[str, int]) -> ProtocolInfo:
    return ProtocolInfo(
        "hybrid-facts",
        FactsProcess,
        ordering="causal",
        multicast=True,
        network="lossy",
        paper="",
        options={**NODE, **options},
    )


@pytest.mark.parametrize("options", LIVE)
def test_whoever_is_expelled_the_rest_goes_on_in_order(options: dict[str, int]) -> None:
    wrong = {seed: judge(info(options), seed).findings() for seed in seeds(80)}

    assert {seed: findings for seed, findings in wrong.items() if findings} == {}


@pytest.mark.parametrize("options", SAFE)
def test_order_is_kept_where_reports_rest_on_those_of_the_expelled(options: dict[str, int]) -> None:
    """Some of these worlds stop: nobody knows any more what a filter of the expelled stood for."""
    wrong = {seed: judge(info(options), seed).findings() for seed in seeds(80)}

    assert {seed: f for seed, f in wrong.items() if f & {"order", "once"}} == {}


@pytest.mark.long
@pytest.mark.parametrize("options", [*LIVE, *SAFE])
def test_whoever_is_expelled_in_a_long_campaign_order_is_kept(options: dict[str, int]) -> None:
    allowed = {"loss", "stuck"} if options in SAFE else set()
    wrong = {seed: judge(info(options), seed).findings() - allowed for seed in range(6_000)}

    assert {seed: findings for seed, findings in wrong.items() if findings} == {}


# Stories. Ann writes to Eve, slowly, and to Kim; Kim to Xen; Xen expels Kim and writes to Eve.


def process(me: int, **options: int) -> FactsProcess:
    return cast(FactsProcess, info(options).create(me, EVERYONE))


def packet_to(target: int, effects: list[Effect]) -> Packet:
    found = [e.packet for e in effects if isinstance(e, Transmit) and e.target == target]
    return found[0]


def messages_to(target: int, effects: list[Effect]) -> list[FactsMessage]:
    packets = [e.packet for e in effects if isinstance(e, Transmit) and e.target == target]
    inner = [packet.inner if isinstance(packet, ExpulsionNotice) else packet for packet in packets]
    return [packet for packet in inner if isinstance(packet, FactsMessage)]


def message_to(target: int, effects: list[Effect]) -> FactsMessage:
    return messages_to(target, effects)[0]


def delivered(effects: list[Effect]) -> list[bytes]:
    return [effect.message.payload for effect in effects if isinstance(effect, Deliver)]


def told_by_kim(kim: FactsProcess, xen: FactsProcess) -> None:
    """Xen has delivered what Kim wrote after she had heard from Ann."""
    ann = process(ANN)
    ann.submit([EVE], b"slow", 0)
    kim.arrive(ANN, packet_to(KIM, ann.submit([KIM], b"a", 0)), 0)
    kim.submit([EVE], b"slow, too", 0)
    xen.arrive(KIM, packet_to(XEN, kim.submit([XEN], b"b", 0)), 0)


def test_what_the_expelled_told_of_others_stays_true() -> None:
    kim, xen = process(KIM), process(XEN)
    told_by_kim(kim, xen)

    xen.expel(KIM, 0)

    assert message_to(EVE, xen.submit([EVE], b"c", 0)).must == [Mark(ANN, 1)]


def test_a_message_stands_for_what_it_covers_only_where_nobody_is_expelled() -> None:
    """Kim's message to Eve covers Ann's; with Kim expelled nobody waits for it any more."""
    kim, xen = process(KIM, covering=True), process(XEN, covering=True)
    told_by_kim(kim, xen)

    assert message_to(EVE, xen.submit([EVE], b"c", 0)).must == [Mark(KIM, 1)]
    xen.expel(KIM, 0)
    assert message_to(EVE, xen.submit([EVE], b"d", 0)).must == []


def test_a_filter_that_rests_on_others_outlives_its_sender() -> None:
    """With two hops and no facts, Kim's filter stands for Ann's message; only Kim could end it."""
    tight = {"facts": 0, "hops": 2, "exceptions": 0}
    ann, kim, xen = process(ANN, **tight), process(KIM, **tight), process(XEN, **tight)
    ann.submit([EVE], b"slow", 0)
    kim.arrive(ANN, packet_to(KIM, ann.submit([KIM], b"a", 0)), 0)
    xen.arrive(KIM, packet_to(XEN, kim.submit([XEN], b"b", 0)), 0)

    xen.expel(KIM, 0)

    assert messages_to(EVE, xen.submit([EVE], b"c", 0)) == []


def test_a_filter_of_its_own_messages_ends_with_the_expelled() -> None:
    tight = {"facts": 0, "exceptions": 0}
    kim, xen = process(KIM, **tight), process(XEN, **tight)
    kim.submit([EVE], b"slow", 0)
    xen.arrive(KIM, packet_to(XEN, kim.submit([XEN], b"b", 0)), 0)
    assert messages_to(EVE, xen.submit([EVE], b"c", 0)) == []

    assert message_to(EVE, xen.expel(KIM, 0)).carried.payload == b"c"


def test_acks_say_nothing_that_counts_on_an_expulsion_not_noted() -> None:
    """Xen's own message to Kim counts as delivered; Ann, who still listens to Kim, must not."""
    xen = process(XEN)
    xen.submit([KIM], b"lost", 0)
    xen.expel(KIM, 0)

    said = xen.arrive(ANN, packet_to(XEN, process(ANN).submit([XEN], b"a", 0)), 0)

    acks = [e.packet for e in said if isinstance(e, Transmit) and isinstance(e.packet, FactsAck)]
    assert acks == [FactsAck(1)]


def test_who_waits_for_a_message_of_the_expelled_waits_no_longer() -> None:
    eve, xen, kim = process(EVE), process(XEN), process(KIM)
    kim.submit([EVE], b"slow", 0)
    xen.arrive(KIM, packet_to(XEN, kim.submit([XEN], b"b", 0)), 0)
    assert delivered(eve.arrive(XEN, packet_to(EVE, xen.submit([EVE], b"c", 0)), 0)) == []

    assert delivered(eve.expel(KIM, 0)) == [b"c"]


def test_facts_about_the_expelled_are_dead() -> None:
    ann, xen = process(ANN), process(XEN)
    ann.submit([KIM], b"slow", 0)
    xen.arrive(ANN, packet_to(XEN, ann.submit([XEN], b"a", 0)), 0)
    report = message_to(EVE, xen.submit([EVE], b"b", 0)).report
    assert report is not None
    assert report.facts == [Fact(ANN, KIM, 1)]

    xen.expel(KIM, 0)

    report = message_to(EVE, xen.submit([EVE], b"c", 0)).report
    assert report is None


def test_a_permit_carries_the_notice_that_it_counts_on() -> None:
    xen = process(XEN, facts=0, exceptions=0)
    xen.submit([KIM], b"slow", 0)
    xen.submit([ANN], b"a", 0)

    packet = packet_to(ANN, xen.expel(KIM, 0))

    assert isinstance(packet, ExpulsionNotice)
    assert packet.processes == [KIM]
    assert isinstance(packet.inner, FactsPermit)
