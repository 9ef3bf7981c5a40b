"""What a member that means no good can make another node keep, and tell: so much, and no more."""

from random import Random

import pytest
from librt.strings import BytesWriter, write_i64_le

from antecede.core.packets import (
    DataPacket,
    ExpulsionAck,
    ExpulsionNotice,
    Message,
    Packet,
    Permit,
    YouAreExpelled,
)
from antecede.events import PeerExpelled, PeerMoved
from antecede.membership.expulsions import HEARSAY_MAX
from antecede.transport.flow_control import OVERDRAFT
from antecede.transport.message_fragments import PARTS_LIMIT
from antecede.transport.recovery.ack_ranges import ReceivedRanges
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.recovery.path import DATAGRAMS_MAX
from antecede.wire.expulsions import EXPULSIONS_MAX, ExpulsionRecord, write_expulsion_records
from antecede.wire.frames import (
    ACK_RANGES,
    EXPULSIONS,
    MESSAGE_FRAGMENT,
    NO_KEY,
    PING,
    RESPONSE,
    write_header,
)
from antecede.wire.handshake import write_unknown
from antecede.wire.varint import write_varint
from antecede_lab.wire.codec import write_packet
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    MS,
    SECOND,
    address_of,
    met_pair,
    session_of,
    submit,
)
from tests.antecede.endpoint.memory_growth import growth_of


class Mallory:
    """Bob's place in a session with ann: says whatever fits a datagram."""

    def __init__(self) -> None:
        self.post, self.ann, _ = met_pair()
        self.number = 1000

    def say(self, frames: bytes, source: str = address_of(BOB)) -> None:
        self.number += 1
        writer = BytesWriter()
        write_header(writer, session_of(self.ann, BOB).token_in, self.number, NO_KEY)
        write_varint(writer, 0)
        self.post.now_ns += MS // 10
        self.ann.receive(source, writer.getvalue() + frames, self.post.now_ns)

    def acknowledge(self) -> None:
        """Everything that ann has sent so far."""
        newest = int(session_of(self.ann, BOB).channel.path.next_number()) - 1
        writer = BytesWriter()
        writer.append(ACK_RANGES)
        for value in (0, 1, newest, newest - 1):
            write_varint(writer, value)
        self.say(writer.getvalue())


def records(names: list[str], reason: str = "", incarnation: int = 7) -> bytes:
    writer = BytesWriter()
    told = [ExpulsionRecord(name, incarnation, BOB, reason) for name in names]
    write_expulsion_records(writer, EXPULSIONS, told, True)
    return writer.getvalue()


def message(sequence: int, previous: int, payload: bytes) -> bytes:
    writer = BytesWriter()
    write_packet(DataPacket(Message(0, sequence, payload), previous, False), writer, 0)
    return writer.getvalue()


