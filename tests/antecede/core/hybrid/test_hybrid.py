"""What a hybrid process does, one situation at a time: flags, permits, what waits, what leaves."""

import pytest

from antecede.core import CausalProcess, Deliver, Effect, Message, Packet, Transmit
from antecede.core.hybrid.state import NEAR
from antecede.core.packets import Ack, DataPacket, Permit
from antecede_lab.catalogue import PROTOCOLS

ALICE, BOB, CAROL, DAVE = range(4)
EVERYONE = [ALICE, BOB, CAROL, DAVE]

both_variants = pytest.mark.parametrize("variant", ["hybrid", "hybrid-sps", "hybrid-csps"])


def process(me: int, variant: str = "hybrid") -> CausalProcess:
    return PROTOCOLS[variant].create(me, EVERYONE)


def packet_of(effects: list[Effect]) -> Packet:
    """The packet, where there is exactly one."""
    (effect,) = effects
    assert isinstance(effect, Transmit)
    return effect.packet


def delivered(effects: list[Effect]) -> list[bytes]:
    return [effect.message.payload for effect in effects if isinstance(effect, Deliver)]


def from_alice(sequence: int, previous: int, *, flagged: bool) -> DataPacket:
    return DataPacket(Message(ALICE, sequence, f"a{sequence}".encode()), previous, flagged)


# Causal order.


@both_variants
def test_an_answer_waits_until_what_caused_it_has_arrived(variant: str) -> None:
    """The triangle: Alice writes to Carol, then to Bob; Bob's answer must not overtake at Carol."""
    alice, bob, carol = (process(me, variant) for me in (ALICE, BOB, CAROL))
    slow = packet_of(alice.submit([CAROL], b"first", 0))
    relay = packet_of(alice.submit([BOB], b"relay", 0))
    assert (slow, relay) == (
        DataPacket(Message(ALICE, 1, b"first"), 0, False),
        DataPacket(Message(ALICE, 2, b"relay"), 0, True),
    )

    assert bob.arrive(ALICE, relay, 0) == [
        Deliver(Message(ALICE, 2, b"relay")),
        Transmit(ALICE, Ack(2)),
    ]
    assert alice.arrive(BOB, Ack(2), 0) == []
    assert bob.submit([CAROL], b"answer", 0) == [], "it depends on a message that may be on its way"

    assert carol.arrive(ALICE, slow, 0) == [
        Deliver(Message(ALICE, 1, b"first")),
        Transmit(ALICE, Ack(1)),
    ]
    assert alice.arrive(CAROL, Ack(1), 0) == [Transmit(BOB, Permit(2))]
    answer = DataPacket(Message(BOB, 1, b"answer"), 0, False)
    assert bob.arrive(ALICE, Permit(2), 0) == [Transmit(CAROL, answer)]
    assert delivered(carol.arrive(BOB, answer, 0)) == [b"answer"]


def test_peers_whose_ids_end_alike_are_told_apart() -> None:
    """They are looked for in the same place, which only one of them can have."""
    ids = [1, 1 + NEAR, 1 + 2 * NEAR]
    alice = PROTOCOLS["hybrid"].create(ALICE, [ALICE, *ids])
    for sequence in (1, 2, 3):
        for bob in ids:
            said = DataPacket(Message(bob, sequence, b"%d" % bob), sequence - 1, False)
            ack = Transmit(bob, Ack(sequence))
            assert alice.arrive(bob, said, 0) == [Deliver(said.carried), ack]
            answer = alice.submit([bob], b"", 0)[0]
            assert isinstance(answer, Transmit)
            assert answer.target == bob


