"""A long fuzz of `decode`: real packets, damaged in many ways, from one fixed seed."""

from random import Random

import pytest

from antecede.core import Packet, RemoteError
from antecede_lab.wire import decode, encode
from antecede_lab.wire.codec import PACKET_KINDS
from tests.antecede_lab.wire.packet_strategies import SOURCE, sample_packets
from tests.seeds import seeds

ROUNDS = 400_000
NORMAL_ROUNDS = 20_000
CORPUS_LIMIT = 4_000


def damaged(data: bytes, other: bytes, random: Random) -> bytes:
    """`data` with a piece changed, cut out, inserted, repeated or taken from `other`."""
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.randrange(4))
    choice = random.randrange(6)
    if choice == 0:
        return data[:start] + random.randbytes(end - start) + data[end:]
    if choice == 1:
        return data[:start] + data[end:]
    if choice == 2:
        return data[:start] + random.randbytes(1 + random.randrange(3)) + data[start:]
    if choice == 3:
        return data[:end] + data[start:]
    if choice == 4:
        return data[:start] + other[start:]
    kind = random.choice(PACKET_KINDS)
    return bytes([kind.number]) + data[1:]


def fuzz(rounds: int, seed: int) -> tuple[int, int]:
    """Decode damaged packets, keeping what was understood; how many were, and were not."""
    random = Random(seed)
    corpus = [encode(packet) for packet in sample_packets()]
    understood = refused = 0
    for _ in range(rounds):
        data = damaged(random.choice(corpus), random.choice(corpus), random)
        try:
            packet: Packet = decode(data, SOURCE)
        except RemoteError:
            refused += 1
            continue
        assert encode(packet) == data, data.hex()
        understood += 1
        if len(data) < 200 and len(corpus) < CORPUS_LIMIT:
            corpus.append(data)
    return understood, refused


def test_damaged_packets_are_refused_or_canonical() -> None:
    rounds = len(seeds(NORMAL_ROUNDS))
    understood, refused = fuzz(rounds, seed=1)

    assert understood + refused == rounds
    assert min(understood, refused) > rounds // 20, "the damage is too mild or too strong"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 7))
def test_many_damaged_packets_are_refused_or_canonical(seed: int) -> None:
    understood, refused = fuzz(ROUNDS, seed)

    assert min(understood, refused) > ROUNDS // 20, "the damage is too mild or too strong"
