"""What a runtime needs of a hybrid process: timers, limits, questions, newcomers."""

import pytest

from antecede.core import (
    BufferFull,
    Deliver,
    Effect,
    LocalError,
    Message,
    RemoteError,
    Transmit,
)
from antecede.core.hybrid.node import HybridProcess
from antecede.core.hybrid.rule import RECEIVE_LIMIT, RESEND_BATCH, SEND_LIMIT, Rule
from antecede.core.packets import Ack, Ask, DataPacket, Permit

ALICE, BOB, CAROL, DAVE = range(4)
EVERYONE = [ALICE, BOB, CAROL, DAVE]
PATIENCE_NS = 100


def process(
    me: int,
    send_limit: int = SEND_LIMIT,
    receive_limit: int = RECEIVE_LIMIT,
    rule: Rule = "ordered",
) -> HybridProcess:
    return HybridProcess(
        me,
        EVERYONE,
        rule=rule,
        send_limit=send_limit,
        receive_limit=receive_limit,
        patience_ns=PATIENCE_NS,
    )


def own(sequence: int, previous: int, *, flagged: bool) -> DataPacket:
    """Alice's message without content, as it leaves."""
    return DataPacket(Message(ALICE, sequence, b""), previous, flagged)


def next_ring(alice: HybridProcess) -> tuple[int, list[Effect]]:
    """The next time at which a timer has something to do, and what; -1 if there is none."""
    while (deadline_ns := alice.deadline_ns()) is not None:
        effects = alice.expire(deadline_ns)
        if effects:
            return deadline_ns, effects
    return -1, []


# Timers.


def test_a_process_with_nothing_outstanding_wants_no_timer() -> None:
    alice = process(ALICE)
    assert alice.deadline_ns() is None
    assert alice.expire(10**12) == []

    alice.submit([BOB], b"", 0)
    assert alice.deadline_ns() == PATIENCE_NS
    alice.arrive(BOB, Ack(1), 50)
    assert next_ring(alice) == (-1, [])


def test_an_unacknowledged_message_is_sent_again_with_growing_patience() -> None:
    alice = process(ALICE)
    alice.submit([BOB], b"", 0)

    times = []
    for _ in range(8):
        now_ns, effects = next_ring(alice)
        assert effects == [Transmit(BOB, own(1, 0, flagged=False))]
        times.append(now_ns)
    assert times == [100, 300, 700, 1500, 3100, 6300, 9500, 12700]


def test_progress_makes_a_timer_patient_afresh() -> None:
    alice = process(ALICE)
    alice.submit([BOB], b"", 0)
    alice.submit([BOB], b"", 0)
    assert [next_ring(alice)[0] for _ in range(3)] == [100, 300, 700]

    alice.arrive(BOB, Ack(1), 800)
    assert next_ring(alice) == (900, [Transmit(BOB, own(2, 1, flagged=False))])


def test_a_timer_that_is_called_too_early_does_nothing() -> None:
    alice = process(ALICE)
    alice.submit([BOB], b"", 0)

    assert alice.expire(99) == []
    assert alice.expire(100) == [Transmit(BOB, own(1, 0, flagged=False))]
    assert alice.expire(100) == []


def test_timers_are_per_peer() -> None:
    alice = process(ALICE)
    alice.submit([BOB], b"", 0)
    alice.submit([CAROL], b"", 30)
    alice.arrive(BOB, Ack(1), 60)

    assert next_ring(alice) == (130, [Transmit(CAROL, own(2, 0, flagged=False))])


def test_what_is_sent_again_has_the_flag_of_now() -> None:
    alice = process(ALICE)
    alice.submit([CAROL], b"", 0)
    assert alice.submit([BOB], b"", 0) == [Transmit(BOB, own(2, 0, flagged=True))]
    assert alice.arrive(CAROL, Ack(1), 0) == [Transmit(BOB, Permit(2))]

    assert next_ring(alice) == (100, [Transmit(BOB, own(2, 0, flagged=False))])


def test_a_timer_sends_the_oldest_few_again() -> None:
    alice = process(ALICE)
    for _ in range(2 * RESEND_BATCH):
        alice.submit([BOB], b"", 0)

    again = [Transmit(BOB, own(n, n - 1, flagged=False)) for n in range(1, RESEND_BATCH + 1)]
    assert next_ring(alice) == (100, again)