def test_news_of_nodes_that_nobody_has_heard_of_is_bounded() -> None:
    mallory = Mallory()
    ids = mallory.ann._table.new_id()
    for batch in range(2 * HEARSAY_MAX // EXPULSIONS_MAX):
        mallory.say(records([f"n{batch}-{number}" for number in range(EXPULSIONS_MAX)]))
    assert int(mallory.ann._table.new_id()) - int(ids) - 1 == HEARSAY_MAX
    assert mallory.ann.last_malformed == (
        f"news of {HEARSAY_MAX + EXPULSIONS_MAX} that nobody has heard of"
    )
    assert len(mallory.ann._expulsions._records) == HEARSAY_MAX


@pytest.mark.parametrize(
    "packet",
    [
        ExpulsionNotice([0], None),
        ExpulsionNotice([1], None),
        ExpulsionNotice([4711], Permit(1)),
        ExpulsionNotice([4711], DataPacket(Message(0, 1, b"x"), 0, False)),
        ExpulsionAck([4711]),
        YouAreExpelled(),
    ],
)
def test_news_with_ids_of_somebody_elses_core_means_nothing(packet: Packet) -> None:
    """Ids are each node's own: 0 is ann herself here, and would make her stop for good."""
    mallory = Mallory()
    writer = BytesWriter()
    write_packet(packet, writer, 0)
    mallory.say(writer.getvalue())
    mallory.ann.write(mallory.post.now_ns)
    assert mallory.ann.malformed == 1
    assert mallory.ann.fenced is None
    assert session_of(mallory.ann, BOB).met
    assert mallory.ann.take_inbox() == []


def test_news_before_nonsense_in_one_datagram_is_followed() -> None:
    """The core has heard it, so the link must not go on as if nobody had."""
    mallory = Mallory()
    mallory.say(records([ANN], incarnation=1) + b"\xff")
    assert mallory.ann.malformed == 1
    assert mallory.ann.fenced is not None


def test_losses_told_before_nonsense_in_one_datagram_are_mended() -> None:
    """Bob has got ann's last datagrams, not those before them: their messages are sent again."""
    mallory = Mallory()
    for count in range(8):
        submit(mallory.ann, [BOB], b"%d" % count, mallory.post.now_ns)
        mallory.post.now_ns += MS
        mallory.ann.write(mallory.post.now_ns)
    newest = int(session_of(mallory.ann, BOB).channel.path.next_number()) - 1
    mallory.ann.out.clear()
    writer = BytesWriter()
    writer.append(ACK_RANGES)
    numbers = ReceivedRanges()
    numbers.add(newest)
    write_varint(writer, 0)
    numbers.write(writer)
    mallory.say(writer.getvalue() + b"\xff")
    assert mallory.ann.malformed == 1
    assert session_of(mallory.ann, BOB).channel.send_queue.has_messages()


def test_news_that_is_known_may_be_told_again() -> None:
    mallory = Mallory()
    for _ in range(20):
        mallory.say(records([f"n{number}" for number in range(EXPULSIONS_MAX)]))
    assert mallory.ann.malformed == 0


def test_names_and_reasons_of_the_expelled_do_not_command_a_terminal() -> None:
    mallory = Mallory()
    mallory.say(records(["\x1b[31m"]))
    assert mallory.ann.last_malformed == "a name that no terminal should show"
    mallory.say(records([BOB], reason="\x1b]0;owned\x07"))
    expelled = [r for r in mallory.ann.reports if isinstance(r, PeerExpelled)]
    assert all(report.reason.isprintable() and report.by.isprintable() for report in expelled)
    known = mallory.ann._expulsions._records.values()
    assert {record.reason for record in known} == {"\\x1b]0;owned\\x07"}


def test_messages_that_wait_for_one_that_never_comes_are_bounded_by_the_window() -> None:
    """Each says that the one before it is missing, so none is ever delivered."""
    mallory = Mallory()
    window = int(mallory.ann._limits.window)
    for sequence in range(2, 6_000):
        mallory.say(message(2 * sequence, 2 * sequence - 1, bytes(1_200)))
    credit = session_of(mallory.ann, BOB).channel.flow_control
    assert int(credit._early_cost) <= window + OVERDRAFT + 1_300
    assert "beyond the credit" in mallory.ann.last_malformed


def test_parts_that_were_announced_and_never_come_are_bounded() -> None:
    assembly = session_of(Mallory().ann, BOB).payload_assembler
    for sequence in range(1, PARTS_LIMIT + 1000):
        assembly.note_part(sequence)
    assert len(assembly._noted) == PARTS_LIMIT


def test_parts_beyond_the_largest_payload_are_not_kept() -> None:
    assembly = session_of(Mallory().ann, BOB).payload_assembler
    for _ in range(100):
        assembly.add(bytes(60_000), 1 << 20)
    assert assembly.kept() <= 1 << 20


@pytest.mark.parametrize(("size", "most"), [(0, 0.1), (1, 0.6), (2, 0.8), (30, 1.3)])
def test_parts_take_little_more_memory_than_they_have_bytes(size: int, most: float) -> None:
    """Parts of a payload that never ends: however small, no more than they took on the way."""
    mallory = Mallory()
    sent = 0
    sequence = 1

    def attack(turn: int) -> None:
        nonlocal sent, sequence
        frames = b""
        while len(frames) < 1_000:
            frames += bytes([MESSAGE_FRAGMENT]) + message(
                sequence, sequence - 1, bytes([turn % 250]) * size
            )
            sequence += 1
        sent += len(frames)
        mallory.say(frames)
        mallory.ann.write(mallory.post.now_ns)
        mallory.ann.out.clear()
        mallory.acknowledge()

    growth = growth_of(attack, 40, 120)
    assert mallory.ann.malformed == 0
    assert growth.bytes < most * 120 * sent / 160


def test_a_member_that_never_acknowledges_is_answered_so_often_and_no_more() -> None:
    """Each answer has to be remembered until it is acknowledged."""
    mallory = Mallory()
    path = session_of(mallory.ann, BOB).channel.path
    for _ in range(DATAGRAMS_MAX):
        sent = SentDatagram(path.next_number(), mallory.post.now_ns)
        sent.eliciting = True
        path.on_sent(sent, mallory.post.now_ns)
    for sequence in range(1, 1000):
        mallory.say(message(sequence, sequence - 1, b"x"))
        mallory.ann.write(mallory.post.now_ns)
    answers = len(mallory.ann.out)
    assert answers <= 3
    assert len(mallory.ann.take_inbox()) == 999
    mallory.acknowledge()
    mallory.say(message(1000, 999, b"x"))
    mallory.ann.write(mallory.post.now_ns)
    assert len(mallory.ann.out) > answers


@pytest.mark.parametrize("places", [2, 500])
def test_a_peer_that_moves_all_the_time_is_told_of_now_and_then(places: int) -> None:
    mallory = Mallory()
    session_of(mallory.ann, BOB).address._fixed = False
    began_ns = mallory.post.now_ns
    for turn in range(30_000):
        mallory.say(bytes([PING]), source=f"place {turn % places}")
    seconds = (mallory.post.now_ns - began_ns) // 1_000_000_000
    moves = [report for report in mallory.ann.reports if isinstance(report, PeerMoved)]
    assert 2 <= len(moves) <= seconds + 1


def test_a_member_that_moves_and_acknowledges_blindly_aims_nobody_at_others() -> None:
    """It says that it is at the victim's address now, and that it has got what went there."""
    mallory = Mallory()
    session_of(mallory.ann, BOB).address._fixed = False
    for _ in range(500):
        submit(mallory.ann, [BOB], bytes(1_000), mallory.post.now_ns)
    received = sent = 0
    for _ in range(300):
        newest = int(session_of(mallory.ann, BOB).channel.path.next_number()) - 1
        for guess in (newest, newest + 1, newest + 2):
            writer = BytesWriter()
            writer.append(ACK_RANGES)
            for value in (0, 1, guess, guess - 1):
                write_varint(writer, value)
            writer.append(PING)
            writer.append(RESPONSE)
            write_i64_le(writer, guess)
            received += len(writer.getvalue()) + 13  # with its header
            mallory.say(writer.getvalue(), source="victim")
            mallory.ann.expire(mallory.post.now_ns)
            mallory.ann.write(mallory.post.now_ns)
            sent += sum(len(d.data) for d in mallory.ann.out if d.address == "victim")
            mallory.ann.out.clear()
    assert session_of(mallory.ann, BOB).address.current == "victim"
    assert sent <= 3 * received + 1_400


def test_messages_for_a_peer_that_has_still_to_show_where_it_is_take_no_time() -> None:
    """Only an answer of the peer lets them go: nothing wakes a node before that but its timers."""
    mallory = Mallory()
    session_of(mallory.ann, BOB).address._fixed = False
    for _ in range(50):
        submit(mallory.ann, [BOB], bytes(1_000), mallory.post.now_ns)
    mallory.say(bytes([PING]).ljust(50, b"\0"), source="victim")
    mallory.ann.write(mallory.post.now_ns)
    end_ns = mallory.post.now_ns + SECOND
    wakes = 0
    while mallory.ann.wake_ns() <= end_ns and wakes < 1_000:
        now_ns = int(mallory.ann.wake_ns())
        mallory.ann.expire(now_ns)
        mallory.ann.write(now_ns)
        wakes += 1
    assert wakes < 50


def test_a_member_that_moves_does_not_have_hellos_sent_to_others() -> None:
    """A hello has 1,200 bytes, and the word that nobody is known there has 17."""
    mallory = Mallory()
    session = session_of(mallory.ann, BOB)
    session.address._fixed = False
    mallory.ann.directory.by_name[BOB].address = None
    mallory.say(bytes([PING]), source="victim")
    received = 60
    sent = 0
    for _ in range(100):
        mallory.post.now_ns += 100 * MS
        data = write_unknown(int(session.token_out))
        received += len(data)
        mallory.ann.receive("victim", data, mallory.post.now_ns)
        mallory.ann.expire(mallory.post.now_ns)
        mallory.ann.write(mallory.post.now_ns)
        sent += sum(len(d.data) for d in mallory.ann.out if d.address == "victim")
        mallory.ann.out.clear()
    assert session.address.current == "victim"
    assert sent <= received


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_a_peer_that_moves_again_and_again_is_believed_where_it_answers(loss: float) -> None:
    post, ann, bob = met_pair()
    session_of(ann, BOB).address._fixed = False
    random = Random(3)
    place = address_of(BOB)
    for turn in range(5):
        post.nodes[f"place {turn}"] = post.nodes.pop(place)
        place = f"place {turn}"
        for _ in range(100):
            submit(ann, [BOB], bytes(1_000), post.now_ns)
        submit(bob, [ANN], b"here I am", post.now_ns)
        post.pass_time(20 * SECOND, lose=lambda _: random.random() < loss)
        assert len(bob.take_inbox()) == 100
        assert session_of(ann, BOB).address.current == place
    assert (ann.malformed, bob.malformed) == (0, 0)


def test_a_part_mark_without_a_message_means_nothing() -> None:
    mallory = Mallory()
    mallory.say(bytes([MESSAGE_FRAGMENT]) * 5)
    assert session_of(mallory.ann, BOB).payload_assembler.is_empty()
