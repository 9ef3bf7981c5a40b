"""The receive buffer wakes who waited for a delivery, in order of arrival."""

from random import Random

import pytest

from antecede.core import RemoteError
from antecede.core.cloning import twin_of
from antecede.core.packets import Ack
from antecede_lab.protocols.receive_buffer import ReceiveBuffer


def taken(room: ReceiveBuffer[Ack]) -> list[int]:
    """The numbers of all that is ready."""
    numbers: list[int] = []
    packet = room.next_ready()
    while packet is not None:
        numbers.append(packet.sequence)
        packet = room.next_ready()
    return numbers


def test_a_packet_is_ready_when_everything_it_misses_is_reached() -> None:
    room: ReceiveBuffer[Ack] = ReceiveBuffer(9)
    room.hold(Ack(1), 0, 1, [(5, 2), (6, 1)])

    room.reached(5, 1)
    room.reached(6, 1)
    assert taken(room) == []
    room.reached(5, 2)
    assert taken(room) == [1]
    assert room.packets() == []


def test_reaching_more_than_was_waited_for_is_enough() -> None:
    room: ReceiveBuffer[Ack] = ReceiveBuffer(9)
    room.hold(Ack(1), 0, 1, [(5, 2)])
    room.reached(5, 7)

    assert taken(room) == [1]


def test_what_becomes_ready_together_comes_out_by_order_of_arrival() -> None:
    room: ReceiveBuffer[Ack] = ReceiveBuffer(9)
    room.hold(Ack(1), 0, 1, [(5, 3)])
    room.hold(Ack(2), 0, 2, [(5, 1)])
    room.hold(Ack(3), 7, 1, [(5, 2)])
    room.reached(5, 3)

    assert taken(room) == [1, 2, 3]


def test_a_packet_that_is_held_is_not_new() -> None:
    room: ReceiveBuffer[Ack] = ReceiveBuffer(9)
    room.hold(Ack(1), 0, 1, [(5, 1)])

    room.check_new(0, 2)
    room.check_new(1, 1)
    with pytest.raises(RemoteError):
        room.check_new(0, 1)


def test_the_limit_is_per_source_and_room_comes_back() -> None:
    room: ReceiveBuffer[Ack] = ReceiveBuffer(1)
    room.hold(Ack(1), 0, 1, [(5, 1)])
    room.hold(Ack(2), 1, 1, [(5, 1)])
    with pytest.raises(RemoteError):
        room.hold(Ack(3), 0, 2, [(5, 1)])
    assert room.packets() == [Ack(1), Ack(2)]
    room.reached(5, 1)
    assert taken(room) == [1, 2]

    room.hold(Ack(3), 0, 2, [(5, 2)])
    assert room.packets() == [Ack(3)]


@pytest.mark.parametrize("seed", range(10))
def test_a_room_and_its_copy_do_what_a_scan_of_the_buffer_would_do(seed: int) -> None:
    random = Random(seed)
    room: ReceiveBuffer[Ack] = ReceiveBuffer(1000)
    buffer: list[tuple[int, list[tuple[int, int]]]] = []
    counts = dict.fromkeys(range(4), 0)
    for number in range(200):
        missing = [(k, counts[k] + random.randint(1, 3)) for k in range(4) if random.random() < 0.5]
        if missing:
            room.hold(Ack(number), number % 3, number, missing)
            buffer.append((number, missing))
        process = random.randrange(4)
        counts[process] += random.randint(1, 2)
        room.reached(process, counts[process])
        twin = twin_of(room)
        ready = [one for one, needs in buffer if all(counts[k] >= c for k, c in needs)]
        buffer = [(one, needs) for one, needs in buffer if one not in ready]
        assert taken(room) == taken(twin) == ready
        assert room.packets() == twin.packets() == [Ack(one) for one, _ in buffer]


def test_a_copy_goes_its_own_way() -> None:
    room: ReceiveBuffer[Ack] = ReceiveBuffer(9)
    room.hold(Ack(1), 0, 1, [(5, 1), (6, 1)])
    twin = twin_of(room)

    twin.reached(5, 1)
    twin.reached(6, 1)
    assert taken(twin) == [1]
    assert room.packets() == [Ack(1)]
    room.reached(5, 1)
    assert taken(room) == []
    room.reached(6, 1)
    assert taken(room) == [1]
