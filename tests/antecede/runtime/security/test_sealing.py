"""Sealed datagrams: who reads them, how keys follow each other, and what is refused."""

from itertools import pairwise

import pytest

from antecede.core.errors import RemoteError
from antecede.runtime.security.noise import CipherName, cipher_key
from antecede.transport.seals import (
    AHEAD,
    MARKS,
    REKEY_NS,
    SEAL_BYTES,
    CipherKey,
    ReceivingKey,
    SendingKey,
    SessionKeys,
    key_id_of,
)

KEY = bytes(range(32))


def aes(key: bytes) -> CipherKey:
    return cipher_key("AESGCM", key)


def pair(rekey_after: int = 1 << 20) -> tuple[SendingKey, ReceivingKey]:
    return SendingKey(aes, KEY, 0, rekey_after), ReceivingKey(aes, KEY)


def test_what_is_sealed_is_opened_and_not_legible() -> None:
    sending, receiving = pair()
    sealed = sending.seal(1, b"header", b"a secret")
    assert len(sealed) == len(b"a secret") + SEAL_BYTES
    assert b"secret" not in sealed
    assert receiving.open(sending.mark(0), 1, b"header", sealed) == b"a secret"


def test_a_changed_header_number_body_or_mark_is_noticed() -> None:
    sending, receiving = pair()
    sealed = sending.seal(7, b"header", b"body")
    mark = sending.mark(0)
    changed = bytes([sealed[0] ^ 1]) + sealed[1:]
    for asked in (
        (mark, 8, b"header", sealed),
        (mark, 7, b"Header", sealed),
        (mark, 7, b"header", changed),
        (mark, 7, b"header", sealed[:-1]),
        (mark, 7, b"header", b""),
        (key_id_of(1), 7, b"header", sealed),
        (key_id_of(5), 7, b"header", sealed),
        (0, 7, b"header", sealed),
    ):
        with pytest.raises(RemoteError):
            receiving.open(*asked)
    assert receiving.epoch == 0
    assert receiving.open(mark, 7, b"header", sealed) == b"body"


def test_keys_follow_each_other_by_time_and_stragglers_are_read() -> None:
    sending, receiving = pair()
    sealed = []
    for number in range(1, 2 * MARKS + 10):
        mark = sending.mark(number * REKEY_NS)
        sealed.append((mark, number, b"", sending.seal(number, b"", b"%d" % number)))
    for late, early in pairwise(sealed):
        assert receiving.open(*early) == b"%d" % early[1]
        assert receiving.open(*late) == b"%d" % late[1]
    assert receiving.epoch == sending.epoch == 2 * MARKS + 9


@pytest.mark.parametrize("lost", [1, AHEAD - 1])
def test_keys_of_which_everything_was_lost_are_passed_over(lost: int) -> None:
    sending, receiving = pair()
    for number in range(1, lost + 2):
        mark = sending.mark(number * REKEY_NS)
    assert receiving.open(mark, 9, b"", sending.seal(9, b"", b"found")) == b"found"
    assert receiving.epoch == sending.epoch == lost + 1


def test_an_old_key_is_not_taken_back() -> None:
    sending, receiving = pair()
    old = (sending.mark(0), 1, b"", sending.seal(1, b"", b"old"))
    for number in (2, 3):
        mark = sending.mark(number * REKEY_NS)
        receiving.open(mark, number, b"", sending.seal(number, b"", b""))
    with pytest.raises(RemoteError):
        receiving.open(*old)


def test_keys_follow_each_other_by_count() -> None:
    sending, receiving = pair(rekey_after=3)
    marks = []
    for number in range(1, 8):
        mark = sending.mark(0)
        marks.append(mark)
        assert receiving.open(mark, number, b"", sending.seal(number, b"", b"x")) == b"x"
    assert marks == [key_id_of(epoch) for epoch in (0, 0, 0, 1, 1, 1, 2)]


@pytest.mark.parametrize("again", [7, 6, 1, 0, -1])
def test_a_number_that_is_not_above_all_before_it_is_never_sealed_with(again: int) -> None:
    """Not after a new key either: a nonce cannot be used twice, whoever asks for it."""
    sending, _ = pair(rekey_after=1)
    sending.seal(7, b"", b"first")
    for _ in range(2):
        with pytest.raises(AssertionError, match="its nonce was used"):
            sending.seal(again, b"", b"second")
        sending.mark(0)


@pytest.mark.parametrize("cipher", ["AESGCM", "ChaChaPoly"])
@pytest.mark.parametrize("size", [0, 1, 1_400, 60_000])
def test_whole_datagrams_are_sealed_and_opened(cipher: CipherName, size: int) -> None:
    def make(key: bytes) -> CipherKey:
        return cipher_key(cipher, key)

    there, back = bytes(32), bytes([1] * 32)
    ann, bob = SessionKeys(make, there, back, b"bob", 0), SessionKeys(make, back, there, b"ann", 0)
    header, body = bytes([0xA0, ann.key_id(0)]) + bytes(9), b"secret" * (size // 6)
    data = header + body
    sealed = ann.encrypt(header, body, 1)
    assert (sealed[:11], len(sealed)) == (data[:11], len(data) + SEAL_BYTES)
    assert bob.decrypt(sealed, 11, 1) == data[11:]
    for at in {1, 5, 11 % len(sealed), len(sealed) - 1}:
        changed = bytearray(sealed)
        changed[at] ^= 1
        with pytest.raises(RemoteError):
            bob.decrypt(bytes(changed), 11, 1)
