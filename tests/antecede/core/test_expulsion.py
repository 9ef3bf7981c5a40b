"""Expulsion: the rest goes on, in order, whoever is suspected; each of its rules is needed."""

from collections.abc import Callable

import pytest

from antecede import compiled
from antecede.core import (
    Deliver,
    DeliveryUnknown,
    Effect,
    EffectList,
    Expelled,
    Fenced,
    LocalError,
    Message,
    NotSentTo,
    Packet,
    RemoteError,
    SelfExpelled,
    Transmit,
)
from antecede.core.expulsion import EXPELLED_LIMIT
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import (
    Ack,
    DataPacket,
    ExpulsionAck,
    ExpulsionNotice,
    Permit,
    YouAreExpelled,
)
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede.core.expulsion_mutants import MUTANTS, mutant
from tests.antecede.core.expulsion_world import judge
from tests.broken.mutants import info_like
from tests.seeds import seeds

ALICE, BOB, CAROL, DAVE = range(4)
EVERYONE = [ALICE, BOB, CAROL, DAVE]
RULES = ["hybrid", "hybrid-sps", "hybrid-csps"]
PATIENCE_NS = 100

every_rule = pytest.mark.parametrize("name", RULES)


def process(me: int, *met: int) -> HybridProcess:
    made = HybridProcess(me, EVERYONE, patience_ns=PATIENCE_NS)
    for other in met:
        made.on_met_into(other, 0, EffectList())
    return made


def message(sender: int, sequence: int, previous: int = 0, *, flagged: bool = False) -> DataPacket:
    return DataPacket(Message(sender, sequence, b""), previous, flagged)


# Random worlds.


@every_rule
def test_whoever_is_expelled_the_rest_goes_on_in_order(name: str) -> None:
    wrong = {seed: judge(PROTOCOLS[name], seed).findings() for seed in seeds(120)}

    assert {seed: findings for seed, findings in wrong.items() if findings} == {}


@pytest.mark.long
@every_rule
def test_whoever_is_expelled_in_a_long_campaign_the_rest_goes_on(name: str) -> None:
    wrong = {seed: judge(PROTOCOLS[name], seed).findings() for seed in range(6_000)}

    assert {seed: findings for seed, findings in wrong.items() if findings} == {}


# The shortest stories in which a rule is needed. K is expelled by X; P hears of it.

K, P, X = range(3)
Make = type[HybridProcess]


def first_packet(effects: list[Effect], target: int) -> Packet:
    return next(
        effect.packet
        for effect in effects
        if isinstance(effect, Transmit) and effect.target == target
    )


def delivered(effects: list[Effect]) -> list[bytes]:
    return [effect.message.payload for effect in effects if isinstance(effect, Deliver)]


def message_in_order(make: Make) -> bool:
    """K to P b (slow), K to X a; X answers to P, held back; X expels K, and the answer leaves."""
    p, x = make(P, EVERYONE), make(X, EVERYONE)
    x.arrive(K, message(K, 2, flagged=True), 0)
    assert x.submit([P], b"answer", 0) == []
    answer = first_packet(x.expel(K, 0), P)
    seen = delivered(p.arrive(X, answer, 0)) + delivered(p.arrive(K, message(K, 1), 0))
    return seen == [b"answer"]


def permit_in_order(make: Make) -> bool:
    """X to K b (slow), X to P a; P writes to K, held back; X expels K, and the permit leaves."""
    p, x = make(P, EVERYONE), make(X, EVERYONE)
    x.submit([K], b"b", 0)
    p.arrive(X, first_packet(x.submit([P], b"a", 0), P), 0)
    assert p.submit([K], b"after a", 0) == []
    permit = first_packet(x.expel(K, 0), P)
    sent = [effect for effect in p.arrive(X, permit, 0) if isinstance(effect, Transmit)]
    return K not in [effect.target for effect in sent]


def both_go_on(make: Make) -> bool:
    """X and K expel each other: neither stops when it hears of it."""
    x = make(X, EVERYONE)
    x.submit([K], b"", 0)
    x.expel(K, 0)
    x.arrive(K, YouAreExpelled(), 0)
    return SelfExpelled(K) not in x.reports()


STORIES: list[Callable[[Make], bool]] = [message_in_order, permit_in_order, both_go_on]


