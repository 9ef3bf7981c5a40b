"""What goes on when two nodes meet, or meet again, and what begins anew."""

from antecede.core.packets import Ack, DataPacket, Message, Permit
from antecede.transport.flow_control import MESSAGE_COST
from antecede.transport.peer_lifecycle import LEAVE_WHEN_RELEASED, MET, STAYING
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.session import Session
from antecede.wire.expulsions import ExpulsionRecord
from antecede.wire.handshake import Greeting

PEER, ANN = 7, 4_711
SECOND = 1_000_000_000
WINDOW = 1 << 20
SOCKET_BYTES = 1 << 20


def message(sequence: int) -> DataPacket:
    return DataPacket(Message(ANN, sequence, b"text"), sequence - 1, False)


def unmet_session() -> Session:
    return Session(PEER, "bob", 1_400, WINDOW, 1 << 20, True, None)


def establish(session: Session, token: int) -> None:
    """Bob greets, and is believed."""
    greeting = Greeting(
        "bob", "ann", 1, token, window=WINDOW, payload_limit=1 << 16, socket_bytes=SOCKET_BYTES
    )
    session.establish(greeting, 10 * token, "there", False, None, SECOND)


def waiting(session: Session) -> list[int]:
    """The messages that wait to leave for the first time, which they do."""
    queue = session.channel.send_queue
    left: list[int] = []
    while isinstance(packet := queue.peek_new(), DataPacket):
        left.append(int(packet.carried.sequence))
        queue.pop_new(packet.carried.sequence, 0)
    return left


def used_session() -> Session:
    """Bob was met, and all parts of the channel have been used."""
    session = unmet_session()
    establish(session, 1)
    channel = session.channel
    sent = SentDatagram(channel.path.next_number(), SECOND)
    sent.set_messages(1, 1)
    session.on_sent(sent, SECOND)
    channel.acks.record(5, 0, SECOND)
    channel.send_queue.put(message(1))
    channel.send_queue.put(Ack(3))
    channel.send_queue.put(Permit(2))
    assert (channel.send_queue.take_ack(), channel.send_queue.take_permit()) == (3, 2)
    channel.flow_control.was_delivered(3, 10)
    channel.flow_control.add_unread(10)
    session.lifecycle.say_bye(LEAVE_WHEN_RELEASED)
    session.try_migrate("elsewhere", 6)
    return session


def test_what_waits_for_a_peer_leaves_in_order_once_it_is_met() -> None:
    session = unmet_session()
    for sequence in (1, 3, 4):
        session.channel.send_queue.put(message(sequence))
    session.resize(1_200)
    assert not session.wants_to_write(SECOND), "nobody is there yet"

    establish(session, 1)
    assert session.wants_to_write(SECOND)
    assert (session.datagram_size, session.payload_limit) == (1_200, 1 << 16)
    assert waiting(session) == [1, 3, 4]


def test_when_a_peer_is_met_again_the_whole_channel_is_new() -> None:
    session = used_session()
    former = session.channel
    establish(session, 2)
    channel = session.channel
    assert channel is not former
    assert channel.path.next_number() == 1, "not one number on after the former path's"
    assert channel.path.in_flight.size == 0
    assert channel.acks.numbers.largest == 0
    assert channel.flow_control.delivered == channel.flow_control.spent == 0
    assert waiting(session) == [], "the core is asked for the messages again"
    assert (session.lifecycle.phase, session.lifecycle.ours) == (MET, STAYING)
    assert session.address.current == session.address.proven == "there"
    assert not session.address.is_unproven()
    assert (session.token_in, session.token_out) == (20, 2)
    assert session.replaced_tokens == [10]


def test_what_is_ordered_and_delivered_goes_on_in_the_new_channel() -> None:
    session = used_session()
    establish(session, 2)
    channel = session.channel
    assert (channel.send_queue.take_ack(), channel.send_queue.take_permit()) == (3, 2)
    assert channel.flow_control.last_delivered == 3
    assert channel.flow_control.unread == MESSAGE_COST + 10, "it still takes up the window"


def test_messages_go_on_waiting_until_the_peer_has_noted_an_expulsion() -> None:
    session = used_session()
    session.notices.tell([ExpulsionRecord("cat", 5, "ann", "silent")])
    session.channel.send_queue.block(True)
    establish(session, 2)
    session.channel.send_queue.put(message(1))
    assert not session.channel.send_queue.has_messages()
    assert session.notices.due, "it is told again"

    session.channel.send_queue.block(False)
    assert session.channel.send_queue.has_messages()
