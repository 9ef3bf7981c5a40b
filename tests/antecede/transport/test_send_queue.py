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
    flow_control = FlowControl(0)
    flow_control.extend(limit)
    return flow_control


def queue_of(*sequences: int, credit: int = 1 << 40, cumulative: bool = True) -> SendQueue:
    queue = SendQueue(cumulative, granted(credit))
    for sequence in sequences:
        queue.put(message(sequence))
    return queue


def let_leave(queue: SendQueue, count: int = 1 << 30) -> list[int]:
    """The ids of the next messages that may leave, which they do: repeated ones first."""
    left: list[int] = []
    while len(left) < count:
        packet = queue.peek_retransmission()
        if packet is not None:
            queue.pop_retransmission()
        else:
            packet = queue.peek_new()
            if packet is None:
                break
            assert packet.message is not None
            queue.pop_new(sequence_of(packet), len(packet.message.payload))
        left.append(int(sequence_of(packet)))
    return left


def test_new_messages_leave_in_order() -> None:
    queue = queue_of(1, 3, 4, 9)
    assert (queue.queued(), queue.has_messages()) == (4, True)
    assert let_leave(queue, 2) == [1, 3]
    queue.put(message(12))
    assert let_leave(queue) == [4, 9, 12]
    assert (queue.queued(), queue.has_messages()) == (0, False)


def test_what_left_and_comes_again_is_repeated_before_anything_new() -> None:
    queue = queue_of(1, 2, 3, 4)
    let_leave(queue, 3)
    queue.put(message(2))
    queue.put(message(1))
    queue.put(message(2))
    assert queue.queued() == 3
    assert let_leave(queue) == [2, 1, 4]

    queue.put(message(2))
    assert let_leave(queue) == [2], "it may be lost once more"


def test_if_nothing_is_answered_the_oldest_is_repeated_first() -> None:
    queue = queue_of(1, 2, 3, 4, 5)
    let_leave(queue)
    for sequence in (4, 2, 5, 1):
        queue.put(message(sequence))
    assert let_leave(queue, 1) == [4]
    queue.repeat_oldest_first()
    queue.put(message(4))
    assert let_leave(queue) == [1, 2, 5, 4]


def test_what_still_waits_is_not_put_twice() -> None:
    queue = queue_of(1, 2, 3)
    let_leave(queue, 1)
    queue.put(message(2))
    queue.put(message(3))
    assert let_leave(queue) == [2, 3]


def test_what_has_been_delivered_meanwhile_is_not_repeated() -> None:
    queue = queue_of(1, 2, 3)
    let_leave(queue)
    for sequence in (1, 2, 3):
        queue.put(message(sequence))
    queue.delivered_up_to(2)
    assert queue.has_messages()
    assert let_leave(queue) == [3]
    queue.put(message(3))
    queue.delivered_up_to(3)
    assert not queue.has_messages()
    assert queue.queued() == 0


def test_where_acks_are_single_everything_is_repeated() -> None:
    queue = queue_of(1, 2, cumulative=False)
    let_leave(queue)
    queue.delivered_up_to(2)
    queue.put(message(1))
    assert let_leave(queue) == [1]


def test_a_repeat_waits_once_however_often_it_is_asked_for() -> None:
    lost = range(1, 3 * COMPACT_AT)
    queue = queue_of(*lost)
    let_leave(queue)
    for sequence in (*lost, *lost):
        queue.put(message(sequence))
    assert queue.queued() == len(lost)
    assert let_leave(queue) == list(lost)


def test_credit_is_what_new_messages_cost() -> None:
    flow_control = granted(0)
    queue = SendQueue(True, flow_control)
    for sequence in (1, 2, 3):
        queue.put(message(sequence, 100))
    assert not queue.has_messages()
    assert queue.waits_for_credit()

    flow_control.extend(MESSAGE_COST + 100)
    assert let_leave(queue) == [1]
    assert queue.waits_for_credit()
    queue.put(message(1, 100))
    assert not queue.waits_for_credit(), "a repeated message has been paid for"
    assert let_leave(queue) == [1]

    flow_control.extend(3 * (MESSAGE_COST + 100))
    assert let_leave(queue) == [2, 3]
    assert flow_control.spent == flow_control.limit
    assert not queue.waits_for_credit(), "nothing waits"


