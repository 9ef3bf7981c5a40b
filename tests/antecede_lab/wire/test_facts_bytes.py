"""The packets of `hybrid-facts` byte by byte: what they cost is measured by these bytes."""

import pytest

from antecede.core import Message, Packet
from antecede.core.errors import LocalError, RemoteError
from antecede_lab.protocols.facts.packets import (
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
    Watermark,
)
from antecede_lab.wire.codec import decode, encode, metadata_size

SENDER = 0

MESSAGE = FactsMessage(
    Message(SENDER, 9, b"hi"),
    7,
    [Mark(3, 4)],
    PastReportField(1 << 12, (3,), [Fact(0, 300, 8), Fact(3, 300, 1)], 1),
    [Watermark(-1, 6), Watermark(3, 2, 4, (300,))],
)

MULTICAST = FactsMessage(
    Message(SENDER, 9, b""),
    8,
    [],
    PastReportField(0, (), [Fact(5, 1, 7), Fact(5, 2, 7), Fact(5, 3, 6), Fact(5, 4, 7)], 1),
)
"""Two messages of process 5: 7 to three destinations, 6 to one."""

FRAMES: list[tuple[Packet, str]] = [
    (MESSAGE, "0c1d3f090212001003020002ac020402ac02010304020403050101ac026869"),
    (MULTICAST, "0c0d250901010b000f010100010003"),
    (FactsAck(5, [Watermark(-1, 4), Watermark(300, 2)]), "0d06050208ac0204"),
    (FactsPermit(7, (3,)), "0e0407010300"),
    (FactsAsk(6, 2, 1), "0f0406020100"),
]


@pytest.mark.parametrize(("packet", "frame"), FRAMES)
def test_a_packet_is_these_bytes(packet: Packet, frame: str) -> None:
    assert encode(packet).hex() == frame
    assert decode(bytes.fromhex(frame), SENDER) == packet


def test_a_multicast_to_many_is_said_once() -> None:
    """A further destination is a byte, whatever the number of the message."""

    def bytes_to(targets: int) -> int:
        facts = [Fact(5, target, 1_000_000) for target in range(10, 10 + targets)]
        return metadata_size(
            FactsMessage(Message(0, 9, b""), 8, [], PastReportField(0, (), facts, 1))
        )

    sizes = [bytes_to(targets) for targets in (2, 3, 30)]
    assert sizes == [sizes[0], sizes[0] + 1, sizes[0] + 28]


HEAD = "250901"
"""Flags (a report of one hop, with facts), id 9, which follows 8."""

REFUSED = {
    "no facts": "00",
    "an id beyond all": "01" + "8080808020" + "0201",
    "message 0": "01" + "0a" + "00" + "01",
    "one's own that is to come": "01" + "00" + "14" + "01",
    "one below message 1": "01" + "0b00" + "02" + "01" + "00" + "02",
    "more destinations than bytes": "01" + "0a" + "0f7f" + "0102",
    "more messages than bytes": "01" + "0b7f" + "0e" + "01",
    "two of one sender about one": "01" + "0b00" + "0e" + "01" + "00" + "01",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_nobody_writes_is_refused(what: str) -> None:
    body = bytes.fromhex(HEAD + REFUSED[what])
    with pytest.raises(RemoteError):
        decode(bytes([0x0C, len(body)]) + body, SENDER)


@pytest.mark.parametrize(
    "facts",
    [
        [Fact(5, 2, 1), Fact(5, 1, 1)],
        [Fact(5, 1, 1), Fact(5, 1, 2)],
        [Fact(5, 1, 0)],
        [Fact(-1, 1, 1)],
        [Fact(0, 1, 10)],
    ],
)
def test_what_would_be_refused_is_not_written(facts: list[Fact]) -> None:
    with pytest.raises(LocalError):
        encode(FactsMessage(Message(SENDER, 9, b""), 8, [], PastReportField(0, (), facts, 1)))
