"""Every packet has one form on the wire, and nothing else is understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core import LocalError, Message, Packet, RemoteError
from antecede.core.catalogue import PacketCodec, ProtocolInfo
from antecede.core.hybrid.node import HybridProcess
from antecede.core.packets import (
    Ack,
    Ask,
    DataPacket,
    ExpulsionAck,
    ExpulsionNotice,
    Permit,
    YouAreExpelled,
)
from antecede.wire.packets import ACK, ASK, KIND_LIMIT, MESSAGE, MESSAGE_KINDS, PERMIT
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.link_packets import LinkData
from antecede_lab.wire import WireCodec, codec_of, decode, encode, metadata_size, metadata_size_with
from antecede_lab.wire.codec import KIND_OF_CLASS, KIND_OF_NUMBER, PACKET_KINDS
from antecede_lab.wire.link import LINK_DATA
from tests.antecede_lab.wire.packet_strategies import PACKETS, SOURCE, any_packet

each_class = pytest.mark.parametrize("packet_class", PACKETS, ids=lambda c: c.__name__)


def assert_refused_or_canonical(data: bytes) -> None:
    try:
        packet = decode(data, SOURCE)
    except RemoteError:
        return
    assert encode(packet) == data


def flips_of(data: bytes, bits: int) -> list[bytes]:
    return [data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :] for at in range(len(data))]


# The table.


def test_every_kind_of_packet_has_a_strategy() -> None:
    of_the_product = {DataPacket, Ack, Permit, Ask, ExpulsionNotice, ExpulsionAck, YouAreExpelled}
    assert {kind.packet_class for kind in PACKET_KINDS} | of_the_product | {LinkData} == set(
        PACKETS
    )


def test_no_two_kinds_share_a_number_or_a_class() -> None:
    assert len(KIND_OF_NUMBER) == len(KIND_OF_CLASS) == len(PACKET_KINDS)
    assert all(0 < kind.number < KIND_LIMIT for kind in PACKET_KINDS)
    short_forms = {ACK, PERMIT, ASK, LINK_DATA, *range(MESSAGE, MESSAGE + MESSAGE_KINDS)}
    assert not short_forms & set(KIND_OF_NUMBER)


# Round trips and sizes.


@each_class
@given(data=st.data())
def test_a_packet_comes_back_as_it_was(packet_class: type[Packet], data: st.DataObject) -> None:
    packet = data.draw(PACKETS[packet_class])
    again = decode(encode(packet), SOURCE)

    assert type(again) is packet_class
    assert again == packet
    assert again.message == packet.message
    assert again.kind == packet.kind


@given(packet=any_packet)
def test_metadata_is_everything_but_the_payload(packet: Packet) -> None:
    payload = b"" if packet.message is None else packet.message.payload

    assert metadata_size(packet) == len(encode(packet)) - len(payload)
    assert metadata_size_with(WireCodec(), packet) == metadata_size(packet)


@given(
    sequence=st.integers(1, (1 << 20) - 1),
    back=st.integers(1, 1 << 20),
    flagged=st.booleans(),
    payload=st.binary(max_size=4),
)
def test_a_hybrid_message_costs_at_most_twelve_bytes(
    sequence: int, back: int, flagged: bool, payload: bytes
) -> None:
    packet = DataPacket(Message(SOURCE, sequence, payload), max(0, sequence - back), flagged)

    assert metadata_size(packet) <= 12


@pytest.mark.parametrize("name", ["hybrid", "hybrid-sps", "hybrid-csps"])
def test_the_metadata_of_a_message_does_not_depend_on_how_many_processes_there_are(
    name: str,
) -> None:
    sizes = []
    for count in (3, 30, 3000):
        process = PROTOCOLS[name].create(0, range(count))
        effects = process.submit([1], b"one", 0) + process.submit([1, 2], b"two", 0)
        sizes.append([metadata_size(effect.packet) for effect in effects])  # type: ignore[union-attr]  # all of them are Transmit

    assert sizes[0] == sizes[1] == sizes[2] == [4, 4, 4]


@pytest.mark.parametrize(
    ("packet", "form"),
    [
        (DataPacket(Message(SOURCE, 1, b""), 0, False), "40 01 01 00"),
        (DataPacket(Message(SOURCE, 300, b"hi"), 299, True), "41 ac02 01 02 6869"),
        (Ack(5), "02 05"),
        (Permit(300), "03 ac02"),
        (Ask(128, 7), "04 8001 07"),
    ],
    ids=repr,
)
def test_the_format_is_what_peers_of_this_version_speak(packet: Packet, form: str) -> None:
    assert encode(packet).hex() == form.replace(" ", "")


def test_the_sender_of_a_message_is_where_the_bytes_came_from() -> None:
    data = encode(DataPacket(Message(SOURCE, 3, b"x"), 2, False))

    assert decode(data, 42) == DataPacket(Message(42, 3, b"x"), 2, False)


@pytest.mark.parametrize("source", [-1, 1 << 31, 1 << 70])
def test_bytes_come_from_a_process_that_can_be(source: int) -> None:
    with pytest.raises(LocalError, match="outside 0 <= id"):
        decode(encode(DataPacket(Message(SOURCE, 3, b"x"), 2, False)), source)


# What makes no sense.


@given(data=st.binary(max_size=24))
def test_random_bytes_are_refused_or_canonical(data: bytes) -> None:
    assert_refused_or_canonical(data)
    for kind in (MESSAGE, ACK, *KIND_OF_NUMBER):
        assert_refused_or_canonical(bytes([kind]) + data)


@each_class
@given(data=st.data())
def test_a_damaged_packet_is_refused_or_another_canonical_one(
    packet_class: type[Packet], data: st.DataObject
) -> None:
    """It can neither be cut nor extended: every packet says where it ends."""
    packet = data.draw(PACKETS[packet_class])
    encoded = encode(packet)
    cut = [encoded[:size] for size in range(len(encoded))]

    for candidate in flips_of(encoded, data.draw(st.integers(1, 255))):
        assert_refused_or_canonical(candidate)
    for candidate in [*cut, encoded + b"\x00"]:
        with pytest.raises(RemoteError):
            decode(candidate, SOURCE)


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("", "ends too early"),
        ("40", "ends too early"),
        ("00 05", "no packet is of kind 0"),
        ("ff 05", "no packet is of kind 255"),
        ("02 05 00", "1 bytes follow the end"),
        ("02 8500", "padded"),
        ("40 00 01 00", "zero where an id was expected"),
        ("40 05 00 00", "zero where an id was expected"),
        ("40 05 06 00", "message 5 follows one before the first"),
        ("40 05 01 01", "1 bytes were announced, 0 follow"),
        ("42 00", "a message follows another that is not there"),
        ("30 01 02 05 00", "1 bytes follow the end"),
        ("21 02 05 00", "1 bytes follow the end"),
        ("21 03 05", "3 bytes were announced, 1 follow"),
        ("30 01" * 9 + "02 05", "a packet of a link inside a packet of a link"),
    ],
)
def test_a_malformed_packet_is_refused_and_the_reason_said(form: str, why: str) -> None:
    with pytest.raises(RemoteError, match=why):
        decode(bytes.fromhex(form), SOURCE)


@pytest.mark.parametrize(
    "packet",
    [
        DataPacket(Message(SOURCE, 5, b""), 5, False),
        DataPacket(Message(SOURCE, 5, b""), 6, False),
        DataPacket(Message(SOURCE, 5, b""), -1, False),
        DataPacket(Message(SOURCE, 0, b""), 0, False),
        DataPacket(Message(SOURCE, 1 << 62, b""), 0, False),
        DataPacket(Message(SOURCE, (1 << 63) - 1, b""), 0, True),
        Ack(-1),
        Permit(1 << 62),
        Ask(3, -2),
    ],
    ids=repr,
)
def test_what_could_not_be_decoded_is_not_encoded(packet: Packet) -> None:
    with pytest.raises(LocalError):
        encode(packet)
    with pytest.raises(LocalError):
        metadata_size(packet)


# A user's own packets.


class Shout(Packet):
    """A user's packet."""

    KIND = "shout"

    def __init__(self, words: bytes) -> None:
        self.words = words

    @property
    def message(self) -> Message | None:
        return Message(SOURCE, 1, self.words)