@pytest.mark.parametrize("story", STORIES)
def test_a_story_ends_well(story: Callable[[Make], bool]) -> None:
    assert story(HybridProcess)


@pytest.mark.skipif(
    compiled(),
    reason="mutants of several files cannot inherit from compiled classes; they run interpreted",
)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_rule_left_out_is_noticed(name: str) -> None:
    make = mutant(name)
    info = info_like(PROTOCOLS["hybrid"], name, make)
    stories = any(not story(make) for story in STORIES)

    assert stories or any(judge(info, seed).findings() for seed in range(MUTANT_WORLDS))


MUTANT_WORLDS = 400


# Single steps.


def test_whoever_is_expelled_is_out() -> None:
    alice = process(ALICE, CAROL)
    alice.arrive(BOB, message(BOB, 3), 0)
    for _ in range(2):
        alice.submit([BOB], b"", 0)
    alice.submit([CAROL], b"", 0)

    assert alice.expel(BOB, 0) == [
        Transmit(CAROL, ExpulsionNotice([BOB], Permit(3))),
        Transmit(CAROL, ExpulsionNotice([BOB], None)),
    ]
    assert alice.reports() == [Expelled(BOB, 3), DeliveryUnknown(1, BOB), DeliveryUnknown(2, BOB)]
    assert alice.reports() == []
    assert (alice.unacked_by(BOB), alice.buffered()) == (0, 1)
    assert alice.arrive(BOB, message(BOB, 4, 3), 0) == [Transmit(BOB, YouAreExpelled())]
    assert alice.arrive(BOB, YouAreExpelled(), 0) == []
    assert alice.expel(BOB, 0) == []


def test_what_is_submitted_for_the_expelled_is_refused_and_goes_to_the_others() -> None:
    alice = process(ALICE)
    alice.expel(BOB, 0)
    alice.reports()

    assert alice.submit([BOB], b"", 0) == []
    effects = alice.submit([BOB, CAROL], b"", 0)
    assert effects[0] == Transmit(
        CAROL, ExpulsionNotice([BOB], DataPacket(Message(ALICE, 2, b""), 0, False))
    )
    assert alice.reports() == [NotSentTo(1, BOB), NotSentTo(2, BOB)]
    assert alice.buffered() == 1


def test_once_noted_messages_are_as_small_as_before() -> None:
    alice = process(ALICE, CAROL)
    alice.expel(BOB, 0)
    alice.arrive(CAROL, ExpulsionAck([BOB]), 0)

    assert alice.submit([CAROL], b"", 0) == [
        Transmit(CAROL, DataPacket(Message(ALICE, 1, b""), 0, False))
    ]


def test_a_notice_is_noted_passed_on_and_repeated_until_it_is_noted() -> None:
    carol = process(CAROL, ALICE, DAVE)

    assert carol.arrive(ALICE, ExpulsionNotice([BOB], None), 0) == [
        Transmit(DAVE, ExpulsionNotice([BOB], None)),
        Transmit(ALICE, ExpulsionAck([BOB])),
    ]
    assert carol.deadline_ns() == PATIENCE_NS
    assert carol.expire(PATIENCE_NS) == [Transmit(DAVE, ExpulsionNotice([BOB], None))]
    carol.arrive(DAVE, ExpulsionAck([BOB]), PATIENCE_NS)
    assert carol.expire(10**9) == []
    assert carol.deadline_ns() is None
    # A repeated notice is noted again, and told to nobody.
    assert carol.arrive(ALICE, ExpulsionNotice([BOB], None), 0) == [
        Transmit(ALICE, ExpulsionAck([BOB]))
    ]


@pytest.mark.parametrize(
    "news",
    [YouAreExpelled(), ExpulsionNotice([CAROL, DAVE], None), ExpulsionNotice([CAROL], Permit(1))],
)
def test_whoever_hears_that_it_is_expelled_stops_for_good(news: Packet) -> None:
    carol = process(CAROL)
    carol.submit([BOB], b"", 0)

    assert carol.arrive(ALICE, news, 0) == []
    assert carol.reports() == [SelfExpelled(ALICE)]
    assert carol.deadline_ns() is None
    assert carol.expire(10**9) == []
    assert carol.arrive(BOB, message(BOB, 1), 0) == []
    with pytest.raises(Fenced, match="open a new one to rejoin"):
        carol.submit([BOB], b"", 0)
    with pytest.raises(Fenced, match="open a new one to rejoin"):
        carol.expel(BOB, 0)
    assert carol.clone().fingerprint() == carol.fingerprint()