def test_a_steady_stream_of_permits_does_not_keep_a_lost_message_from_being_repeated() -> None:
    bob = process(BOB)
    bob.submit([ALICE], b"lost", 0)
    for sequence in range(1, 5):
        now_ns = 30 * sequence
        bob.arrive(ALICE, own(sequence, sequence - 1, flagged=True), now_ns)
        bob.arrive(ALICE, Permit(sequence), now_ns)

    assert next_ring(bob)[0] <= 200


# Asking for permits.


def test_a_missing_permit_is_asked_for_and_answered() -> None:
    alice, bob = process(ALICE), process(BOB)
    alice.submit([CAROL], b"", 0)
    for _ in range(2):
        bob.arrive(ALICE, alice.submit([BOB], b"", 0)[0].packet, 0)  # type: ignore[union-attr]  # it is a Transmit
    alice.arrive(CAROL, Ack(1), 0)
    alice.arrive(BOB, Ack(3), 0)

    now_ns, asking = next_ring(bob)
    assert (now_ns, asking) == (100, [Transmit(ALICE, Ask(3, 2))])
    assert alice.arrive(BOB, Ask(3, 2), now_ns) == [Transmit(BOB, Permit(3))]
    bob.arrive(ALICE, Permit(3), now_ns)
    assert next_ring(bob) == (-1, [])


def test_an_ask_is_an_acknowledgement_too() -> None:
    alice = process(ALICE)
    alice.submit([BOB, CAROL], b"", 0)

    assert alice.arrive(BOB, Ask(1, 1), 0) == [Transmit(CAROL, Permit(1))]
    assert alice.arrive(CAROL, Ask(1, 1), 0) == [
        Transmit(BOB, Permit(1)),
        Transmit(CAROL, Permit(1)),
    ]


def test_an_ask_for_what_is_not_yet_permitted_gets_no_answer() -> None:
    """The permit will leave when it is due, unasked."""
    alice = process(ALICE)
    alice.submit([CAROL], b"", 0)
    alice.submit([BOB], b"", 0)
    alice.arrive(BOB, Ack(2), 0)

    assert alice.arrive(BOB, Ask(2, 2), 0) == []
    assert alice.arrive(CAROL, Ack(1), 0) == [Transmit(BOB, Permit(2))]


def test_an_ask_from_somebody_who_was_never_sent_anything_gets_no_answer() -> None:
    alice = process(ALICE)
    alice.submit([CAROL], b"", 0)
    alice.arrive(CAROL, Ack(1), 0)

    assert alice.arrive(BOB, Ask(0, 0), 0) == []


# Limits.


def test_a_full_send_buffer_refuses_until_there_is_room() -> None:
    alice = process(ALICE, send_limit=2)
    alice.submit([BOB], b"", 0)
    alice.submit([BOB], b"", 0)
    before = alice.fingerprint()

    with pytest.raises(BufferFull, match="2 messages are not acknowledged"):
        alice.submit([BOB], b"", 0)
    assert alice.fingerprint() == before
    assert alice.buffered() == 2

    alice.arrive(BOB, Ack(1), 0)
    assert alice.submit([BOB], b"", 0) == [Transmit(BOB, own(3, 2, flagged=False))]


def test_a_full_receive_buffer_drops_what_comes_early_but_never_the_next_in_turn() -> None:
    bob = process(BOB, receive_limit=2)
    packets = [own(n, n - 1, flagged=False) for n in range(1, 5)]
    for early in packets[1:]:
        assert bob.arrive(ALICE, early, 0) == []

    assert bob.arrive(ALICE, packets[0], 0) == [
        *(Deliver(packet.carried) for packet in packets[:3]),
        Transmit(ALICE, Ack(3)),
    ]
    assert bob.arrive(ALICE, packets[3], 0) == [
        Deliver(packets[3].carried),
        Transmit(ALICE, Ack(4)),
    ]


def test_the_receive_limit_is_per_source() -> None:
    bob = process(BOB, receive_limit=1)
    bob.arrive(ALICE, own(2, 1, flagged=False), 0)
    bob.arrive(CAROL, DataPacket(Message(CAROL, 2, b"c2"), 1, False), 0)

    effects = bob.arrive(CAROL, DataPacket(Message(CAROL, 1, b"c1"), 0, False), 0)
    assert effects[-1] == Transmit(CAROL, Ack(2))


# Lost packets, and what waits.


def test_a_copy_that_was_lost_is_transmitted_again_now() -> None:
    alice = process(ALICE)
    for targets in ([BOB], [CAROL], [BOB], [BOB]):
        alice.submit(targets, b"", 0)
    alice.arrive(BOB, Ack(1), 10)

    assert alice.lost(BOB, 4) == [Transmit(BOB, own(4, 3, flagged=True))]
    assert alice.lost(BOB, 3) == [Transmit(BOB, own(3, 1, flagged=True))]
    alice.arrive(CAROL, Ack(2), 50)
    assert alice.lost(BOB, 3) == [Transmit(BOB, own(3, 1, flagged=False))]


