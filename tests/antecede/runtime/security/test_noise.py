"""The Noise handshake against published vectors and against an implementation of somebody else."""

import itertools
from typing import Final

import pytest

from antecede.core.errors import LocalError
from antecede.runtime.security.noise import (
    FIRST_BYTES,
    SECOND_BYTES,
    AuthenticationFailed,
    Cipher,
    CipherName,
    HashName,
    Initiator,
    PrivateKey,
    Responder,
    public_of,
)

CIPHERS: Final[tuple[CipherName, ...]] = ("AESGCM", "ChaChaPoly")
HASH_NAMES: Final[tuple[HashName, ...]] = ("BLAKE2s", "SHA256")
SUITES: Final = tuple(itertools.product(CIPHERS, HASH_NAMES, (False, True)))

ALICE: Final = bytes(range(32))
BOB: Final = bytes(range(100, 132))
PSK: Final = b"known to all members, not others"

# The values that the Noise test vectors of the "cacophony" collection share.
INITIATOR_STATIC: Final = "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1"
INITIATOR_EPHEMERAL: Final = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"
RESPONDER_STATIC: Final = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"
RESPONDER_EPHEMERAL: Final = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"
PROLOGUE: Final = bytes.fromhex("4a6f686e2047616c74")
VECTOR_PSK: Final = bytes.fromhex(
    "54686973206973206d7920417573747269616e20706572737065637469766521"
)
FIRST_PAYLOAD: Final = bytes.fromhex("4c756477696720766f6e204d69736573")
SECOND_PAYLOAD: Final = bytes.fromhex("4d757272617920526f746862617264")
THIRD_PAYLOAD: Final = bytes.fromhex("462e20412e20486179656b")

Vector = tuple[CipherName, HashName, bytes | None, str, str, str, str]

VECTORS: Final[list[Vector]] = [
    (
        "AESGCM",
        "BLAKE2s",
        None,
        "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944fc16af5edc066c93c77be147"
        "f8e6785cd6bd7b27e0f660d02a6a566ceb61b22af4d0dcc8560bce79b2a1fb55f68bc34017319936516ae9ce"
        "0862fe172c77a883f241700cb26d145dc8f8c9fe80a29008",
        "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f14480884319679a2f2fae0ee3700b9d1f"
        "532eb77fcf485567e810eaf95b2f9eeca858fe",
        "daf849a4f4bd8b0276f120b017b9dfdbc9ed667ee98316e95de1cc",
        "af51ccef548b5277ae7120c78750de6ad146ead3565b67ae43551ca4dfa962a3",
    ),
    (
        "ChaChaPoly",
        "SHA256",
        VECTOR_PSK,
        "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79442ec9b09893d0f510791784c1"
        "0cbc959f25b1766e0def6e301d14fbca1c7790ac829b8b3674f5f649a5f0e98479662cbfbf2b2c47cd4b09fc"
        "d266cd29d7cb675f1808849707847840f6d178ec4d3733aa",
        "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088439a1b3cebf680b2c74217fcb5"
        "eba4ff58a9468cd90c4aca6194f57479b379a7",
        "a8fde7a0accec190cd306c5950d4fd8e04a205ec288aa747d8b347",
        "8310f86394dc0dabb40beb8210031556db4403ab1202db7034c526232147a700",
    ),
]


def pair(
    cipher: CipherName = "AESGCM",
    hash_name: HashName = "BLAKE2s",
    psk: bytes | None = None,
    prologue: bytes = b"",
) -> tuple[Initiator, Responder]:
    alice = Initiator(
        PrivateKey(ALICE),
        public_of(BOB),
        psk=psk,
        prologue=prologue,
        cipher=cipher,
        hash_name=hash_name,
    )
    bob = Responder(PrivateKey(BOB), psk=psk, prologue=prologue, cipher=cipher, hash_name=hash_name)
    return alice, bob


