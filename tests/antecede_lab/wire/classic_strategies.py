"""Packets of the algorithms that buffer at the receiver, as hypothesis strategies."""

from typing import Final

from hypothesis import strategies as st

from antecede.core.packets import Message, Packet
from antecede_lab.protocols.baldoni import BaldoniAck, BaldoniMessage
from antecede_lab.protocols.bss import BssPacket
from antecede_lab.protocols.ks import KsPacket
from antecede_lab.protocols.ks_log import Log, Sends
from antecede_lab.protocols.piggyback import PiggybackAck, PiggybackMessage, Predecessor
from antecede_lab.protocols.prs import PrsPacket
from antecede_lab.protocols.psync import PsyncAck, PsyncMessage, PsyncRequest
from antecede_lab.protocols.rst import RstPacket
from antecede_lab.protocols.separators import SeparatorPacket
from antecede_lab.protocols.ses import SesPacket
from antecede_lab.protocols.topology import TopologyPacket
from antecede_lab.protocols.vectors import Vector

counts: Final = st.one_of(st.integers(1, 300), st.integers(1, (1 << 62) - 1))
# Few small ids make neighbours, and so runs; large ones try the limits.
ids: Final = st.one_of(st.integers(0, 12), st.integers(0, (1 << 31) - 1))
payloads: Final = st.binary(max_size=40)
targets: Final = st.sets(ids, min_size=1, max_size=6).map(lambda chosen: tuple(sorted(chosen)))
vectors: Final = st.dictionaries(ids, counts, min_size=1, max_size=8).map(Vector)
matrices: Final = st.dictionaries(ids, vectors, max_size=5)
any_messages: Final = st.builds(Message, ids, counts, payloads)
ids_of: Final = st.dictionaries(ids, counts, max_size=5).map(lambda of: tuple(sorted(of.items())))
sends: Final = st.dictionaries(counts, st.frozensets(ids, max_size=4), min_size=1, max_size=4).map(
    lambda entries: Sends(dict(sorted(entries.items())))
)
logs: Final[st.SearchStrategy[Log]] = st.dictionaries(ids, sends, max_size=5)


@st.composite
def dated(draw: st.DrawFn, source: int) -> tuple[Message, Vector]:
    """A message and a vector time that counts it."""
    sequence = draw(counts)
    time = Vector(draw(vectors).counts | {source: sequence})
    return Message(source, sequence, draw(payloads)), time


@st.composite
def ses_packets(draw: st.DrawFn, source: int) -> SesPacket:
    message, time = draw(dated(source))
    return SesPacket(message, draw(targets), draw(counts), time, draw(matrices))


@st.composite
def bss_packets(draw: st.DrawFn, source: int) -> BssPacket:
    message, time = draw(dated(source))
    return BssPacket(message, draw(counts), time)


def classic_packets(source: int) -> dict[type[Packet], st.SearchStrategy[Packet]]:
    """A strategy for each class."""
    messages = st.builds(Message, st.just(source), counts, payloads)
    return {
        RstPacket: st.builds(RstPacket, messages, targets, counts, matrices),
        KsPacket: st.builds(KsPacket, messages, targets, logs),
        PrsPacket: st.builds(PrsPacket, messages, targets, matrices),
        SesPacket: ses_packets(source),
        BssPacket: bss_packets(source),
        PiggybackMessage: st.builds(
            PiggybackMessage,
            messages,
            targets,
            st.lists(st.builds(Predecessor, any_messages, targets), max_size=3).map(tuple),
            ids_of,
        ),
        PiggybackAck: st.builds(PiggybackAck, counts),
        PsyncMessage: st.builds(PsyncMessage, any_messages, ids_of),
        PsyncAck: st.builds(PsyncAck, counts),
        PsyncRequest: st.builds(PsyncRequest, ids_of),
        BaldoniMessage: st.builds(
            BaldoniMessage,
            messages,
            st.lists(st.one_of(st.integers(0, 2), st.integers(0, 65_535)), max_size=9).map(tuple),
        ),
        BaldoniAck: st.builds(BaldoniAck, counts),
        TopologyPacket: st.builds(
            TopologyPacket, messages, st.lists(st.one_of(st.just(0), counts), max_size=8).map(tuple)
        ),
        SeparatorPacket: st.builds(
            SeparatorPacket,
            any_messages,
            targets,
            st.builds(
                RstPacket,
                st.builds(Message, st.just(source), counts, st.just(b"")),
                targets,
                counts,
                matrices,
            ),
        ),
    }