@pytest.mark.parametrize("made", [HybridProcess, FactsProcess])
def test_who_is_met_by_its_own_notice_is_told_again_and_again(
    made: type[HybridProcess | FactsProcess],
) -> None:
    bob = made(BOB, range(10), patience_ns=PATIENCE_NS)
    for gone in (7, 8):
        bob.expel(gone, 0)

    told = bob.arrive(CAROL, ExpulsionNotice([7], None), 0)
    again = bob.expire(PATIENCE_NS)

    assert Transmit(CAROL, ExpulsionNotice([8], None)) in told
    assert again == [Transmit(CAROL, ExpulsionNotice([8], None))]


def test_nobody_can_expel_itself_or_what_is_no_process() -> None:
    alice = process(ALICE)
    with pytest.raises(LocalError, match="cannot expel itself"):
        alice.expel(ALICE, 0)
    with pytest.raises(LocalError, match="outside 0 <= id"):
        alice.expel(-1, 0)


@pytest.mark.parametrize(
    "packet",
    [
        ExpulsionNotice([-1], None),
        ExpulsionNotice([1 << 31], None),
        ExpulsionNotice([DAVE], Ack(1)),
        ExpulsionNotice([DAVE], message(BOB, 1)),
        ExpulsionNotice(list(range(100, 100 + (1 << 16) + 1)), None),
    ],
)
def test_a_notice_that_makes_no_sense_changes_nothing(packet: Packet) -> None:
    carol = process(CAROL, ALICE)
    before = carol.fingerprint()

    with pytest.raises(RemoteError):
        carol.arrive(ALICE, packet, 0)
    assert carol.fingerprint() == before


def test_a_notice_about_its_own_sender_is_ignored() -> None:
    carol = process(CAROL, ALICE)
    before = carol.fingerprint()

    assert carol.arrive(ALICE, ExpulsionNotice([ALICE], None), 0) == []
    assert carol.fingerprint() == before


def test_a_clone_has_expelled_the_same() -> None:
    alice = process(ALICE, CAROL, DAVE)
    alice.submit([CAROL, BOB], b"", 0)
    alice.expel(BOB, 0)
    twin = alice.clone()

    assert twin.fingerprint() == alice.fingerprint()
    assert twin.submit([DAVE], b"", 5) == alice.submit([DAVE], b"", 5)
    assert twin.expire(1_000) == alice.expire(1_000)


def test_at_the_limit_only_news_of_more_is_refused() -> None:
    """Old news still counts, our own decisions do, and nobody comes back."""
    bob = process(BOB, ALICE, CAROL)
    strangers = list(range(100, 100 + EXPELLED_LIMIT))
    bob.arrive(ALICE, ExpulsionNotice(strangers[1:], None), 0)
    bob.reports()

    # One is left: two are refused as a whole, and one is not.
    with pytest.raises(RemoteError, match="more than 65536"):
        bob.arrive(ALICE, ExpulsionNotice([strangers[0], 99], None), 0)
    bob.arrive(ALICE, ExpulsionNotice([strangers[0]], None), 0)
    assert [report.process for report in bob.reports() if isinstance(report, Expelled)] == [100]

    # Whoever has nothing new to say is listened to, whatever it carries.
    carried = ExpulsionNotice(strangers[-3:], message(ALICE, 1))
    assert Deliver(Message(ALICE, 1, b"")) in bob.arrive(ALICE, carried, 0)
    with pytest.raises(RemoteError, match="more than 65536"):
        bob.arrive(ALICE, ExpulsionNotice([99], message(ALICE, 2, 1)), 0)

    bob.expel(CAROL, 0)
    assert bob.arrive(CAROL, message(CAROL, 1), 0) == [Transmit(CAROL, YouAreExpelled())]
    assert bob.arrive(strangers[7], message(strangers[7], 1), 0) == [
        Transmit(strangers[7], YouAreExpelled())
    ]
