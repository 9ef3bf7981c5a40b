"""What only nodes of earlier versions sent, which had `hybrid-facts`: counted, and harmless."""

import pytest
from librt.strings import BytesWriter

from antecede.core.packets import Message
from antecede.wire.frames import write_header
from antecede.wire.varint import write_varint
from antecede_lab.protocols.facts.packets import (
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    PastReportField,
)
from antecede_lab.wire.codec import encode
from tests.antecede.endpoint.endpoints import (
    ANN,
    BOB,
    SECOND,
    Post,
    address_of,
    introduce,
    make_endpoint,
    session_of,
    submit,
)

FORMER = {
    "names": bytes([0x8B, 1, 5, 77, 3]) + b"dan",
    "message": encode(
        FactsMessage(Message(0, 1, b"x"), 0, [], PastReportField(0, (), [Fact(5, 6, 1)], 1))
    ),
    "clean message": encode(FactsMessage(Message(0, 1, b"x"), 0, [], None)),
    "ack": encode(FactsAck(1)),
    "permit": encode(FactsPermit(1)),
    "ask": encode(FactsAsk(0, 1, 1)),
}


@pytest.mark.parametrize("order", ["hybrid", "hybrid-sps", "fifo", "none"])
@pytest.mark.parametrize("what", FORMER)
def test_it_is_counted_as_malformed_and_what_follows_is_taken(what: str, order: str) -> None:
    post = Post()
    ann, bob = (post.add(name, make_endpoint(name, order=order)) for name in (ANN, BOB))
    introduce(ann, BOB, post.now_ns)
    introduce(bob, ANN, post.now_ns)
    post.pass_time(SECOND)
    session = session_of(ann, BOB)
    writer = BytesWriter()
    write_header(writer, session.token_out, session.channel.path.next_number(), 0)
    write_varint(writer, 0)
    writer.write(FORMER[what])

    bob.receive(address_of(ANN), writer.getvalue(), post.now_ns)

    assert bob.malformed == 1, bob.last_malformed
    assert bob.take_inbox() == []
    submit(ann, [BOB], b"still here", post.now_ns)
    post.pass_time(5 * SECOND)
    assert [message.payload for message in bob.take_inbox()] == [b"still here"]