def test_a_message_larger_than_the_credit_that_is_left_is_no_dead_end() -> None:
    """A receiver gives more only when enough was consumed: the last message may overdraw."""
    queue = queue_of(credit=MESSAGE_COST + 1)
    for sequence in (1, 2, 3):
        queue.put(message(sequence, 5_000 * (sequence - 1)))
    assert let_leave(queue) == [1, 2]
    assert queue.waits_for_credit()


def test_only_the_latest_ack_and_permit_wait() -> None:
    queue = queue_of()
    assert not queue.has_control()
    for packet in (Ack(3), Ack(5), Ack(4), Permit(7), Permit(6)):
        queue.put(packet)
    assert queue.has_control()
    assert (queue.take_ack(), queue.take_permit(), queue.controls()) == (5, 7, [])
    assert (queue.take_ack(), queue.take_permit(), queue.has_control()) == (0, 0, False)


def test_where_acks_are_single_each_waits() -> None:
    queue = queue_of(cumulative=False)
    for packet in (Ack(3), Ack(5), Ack(4)):
        queue.put(packet)
    assert queue.take_ack() == 0
    assert queue.has_control()
    queue.control_left([Ack(3)])
    assert queue.controls() == [Ack(5), Ack(4)]


def test_control_of_a_protocol_that_is_not_known_here_waits_in_order() -> None:
    queue = queue_of()
    for number in (2, 1):
        queue.put(MfAck(number))
    assert queue.has_control()
    assert queue.controls() == [MfAck(2), MfAck(1)]


def test_messages_of_any_protocol_are_queued_by_their_ids() -> None:
    queue = queue_of()
    for sequence in (1, 2):
        queue.put(MfMessage(Message(1, sequence, bytes(10))))
    assert let_leave(queue) == [1, 2]
    queue.put(MfMessage(Message(1, 2, bytes(10))))
    assert let_leave(queue) == [2]


def test_an_ask_waits_until_a_later_one_replaces_it() -> None:
    queue = queue_of()
    queue.put(Ask(1, 2))
    queue.put(Ask(4, 5))
    assert queue.has_control()
    assert (queue.take_ask(), queue.take_ask()) == (Ask(4, 5), None)


def test_lost_control_is_repeated_unless_there_is_newer() -> None:
    queue = queue_of()
    queue.repeat_control()
    assert not queue.has_control(), "there was none"

    for packet in (Ack(4), Permit(6)):
        queue.put(packet)
    assert (queue.take_ack(), queue.take_permit()) == (4, 6)
    queue.put(Permit(9))
    queue.repeat_control()
    assert (queue.take_ack(), queue.take_permit()) == (4, 9)


def test_nothing_is_left_for_a_peer_that_is_gone() -> None:
    queue = queue_of(1, 2, 3, cumulative=False)
    let_leave(queue, 2)
    for packet in (message(1), Ack(1), Permit(1), Ask(1, 1)):
        queue.put(packet)
    queue.clear()
    assert (queue.queued(), queue.has_messages(), queue.has_control()) == (0, False, False)


def test_a_long_queue_is_emptied_in_order_and_gives_its_memory_back() -> None:
    count = 3 * COMPACT_AT
    queue = queue_of(*range(1, count + 1))
    left = let_leave(queue, count - 10)
    queue.put(message(count + 1))
    assert queue.queued() == 11
    assert left + let_leave(queue) == list(range(1, count + 2))


@given(st.lists(st.tuples(st.sampled_from(["new", "again", "leave"]), st.integers(0, 9))))
def test_every_message_leaves_first_in_order_and_again_as_often_as_asked(
    steps: list[tuple[str, int]],
) -> None:
    queue = queue_of()
    put = 0
    firsts: list[int] = []
    waiting: list[int] = []
    for what, detail in steps:
        if what == "new":
            put += 1
            queue.put(message(put))
        elif what == "again" and firsts:
            sequence = firsts[detail % len(firsts)]
            queue.put(message(sequence))
            if sequence not in waiting:
                waiting.append(sequence)
        elif what == "leave":
            for sequence in let_leave(queue, 1):
                if waiting:
                    assert sequence == waiting.pop(0)
                else:
                    firsts.append(sequence)
    let = let_leave(queue)
    assert let[: len(waiting)] == waiting
    assert firsts + let[len(waiting) :] == list(range(1, put + 1))
