"""What keys cost, in processor time: sealing, opening, a handshake, and hellos that are made up.

python -m bench key-costs
"""

import os
from collections.abc import Callable
from time import process_time

from antecede.core.errors import RemoteError
from antecede.runtime.security.keys import PeerRing, SecretKey
from antecede.runtime.security.noise import CipherName, cipher_key
from antecede.runtime.security.noise_handshake import (
    CHECK_BYTES,
    PROOF_BYTES,
    NoiseCrypto,
    check_key,
    check_of,
)
from antecede.transport.seals import CipherKey, SessionKeys
from antecede.wire.frames import DATAGRAM
from antecede.wire.handshake import GREETING_SIZE, KEYED_HELLO

TIMES = 2000
SECOND_NS = 1_000_000_000
ONE, OTHER = SecretKey(bytes([1] * 32)), SecretKey(bytes([2] * 32))

CHECK_KEY = check_key(OTHER.public.raw)


def microseconds(work: Callable[[int], object]) -> float:
    """What one call takes."""
    start = process_time()
    for number in range(1, TIMES + 1):
        work(number)
    return (process_time() - start) / TIMES * 1e6


def seal_and_open(cipher: CipherName, size: int) -> tuple[float, float]:
    """Of a datagram with so many bytes."""

    def make(key: bytes) -> CipherKey:
        return cipher_key(cipher, key)

    there, back = bytes(32), bytes([1] * 32)
    sending, receiving = (
        SessionKeys(make, there, back, b"", 0),
        SessionKeys(make, back, there, b"", 0),
    )
    header = bytes([DATAGRAM, sending.key_id(0)]) + bytes(10)
    body = bytes(size - len(header))
    first = sending.encrypt(header, body, 1)
    sealing = microseconds(lambda number: sending.encrypt(header, body, 1 + number))
    opening = microseconds(lambda _: receiving.decrypt(first, len(header), 1))
    return sealing, opening


def handshake(one: NoiseCrypto, other: NoiseCrypto, number: int) -> None:
    """Hello and welcome, both sides."""
    text = number.to_bytes(4, "little").ljust(one.greeting_size(), b"x")
    (hello,) = one.encrypt_hellos("other", text, number)
    letter = other.decrypt(hello)
    assert letter is not None
    answered = one.decrypt(letter.reply(b"welcome" * 20))
    assert answered is not None
    letter.session_keys(0)
    answered.session_keys(0)


def made_up(guard: NoiseCrypto, number: int, *, knows_the_key: bool) -> None:
    """A hello of somebody without a key, the last of so many in the same second."""
    start = bytes([KEYED_HELLO, 1]) + os.urandom(GREETING_SIZE - 2 - CHECK_BYTES - PROOF_BYTES)
    check = check_of(CHECK_KEY, start)
    if not knows_the_key:
        check = bytes(CHECK_BYTES)
    envelope = start + check + bytes(PROOF_BYTES)
    try:
        if not guard.challenge(envelope, ("192.0.2.1", 9), number):
            guard.decrypt(envelope)
    except RemoteError:
        return
    assert knows_the_key, "nobody can make up a hello"


def main() -> None:
    """Print everything."""
    ciphers: tuple[CipherName, ...] = ("AESGCM", "ChaChaPoly")
    for cipher in ciphers:
        for size in (100, 1384, 60_000):
            sealing, opening = seal_and_open(cipher, size)
            print(f"{cipher:10} {size:6} B: seal {sealing:5.1f} us, open {opening:5.1f} us")
    one = NoiseCrypto(PeerRing(ONE, {"other": [OTHER.public]}))
    other = NoiseCrypto(PeerRing(OTHER, {"one": [ONE.public]}))
    both = microseconds(lambda number: handshake(one, other, number))
    print(f"handshake, both sides: {both:.0f} us")
    stranger = microseconds(lambda number: made_up(other, number, knows_the_key=False))
    print(f"a made-up hello: {stranger:.0f} us")
    few = microseconds(lambda number: made_up(other, number * SECOND_NS, knows_the_key=True))
    print(f"by somebody who knows the public key (and makes the check): {few:.0f} us")
    many = microseconds(lambda _: made_up(other, TIMES * SECOND_NS, knows_the_key=True))
    print(f"the same, when there are too many, and cookies are asked for: {many:.0f} us")


if __name__ == "__main__":
    main()