@pytest.mark.parametrize(
    ("cipher", "hash_name", "psk", "first", "second", "third", "digest"), VECTORS
)
def test_published_vectors_are_reproduced(
    cipher: CipherName,
    hash_name: HashName,
    psk: bytes | None,
    first: str,
    second: str,
    third: str,
    digest: str,
) -> None:
    responder_static = bytes.fromhex(RESPONDER_STATIC)
    alice = Initiator(
        PrivateKey(bytes.fromhex(INITIATOR_STATIC)),
        public_of(responder_static),
        psk=psk,
        prologue=PROLOGUE,
        cipher=cipher,
        hash_name=hash_name,
        fresh=lambda _: bytes.fromhex(INITIATOR_EPHEMERAL),
    )
    bob = Responder(
        PrivateKey(responder_static),
        psk=psk,
        prologue=PROLOGUE,
        cipher=cipher,
        hash_name=hash_name,
        fresh=lambda _: bytes.fromhex(RESPONDER_EPHEMERAL),
    )
    assert alice.write_first(FIRST_PAYLOAD).hex() == first
    assert bob.read_first(bytes.fromhex(first)) == FIRST_PAYLOAD
    assert bob.write_second(SECOND_PAYLOAD).hex() == second
    assert alice.read_second(bytes.fromhex(second)) == SECOND_PAYLOAD
    assert alice.digest.hex() == bob.digest.hex() == digest
    assert Cipher(cipher, alice.keys()[0]).seal(0, b"", THIRD_PAYLOAD).hex() == third


@pytest.mark.parametrize(("cipher", "hash_name", "with_psk"), SUITES)
@pytest.mark.parametrize("ours_begins", [True, False])
def test_it_agrees_with_an_implementation_of_somebody_else(
    cipher: CipherName, hash_name: HashName, with_psk: bool, ours_begins: bool
) -> None:
    noise = pytest.importorskip("noise.connection", reason="the Python package noiseprotocol")
    pattern = "IKpsk2" if with_psk else "IK"
    name = f"Noise_{pattern}_25519_{cipher}_{hash_name}"
    theirs = noise.NoiseConnection.from_name(name.encode())
    if with_psk:
        theirs.set_psks(PSK)
    theirs.set_prologue(b"antecede")
    secret = BOB if ours_begins else ALICE
    theirs.set_keypair_from_private_bytes(noise.Keypair.STATIC, secret)
    psk = PSK if with_psk else None
    alice, bob = pair(cipher, hash_name, psk, b"antecede")
    if ours_begins:
        theirs.set_as_responder()
        theirs.start_handshake()
        assert theirs.read_message(alice.write_first(b"hello")) == b"hello"
        assert alice.read_second(bytes(theirs.write_message(b"welcome"))) == b"welcome"
        sending, _ = alice.keys()
    else:
        theirs.set_keypair_from_public_bytes(noise.Keypair.REMOTE_STATIC, public_of(BOB))
        theirs.set_as_initiator()
        theirs.start_handshake()
        assert bob.read_first(bytes(theirs.write_message(b"hello"))) == b"hello"
        assert bob.initiator == public_of(ALICE)
        assert theirs.read_message(bob.write_second(b"welcome")) == b"welcome"
        _, sending = bob.keys()
    assert theirs.decrypt(Cipher(cipher, sending).seal(0, b"", b"payload")) == b"payload"


def test_the_handshake_takes_96_and_48_bytes() -> None:
    alice, bob = pair()
    first = alice.write_first()
    bob.read_first(first)
    assert (len(first), FIRST_BYTES) == (96, 96)
    assert (len(bob.write_second()), SECOND_BYTES) == (48, 48)


def test_both_sides_have_the_same_keys_and_no_two_handshakes_do() -> None:
    seen = set()
    for _ in range(5):
        alice, bob = pair()
        bob.read_first(alice.write_first())
        alice.read_second(bob.write_second())
        assert alice.keys() == bob.keys()
        seen.add(alice.keys())
    assert len(seen) == 5