@both_variants
def test_every_copy_of_a_multicast_waits_for_the_others(variant: str) -> None:
    alice, bob, carol = (process(me, variant) for me in (ALICE, BOB, CAROL))
    copy = DataPacket(Message(ALICE, 1, b"news"), 0, True)
    assert alice.submit([CAROL, BOB], b"news", 0) == [Transmit(CAROL, copy), Transmit(BOB, copy)]

    bob.arrive(ALICE, copy, 0)
    assert bob.submit([CAROL], b"have you heard?", 0) == []
    assert alice.arrive(BOB, Ack(1), 0) == [Transmit(CAROL, Permit(1))], "only Carol's is missing"

    assert carol.arrive(ALICE, copy, 0) == [Deliver(copy.carried), Transmit(ALICE, Ack(1))]
    assert alice.arrive(CAROL, Ack(1), 0) == [Transmit(BOB, Permit(1))]
    gossip = packet_of(bob.arrive(ALICE, Permit(1), 0))
    assert delivered(carol.arrive(BOB, gossip, 0)) == [b"have you heard?"]


# Flags and permits, at the sender.


def test_messages_to_one_receiver_alone_need_no_permit() -> None:
    alice, cautious = process(ALICE), process(ALICE, "hybrid-csps")

    flags = [packet_of(alice.submit([BOB], b"", 0)) for _ in range(3)]
    assert flags == [DataPacket(Message(ALICE, n, b""), n - 1, False) for n in (1, 2, 3)]
    flags = [packet_of(cautious.submit([BOB], b"", 0)) for _ in range(3)]
    assert flags == [DataPacket(Message(ALICE, n, b""), n - 1, n > 1) for n in (1, 2, 3)]


@both_variants
def test_each_copy_names_the_message_before_it_to_the_same_receiver(variant: str) -> None:
    alice = process(ALICE, variant)

    chains = []
    for targets in ([BOB], [BOB, CAROL], [CAROL], [BOB]):
        for effect in alice.submit(targets, b"", 0):
            assert isinstance(effect, Transmit)
            assert isinstance(effect.packet, DataPacket)
            chains.append((effect.target, effect.packet.carried.sequence, effect.packet.previous))
    assert chains == [(BOB, 1, 0), (BOB, 2, 1), (CAROL, 2, 0), (CAROL, 3, 2), (BOB, 4, 2)]


@both_variants
def test_an_acknowledgement_covers_everything_before_it(variant: str) -> None:
    alice = process(ALICE, variant)
    alice.submit([CAROL], b"", 0)
    alice.submit([CAROL], b"", 0)
    assert packet_of(alice.submit([BOB], b"", 0)) == DataPacket(Message(ALICE, 3, b""), 0, True)

    assert alice.arrive(CAROL, Ack(2), 0)[-1] == Transmit(BOB, Permit(3))
    assert alice.arrive(CAROL, Ack(1), 0) == [], "an old one that was overtaken"
    assert alice.arrive(CAROL, Ack(2), 0) == [], "a duplicate"


@both_variants
@pytest.mark.parametrize("number", [-1, 0, 2, 4, 5, 6, 1 << 62])
def test_an_acknowledgement_of_what_was_not_sent_to_that_peer_acknowledges_nothing(
    variant: str, number: int
) -> None:
    """Bob's are 1, 3 and 5, of which 5 has not left; 2 and 4 are Carol's."""
    alice = process(ALICE, variant)
    for targets in ([BOB], [CAROL], [BOB], [CAROL]):
        alice.submit(targets, b"", 0)
    alice.arrive(DAVE, DataPacket(Message(DAVE, 1, b""), 0, True), 0)
    alice.submit([BOB], b"held back", 0)
    before = alice.fingerprint()

    assert alice.arrive(BOB, Ack(number), 0) == []
    assert alice.fingerprint() == before


@both_variants
def test_one_permit_stands_for_all_that_became_due_together(variant: str) -> None:
    alice = process(ALICE, variant)
    alice.submit([CAROL], b"", 0)
    for _ in range(3):
        alice.submit([BOB], b"", 0)
    assert alice.arrive(BOB, Ack(4), 0) == []

    assert alice.arrive(CAROL, Ack(1), 0) == [Transmit(BOB, Permit(4))]


