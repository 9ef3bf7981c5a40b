"""Sealed datagrams: what two nodes that have finished a handshake say to each other.

Each direction has a key of its own. The number of a datagram is its nonce: a path never uses a
number twice, so no nonce is ever used twice with a key. Keys are replaced by their successors
(Noise: REKEY) after so many datagrams and after so long; a byte in the header says which key it is.
The receiver follows when a datagram under a later key proves genuine, and keeps the former one for
stragglers. Whoever steals a key cannot find those before it.
"""

from typing import Final, final

from antecede.live.security.primitives import (
    TAG_BYTES,
    AuthenticationFailed,
    Cipher,
    CipherName,
)

REKEY_DATAGRAMS: Final = 1 << 20
"""Datagrams under one key; AES-GCM would be safe for a thousand times as many."""

REKEY_NS: Final = 120_000_000_000
"""How long one key is used, if anything is sent."""

MARKS: Final = 255
"""Keys are marked 1 to 255 in turn; 0 marks a datagram that is not sealed."""

AHEAD: Final = 8
"""So many keys ahead the receiver looks: all datagrams under some keys may have been lost."""

SEAL_BYTES: Final = TAG_BYTES
"""What sealing adds to a datagram."""


def mark_of(epoch: int) -> int:
    """The byte in the header that stands for the key of this epoch."""
    return 1 + epoch % MARKS


@final
class SendingKey:
    """The key that our datagrams to one peer are sealed with."""

    __slots__ = ("_cipher", "_cipher_name", "_last", "_since_ns", "_used", "epoch")

    def __init__(self, cipher: CipherName, key: bytes, now_ns: int) -> None:
        self._cipher_name: Final = cipher
        self._cipher = Cipher(cipher, key)
        self._since_ns = now_ns
        self._used = 0
        self._last = 0
        self.epoch = 0

    def mark(self, now_ns: int) -> int:
        """Which key the next datagram is sealed with; a new one if it is time."""
        if self._used >= REKEY_DATAGRAMS or now_ns - self._since_ns >= REKEY_NS:
            self._cipher = Cipher(self._cipher_name, self._cipher.next_key())
            self._since_ns = now_ns
            self._used = 0
            self.epoch += 1
        return mark_of(self.epoch)

    def seal(self, number: int, header: bytes, body: bytes) -> bytes:
        """The body, hidden; the tag vouches for the header too.

        A number that is not above all before it is our own mistake, and the end: two datagrams with
        one nonce would give away both, and the key that makes tags.
        """
        if number <= self._last:
            raise AssertionError(f"datagram {number} after {self._last}: its nonce was used")
        self._last = number
        self._used += 1
        return self._cipher.seal(number, header, body)


@final
class ReceivingKey:
    """The key of what one peer sends us: the current one, the one before, and those to come."""

    __slots__ = ("_cipher_name", "_coming", "_former", "epoch")

    def __init__(self, cipher: CipherName, key: bytes) -> None:
        self._cipher_name: Final = cipher
        self._former: Cipher | None = None
        # The current key, then those that follow it, as far as they were needed.
        self._coming: list[Cipher] = [Cipher(cipher, key)]
        self.epoch = 0

    def open(self, mark: int, number: int, header: bytes, sealed: bytes) -> bytes:
        """The body, or `AuthenticationFailed`; after a failure nothing has changed."""
        ahead = (mark - mark_of(self.epoch)) % MARKS
        if mark == 0 or (ahead > AHEAD and ahead != MARKS - 1):
            raise AuthenticationFailed(f"sealed with key {mark}, which is not in use")
        if ahead == MARKS - 1:
            if self._former is None:
                raise AuthenticationFailed(f"sealed with key {mark}, which is not in use")
            return self._former.open(number, header, sealed)
        body = self._key(ahead).open(number, header, sealed)
        if ahead > 0:
            self._advance(ahead)
        return body

    def _key(self, ahead: int) -> Cipher:
        while len(self._coming) <= ahead:
            self._coming.append(Cipher(self._cipher_name, self._coming[-1].next_key()))
        return self._coming[ahead]

    def _advance(self, ahead: int) -> None:
        self._former = self._coming[ahead - 1]
        del self._coming[:ahead]
        self.epoch += ahead
