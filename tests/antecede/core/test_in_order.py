"""The buffer for what comes too early: full, it drops, but never what is next in turn."""

from antecede.core import Message
from antecede.core.in_order import FifoReceiver
from antecede.core.packets import DataPacket

BOB = 1


def packet(sequence: int) -> DataPacket:
    return DataPacket(Message(BOB, sequence, b""), sequence - 1, False)


def test_a_full_buffer_keeps_as_many_as_its_limit_and_takes_the_next_in_turn() -> None:
    received = FifoReceiver(2)
    for sequence in (2, 3, 4):
        assert received.take(BOB, packet(sequence)) == []

    assert received.take(BOB, packet(1)) == [packet(1), packet(2), packet(3)]
    assert received.last_delivered(BOB) == 3
