"""The published test vectors are what nodes really send, and what they refuse."""

import json

import pytest

from antecede.core import RemoteError
from antecede.wire.varint import WireReader
from antecede_lab.wire.codec import decode
from tests.antecede.wire.vectors import FILE, PACKETS, SENDER, text


def test_the_published_vectors_are_up_to_date() -> None:
    assert FILE.read_text() == text(), f"run: python -m tests.antecede.wire.vectors > {FILE}"


def test_every_published_packet_is_decoded() -> None:
    published = json.loads(FILE.read_text())
    packets = [decode(bytes.fromhex(row["bytes"]), SENDER) for row in published["packets"]]
    assert packets == list(PACKETS)


def test_what_is_published_as_refused_is_refused() -> None:
    published = json.loads(FILE.read_text())
    for row in published["refused_packets"]:
        with pytest.raises(RemoteError):
            decode(bytes.fromhex(row["bytes"]), SENDER)
    for row in published["refused_varints"]:
        with pytest.raises(RemoteError):
            WireReader(bytes.fromhex(row["bytes"])).varint()
