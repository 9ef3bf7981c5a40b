"""What is kept follows what is unacknowledged, not what was sent and delivered behind it."""

from antecede.core import Transmit
from antecede_lab.protocols.facts.owed import MERGE_MIN
from antecede_lab.protocols.facts.packets import FactsAck, FactsPermit
from antecede_lab.protocols.facts.process import FactsProcess

ME, SILENT, OTHER = range(3)


def test_one_message_that_nobody_acknowledges_costs_no_memory_of_those_behind_it() -> None:
    """Every message behind it owes a permit; there is one for all of them in the end."""
    me = FactsProcess(ME, range(3), exceptions=0)
    me.submit([SILENT], b"", 0)
    kept = []
    for turn in range(5_000):
        me.submit([OTHER], b"", turn)
        me.arrive(OTHER, FactsAck(turn + 2), turn)
        kept.append(int(me._owed.size))

    assert max(kept) <= 2 * MERGE_MIN
    assert me.buffered() == 1

    freed = me.arrive(SILENT, FactsAck(1), 5_000)

    permits = [e.packet for e in freed if isinstance(e, Transmit)]
    assert [p.sequence for p in permits if isinstance(p, FactsPermit)] == [5_001]
    assert int(me._owed.size) == 0


def test_permits_between_unacknowledged_messages_are_given_one_by_one() -> None:
    """Every tenth message goes to somebody silent: what lies before each is permitted with it."""
    me = FactsProcess(ME, range(3), exceptions=0)
    to_silent: list[int] = []
    for sent in range(1, 1_001):
        if sent % 10 == 1:
            me.submit([SILENT], b"", sent)
            to_silent.append(sent)
        else:
            me.submit([OTHER], b"", sent)
            me.arrive(OTHER, FactsAck(sent), sent)

    permitted: list[int] = []
    for sequence in to_silent:
        for effect in me.arrive(SILENT, FactsAck(sequence), 2_000):
            if isinstance(effect, Transmit) and isinstance(effect.packet, FactsPermit):
                permitted.append(int(effect.packet.sequence))

    assert permitted == [sequence + 9 for sequence in to_silent]
