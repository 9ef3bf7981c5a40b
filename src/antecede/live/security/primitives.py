"""The cryptographic primitives that the handshake is made of, all of them somebody else's.

X25519, AES-256-GCM and ChaCha20-Poly1305 come from `cryptography`; hashes and HMAC from the
standard library. This is the only module that imports `cryptography`, and only when it is used.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from antecede.core.errors import LocalError, RemoteError
from antecede.link.sealing import NOT_GENUINE, CipherKey

CipherName: TypeAlias = Literal["AESGCM", "ChaChaPoly"]
HashName: TypeAlias = Literal["BLAKE2s", "SHA256"]

HASH_BYTES: Final = 32

Fresh: TypeAlias = Callable[[int], bytes]
"""So many bytes that nobody can guess (`secrets.token_bytes`). Simulations and published vectors
need the same ones every time; everybody else must not give any."""


class AuthenticationFailed(RemoteError):  # noqa: N818 - said of what happened, as the others are
    """Bytes that whoever they claim to be from did not make, or did not make now."""


class Cipher:
    """One key of one cipher, as a handshake uses it."""

    __slots__ = ("_key",)

    def __init__(self, name: CipherName, key: bytes) -> None:
        self._key = cipher_key(name, key)

    def seal(self, number: int, associated: bytes, plain: bytes) -> bytes:
        """`plain`, hidden, with a tag that also vouches for `associated`."""
        return self._key.seal(number, associated, plain)

    def open(self, number: int, associated: bytes, sealed: bytes) -> bytes:
        """What was sealed under this number, or `AuthenticationFailed`."""
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
    """An X25519 key, made ready once: that takes as long as agreeing with it does."""

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
    """Say in one sentence what to install, if it is missing."""
    try:
        import cryptography  # noqa: F401 - only whether it is there
    except ModuleNotFoundError:
        raise LocalError(
            "keys need the package cryptography; install it with: pip install 'antecede[secure]'"
        ) from None
