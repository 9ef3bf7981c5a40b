"""Who may cost a node a key agreement: everybody while there are few hellos, then only those who
have shown that they receive at the address they write from.

A cookie is a keyed hash of an address. It is sent there, and whoever puts its proof into a hello
has got it. Nothing is remembered of those who were sent one. A host that has shown its address
still gets only its share: budgets are kept for groups of hosts, so their number is fixed.
"""

import secrets
from hashlib import blake2s
from hmac import compare_digest
from typing import Final, final

from antecede.live.security.primitives import Fresh

COOKIE_BYTES: Final = 16
PROOF_BYTES: Final = 16
NO_PROOF: Final = bytes(PROOF_BYTES)

COOKIE_NS: Final = 120_000_000_000
"""After so long cookies are made with another secret; those before are taken for as long again."""

SECRET_BYTES: Final = 32

ANYBODY_PER_SECOND: Final = 500
"""Hellos a second that are opened whoever sends them: some 5 % of a processor."""

PROVEN_PER_SECOND: Final = 1_000
HOST_PER_SECOND: Final = 500
"""Hellos a second that are opened, beyond those, with a proof: in all, and of one host."""

HOST_GROUPS: Final = 256
"""Hosts share so many budgets; which ones share is nobody's business but ours."""


@final
class Budget:
    """So many a second, and as many at once after a second without any."""

    __slots__ = ("_left", "_per_second", "_since_ns")

    def __init__(self, per_second: int) -> None:
        self._per_second: Final = per_second
        self._left = per_second
        self._since_ns = 0

    def take(self, now_ns: int) -> bool:
        """Whether another one is within it; if so, it is one less."""
        earned = (now_ns - self._since_ns) * self._per_second // 1_000_000_000
        if earned > 0:
            self._left = min(self._per_second, self._left + earned)
            self._since_ns = now_ns
        if self._left == 0:
            return False
        self._left -= 1
        return True


@final
class Cookies:
    """The cookies that one node gives out, and how many hellos it opens."""

    def __init__(self, fresh: Fresh = secrets.token_bytes) -> None:
        self._fresh: Final = fresh
        self._secret = fresh(SECRET_BYTES)
        self._former = fresh(SECRET_BYTES)
        self._since_ns = 0
        self._anybody: Final = Budget(ANYBODY_PER_SECOND)
        self._proven: Final = Budget(PROVEN_PER_SECOND)
        self._hosts: Final = [Budget(HOST_PER_SECOND) for _ in range(HOST_GROUPS)]

    def are_needed(self, now_ns: int) -> bool:
        """Whether there have been so many hellos that another one has to bring a proof."""
        return not self._anybody.take(now_ns)

    def cookie_for(self, address: object, now_ns: int) -> bytes:
        """What only who receives at this address gets to know."""
        if now_ns - self._since_ns >= COOKIE_NS:
            self._former, self._secret = self._secret, self._fresh(SECRET_BYTES)
            self._since_ns = now_ns
        return cookie_of(self._secret, address)

    def is_proven(self, address: object, hello: bytes, proof: bytes, now_ns: int) -> bool:
        """Whether a hello shows a cookie that was given to this address."""
        present = self.cookie_for(address, now_ns)
        former = cookie_of(self._former, address)
        return any(compare_digest(proof, proof_of(cookie, hello)) for cookie in (present, former))

    def may_open(self, address: object, now_ns: int) -> bool:
        """Whether a proven hello is worth a key agreement: a host gets only its share."""
        host = address[0] if isinstance(address, tuple) else address
        group = cookie_of(self._secret, host)[0] % HOST_GROUPS
        return self._hosts[group].take(now_ns) and self._proven.take(now_ns)


def cookie_of(secret: bytes, address: object) -> bytes:
    """The cookie for an address."""
    return blake2s(repr(address).encode(), key=secret, digest_size=COOKIE_BYTES).digest()


def proof_of(cookie: bytes, hello: bytes) -> bytes:
    """What shows, at the end of a hello, that its sender has this cookie."""
    return blake2s(hello, key=cookie, digest_size=PROOF_BYTES).digest()
