"""What waits to leave for one peer."""

from hypothesis import given
from hypothesis import strategies as st

from antecede.core import Message
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.transport.flow_control import MESSAGE_COST, FlowControl
from antecede.transport.send_queue import COMPACT_AT, SendQueue, sequence_of
from antecede_lab.protocols.mf import MfAck, MfMessage


def message(sequence: int, size: int = 0) -> DataPacket:
    return DataPacket(Message(1, sequence, bytes(size)), sequence - 1, False)


def granted(limit: int) -> FlowControl:
    credit = FlowControl(0)
    credit.extend(limit)
    return credit


def queue(*sequences: int, credit: int = 1 << 40, cumulative: bool = True) -> SendQueue:
    outgoing = SendQueue(cumulative, granted(credit))
    for sequence in sequences:
        outgoing.put(message(sequence))
    return outgoing


def let_leave(outgoing: SendQueue, count: int = 1 << 30) -> list[int]:
    """The ids of the next messages that may leave, which they do: repeated ones first."""
    left: list[int] = []
    while len(left) < count:
        packet = outgoing.peek_retransmission()
        if packet is not None:
            outgoing.pop_retransmission()
        else:
            packet = outgoing.peek_new()
            if packet is None:
                break
            assert packet.message is not None
            outgoing.pop_new(sequence_of(packet), len(packet.message.payload))
        left.append(int(sequence_of(packet)))
    return left


def test_new_messages_leave_in_order() -> None:
    outgoing = queue(1, 3, 4, 9)
    assert (outgoing.queued(), outgoing.has_messages()) == (4, True)
    assert let_leave(outgoing, 2) == [1, 3]
    outgoing.put(message(12))
    assert let_leave(outgoing) == [4, 9, 12]
    assert (outgoing.queued(), outgoing.has_messages()) == (0, False)


def test_what_left_and_comes_again_is_repeated_before_anything_new() -> None:
    outgoing = queue(1, 2, 3, 4)
    let_leave(outgoing, 3)
    outgoing.put(message(2))
    outgoing.put(message(1))
    outgoing.put(message(2))
    assert outgoing.queued() == 3
    assert let_leave(outgoing) == [2, 1, 4]

    outgoing.put(message(2))
    assert let_leave(outgoing) == [2], "it may be lost once more"


def test_if_nothing_is_answered_the_oldest_is_repeated_first() -> None:
    outgoing = queue(1, 2, 3, 4, 5)
    let_leave(outgoing)
    for sequence in (4, 2, 5, 1):
        outgoing.put(message(sequence))
    assert let_leave(outgoing, 1) == [4]
    outgoing.repeat_oldest_first()
    outgoing.put(message(4))
    assert let_leave(outgoing) == [1, 2, 5, 4]


def test_what_still_waits_is_not_put_twice() -> None:
    outgoing = queue(1, 2, 3)
    let_leave(outgoing, 1)
    outgoing.put(message(2))
    outgoing.put(message(3))
    assert let_leave(outgoing) == [2, 3]


def test_what_has_been_delivered_meanwhile_is_not_repeated() -> None:
    outgoing = queue(1, 2, 3)
    let_leave(outgoing)
    for sequence in (1, 2, 3):
        outgoing.put(message(sequence))
    outgoing.delivered_up_to(2)
    assert outgoing.has_messages()
    assert let_leave(outgoing) == [3]
    outgoing.put(message(3))
    outgoing.delivered_up_to(3)
    assert not outgoing.has_messages()
    assert outgoing.queued() == 0


def test_where_acks_are_single_everything_is_repeated() -> None:
    outgoing = queue(1, 2, cumulative=False)
    let_leave(outgoing)
    outgoing.delivered_up_to(2)
    outgoing.put(message(1))
    assert let_leave(outgoing) == [1]


def test_a_repeat_waits_once_however_often_it_is_asked_for() -> None:
    lost = range(1, 3 * COMPACT_AT)
    outgoing = queue(*lost)
    let_leave(outgoing)
    for sequence in (*lost, *lost):
        outgoing.put(message(sequence))
    assert outgoing.queued() == len(lost)
    assert let_leave(outgoing) == list(lost)


def test_credit_is_what_new_messages_cost() -> None:
    credit = granted(0)
    outgoing = SendQueue(True, credit)
    for sequence in (1, 2, 3):
        outgoing.put(message(sequence, 100))
    assert not outgoing.has_messages()
    assert outgoing.waits_for_credit()

    credit.extend(MESSAGE_COST + 100)
    assert let_leave(outgoing) == [1]
    assert outgoing.waits_for_credit()
    outgoing.put(message(1, 100))
    assert not outgoing.waits_for_credit(), "a repeated message has been paid for"
    assert let_leave(outgoing) == [1]

    credit.extend(3 * (MESSAGE_COST + 100))
    assert let_leave(outgoing) == [2, 3]
    assert credit.spent == credit.limit
    assert not outgoing.waits_for_credit(), "nothing waits"


