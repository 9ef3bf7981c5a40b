"""The packets of `hybrid-facts` byte by byte: what they cost is measured by these bytes."""

import pytest

from antecede.core import Message, Packet
from antecede.core.fact_packets import (
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    Report,
    Watermark,
)
from antecede.wire.codec import decode, encode

SENDER = 0

MESSAGE = FactsMessage(
    Message(SENDER, 9, b"hi"),
    7,
    [Mark(3, 4)],
    Report(1 << 12, (3,), [Fact(0, 300, 8), Fact(3, 300, 1)], 1),
    [Watermark(-1, 6), Watermark(3, 2, 4, (300,))],
)

FRAMES: list[tuple[Packet, str]] = [
    (MESSAGE, "0c1c3f09021200100301ac020100010201010304020403050101ac026869"),
    (FactsAck(5, [Watermark(-1, 4), Watermark(300, 2)]), "0d06050208ac0204"),
    (FactsPermit(7, (3,)), "0e0407010300"),
    (FactsAsk(6, 2, 1), "0f0406020100"),
]


@pytest.mark.parametrize(("packet", "frame"), FRAMES)
def test_a_packet_is_these_bytes(packet: Packet, frame: str) -> None:
    assert encode(packet).hex() == frame
    assert decode(bytes.fromhex(frame), SENDER) == packet
