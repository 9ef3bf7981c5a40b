"""Values are compared, hashed and shown by what they are made of."""

import pytest

from antecede.core.packets import (
    Ack,
    Ask,
    DataPacket,
    ExpulsionAck,
    Message,
    Packet,
    Permit,
    Value,
    YouAreExpelled,
)
from antecede_lab.protocols.facts.packets import FactsAck, Watermark
from antecede_lab.protocols.rst import RstPacket
from antecede_lab.protocols.vectors import Vector

HELLO = Message(1, 2, b"hello")

EACH_TWICE = [
    (Ack(3), Ack(3)),
    (Ask(3, 1), Ask(3, 1)),
    (DataPacket(HELLO, 1, True), DataPacket(Message(1, 2, b"hello"), 1, True)),
    (YouAreExpelled(), YouAreExpelled()),
    (FactsAck(3, [Watermark(1, 2, 3, ())]), FactsAck(3, [Watermark(1, 2, 3, ())])),
    (ExpulsionAck([1, 2]), ExpulsionAck([1, 2])),
    (
        RstPacket(HELLO, (0,), 2, {0: Vector({1: 1}), 3: Vector({1: 2})}),
        RstPacket(HELLO, (0,), 2, {3: Vector({1: 2}), 0: Vector({1: 1})}),
    ),
]


class Opaque(Packet):
    """A packet of a user's that does not say what is in it."""


@pytest.mark.parametrize(("one", "other"), EACH_TWICE, ids=repr)
def test_what_is_made_of_the_same_is_the_same(one: Value, other: Value) -> None:
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)


def test_another_kind_or_another_field_is_another_value() -> None:
    different = [one for one, _ in EACH_TWICE]
    different += [Permit(3), Ack(4), Ask(1, 3), DataPacket(HELLO, 1, False), ExpulsionAck([2, 1])]
    for place, value in enumerate(different):
        assert different.index(value) == place
    assert Ack(3) != 3


def test_values_show_what_they_are_made_of() -> None:
    assert repr(DataPacket(HELLO, 1, True)) == "DataPacket(Message(1, 2, b'hello'), 1, True)"
    assert repr(YouAreExpelled()) == "YouAreExpelled()"
    rows = {5: Vector({1: 2}), 2: Vector({1: 1})}
    shown = "RstPacket(Message(1, 2, b'hello'), (0,), 2, {2: Vector({1: 1}), 5: Vector({1: 2})})"
    assert repr(RstPacket(HELLO, (0,), 2, rows)) == shown


def test_packets_that_say_nothing_are_like_nothing_but_themselves() -> None:
    one = Opaque()
    assert one == one
    assert one != Opaque()
    assert len({one, Opaque()}) == 2
    assert repr(one).startswith("<Opaque at 0x")
