"""Sealed datagrams: what two nodes that have finished a handshake say to each other.

Each direction has a key of its own. The number of a datagram is its nonce: a path never uses a
number twice, so no nonce is ever used twice with a key. Keys are replaced by their successors
(Noise: REKEY) after 2^20 datagrams or 2 minutes; a byte in the header says which key it is.
The receiver follows when a datagram under a later key proves genuine, and keeps the former one for
stragglers. Whoever steals a key cannot find those before it.

The cipher itself comes from outside, as two functions. What is here is the way of every datagram,
and compiled: it takes less time than the cipher does.
"""

from collections.abc import Callable
from typing import Final, TypeAlias, final

from librt.strings import BytesWriter, write_i64_be, write_i64_le
from mypy_extensions import i64

from antecede.core.errors import RemoteError

CipherCall: TypeAlias = Callable[[bytes, bytes | memoryview, bytes], bytes]
"""Hides data, or shows it, given a nonce and what the tag vouches for beside the data."""

KEY_BYTES: Final = 32
TAG_BYTES: Final = 16

REKEY_DATAGRAMS: Final = 1 << 20
"""At most 2^20 datagrams under one key; AES-GCM would be safe for a thousand times as many."""

REKEY_NS: Final = 120_000_000_000
"""One key is used for 2 minutes at most, if anything is sent."""

MARKS: Final = 255
"""Keys are marked 1 to 255 in turn; 0 marks a datagram that is not sealed."""

AHEAD: Final = 8
"""The receiver looks 8 keys ahead: all datagrams under some keys may have been lost."""

SEAL_BYTES: Final = TAG_BYTES
"""What sealing adds to a datagram."""

COPIED_MAX: Final = 8192
"""Up to 8 KiB it is cheaper to copy bytes than to make a view of them."""

NOT_GENUINE: Final = "not made by whom it claims to be from"


def key_id_of(epoch: i64) -> i64:
    """The byte in the header that stands for the key of this epoch."""
    return 1 + epoch % MARKS


@final
class CipherKey:
    """One key of one cipher; a nonce is a number, and must never be used twice with it."""

    __slots__ = ("_big_endian", "_decrypt", "_encrypt", "_failure", "_nonce")

    def __init__(
        self,
        encrypt: CipherCall,
        decrypt: CipherCall,
        failure: type[Exception],
        big_endian: bool,
    ) -> None:
        self._encrypt: Final = encrypt
        self._decrypt: Final = decrypt
        # What `decrypt` raises if anything was changed.
        self._failure: Final = failure
        # How the cipher wants the number in its nonce, after four zeros.
        self._big_endian: Final = big_endian
        self._nonce: Final = BytesWriter()
        self._nonce.write(bytes(4))

    def seal(self, number: i64, associated: bytes, plain: bytes) -> bytes:
        """`plain`, hidden, with a tag that also vouches for `associated`."""
        return self._encrypt(self._nonce_of(number), plain, associated)

    def open(self, number: i64, associated: bytes, sealed: bytes | memoryview) -> bytes:
        """What was sealed under this number; `RemoteError` if it was not."""
        try:
            return self._decrypt(self._nonce_of(number), sealed, associated)
        except self._failure:
            raise RemoteError(NOT_GENUINE) from None

    def next_key(self) -> bytes:
        """The key that follows this one (Noise: REKEY); from it, this one cannot be found."""
        # Noise keeps the highest nonce, all bits set, for this.
        return self.seal(-1, b"", bytes(KEY_BYTES))[:KEY_BYTES]

    def _nonce_of(self, number: i64) -> bytes:
        nonce = self._nonce
        nonce.truncate(4)
        if self._big_endian:
            write_i64_be(nonce, number)
        else:
            write_i64_le(nonce, number)
        return nonce.getvalue()


MakeKey: TypeAlias = Callable[[bytes], CipherKey]


@final
class SendingKey:
    """The key that our datagrams to one peer are sealed with."""

    __slots__ = ("_cipher", "_last", "_make", "_rekey_after", "_since_ns", "_used", "epoch")

    def __init__(
        self, make: MakeKey, key: bytes, now_ns: i64, rekey_after: int = REKEY_DATAGRAMS
    ) -> None:
        self._make: Final = make
        self._rekey_after: Final[i64] = rekey_after
        self._cipher = make(key)
        self._since_ns: i64 = now_ns
        self._used: i64 = 0
        self._last: i64 = 0
        self.epoch: i64 = 0

    def mark(self, now_ns: i64) -> i64:
        """Which key the next datagram is sealed with; a new one if it is time."""
        if self._used >= self._rekey_after or now_ns - self._since_ns >= REKEY_NS:
            self._cipher = self._make(self._cipher.next_key())
            self._since_ns = now_ns
            self._used = 0
            self.epoch += 1
        return key_id_of(self.epoch)

    def seal(self, number: i64, header: bytes, body: bytes) -> bytes:
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

    __slots__ = ("_coming", "_former", "_make", "epoch")

    def __init__(self, make: MakeKey, key: bytes) -> None:
        self._make: Final = make
        self._former: CipherKey | None = None
        # The current key, then those that follow it, as far as they were needed.
        self._coming: list[CipherKey] = [make(key)]
        self.epoch: i64 = 0

    def open(self, mark: i64, number: i64, header: bytes, sealed: bytes | memoryview) -> bytes:
        """The body, or `RemoteError`; after a failure nothing has changed."""
        ahead = (mark - key_id_of(self.epoch)) % MARKS
        if mark == 0 or (ahead > AHEAD and ahead != MARKS - 1):
            raise RemoteError(f"sealed with key {mark}, which is not in use")
        if ahead == MARKS - 1:
            if self._former is None:
                raise RemoteError(f"sealed with key {mark}, which is not in use")
            return self._former.open(number, header, sealed)
        body = self._key(ahead).open(number, header, sealed)
        if ahead > 0:
            self._advance(ahead)
        return body

    def _key(self, ahead: i64) -> CipherKey:
        while len(self._coming) <= ahead:
            self._coming.append(self._make(self._coming[-1].next_key()))
        return self._coming[ahead]

    def _advance(self, ahead: i64) -> None:
        self._former = self._coming[ahead - 1]
        del self._coming[:ahead]
        self.epoch += ahead


@final
class SessionKeys:
    """The keys of one session, one for each direction: those of one handshake, used once."""

    __slots__ = ("_receiving", "_sending", "peer_key")

    def __init__(
        self, make: MakeKey, sending: bytes, receiving: bytes, peer: bytes, now_ns: i64
    ) -> None:
        self._sending: Final = SendingKey(make, sending, now_ns)
        self._receiving: Final = ReceivingKey(make, receiving)
        # The public key that the other side has proved to have.
        self.peer_key: Final = peer

    def key_id(self, now_ns: i64) -> i64:
        """Which key the next datagram is sealed with; never `NO_KEY`."""
        return self._sending.mark(now_ns)

    def encrypt(self, header: bytes, body: bytes, number: i64) -> bytes:
        """Datagram `number`, its body hidden and all of it vouched for.

        Numbers only grow, or it raises.
        """
        return header + self._sending.seal(number, header, body)

    def decrypt(self, data: bytes, body_at: i64, number: i64) -> bytes:
        """The body of a datagram; `RemoteError` if anything was changed, and nothing happened."""
        mark: i64 = data[1]
        return self._receiving.open(mark, number, data[:body_at], rest_of(data, body_at))


def rest_of(data: bytes, start: i64) -> bytes | memoryview:
    """The bytes from `start` on."""
    if len(data) <= COPIED_MAX:
        return data[start:]
    return memoryview(data)[start:]