class ShoutCodec(PacketCodec):
    """A user's codec."""

    def encode(self, packet: Packet) -> bytes:
        assert isinstance(packet, Shout)
        return b"SHOUT" + packet.words

    def decode(self, data: bytes, source: int) -> Packet:
        if not data.startswith(b"SHOUT"):
            raise RemoteError(f"{source} does not shout")
        return Shout(data[5:])


def test_a_packet_that_is_not_in_the_table_is_the_callers_mistake() -> None:
    with pytest.raises(LocalError, match="Shout has no form on the wire"):
        encode(Shout(b"hey"))


def test_a_users_protocol_brings_its_own_codec() -> None:
    codec = ShoutCodec()
    info = ProtocolInfo(
        "shout",
        HybridProcess,
        ordering="none",
        multicast=False,
        network="lossy",
        paper="",
        codec=codec,
    )

    assert codec_of(info) is codec
    assert metadata_size_with(codec, Shout(b"hey")) == 5


@pytest.mark.parametrize("name", PROTOCOLS)
def test_our_own_protocols_use_our_own_codec(name: str) -> None:
    codec = codec_of(PROTOCOLS[name])
    packet = Ack(3)

    assert codec.decode(codec.encode(packet), SOURCE) == decode(encode(packet), SOURCE) == packet
