"""The Noise handshake IK: two messages, after which both sides know each other and share keys.

The initiator knows the responder's public key beforehand and proves its own inside the first
message; the responder answers with the second. Tokens, as in the Noise specification (revision 34):

    <- s                      known beforehand
    -> e, es, s, ss           96 bytes and a payload
    <- e, ee, se [, psk]      48 bytes and a payload

With a pre-shared key the pattern is IKpsk2. Fresh ephemeral keys give forward secrecy: whoever
steals a secret key later cannot read what was recorded before. Whoever knows the *responder's*
secret key can replay a first message, but not finish the handshake: nothing in a first message may
be acted upon but by answering it.

The primitives are all somebody else's: X25519, AES-256-GCM and ChaCha20-Poly1305 come from
`cryptography`; hashes and HMAC from the standard library. This is the only module that imports
`cryptography`, and only when it is used.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import ClassVar, Final, Literal, TypeAlias, final

from antecede.core.errors import LocalError, RemoteError
from antecede.runtime.errors import MissingExtra
from antecede.transport.seals import KEY_BYTES, NOT_GENUINE, TAG_BYTES, CipherKey

CipherName: TypeAlias = Literal["AESGCM", "ChaChaPoly"]
HashName: TypeAlias = Literal["BLAKE2s", "SHA256"]

HASH_BYTES: Final = 32

Fresh: TypeAlias = Callable[[int], bytes]
"""A number of random bytes (`secrets.token_bytes`). Only simulations and published test vectors may
pass anything else, because they need the same bytes every time."""


class AuthenticationFailed(RemoteError):  # noqa: N818 - said of what happened, as the others are
    """These bytes were not made by the peer that they claim to be from, or are a replay."""


class Cipher:
    """One key of one cipher, as a handshake uses it."""

    __slots__ = ("_key",)

    def __init__(self, name: CipherName, key: bytes) -> None:
        self._key = cipher_key(name, key)

    def seal(self, number: int, associated: bytes, plain: bytes) -> bytes:
        """`plain`, encrypted, with a tag that also authenticates `associated`."""
        return self._key.seal(number, associated, plain)

    def open(self, number: int, associated: bytes, sealed: bytes) -> bytes:
        """The plain text that was sealed under this number, or `AuthenticationFailed`."""
        try:
            return self._key.open(number, associated, sealed)
        except RemoteError as error:
            raise AuthenticationFailed(str(error)) from None

    def next_key(self) -> bytes:
        """The key that follows this one (Noise: REKEY); from it, this one cannot be found."""
        return self._key.next_key()


def cipher_key(name: CipherName, key: bytes) -> CipherKey:
    """A key of a cipher that `cryptography` has."""
    ensure_cryptography()
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

    aead = AESGCM(key) if name == "AESGCM" else ChaCha20Poly1305(key)
    return CipherKey(aead.encrypt, aead.decrypt, InvalidTag, name == "AESGCM")


HASHES: Final[dict[HashName, Callable[[bytes], bytes]]] = {
    "BLAKE2s": lambda data: hashlib.blake2s(data).digest(),
    "SHA256": lambda data: hashlib.sha256(data).digest(),
}


def keyed_hash(name: HashName, key: bytes, data: bytes) -> bytes:
    """HMAC with this hash."""
    return hmac.digest(key, data, name.lower())


def derive(name: HashName, chaining_key: bytes, material: bytes, count: int) -> list[bytes]:
    """`count` independent keys from old and new key material (Noise: HKDF)."""
    secret = keyed_hash(name, chaining_key, material)
    keys: list[bytes] = []
    last = b""
    for number in range(1, count + 1):
        last = keyed_hash(name, secret, last + bytes([number]))
        keys.append(last)
    return keys


class PrivateKey:
    """An X25519 key, loaded once: loading takes as long as a key agreement does."""

    __slots__ = ("_key", "public")

    def __init__(self, secret: bytes) -> None:
        ensure_cryptography()
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self._key = X25519PrivateKey.from_private_bytes(secret)
        self.public: Final = self._key.public_key().public_bytes_raw()

    def agree(self, public: bytes) -> bytes:
        """What the owners of both keys, and nobody else, can compute; refuses degenerate keys."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:  # A point of small order: the result would be known to everybody.
            raise AuthenticationFailed(NOT_GENUINE) from None


