"""Packets of every class that has a form on the wire, as hypothesis strategies.

A new row in `antecede_lab.wire.codec.PACKET_KINDS` needs a strategy here, for everything its
`write` accepts: `test_codec.py` fails until there is one.
"""

from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.core.packets import (
    Ack,
    Ask,
    DataPacket,
    ExpulsionAck,
    ExpulsionNotice,
    Message,
    Packet,
    Permit,
    YouAreExpelled,
)
from antecede_lab.protocols.cykas import CykasAck, CykasMessage, YouCanTell
from antecede_lab.protocols.link_packets import RANGES_LIMIT, LinkAck, LinkData
from antecede_lab.protocols.mf import MfAck, MfMessage
from antecede_lab.protocols.newtop import NewtopMessage, NewtopNull
from antecede_lab.protocols.saturn import SaturnData, SaturnLabel
from antecede_lab.protocols.tree import TreePacket
from tests.antecede_lab.wire.classic_strategies import classic_packets
from tests.antecede_lab.wire.facts_strategies import facts_packets

SOURCE: Final = 7
"""Whoever the packets are from: the sender is not in the bytes."""

ID_MAX: Final = (1 << 61) - 1
"""The highest message id that the hybrid family can put on the wire."""

numbers: Final = st.one_of(st.integers(0, 300), st.integers(0, (1 << 62) - 1))
message_ids: Final = st.one_of(st.integers(1, 300), st.integers(1, ID_MAX))
payloads: Final = st.binary(max_size=40)


@st.composite
def data_packets(draw: st.DrawFn) -> DataPacket:
    """A message that follows any earlier one, flagged or not."""
    sequence = draw(message_ids)
    previous = draw(
        st.one_of(st.integers(max(0, sequence - 200), sequence - 1), st.integers(0, sequence - 1))
    )
    message = Message(SOURCE, sequence, draw(payloads))
    return DataPacket(message, previous, draw(st.booleans()))


@st.composite
def tree_packets(draw: st.DrawFn) -> TreePacket:
    """A message of any origin, with ascending targets."""
    message = Message(draw(process_ids), draw(positives), draw(payloads))
    targets = draw(st.sets(process_ids, min_size=1, max_size=6))
    return TreePacket(message, tuple(sorted(targets)))


@st.composite
def link_acks(draw: st.DrawFn) -> LinkAck:
    """An acknowledgement whose ranges are separate and ascend."""
    through = draw(st.one_of(st.integers(0, 300), st.integers(0, 1 << 60)))
    end = through
    ranges = []
    for _ in range(draw(st.integers(0, RANGES_LIMIT))):
        first = end + 2 + draw(st.integers(0, 1 << 20))
        end = first + draw(st.integers(0, 1 << 20))
        ranges.append((first, end))
    return LinkAck(through, tuple(ranges))


positives: Final = st.one_of(st.integers(1, 300), st.integers(1, (1 << 62) - 1))
process_ids: Final = st.one_of(st.integers(0, 300), st.integers(0, (1 << 31) - 1))
several: Final = st.sets(process_ids, min_size=1, max_size=6).map(sorted)
messages: Final = st.builds(Message, st.just(SOURCE), positives, payloads)

PACKETS: Final[dict[type[Packet], st.SearchStrategy[Packet]]] = {
    MfMessage: st.builds(MfMessage, messages),
    MfAck: st.builds(MfAck, positives),
    CykasMessage: st.builds(
        CykasMessage,
        st.builds(Message, st.just(SOURCE), message_ids, payloads),
        st.booleans(),
    ),
    CykasAck: st.builds(CykasAck, positives),
    YouCanTell: st.just(YouCanTell()),
    NewtopMessage: st.builds(NewtopMessage, messages, positives),
    NewtopNull: st.builds(NewtopNull, positives),
    TreePacket: tree_packets(),
    SaturnData: st.builds(SaturnData, messages),
    SaturnLabel: st.builds(SaturnLabel, process_ids, positives, several.map(tuple)),
    LinkData: st.builds(LinkData, positives, st.one_of(data_packets(), tree_packets())),
    LinkAck: link_acks(),
    DataPacket: data_packets(),
    Ack: st.builds(Ack, numbers),
    Permit: st.builds(Permit, numbers),
    Ask: st.builds(Ask, numbers, numbers),
    ExpulsionNotice: st.builds(
        ExpulsionNotice, several, st.one_of(st.none(), data_packets(), st.builds(Permit, numbers))
    ),
    ExpulsionAck: st.builds(ExpulsionAck, several),
    YouAreExpelled: st.just(YouAreExpelled()),
    **classic_packets(SOURCE),
    **facts_packets(SOURCE),
}


def sample_packets() -> list[Packet]:
    """A few packets of every class, always the same."""
    packets: list[Packet] = []
    for strategy in PACKETS.values():
        collect(strategy, packets)
    return packets


def collect(strategy: st.SearchStrategy[Packet], packets: list[Packet]) -> None:
    """Add the packets that hypothesis tries first."""

    @settings(max_examples=30, derandomize=True, database=None)
    @given(packet=strategy)
    def add(packet: Packet) -> None:
        packets.append(packet)

    add()


any_packet: Final = st.one_of(list(PACKETS.values()))
