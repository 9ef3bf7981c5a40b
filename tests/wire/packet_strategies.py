"""Packets of every class that has a form on the wire, as hypothesis strategies.

A new row in `antecede.wire.codec.PACKET_KINDS` needs a strategy here, for everything its `write`
accepts: `test_codec.py` fails until there is one.
"""

from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.core.values import Message, Packet

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


PACKETS: Final[dict[type[Packet], st.SearchStrategy[Packet]]] = {
    DataPacket: data_packets(),
    Ack: st.builds(Ack, numbers),
    Permit: st.builds(Permit, numbers),
    Ask: st.builds(Ask, numbers, numbers),
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
