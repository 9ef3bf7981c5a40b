"""Packets of `hybrid-facts`, as hypothesis strategies."""

from hypothesis import strategies as st

from antecede.core.packets import Message, Packet
from antecede_lab.protocols.facts.packets import (
    SENDER_ITSELF,
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
    Watermark,
)

ID_MAX = (1 << 61) - 1

ids = st.one_of(st.integers(0, 300), st.integers(0, (1 << 31) - 1))
sequences = st.one_of(st.integers(1, 300), st.integers(1, ID_MAX))
numbers = st.one_of(st.integers(0, 300), st.integers(0, (1 << 62) - 1))
masks = st.one_of(st.just(0), st.integers(1, 255), st.integers(-(1 << 63), (1 << 63) - 1))
id_tuples = st.sets(ids, max_size=3).map(sorted).map(tuple)


@st.composite
def watermarks(draw: st.DrawFn, process: st.SearchStrategy[int], below: int) -> Watermark:
    """A level below `below`, perhaps with a higher one that has exceptions."""
    low = draw(st.one_of(st.integers(max(0, below - 300), below - 1), st.integers(0, below - 1)))
    if draw(st.booleans()) or low + 1 > ID_MAX:
        return Watermark(draw(process), low)
    return Watermark(draw(process), low, draw(st.integers(low + 1, ID_MAX)), draw(id_tuples))


@st.composite
def gossip(draw: st.DrawFn, below: int = ID_MAX) -> list[Watermark]:
    """None, or the sender's own and some others'."""
    if draw(st.booleans()):
        return []
    own = draw(watermarks(st.just(SENDER_ITSELF), below))
    return [own, *draw(st.lists(watermarks(ids, ID_MAX), max_size=3))]


@st.composite
def reports(draw: st.DrawFn, source: int, sequence: int) -> PastReportField:
    """Facts in order; of the source itself only up to its own message."""
    pairs = sorted(draw(st.sets(st.tuples(ids, st.one_of(ids, st.just(source))), max_size=5)))
    facts = []
    for target, sender in pairs:
        highest = sequence if sender == source else ID_MAX
        facts.append(Fact(sender, target, draw(st.integers(1, highest))))
    hops = draw(st.one_of(st.integers(1, 9), st.integers(1, 1 << 40)))
    return PastReportField(draw(masks), draw(id_tuples), facts, hops)


@st.composite
def facts_messages(draw: st.DrawFn, source: int) -> FactsMessage:
    """A message with everything it may carry, or less."""
    sequence = draw(sequences)
    message = Message(source, sequence, draw(st.binary(max_size=20)))
    previous = draw(st.integers(max(0, sequence - 200), sequence - 1))
    senders = sorted(draw(st.sets(ids, max_size=3)))
    must = [Mark(sender, draw(sequences)) for sender in senders]
    report = draw(st.one_of(st.none(), reports(source, sequence)))
    return FactsMessage(message, previous, must, report, draw(gossip(sequence)))


def facts_packets(source: int) -> dict[type[Packet], st.SearchStrategy[Packet]]:
    """A strategy for every class of packet."""
    return {
        FactsMessage: facts_messages(source),
        FactsAck: st.builds(FactsAck, numbers, gossip()),
        FactsPermit: st.builds(FactsPermit, numbers, id_tuples, gossip()),
        FactsAsk: st.builds(FactsAsk, numbers, numbers, numbers, gossip()),
    }