def test_acknowledged_messages_in_between_are_no_obstacle() -> None:
    alice = process(ALICE)
    alice.submit([BOB], b"", 0)
    alice.submit([CAROL], b"", 0)
    assert packet_of(alice.submit([BOB], b"", 0)) == DataPacket(Message(ALICE, 3, b""), 1, True)

    assert alice.arrive(CAROL, Ack(2), 0) == [Transmit(BOB, Permit(3))]


@both_variants
def test_a_sender_with_nothing_unacknowledged_flags_nothing(variant: str) -> None:
    alice = process(ALICE, variant)
    alice.submit([CAROL], b"", 0)
    alice.arrive(CAROL, Ack(1), 0)

    assert packet_of(alice.submit([BOB], b"", 0)) == DataPacket(Message(ALICE, 2, b""), 0, False)


# What waits and what leaves, at the receiver of permits.


def test_an_answer_to_the_sender_itself_waits_for_no_permit_of_its() -> None:
    """Whatever Alice has not permitted, Alice knows: this is what SPS has before CSPS."""
    bob, cautious = process(BOB), process(BOB, "hybrid-csps")
    for answering in (bob, cautious):
        answering.arrive(ALICE, from_alice(1, 0, flagged=True), 0)

    answer = DataPacket(Message(BOB, 1, b"yes"), 0, False)
    assert bob.submit([ALICE], b"yes", 0) == [Transmit(ALICE, answer)]
    assert cautious.submit([ALICE], b"yes", 0) == []
    assert cautious.arrive(ALICE, Permit(1), 0) == [Transmit(ALICE, answer)]


def test_one_copy_of_a_multicast_may_leave_before_another_under_the_papers_rule() -> None:
    bob = process(BOB, "hybrid-sps")
    bob.arrive(ALICE, from_alice(1, 0, flagged=True), 0)

    copy = DataPacket(Message(BOB, 1, b"all"), 0, True)
    assert bob.submit([CAROL, ALICE], b"all", 0) == [Transmit(ALICE, copy)]
    assert bob.arrive(ALICE, Permit(1), 0) == [Transmit(CAROL, copy)]


@both_variants
def test_what_was_submitted_before_a_delivery_does_not_wait_for_its_permit(variant: str) -> None:
    bob = process(BOB, variant)
    bob.arrive(ALICE, from_alice(1, 0, flagged=True), 0)
    assert bob.submit([CAROL], b"one", 0) == []
    bob.arrive(ALICE, from_alice(2, 1, flagged=True), 0)
    assert bob.submit([CAROL], b"two", 0) == []

    one = DataPacket(Message(BOB, 1, b"one"), 0, False)
    assert bob.arrive(ALICE, Permit(1), 0) == [Transmit(CAROL, one)]


@both_variants
def test_a_permit_that_overtakes_its_message_counts(variant: str) -> None:
    bob = process(BOB, variant)
    assert bob.arrive(ALICE, Permit(1), 0) == []
    bob.arrive(ALICE, from_alice(1, 0, flagged=True), 0)

    assert len(bob.submit([CAROL], b"", 0)) == 1


@both_variants
def test_an_unflagged_message_permits_all_before_it(variant: str) -> None:
    """Even one that itself has to wait for its turn."""
    bob = process(BOB, variant)
    bob.arrive(ALICE, from_alice(1, 0, flagged=True), 0)
    assert bob.submit([CAROL], b"", 0) == []

    effects = bob.arrive(ALICE, from_alice(3, 2, flagged=False), 0)
    assert effects == [Transmit(CAROL, DataPacket(Message(BOB, 1, b""), 0, False))]


