"""What a runtime asks of `hybrid-facts`: joins, departures, losses, what waits."""

from random import Random

import pytest

from antecede.core import BufferFull, Deliver, Effect, LocalError, Message, Packet, Transmit
from antecede.core.process import EffectList
from antecede_lab.protocols.facts.packets import (
    Fact,
    FactsAck,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
)
from antecede_lab.protocols.facts.process import FactsProcess
from tests.antecede_lab.protocols.facts.campaign import (
    WITH_EXCEPTIONS,
    FactsSchedule,
    Plan,
    broken,
    product,
)
from tests.properties.schedule import come_to_rest

ALICE, BOB, CAROL, DAVE = range(4)


def packets_to(target: int, effects: list[Effect]) -> list[Packet]:
    return [e.packet for e in effects if isinstance(e, Transmit) and e.target == target]


def payloads(effects: list[Effect]) -> list[bytes]:
    return [effect.message.payload for effect in effects if isinstance(effect, Deliver)]


# Limits.


def test_a_full_send_buffer_refuses_and_says_so_before_until_there_is_room() -> None:
    alice = FactsProcess(ALICE, [ALICE, BOB], send_limit=2)
    for _ in range(2):
        assert not alice.is_full()
        alice.submit([BOB], b"", 0)
    before = alice.fingerprint()

    assert alice.is_full()
    with pytest.raises(BufferFull, match="2 messages are not acknowledged"):
        alice.submit([BOB], b"", 0)
    assert alice.fingerprint() == before

    alice.arrive(BOB, FactsAck(1), 0)
    assert not alice.is_full()
    alice.submit([BOB], b"", 0)


# Joins.


def test_somebody_who_joins_is_all_zero_and_takes_part() -> None:
    alice, bob = (FactsProcess(me, [ALICE, BOB]) for me in (ALICE, BOB))
    for process in (alice, bob):
        process.add_process(CAROL)
    carol = FactsProcess(CAROL, [ALICE, BOB, CAROL])

    (slow,) = packets_to(CAROL, alice.submit([CAROL], b"first", 0))
    (relay,) = packets_to(BOB, alice.submit([BOB], b"relay", 0))
    bob.arrive(ALICE, relay, 0)
    (answer,) = packets_to(CAROL, bob.submit([CAROL], b"answer", 0))

    assert payloads(carol.arrive(BOB, answer, 0)) == []
    assert payloads(carol.arrive(ALICE, slow, 0)) == [b"first", b"answer"]
    with pytest.raises(LocalError, match="known already"):
        alice.add_process(CAROL)


def test_facts_about_an_unknown_process_are_kept_and_passed_on() -> None:
    bob = FactsProcess(BOB, [ALICE, BOB, CAROL])
    said = PastReportField(0, (), [Fact(ALICE, 77, 1)], 1)
    bob.arrive(ALICE, FactsMessage(Message(ALICE, 2, b""), 0, [], said), 0)

    (packet,) = packets_to(CAROL, bob.submit([CAROL], b"", 0))

    assert isinstance(packet, FactsMessage)
    assert packet.report is not None
    assert packet.report.facts == [Fact(ALICE, 77, 1)]


def test_a_mark_of_one_who_is_not_known_yet_is_waited_for_until_it_joins() -> None:
    carol = FactsProcess(CAROL, [BOB, CAROL])
    early = FactsMessage(Message(BOB, 1, b"later"), 0, [Mark(ALICE, 1)], None)
    assert payloads(carol.arrive(BOB, early, 0)) == []

    carol.add_process(ALICE)
    first = FactsMessage(Message(ALICE, 1, b"first"), 0, [], None)
    assert payloads(carol.arrive(ALICE, first, 0)) == [b"first", b"later"]


# Departures.


def test_nobody_waits_for_one_who_is_gone() -> None:
    """Facts about it are dead, permits leave without it, and its own messages are not awaited."""
    bob = FactsProcess(BOB, [ALICE, BOB, CAROL, DAVE])
    bob.submit([DAVE], b"lost", 0)
    bob.submit([CAROL], b"heard", 0)
    awaiting = FactsMessage(Message(ALICE, 1, b"after"), 0, [Mark(DAVE, 9)], None)
    bob.arrive(ALICE, awaiting, 0)

    outbox = EffectList()
    assert bob.abandon_into(DAVE, 0, outbox) == [1]

    assert payloads(outbox.effects) == [b"after"]
    assert [p for p in packets_to(CAROL, outbox.effects) if isinstance(p, FactsPermit)] != []
    assert bob.unacked_by(DAVE) == 0
    (packet,) = packets_to(CAROL, bob.submit([CAROL], b"next", 0))
    assert isinstance(packet, FactsMessage)
    assert packet.report is None


# Losses, and what is held.


def test_a_lost_copy_is_transmitted_again_with_what_it_said() -> None:
    alice = FactsProcess(ALICE, [ALICE, BOB, CAROL])
    alice.submit([CAROL], b"one", 0)
    (first,) = packets_to(BOB, alice.submit([BOB], b"two", 0))

    assert packets_to(BOB, alice.lost(BOB, 2)) == [first]
    assert alice.lost(BOB, 1) == []
    alice.arrive(CAROL, FactsAck(1), 0)
    (again,) = packets_to(BOB, alice.lost(BOB, 2))
    assert isinstance(again, FactsMessage)
    assert again.report is None, "permitted by now"


def test_what_waits_says_for_which_permit() -> None:
    bob = FactsProcess(BOB, [ALICE, BOB, CAROL], facts=0, filter_bits=0)
    bob.arrive(ALICE, FactsMessage(Message(ALICE, 3, b""), 0, [], PastReportField(1, (), [], 1)), 0)
    assert bob.submit([CAROL], b"held", 0) == []

    (held,) = bob.waiting()
    assert repr(held) == f"message 1 to {CAROL} waits for the permits of 3 of {ALICE}"
    assert [(owed.owner, owed.holds) for owed in bob.owed_permits()] == [(ALICE, 1)]
    assert bob.buffered() == 1
    assert bob.buffered_bytes() == 4
    assert bob.receive_position(ALICE) == (3, 0)
    assert packets_to(CAROL, bob.arrive(ALICE, FactsPermit(3), 0)) != []
    assert bob.waiting() == []


def test_buffers_empty_when_a_stall_is_over() -> None:
    """After the silence everything arrives, nothing is parked, owed or suspected."""
    for p in WITH_EXCEPTIONS:
        schedule = stalled_and_over(p.B)
        assert broken(schedule) == []
        for process in schedule.suspicious:
            assert isinstance(process, FactsProcess)
            assert process._parking.copies == {}
            assert process._owed.size == 0
            assert process.buffered() == 0


def stalled_and_over(facts: int) -> FactsSchedule:
    """Half of a run in which nothing reaches process 0, then everything."""

    random = Random(facts)
    plan = Plan(p=next(p for p in WITH_EXCEPTIONS if facts == p.B))
    schedule = FactsSchedule(plan, 6, product, {"stall_ns": 3_000, "patience_ns": 10_000_000})
    for _ in range(120):
        sender = random.choice(schedule.everyone)
        schedule.submit(sender, [random.choice([d for d in schedule.everyone if d != sender])])
        for _ in range(3):
            reachable = [i for i, flight in enumerate(schedule.flights) if flight.target != 0]
            if reachable:
                schedule.arrive(random.choice(reachable))
        if random.random() < 0.2:
            schedule.expire(random.choice(schedule.everyone[1:]))
    come_to_rest(schedule, random)
    return schedule
