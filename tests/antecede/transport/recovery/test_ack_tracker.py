"""What has come from a peer, and when it is told so."""

from librt.strings import BytesWriter

from antecede.core.process import NEVER_NS
from antecede.transport.recovery.ack_ranges import AckTracker
from antecede.transport.recovery.round_trip import ACK_DELAY_NS

MS = 1_000_000


def test_a_number_comes_once() -> None:
    acks = AckTracker()
    assert acks.register(3)
    acks.record(3, 0, MS)
    assert not acks.register(3)
    assert acks.register(1)
    assert (acks.datagrams, acks.duplicates) == (3, 1)


def test_what_was_not_read_to_its_end_is_not_acknowledged() -> None:
    acks = AckTracker()
    assert acks.register(1)
    acks.schedule_ack(at_once=True, now_ns=MS)
    assert not acks.take_ack()


def test_an_acknowledgement_leaves_at_once_or_soon_and_once() -> None:
    acks = AckTracker()
    acks.record(1, 0, MS)
    assert acks.ack_at_ns == NEVER_NS
    acks.schedule_ack(at_once=False, now_ns=MS)
    assert acks.ack_at_ns == MS + ACK_DELAY_NS
    acks.schedule_ack(at_once=False, now_ns=3 * MS)
    assert acks.ack_at_ns == MS + ACK_DELAY_NS
    acks.schedule_ack(at_once=True, now_ns=4 * MS)
    assert acks.ack_at_ns == 4 * MS
    assert acks.take_ack()
    assert (acks.ack_at_ns, acks.take_ack()) == (NEVER_NS, False)


def test_it_says_how_long_ago_the_largest_number_came() -> None:
    acks = AckTracker()
    acks.record(5, 0, 2 * MS)
    acks.record(4, 0, 3 * MS)
    writer = BytesWriter()
    acks.write(writer, 2 * MS + 7_000)
    assert writer.getvalue() == bytes([7, 1, 5, 1])
