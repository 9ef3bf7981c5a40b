"""Test vectors of the wire format, for whoever writes a node in another language.

`python -m tests.antecede.wire.vectors` prints what stands in docs/reference/vectors.json.
"""

import json
from pathlib import Path

from librt.strings import BytesWriter

from antecede.core import Message, Packet
from antecede.core.packets import Ack, Ask, DataPacket, Permit
from antecede.wire.envelope import Envelope, envelope_bytes
from antecede.wire.frames import (
    ACK_RANGES,
    BYE,
    CREDIT,
    FRAME_FRAGMENT,
    MESSAGE_FRAGMENT,
    NO_KEY,
    PING,
    RELEASE,
    SEQUENCE_OFFSET,
    STOPPED,
    SUSPECTS,
    write_header,
)
from antecede.wire.handshake import (
    HELLO,
    WELCOME,
    Greeting,
    write_greeting,
    write_refusal,
    write_unknown,
)
from antecede.wire.packets import FLAGGED, FOLLOWS, MESSAGE_ALIKE
from antecede.wire.varint import write_varint
from antecede_lab.wire.codec import encode, write_packet

FILE = Path("docs/reference/vectors.json")
SENDER = 1
TOKEN = 0x0123456789ABCDEF
GREETING_FIELDS = (
    "oldest",
    "newest",
    "incarnation",
    "token",
    "echo",
    "name",
    "target",
    "process",
    "window",
    "payload_limit",
    "socket_bytes",
    "order",
)
"""In the order in which they stand in a greeting."""

Row = dict[str, object]


def varint(value: int) -> Row:
    writer = BytesWriter()
    write_varint(writer, value)
    return {"value": value, "bytes": writer.getvalue().hex()}


def message(sequence: int, previous: int, payload: bytes, flagged: bool = False) -> DataPacket:
    return DataPacket(Message(SENDER, sequence, payload), previous, flagged)


def fields_of(packet: Packet) -> Row:
    """A packet in words that need no Python."""
    if isinstance(packet, DataPacket):
        return {
            "kind": "message",
            "id": int(packet.carried.sequence),
            "previous": int(packet.previous),
            "flagged": packet.flagged,
            "payload": packet.carried.payload.hex(),
        }
    if isinstance(packet, Ask):
        return {"kind": "ask", "delivered": int(packet.delivered), "lowest": int(packet.lowest)}
    assert isinstance(packet, Ack | Permit)
    return {"kind": packet.kind, "id": int(packet.sequence)}


def packet_vector(packet: Packet) -> Row:
    return {**fields_of(packet), "bytes": encode(packet).hex()}


PACKETS: tuple[Packet, ...] = (
    message(1, 0, b""),
    message(2, 1, b"hi"),
    message(300, 299, b"hi", flagged=True),
    message(300, 7, bytes(200)),
    Ack(5),
    Ack(300),
    Permit(7),
    Ask(128, 7),
)


def greeting_vector(kind: int, name: str, *, echo: int) -> Row:
    greeting = Greeting("alice", "bob", 77, TOKEN)
    greeting.echo = echo
    greeting.process = 5
    greeting.window = 4 << 20
    greeting.payload_limit = 64 << 20
    greeting.socket_bytes = 200_000
    greeting.order = "hybrid"
    data = write_greeting(kind, greeting)
    fields = {slot: getattr(greeting, slot) for slot in GREETING_FIELDS}
    end = data.rstrip(b"\x00")
    padding = len(data) - len(end) if kind == HELLO else 0
    return {"what": name, **fields, "bytes": data.hex()[: 2 * (len(data) - padding)]} | (
        {"zeros_after": padding} if padding else {}
    )


def answer_vector(what: str, data: bytes, **fields: object) -> Row:
    return {"what": what, **fields, "bytes": data.hex()}


TO_BOTH = envelope_bytes(Envelope(targets=("bob", "carl")))
ALIKE_NEXT = [MESSAGE_ALIKE | FLAGGED | FOLLOWS]