@both_variants
def test_the_permits_of_one_sender_do_not_stand_for_those_of_another(variant: str) -> None:
    bob = process(BOB, variant)
    bob.arrive(ALICE, from_alice(1, 0, flagged=True), 0)
    bob.arrive(DAVE, DataPacket(Message(DAVE, 1, b"d"), 0, True), 0)
    assert bob.submit([CAROL], b"", 0) == []

    assert bob.arrive(ALICE, Permit(9), 0) == []
    assert len(bob.arrive(DAVE, Permit(1), 0)) == 1


# Receiving.


@both_variants
def test_messages_of_one_sender_are_delivered_in_order_and_acknowledged_together(
    variant: str,
) -> None:
    bob = process(BOB, variant)
    first, second, third = (from_alice(n, p, flagged=False) for n, p in ((1, 0), (4, 1), (6, 4)))
    assert bob.arrive(ALICE, third, 0) == []
    assert bob.arrive(ALICE, second, 0) == []

    assert bob.arrive(ALICE, first, 0) == [
        Deliver(first.carried),
        Deliver(second.carried),
        Deliver(third.carried),
        Transmit(ALICE, Ack(6)),
    ]


@both_variants
def test_a_duplicate_is_acknowledged_and_not_delivered(variant: str) -> None:
    bob = process(BOB, variant)
    for sequence in (1, 2):
        bob.arrive(ALICE, from_alice(sequence, sequence - 1, flagged=False), 0)

    again = from_alice(1, 0, flagged=False)
    assert bob.arrive(ALICE, again, 0) == [Transmit(ALICE, Ack(2))]


@both_variants
def test_a_flag_on_a_duplicate_makes_no_permit_missing(variant: str) -> None:
    bob = process(BOB, variant)
    bob.arrive(ALICE, from_alice(1, 0, flagged=False), 0)
    bob.arrive(ALICE, from_alice(1, 0, flagged=True), 0)

    assert len(bob.submit([CAROL], b"", 0)) == 1


@both_variants
def test_an_empty_payload_is_a_message_like_any_other(variant: str) -> None:
    alice, bob = process(ALICE, variant), process(BOB, variant)

    effects = bob.arrive(ALICE, packet_of(alice.submit([BOB], b"", 0)), 0)
    assert effects == [Deliver(Message(ALICE, 1, b"")), Transmit(ALICE, Ack(1))]


# Oneself.


@both_variants
def test_a_message_to_oneself_is_delivered_at_once_and_never_on_the_wire(variant: str) -> None:
    alice = process(ALICE, variant)

    assert alice.submit([ALICE], b"note", 0) == [Deliver(Message(ALICE, 1, b"note"))]
    assert alice.deadline_ns() is None
    copy = DataPacket(Message(ALICE, 2, b"b"), 0, False)
    assert alice.submit([BOB], b"b", 0) == [Transmit(BOB, copy)], "nothing is unacknowledged"


@both_variants
def test_oneself_may_be_one_of_several_targets(variant: str) -> None:
    alice = process(ALICE, variant)

    copy = DataPacket(Message(ALICE, 1, b"all"), 0, True)
    assert alice.submit([CAROL, ALICE, BOB], b"all", 0) == [
        Transmit(CAROL, copy),
        Transmit(BOB, copy),
        Deliver(Message(ALICE, 1, b"all")),
    ]


@both_variants
def test_a_message_to_oneself_is_delivered_even_while_its_copies_wait(variant: str) -> None:
    bob = process(BOB, variant)
    bob.arrive(ALICE, from_alice(1, 0, flagged=True), 0)

    assert bob.submit([BOB, CAROL], b"note", 0) == [Deliver(Message(BOB, 1, b"note"))]


@both_variants
def test_a_message_to_oneself_that_waits_behind_others_holds_nothing_up(variant: str) -> None:
    alice = process(ALICE, variant)
    alice.submit([CAROL], b"", 0)
    alice.submit([ALICE], b"", 0)
    alice.submit([BOB], b"", 0)

    assert alice.arrive(CAROL, Ack(1), 0) == [Transmit(BOB, Permit(3))]
