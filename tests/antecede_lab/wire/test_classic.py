"""Matrices, vectors and logs on the wire: what they cost, and what has no form."""

import pytest

from antecede.core import LocalError, Message, Packet, RemoteError
from antecede.wire.varint import WireReader
from antecede_lab.protocols.bss import BssPacket
from antecede_lab.protocols.ks import KsPacket
from antecede_lab.protocols.ks_log import Sends
from antecede_lab.protocols.prs import PrsPacket
from antecede_lab.protocols.rst import RstPacket
from antecede_lab.protocols.ses import SesPacket
from antecede_lab.protocols.vectors import EMPTY, Vector
from antecede_lab.wire import decode, encode, metadata_size
from antecede_lab.wire.forms import encoded_vector, read_sends, read_vector

MESSAGE = Message(7, 5, b"payload")
ROW = Vector({1: 1})


# What it costs.


def test_a_full_vector_costs_a_byte_for_each_process_and_three_more() -> None:
    assert len(encoded_vector(Vector(dict.fromkeys(range(100), 9)))) == 100 + 3


def test_a_sparse_vector_costs_two_bytes_for_each_entry_and_one_more() -> None:
    assert len(encoded_vector(Vector(dict.fromkeys(range(0, 1000, 50), 9)))) == 2 * 20 + 1


def test_a_full_matrix_stops_fitting_a_datagram_at_about_250_processes() -> None:
    sizes = {n: metadata_size(RstPacket(MESSAGE, (1,), n, full_matrix(n))) for n in (252, 253)}

    assert sizes[252] <= 65_507 < sizes[253]


def full_matrix(size: int) -> dict[int, Vector]:
    return {me: Vector({other: 100 for other in range(size) if other != me}) for me in range(size)}


def test_two_packets_that_share_rows_have_the_same_bytes_as_two_that_do_not() -> None:
    row, sends = Vector({1: 3, 2: 4, 9: 1}), Sends({4: frozenset({1, 3})})
    for shared, alone in (
        (
            RstPacket(MESSAGE, (1,), 10, {3: row, 4: row}),
            RstPacket(MESSAGE, (1,), 10, {3: Vector(row.counts), 4: Vector(row.counts)}),
        ),
        (
            KsPacket(MESSAGE, (1,), {2: sends, 5: sends}),
            KsPacket(MESSAGE, (1,), {2: Sends(sends.entries), 5: Sends(sends.entries)}),
        ),
    ):
        assert encode(shared) == encode(shared) == encode(alone)


# What has no form.

WITHOUT_FORM: dict[str, Packet] = {
    "no targets": RstPacket(MESSAGE, (), 3, {}),
    "targets out of order": KsPacket(MESSAGE, (2, 1), {}),
    "a target twice": PrsPacket(MESSAGE, (1, 1), {}),
    "a negative target": KsPacket(MESSAGE, (-1,), {}),
    "a target id that is too high": KsPacket(MESSAGE, (1 << 31,), {}),
    "message number zero": KsPacket(Message(7, 0, b""), (1,), {}),
    "no processes": RstPacket(MESSAGE, (1,), 0, {}),
    "an empty row": RstPacket(MESSAGE, (1,), 3, {2: EMPTY}),
    "a row with a zero": RstPacket(MESSAGE, (1,), 3, {2: Vector({1: 0})}),
    "a row with a negative count": RstPacket(MESSAGE, (1,), 3, {2: Vector({1: -1})}),
    "a count that is too high": RstPacket(MESSAGE, (1,), 3, {2: Vector({1: 1 << 70})}),
    "a row of a negative id": PrsPacket(MESSAGE, (1,), {-1: ROW}),
    "a row of an id that is too high": PrsPacket(MESSAGE, (1,), {1 << 31: ROW}),
    "a negative id in a row": PrsPacket(MESSAGE, (1,), {1: Vector({-1: 1})}),
    "an id in a row that is too high": PrsPacket(MESSAGE, (1,), {1: Vector({1 << 31: 1})}),
    "a vector time that does not count the message": SesPacket(MESSAGE, (1,), 9, ROW, {}),
    "a vector time that counts another": BssPacket(MESSAGE, 9, Vector({7: 4})),
    "a sender without sends": KsPacket(MESSAGE, (1,), {2: Sends({})}),
    "sends out of order": KsPacket(
        MESSAGE, (1,), {2: Sends({5: frozenset({1}), 4: frozenset({1})})}
    ),
    "a send number zero": KsPacket(MESSAGE, (1,), {2: Sends({0: frozenset({1})})}),
    "a send number that is too high": KsPacket(MESSAGE, (1,), {2: Sends({1 << 70: frozenset()})}),
}


@pytest.mark.parametrize("name", WITHOUT_FORM)
def test_what_no_peer_would_understand_cannot_be_encoded(name: str) -> None:
    with pytest.raises(LocalError):
        encode(WITHOUT_FORM[name])


HIGHEST = bytes([0xFE, 0xFF, 0xFF, 0xFF, 0x0F])
"""2**32 - 2: an isolated entry whose id is 2**31 - 1."""

BAD_VECTORS = {
    "no runs": b"\x00",
    "fewer runs than announced": b"\x02\x00\x01",
    "a count of zero": b"\x01\x00\x00",
    "an id that is too high": b"\x01" + bytes([0x80, 0x80, 0x80, 0x80, 0x10]) + b"\x01",
    "a run that ends too high": b"\x01" + bytes([0xFF, 0xFF, 0xFF, 0xFF, 0x0F]) + b"\x00\x01\x01",
    "a run longer than the packet": b"\x01\x01\x7f\x01\x01",
    "a distance of nearly 2**62": b"\x02" + HIGHEST + b"\x01" + b"\xfe" + b"\xff" * 7 + b"\x3f\x01",
}


@pytest.mark.parametrize("name", BAD_VECTORS)
def test_a_vector_that_nobody_writes_is_refused(name: str) -> None:
    with pytest.raises(RemoteError):
        read_vector(WireReader(BAD_VECTORS[name]))


def test_the_highest_id_is_understood() -> None:
    vector = Vector({(1 << 31) - 1: 1})

    assert encoded_vector(vector) == b"\x01" + HIGHEST + b"\x01"
    assert read_vector(WireReader(encoded_vector(vector))) == vector


def test_sends_that_nobody_writes_are_refused() -> None:
    for data in (b"\x00", b"\x01", b"\x01\x00\x02\x01", b"\x02" + (b"\xff" * 8 + b"\x3f\x00") * 2):
        with pytest.raises(RemoteError):
            read_sends(WireReader(data))


@pytest.mark.parametrize("kind", [19, 20])
def test_a_vector_time_must_count_the_message_of_its_source(kind: int) -> None:
    targets = b"\x01\x01" if kind == 19 else b""
    body = b"\x09" + targets + b"\x01\x0a\x01" + (b"\x00" if kind == 19 else b"")
    data = bytes([kind, len(body)]) + body

    assert decode(data, 5).message == Message(5, 1, b"")
    with pytest.raises(RemoteError):
        decode(data, 6)


def test_a_target_id_of_2_to_the_31_is_refused() -> None:
    highest = encode(KsPacket(MESSAGE, ((1 << 31) - 1,), {}))
    too_high = highest.replace(b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x08")

    assert len(highest) == len(too_high)
    assert decode(highest, 7) == KsPacket(MESSAGE, ((1 << 31) - 1,), {})
    with pytest.raises(RemoteError):
        decode(too_high, 7)