def test_a_message_larger_than_the_credit_that_is_left_is_no_dead_end() -> None:
    """A receiver gives more only when enough was consumed: the last message may overdraw."""
    outgoing = queue(credit=MESSAGE_COST + 1)
    for sequence in (1, 2, 3):
        outgoing.put(message(sequence, 5_000 * (sequence - 1)))
    assert let_leave(outgoing) == [1, 2]
    assert outgoing.waits_for_credit()


def test_only_the_latest_ack_and_permit_wait() -> None:
    outgoing = queue()
    assert not outgoing.has_control()
    for packet in (Ack(3), Ack(5), Ack(4), Permit(7), Permit(6)):
        outgoing.put(packet)
    assert outgoing.has_control()
    assert (outgoing.take_ack(), outgoing.take_permit(), outgoing.controls()) == (5, 7, [])
    assert (outgoing.take_ack(), outgoing.take_permit(), outgoing.has_control()) == (0, 0, False)


def test_where_acks_are_single_each_waits() -> None:
    outgoing = queue(cumulative=False)
    for packet in (Ack(3), Ack(5), Ack(4)):
        outgoing.put(packet)
    assert outgoing.take_ack() == 0
    assert outgoing.has_control()
    outgoing.control_left([Ack(3)])
    assert outgoing.controls() == [Ack(5), Ack(4)]


def test_control_of_a_protocol_that_is_not_known_here_waits_in_order() -> None:
    outgoing = queue()
    for number in (2, 1):
        outgoing.put(MfAck(number))
    assert outgoing.has_control()
    assert outgoing.controls() == [MfAck(2), MfAck(1)]


def test_messages_of_any_protocol_are_queued_by_their_ids() -> None:
    outgoing = queue()
    for sequence in (1, 2):
        outgoing.put(MfMessage(Message(1, sequence, bytes(10))))
    assert let_leave(outgoing) == [1, 2]
    outgoing.put(MfMessage(Message(1, 2, bytes(10))))
    assert let_leave(outgoing) == [2]


def test_an_ask_waits_until_a_later_one_replaces_it() -> None:
    outgoing = queue()
    outgoing.put(Ask(1, 2))
    outgoing.put(Ask(4, 5))
    assert outgoing.has_control()
    assert (outgoing.take_ask(), outgoing.take_ask()) == (Ask(4, 5), None)


def test_lost_control_is_repeated_unless_there_is_newer() -> None:
    outgoing = queue()
    outgoing.repeat_control()
    assert not outgoing.has_control(), "there was none"

    for packet in (Ack(4), Permit(6)):
        outgoing.put(packet)
    assert (outgoing.take_ack(), outgoing.take_permit()) == (4, 6)
    outgoing.put(Permit(9))
    outgoing.repeat_control()
    assert (outgoing.take_ack(), outgoing.take_permit()) == (4, 9)


def test_nothing_is_left_for_a_peer_that_is_gone() -> None:
    outgoing = queue(1, 2, 3, cumulative=False)
    let_leave(outgoing, 2)
    for packet in (message(1), Ack(1), Permit(1), Ask(1, 1)):
        outgoing.put(packet)
    outgoing.clear()
    assert (outgoing.queued(), outgoing.has_messages(), outgoing.has_control()) == (0, False, False)


def test_a_long_queue_is_emptied_in_order_and_gives_its_memory_back() -> None:
    count = 3 * COMPACT_AT
    outgoing = queue(*range(1, count + 1))
    left = let_leave(outgoing, count - 10)
    outgoing.put(message(count + 1))
    assert outgoing.queued() == 11
    assert left + let_leave(outgoing) == list(range(1, count + 2))


@given(st.lists(st.tuples(st.sampled_from(["new", "again", "leave"]), st.integers(0, 9))))
def test_every_message_leaves_first_in_order_and_again_as_often_as_asked(
    steps: list[tuple[str, int]],
) -> None:
    outgoing = queue()
    put = 0
    firsts: list[int] = []
    waiting: list[int] = []
    for what, detail in steps:
        if what == "new":
            put += 1
            outgoing.put(message(put))
        elif what == "again" and firsts:
            sequence = firsts[detail % len(firsts)]
            outgoing.put(message(sequence))
            if sequence not in waiting:
                waiting.append(sequence)
        elif what == "leave":
            for sequence in let_leave(outgoing, 1):
                if waiting:
                    assert sequence == waiting.pop(0)
                else:
                    firsts.append(sequence)
    let = let_leave(outgoing)
    assert let[: len(waiting)] == waiting
    assert firsts + let[len(waiting) :] == list(range(1, put + 1))