@pytest.mark.parametrize(
    ("target", "sequence"), [(BOB, 1), (BOB, 2), (BOB, 9), (BOB, 0), (CAROL, 3), (99, 1), (DAVE, 1)]
)
def test_nothing_is_transmitted_again_that_is_not_under_way(target: int, sequence: int) -> None:
    """Acknowledged, to somebody else, never submitted, held back, to a stranger, to nobody yet."""
    alice = process(ALICE)
    alice.submit([BOB], b"", 0)
    alice.arrive(BOB, Ack(1), 0)
    alice.submit([DAVE], b"", 0)
    alice.arrive(BOB, DataPacket(Message(BOB, 1, b""), 0, True), 0)
    alice.submit([CAROL], b"held back", 0)
    before = alice.fingerprint()

    assert alice.lost(target, sequence) == []
    assert alice.fingerprint() == before


def test_a_process_can_say_what_is_held_back_and_by_what() -> None:
    bob = process(BOB, rule="sps")
    bob.arrive(ALICE, own(1, 0, flagged=True), 0)
    bob.submit([CAROL], b"", 0)
    bob.arrive(DAVE, DataPacket(Message(DAVE, 4, b""), 0, True), 0)
    bob.submit([DAVE, CAROL], b"", 0)

    assert [repr(held) for held in bob.waiting()] == [
        "2 messages, 1 to 2, to 2 wait for the permits of 1 of 0, 4 of 3",
        "message 2 to 3 waits for the permits of 1 of 0",
    ]
    bob.arrive(ALICE, Permit(1), 0)
    assert [repr(held) for held in bob.waiting()] == [
        "message 2 to 2 waits for the permits of 4 of 3"
    ]
    bob.arrive(DAVE, Permit(4), 0)
    assert bob.waiting() == []


def test_what_is_held_back_in_order_waits_for_what_those_before_it_wait_for() -> None:
    bob = process(BOB)
    bob.arrive(ALICE, own(1, 0, flagged=True), 0)
    bob.submit([CAROL], b"", 0)
    bob.arrive(DAVE, DataPacket(Message(DAVE, 4, b""), 0, True), 0)
    bob.submit([DAVE], b"", 0)
    bob.submit([DAVE, CAROL], b"", 0)

    assert [repr(held) for held in bob.waiting()] == [
        "2 messages, 1 to 3, to 2 wait for the permits of 1 of 0, 4 of 3",
        "2 messages, 2 to 3, to 3 wait for the permits of 1 of 0, 4 of 3",
    ]
    assert [(owed.owner, owed.since, owed.holds) for owed in bob.owed_permits()] == [
        (ALICE, 1, 3),
        (DAVE, 3, 1),
    ]
    bob.arrive(ALICE, Permit(1), 0)
    assert [repr(held) for held in bob.waiting()] == [
        "message 3 to 2 waits for the permits of 4 of 3",
        "message 3 to 3 waits for the permits of 4 of 3",
    ]
    bob.arrive(DAVE, Permit(4), 0)
    assert bob.waiting() == []


# Membership.


def test_a_process_that_joins_can_be_sent_to_and_heard() -> None:
    alice, erin = process(ALICE), 7
    with pytest.raises(LocalError, match="unknown target 7"):
        alice.submit([erin], b"", 0)
    with pytest.raises(RemoteError, match="from 7"):
        alice.arrive(erin, Ack(1), 0)

    alice.add_process(erin)
    assert alice.submit([erin], b"", 0) == [Transmit(erin, own(1, 0, flagged=False))]
    hello = Message(erin, 1, b"hello")
    effects = alice.arrive(erin, DataPacket(hello, 0, False), 0)
    assert effects == [Deliver(hello), Transmit(erin, Ack(1))]
    assert alice.clone().submit([erin], b"", 0) == alice.submit([erin], b"", 0)


@pytest.mark.parametrize("known", [ALICE, BOB])
def test_a_process_that_is_known_cannot_join(known: int) -> None:
    with pytest.raises(LocalError, match=f"process {known} is known already"):
        process(ALICE).add_process(known)


def test_a_process_that_joins_needs_an_id() -> None:
    with pytest.raises(LocalError, match="outside 0 <= id"):
        process(ALICE).add_process(-1)