def test_every_changed_bit_of_a_message_is_noticed() -> None:
    alice, bob = pair()
    first = alice.write_first(b"hello")
    for index in range(0, len(first) * 8, 5):
        changed = bytearray(first)
        changed[index // 8] ^= 1 << index % 8
        with pytest.raises(AuthenticationFailed):
            Responder(PrivateKey(BOB)).read_first(bytes(changed))
    bob.read_first(first)
    second = bytearray(bob.write_second(b"welcome"))
    second[-1] ^= 1
    with pytest.raises(AuthenticationFailed):
        alice.read_second(bytes(second))


def test_a_forged_answer_does_not_keep_the_true_one_out() -> None:
    alice, bob = pair()
    bob.read_first(alice.write_first())
    true = bob.write_second(b"welcome")
    for forged in (bytes(48), bytes(range(60)), true[:-1], true + b"x"):
        with pytest.raises(AuthenticationFailed):
            alice.read_second(forged)
    assert alice.read_second(true) == b"welcome"
    assert alice.keys() == bob.keys()


@pytest.mark.parametrize("length", [0, 1, 31, 95])
def test_a_short_first_message_is_refused(length: int) -> None:
    with pytest.raises(AuthenticationFailed):
        Responder(PrivateKey(BOB)).read_first(bytes(length))


def test_who_begins_must_name_whom_it_asks() -> None:
    """A key that is missing must not be taken for one's own."""
    with pytest.raises(LocalError, match="begins a handshake"):
        Initiator(PrivateKey(ALICE), b"")
    with pytest.raises(LocalError, match="answers"):
        Responder(PrivateKey(BOB), public_of(ALICE))


def test_a_point_of_small_order_is_refused() -> None:
    with pytest.raises(AuthenticationFailed):
        Responder(PrivateKey(BOB)).read_first(bytes(32) + bytes(64))


def test_somebody_else_s_secret_cannot_answer() -> None:
    alice = Initiator(PrivateKey(ALICE), public_of(BOB))
    mallory = Responder(PrivateKey(bytes(range(50, 82))))
    with pytest.raises(AuthenticationFailed):
        mallory.read_first(alice.write_first())


def test_who_has_no_shared_key_cannot_read_the_first_message() -> None:
    first = Initiator(PrivateKey(ALICE), public_of(BOB), psk=PSK).write_first()
    with pytest.raises(AuthenticationFailed):
        Responder(PrivateKey(BOB)).read_first(first)


def test_who_has_another_shared_key_cannot_finish() -> None:
    alice = Initiator(PrivateKey(ALICE), public_of(BOB), psk=PSK)
    bob = Responder(PrivateKey(BOB), psk=PSK[::-1])
    bob.read_first(alice.write_first())
    second = bob.write_second()
    with pytest.raises(AuthenticationFailed):
        alice.read_second(second)


def test_another_prologue_is_another_handshake() -> None:
    alice = Initiator(PrivateKey(ALICE), public_of(BOB), prologue=b"to bob")
    with pytest.raises(AuthenticationFailed):
        Responder(PrivateKey(BOB), prologue=b"to carol").read_first(alice.write_first())


def test_a_replayed_first_message_never_gives_the_same_keys() -> None:
    alice = Initiator(PrivateKey(ALICE), public_of(BOB))
    first = alice.write_first()
    keys = []
    for _ in range(2):
        bob = Responder(PrivateKey(BOB))
        bob.read_first(first)
        bob.write_second()
        keys.append(bob.keys())
    assert keys[0] != keys[1]


def test_the_next_key_is_another_one_and_the_same_on_both_sides() -> None:
    alice, bob = pair()
    bob.read_first(alice.write_first())
    alice.read_second(bob.write_second())
    old = Cipher("AESGCM", alice.keys()[0])
    following = Cipher("AESGCM", old.next_key())
    again = Cipher("AESGCM", Cipher("AESGCM", bob.keys()[0]).next_key())
    assert again.open(7, b"head", following.seal(7, b"head", b"text")) == b"text"
    with pytest.raises(AuthenticationFailed):
        old.open(7, b"head", following.seal(7, b"head", b"text"))