def datagram_vectors() -> list[Row]:
    """Datagrams of all frames; `frames` says what is in each, in order."""
    return [
        datagram(1, 1, [("ping", [PING])]),
        datagram(
            300,
            297,
            [
                (
                    "numbers: the largest came 7 us ago; 5 and 4, then 1",
                    [ACK_RANGES, 7, 2, 5, 1, 1, 0],
                ),
                ("credit of 900 in all", [CREDIT, 900]),
                ("ack", Ack(5)),
                ("message", message(7, 4, b"ab")),
                ("message that follows it", message(8, 7, b"c", flagged=True)),
                ("message that does not: its id is not the next", message(12, 8, b"")),
                ("padding, to the end", [0, 0, 0]),
            ],
        ),
        datagram(
            9,
            9,
            [
                ("the next message is not the end of its payload", [MESSAGE_FRAGMENT]),
                ("message", message(3, 2, b"first part")),
                ("from here on ids are 1 larger than numbers", [SEQUENCE_OFFSET, 1]),
                ("message that follows it, and ends the payload", message(4, 3, b"last part")),
                ("message with the id 5 and the number 4", message(5, 4, b"after it")),
            ],
        ),
        datagram(
            15,
            15,
            [
                ("message to bob and carl", message(7, 4, TO_BOTH + b"ab", flagged=True)),
                ("the next one, to the same", [*ALIKE_NEXT, 1, ord("c")]),
                ("message 12 after 8, to the same", [MESSAGE_ALIKE, 12, 4, 0]),
            ],
        ),
        datagram(10, 9, [("bye, after the other's own", [BYE, 1]), ("permit", Permit(4))]),
        datagram(11, 11, [("release", [RELEASE])]),
        datagram(12, 12, [("stopped", [STOPPED])]),
        datagram(14, 14, [("suspects, list 3: bob 5", [SUSPECTS, 3, 1, 3, 98, 111, 98, 5])]),
        datagram(
            13,
            13,
            [
                (
                    "the last 3 of 9 bytes of message 7, whose CRC-32 is 5",
                    [FRAME_FRAGMENT, 7, 9, 5, 6, 3, 97, 98, 99],
                )
            ],
        ),
    ]


def datagram(number: int, oldest: int, frames: list[tuple[str, list[int] | Packet]]) -> Row:
    writer = BytesWriter()
    write_header(writer, TOKEN, number, NO_KEY)
    write_varint(writer, number - oldest)
    last = 0
    told: list[Row] = []
    for what, content in frames:
        before = len(writer)
        if isinstance(content, Packet):
            write_packet(content, writer, last)
            if isinstance(content, DataPacket):
                last = int(content.carried.sequence)
            row = {"frame": what, **fields_of(content)}
        else:
            writer.append(content[0])
            for value in content[1:]:
                write_varint(writer, value)
            row = {"frame": what}
        told.append({**row, "bytes": writer.getvalue()[before:].hex()})
    return {
        "token": TOKEN,
        "number": number,
        "oldest_waited_for": oldest,
        "frames": told,
        "bytes": writer.getvalue().hex(),
    }


REFUSED = {
    "80 00": "a padded integer",
    "ff ff ff ff ff ff ff ff 7f": "an integer of 2**62 or more",
}

REFUSED_PACKETS = {
    "": "no kind",
    "40 00 01 00": "the id 0",
    "40 05 00 00": "its own predecessor",
    "40 05 06 00": "a predecessor before the first",
    "40 05 01 01": "a payload that is not there",
    "42 00": "it follows a message that is not there",
    "02 05 00": "something after the end",
    "01 05": "no packet is of kind 1",
}


def vectors() -> dict[str, object]:
    """All of them."""
    return {
        "about": "docs/reference/wire.md explains these bytes; "
        "python -m tests.antecede.wire.vectors makes them",
        "version": 3,
        "varints": [varint(value) for value in (0, 1, 127, 128, 300, 16_384, (1 << 62) - 1)],
        "refused_varints": [{"bytes": data, "why": why} for data, why in REFUSED.items()],
        "packets": [packet_vector(packet) for packet in PACKETS],
        "refused_packets": [{"bytes": data, "why": why} for data, why in REFUSED_PACKETS.items()],
        "greetings": [
            greeting_vector(HELLO, "hello", echo=0),
            greeting_vector(WELCOME, "welcome", echo=99),
            answer_vector(
                "refusal", write_refusal("bob", "this is bob"), name="bob", reason="this is bob"
            ),
            answer_vector("unknown", write_unknown(TOKEN), token=TOKEN),
        ],
        "datagrams": datagram_vectors(),
    }


def text() -> str:
    """What stands in the file."""
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    print(text(), end="")