def public_of(secret: bytes) -> bytes:
    """The public half of an X25519 key."""
    return PrivateKey(secret).public


def ensure_cryptography() -> None:
    """`MissingExtra` if `cryptography` is not installed."""
    try:
        import cryptography  # noqa: F401 - only whether it is there
    except ModuleNotFoundError:
        raise MissingExtra("cryptography") from None


FIRST_BYTES: Final = KEY_BYTES + KEY_BYTES + TAG_BYTES + TAG_BYTES
"""What the first message takes beside its payload: 96."""

SECOND_BYTES: Final = KEY_BYTES + TAG_BYTES
"""What the second message takes beside its payload: 48."""


@final
class SymmetricState:
    """The transcript so far, and the keys that follow from it (Noise: SymmetricState)."""

    __slots__ = ("_chaining_key", "_cipher", "_cipher_name", "_hash_name", "_number", "digest")

    def __init__(self, protocol: str, cipher: CipherName, hash_name: HashName) -> None:
        name = protocol.encode()
        self._cipher_name: Final[CipherName] = cipher
        self._hash_name: Final[HashName] = hash_name
        short = len(name) <= HASH_BYTES
        self.digest = name.ljust(HASH_BYTES, b"\0") if short else HASHES[hash_name](name)
        self._chaining_key = self.digest
        self._cipher: Cipher | None = None
        self._number = 0

    def add(self, data: bytes) -> None:
        """Add to the transcript what both sides have seen (Noise: MixHash)."""
        self.digest = HASHES[self._hash_name](self.digest + data)

    def mix_key(self, material: bytes) -> None:
        """Mix a shared secret into the keys (Noise: MixKey)."""
        self._chaining_key, key = derive(self._hash_name, self._chaining_key, material, 2)
        self._use(key)

    def mix_key_and_add(self, material: bytes) -> None:
        """The same for a pre-shared key (Noise: MixKeyAndHash)."""
        chaining_key, shown, key = derive(self._hash_name, self._chaining_key, material, 3)
        self._chaining_key = chaining_key
        self.add(shown)
        self._use(key)

    def _use(self, key: bytes) -> None:
        self._cipher = Cipher(self._cipher_name, key)
        self._number = 0

    def seal(self, plain: bytes) -> bytes:
        """Encrypt `plain`, and add that to the transcript (Noise: EncryptAndHash)."""
        assert self._cipher is not None, "every pattern here agrees on a key before it encrypts"
        sealed = self._cipher.seal(self._number, self.digest, plain)
        self._number += 1
        self.add(sealed)
        return sealed

    def open(self, sealed: bytes) -> bytes:
        """The inverse of `seal` (Noise: DecryptAndHash)."""
        assert self._cipher is not None, "every pattern here agrees on a key before it encrypts"
        plain = self._cipher.open(self._number, self.digest, sealed)
        self._number += 1
        self.add(sealed)
        return plain

    def copy(self) -> "SymmetricState":
        """An independent copy."""
        twin = SymmetricState("", self._cipher_name, self._hash_name)
        twin.digest = self.digest
        twin._chaining_key = self._chaining_key
        twin._cipher = self._cipher
        twin._number = self._number
        return twin

    def split(self) -> tuple[bytes, bytes]:
        """A key for each direction, the initiator's first (Noise: Split)."""
        first, second = derive(self._hash_name, self._chaining_key, b"", 2)
        return first, second


class HandshakeState:
    """What both sides of a handshake have: their keys, the transcript, and how it ends."""

    ANSWERS: ClassVar[bool]
    """Whether this side is the responder, whose public key both sides know beforehand."""

    def __init__(
        self,
        secret: PrivateKey,
        responder: bytes = b"",
        *,
        psk: bytes | None = None,
        prologue: bytes = b"",
        cipher: CipherName = "AESGCM",
        hash_name: HashName = "BLAKE2s",
        fresh: Fresh = secrets.token_bytes,
    ) -> None:
        if bool(responder) is self.ANSWERS:
            raise LocalError(
                "who begins a handshake names the other's key, who answers has its own"
            )
        pattern = "IK" if psk is None else "IKpsk2"
        protocol = f"Noise_{pattern}_25519_{cipher}_{hash_name}"
        self.responder: Final = responder or secret.public
        """The public key of the responder."""
        self._secret: Final = secret
        self._psk: Final = psk
        self._fresh: Final = fresh
        self._ephemeral: PrivateKey | None = None
        self._transcript = SymmetricState(protocol, cipher, hash_name)
        self._transcript.add(prologue)
        self._transcript.add(self.responder)

    def _show_ephemeral(self) -> bytes:
        # Only now: most of those who are asked to answer a stranger never come so far.
        key = PrivateKey(self._fresh(KEY_BYTES))
        self._ephemeral = key
        self._take_ephemeral(key.public)
        return key.public

    def _agree_ephemeral(self, public: bytes) -> bytes:
        assert self._ephemeral is not None, "it was shown before"
        return self._ephemeral.agree(public)

    def _take_ephemeral(self, public: bytes) -> None:
        self._transcript.add(public)
        if self._psk is not None:
            self._transcript.mix_key(public)

    def _mix_psk(self) -> None:
        if self._psk is not None:
            self._transcript.mix_key_and_add(self._psk)

    @property
    def digest(self) -> bytes:
        """Identifies this handshake: equal on both sides, and unique (Noise: handshake hash)."""
        return self._transcript.digest

    def keys(self) -> tuple[bytes, bytes]:
        """Once both messages have passed: the initiator's sending key, and the responder's."""
        return self._transcript.split()


@final
class Initiator(HandshakeState):
    """The initiator: `write_first`, then `read_second`."""

    ANSWERS = False

    def write_first(self, payload: bytes = b"") -> bytes:
        """The first message: e, es, s, ss."""
        shown = self._show_ephemeral()
        self._transcript.mix_key(self._agree_ephemeral(self.responder))
        hidden = self._transcript.seal(self._secret.public)
        self._transcript.mix_key(self._secret.agree(self.responder))
        return shown + hidden + self._transcript.seal(payload)

    def read_second(self, second: bytes) -> bytes:
        """Takes the second message; its payload, or `AuthenticationFailed`.

        After a failure nothing has changed: a forged answer does not keep the true one out.
        """
        if len(second) < SECOND_BYTES:
            raise AuthenticationFailed("too short for a handshake")
        before = self._transcript.copy()
        try:
            return self._open_second(second)
        except AuthenticationFailed:
            self._transcript = before
            raise

    def _open_second(self, second: bytes) -> bytes:
        theirs = second[:KEY_BYTES]
        self._take_ephemeral(theirs)
        self._transcript.mix_key(self._agree_ephemeral(theirs))
        self._transcript.mix_key(self._secret.agree(theirs))
        self._mix_psk()
        return self._transcript.open(second[KEY_BYTES:])


@final
class Responder(HandshakeState):
    """The responder: `read_first`, then `write_second`."""

    ANSWERS = True
    _theirs = b""
    initiator = b""

    def read_first(self, first: bytes) -> bytes:
        """Takes the first message; its payload, or `AuthenticationFailed`.

        Afterwards `initiator` is the public key that the other side has proved to have.
        """
        if len(first) < FIRST_BYTES:
            raise AuthenticationFailed("too short for a handshake")
        self._theirs = first[:KEY_BYTES]
        self._take_ephemeral(self._theirs)
        self._transcript.mix_key(self._secret.agree(self._theirs))
        hidden_end = KEY_BYTES + KEY_BYTES + TAG_BYTES
        self.initiator = self._transcript.open(first[KEY_BYTES:hidden_end])
        self._transcript.mix_key(self._secret.agree(self.initiator))
        return self._transcript.open(first[hidden_end:])

    def write_second(self, payload: bytes = b"") -> bytes:
        """The second message: e, ee, se, and the pre-shared key if there is one."""
        shown = self._show_ephemeral()
        self._transcript.mix_key(self._agree_ephemeral(self._theirs))
        self._transcript.mix_key(self._agree_ephemeral(self.initiator))
        self._mix_psk()
        return shown + self._transcript.seal(payload)
