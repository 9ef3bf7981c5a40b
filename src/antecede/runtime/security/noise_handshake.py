"""Encrypted hellos and welcomes, and the keys that they agree on.

    hello     kind, form, handle (8 bytes), Noise first message (96 bytes and the greeting), 16-byte
              check that only who knows the receiver's public key can make, 16-byte proof of the
              sender's address, zeros unless it was asked for
    welcome   kind, form, the hello's handle, Noise second message (48 bytes and the greeting)
    cookie    kind, form, the hello's handle, 16-byte cookie, 16-byte check as above: say hello
              again, with the proof that this was received

The handle is a random number of one handshake. The check costs a hash: a sender that does not know
the public key causes no key agreement, and under load neither does one that has not proved its
address. Inside a hello, before the greeting, is the time at which it was made. A node answers no
hello that is older than the last one that it has answered for the same key, so a replay gets
nothing; the last one itself gets the very same answer again. A sender whose clock was set back is
answered with the difference, which only it can decrypt, and makes its next hello later.

A cookie is a keyed hash of an address. It is sent to that address, and a hello with its proof shows
that it arrived there. The node keeps no state for cookies. A host that has proved its address still
gets only its share: hosts share a fixed number of budgets.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2s
from hmac import compare_digest
from typing import Final, final

from antecede.core.errors import RemoteError
from antecede.membership.handshake_crypto import HandshakeCrypto, HandshakeMessage
from antecede.runtime.security.keys import KeyRing
from antecede.runtime.security.noise import (
    FIRST_BYTES,
    AuthenticationFailed,
    CipherName,
    Fresh,
    Initiator,
    PrivateKey,
    Responder,
    cipher_key,
)
from antecede.transport.seals import SEAL_BYTES, CipherKey, SessionKeys
from antecede.wire.handshake import GREETING_SIZE, KEYED_COOKIE, KEYED_HELLO, KEYED_WELCOME

COOKIE_BYTES: Final = 16
PROOF_BYTES: Final = 16
NO_PROOF: Final = bytes(PROOF_BYTES)

COOKIE_NS: Final = 120_000_000_000
"""Cookies are made with a new secret every 120 s; older ones count for 120 s more."""

SECRET_BYTES: Final = 32

ANYBODY_PER_SECOND: Final = 500
"""At most 500 hellos a second are decrypted, from any address: some 5 % of a processor."""

PROVEN_PER_SECOND: Final = 1_000
HOST_PER_SECOND: Final = 500
"""Beyond those, 1,000 hellos a second with a proof of address are decrypted, 500 of one host."""

HOST_GROUPS: Final = 256
"""Hosts share 256 budgets; which hosts share one is secret."""


@final
class Budget:
    """At most `per_second` a second; after a second without any, as many at once."""

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
class CookieIssuer:
    """The cookies that one node gives out, and how many hellos it opens."""

    def __init__(self, fresh: Fresh = secrets.token_bytes) -> None:
        self._fresh: Final = fresh
        self._secret = fresh(SECRET_BYTES)
        self._former = fresh(SECRET_BYTES)
        self._since_ns = 0
        self._anybody: Final = Budget(ANYBODY_PER_SECOND)
        self._proven: Final = Budget(PROVEN_PER_SECOND)
        self._hosts: Final = [Budget(HOST_PER_SECOND) for _ in range(HOST_GROUPS)]

    def require_cookie(self, now_ns: int) -> bool:
        """Count a hello; whether there were too many of late to open it without a proof."""
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

    def try_admit_proven(self, address: object, now_ns: int) -> bool:
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


FORM: Final = 1
"""The form of envelopes; a byte that later versions may change."""

CIPHER: Final[CipherName] = "AESGCM"
PROLOGUE: Final = b"antecede 1"

HANDLE_BYTES: Final = 8
START_BYTES: Final = 2 + HANDLE_BYTES
CHECK_BYTES: Final = 16
STAMP_BYTES: Final = 8

HELLO_BYTES: Final = START_BYTES + FIRST_BYTES + STAMP_BYTES + CHECK_BYTES + PROOF_BYTES
"""What an envelope adds to a hello."""

RENEWED_NS: Final = 5_000_000_000
"""After 5 s without an answer a hello is made anew."""

COOKIE_SIZE: Final = START_BYTES + COOKIE_BYTES + CHECK_BYTES
"""A cookie in its envelope."""

AHEAD_MOST_NS: Final = 100 * 365 * 86_400 * 1_000_000_000
"""No clock was ever further ahead: who says so is not believed."""

AWAITED_MAX: Final = 12
"""12 handshakes with one peer may still be answered; the oldest gives way."""

NOT_FROM_THERE: Final = "an envelope that its sender cannot have made"


def session_key(key: bytes) -> CipherKey:
    """A key of datagrams."""
    return cipher_key(CIPHER, key)


@dataclass(frozen=True, slots=True)
class AnsweredHello:
    """The last hello of one key that was answered; the check at its end stands for all of it."""

    stamp: int
    check: bytes
    answer: bytes


@dataclass(slots=True)
class PendingHello:
    """A hello of ours that may be answered."""

    name: str
    initiator: Initiator
    has_cookie: bool = False


@dataclass(frozen=True, slots=True)
class SentHello:
    """What was last said to a peer: the greeting, its envelopes for each key but for the proof at
    their ends, and when."""

    text: bytes
    envelopes: list[tuple[bytes, bytes]]
    made_ns: int


@dataclass(frozen=True, slots=True)
class PeerCookie:
    """What the owner of a key wants to see the proof of, and when it said so."""

    cookie: bytes
    came_ns: int


class NoiseCrypto(HandshakeCrypto):
    """The keys of one node at work."""

    def __init__(
        self,
        ring: KeyRing,
        clock: Callable[[], int] = time.time_ns,
        fresh: Fresh = secrets.token_bytes,
    ) -> None:
        self._ring = ring
        self._clock: Final = clock
        self._cookies: Final = CookieIssuer(fresh)
        self._fresh: Final = fresh
        # Of those who have asked for one, by their keys.
        self._given: Final[dict[bytes, PeerCookie]] = {}
        self._private = PrivateKey(ring.secret.raw)
        self._check_key = check_key(self._private.public)
        self._last_stamp = 0
        self._said: Final[dict[str, SentHello]] = {}
        self._awaited: Final[dict[bytes, PendingHello]] = {}
        self.answered: Final[dict[bytes, AnsweredHello]] = {}

    @property
    def ring(self) -> KeyRing:
        """Whose keys are known."""
        return self._ring

    def trusts(self, name: str, key: bytes) -> bool:
        return self._ring.is_key_of(name, key)

    def use(self, ring: KeyRing) -> None:
        """Use these keys from now on; the endpoint still has to follow
        (`Endpoint.expel_revoked_keys`).
        """
        self._ring = ring
        self._private = PrivateKey(ring.secret.raw)
        self._check_key = check_key(self._private.public)
        self._said.clear()
        self._awaited.clear()
        self._given.clear()

    def greeting_size(self) -> int:
        return GREETING_SIZE - HELLO_BYTES

    def seal_bytes(self) -> int:
        return SEAL_BYTES

    def encrypt_hellos(self, name: str, text: bytes, now_ns: int) -> list[bytes]:
        said = self._said.get(name)
        if said is None or said.text != text or now_ns - said.made_ns >= RENEWED_NS:
            keys = self._ring.keys_of(name)
            said = SentHello(text, [(key, self._hello(name, key, text)) for key in keys], now_ns)
            self._said[name] = said
        return [hello + self._proof(key, hello, now_ns) for key, hello in said.envelopes]

    def challenge(self, envelope: bytes, address: object, now_ns: int) -> bytes:
        hello = self._checked(envelope)
        cookies = self._cookies
        if not cookies.require_cookie(now_ns):
            return b""
        if not cookies.is_proven(address, hello, envelope[-PROOF_BYTES:], now_ns):
            start = bytes([KEYED_COOKIE, FORM]) + envelope[2:START_BYTES]
            start += cookies.cookie_for(address, now_ns)
            return start + check_of(self._check_key, start)
        if not cookies.try_admit_proven(address, now_ns):
            raise RemoteError("more hellos from one host than it may send")
        return b""

    def on_cookie(self, envelope: bytes, now_ns: int) -> str:
        awaited = self._awaited.get(envelope[2:START_BYTES])
        if len(envelope) != COOKIE_SIZE or envelope[1] != FORM or awaited is None:
            raise RemoteError("a cookie that nobody waits for")
        start, check = envelope[:-CHECK_BYTES], envelope[-CHECK_BYTES:]
        key = awaited.initiator.responder
        if not compare_digest(check, check_of(check_key(key), start)):
            raise RemoteError(NOT_FROM_THERE)
        self._given[key] = PeerCookie(start[START_BYTES:], now_ns)
        again = not awaited.has_cookie
        # Once: or who can read our hellos could make us say them all the time.
        awaited.has_cookie = True
        return awaited.name if again else ""

    def decrypt(self, envelope: bytes) -> HandshakeMessage | None:
        if len(envelope) < START_BYTES or envelope[1] != FORM:
            raise RemoteError("an envelope of unknown form")
        try:
            if envelope[0] == KEYED_HELLO:
                return self._open_hello(envelope)
            return self._open_welcome(envelope)
        except AuthenticationFailed as error:
            # For the endpoint, too: compiled code catches no exception whose class is interpreted.
            raise RemoteError(str(error)) from None

    def stamp_above(self, stamp: int) -> bool:
        if not self._last_stamp < stamp <= self._clock() + AHEAD_MOST_NS:
            return False
        self._last_stamp = stamp
        self._said.clear()
        return True

    def forget(self, name: str) -> None:
        self._said.pop(name, None)
        for handle in self._handles_of(name):
            self._given.pop(self._awaited.pop(handle).initiator.responder, None)

    def remember(self, key: bytes, answered: AnsweredHello) -> None:
        """This is the last hello of that key that was answered."""
        self.answered[key] = answered

    # Hellos.

    def _hello(self, name: str, key: bytes, text: bytes) -> bytes:
        initiator = Initiator(
            self._private,
            key,
            psk=self._ring.shared,
            prologue=PROLOGUE,
            cipher=CIPHER,
            fresh=self._fresh,
        )
        handle = self._fresh(HANDLE_BYTES)
        self._last_stamp = max(self._last_stamp + 1, self._clock())
        stamp = self._last_stamp.to_bytes(STAMP_BYTES, "little")
        start = bytes([KEYED_HELLO, FORM]) + handle + initiator.write_first(stamp + text)
        for old in self._handles_of(name)[: -AWAITED_MAX + 1]:
            del self._awaited[old]
        self._awaited[handle] = PendingHello(name, initiator)
        return start + check_of(check_key(key), start)

    def _proof(self, key: bytes, hello: bytes, now_ns: int) -> bytes:
        """That we have received what the owner of that key has asked us to show."""
        given = self._given.get(key)
        if given is None or now_ns - given.came_ns >= COOKIE_NS:
            return NO_PROOF
        return proof_of(given.cookie, hello)

    def _handles_of(self, name: str) -> list[bytes]:
        return [handle for handle, awaited in self._awaited.items() if awaited.name == name]

    def _checked(self, envelope: bytes) -> bytes:
        """All of a hello but the proof; `RemoteError` if its sender does not know our key."""
        if len(envelope) < GREETING_SIZE or envelope[1] != FORM:
            raise RemoteError("a hello smaller than its answer may be, or of unknown form")
        hello = envelope[:-PROOF_BYTES]
        start, check = hello[:-CHECK_BYTES], hello[-CHECK_BYTES:]
        if not compare_digest(check, check_of(self._check_key, start)):
            raise RemoteError(NOT_FROM_THERE)
        return hello

    def _open_hello(self, envelope: bytes) -> HandshakeMessage:
        start = self._checked(envelope)[:-CHECK_BYTES]
        responder = Responder(
            self._private,
            psk=self._ring.shared,
            prologue=PROLOGUE,
            cipher=CIPHER,
            fresh=self._fresh,
        )
        inside = responder.read_first(start[START_BYTES:])
        if len(inside) <= STAMP_BYTES:
            raise RemoteError("an empty envelope")
        return ReceivedHello(self, envelope[:-PROOF_BYTES], responder, inside)

    # Welcomes.

    def _open_welcome(self, envelope: bytes) -> HandshakeMessage | None:
        handle = envelope[2:START_BYTES]
        awaited = self._awaited.get(handle)
        if awaited is None:
            return None
        text = awaited.initiator.read_second(envelope[START_BYTES:])
        # Its keys are used once; the next hello to that peer is another one.
        del self._awaited[handle]
        self._said.pop(awaited.name, None)
        if not text:
            raise RemoteError("an empty envelope")
        return ReceivedReply(awaited.name, awaited.initiator, text)


class ReceivedHello(HandshakeMessage):
    """A hello that has come."""

    def __init__(
        self, crypto: NoiseCrypto, envelope: bytes, responder: Responder, inside: bytes
    ) -> None:
        self._crypto: Final = crypto
        # All of it but the proof: the same hello may come with and without.
        self._envelope: Final = envelope
        self._responder: Final = responder
        self._stamp: Final = int.from_bytes(inside[:STAMP_BYTES], "little")
        self._text: Final = inside[STAMP_BYTES:]
        # Under which it speaks, as far as that was asked; and what it was answered.
        self._name = ""
        self._answered: AnsweredHello | None = None

    def text(self) -> bytes:
        return self._text

    def is_answer(self) -> bool:
        return False

    def verify_sender(self, name: str) -> bool:
        self._name = name
        return self._crypto.trusts(name, self._responder.initiator)

    def is_replayed(self) -> bool:
        answered = self._crypto.answered.get(self._responder.initiator)
        return answered is not None and self._stamp <= answered.stamp

    def answered_stamp(self) -> int:
        answered = self._crypto.answered.get(self._responder.initiator)
        return 0 if answered is None else answered.stamp

    def answer_late(self, text: bytes) -> bytes:
        return self._enveloped(text)

    def previous_reply(self) -> bytes:
        answered = self._crypto.answered.get(self._responder.initiator)
        if answered is None or answered.check != self._envelope[-CHECK_BYTES:]:
            return b""
        return answered.answer

    def _enveloped(self, text: bytes) -> bytes:
        handle = self._envelope[2:START_BYTES]
        answer = bytes([KEYED_WELCOME, FORM]) + handle + self._responder.write_second(text)
        assert len(answer) <= len(self._envelope), "nothing is answered with more than it had"
        return answer

    def reply(self, text: bytes) -> bytes:
        answer = self._enveloped(text)
        self._answered = AnsweredHello(self._stamp, self._envelope[-CHECK_BYTES:], answer)
        if self._responder.initiator in self._crypto.ring.keys_of(self._name):
            # Who is refused, and may have any key, is not remembered: those are without number.
            self._crypto.remember(self._responder.initiator, self._answered)
        return answer

    def session_keys(self, now_ns: int) -> SessionKeys:
        assert self._answered is not None, "a hello is answered before what it agrees on is used"
        self._crypto.ring.on_key_used(self._name, self._responder.initiator)
        self._crypto.remember(self._responder.initiator, self._answered)
        theirs, ours = self._responder.keys()
        return SessionKeys(session_key, ours, theirs, self._responder.initiator, now_ns)


class ReceivedReply(HandshakeMessage):
    """An answer to a hello of ours."""

    def __init__(self, name: str, initiator: Initiator, text: bytes) -> None:
        self._name: Final = name
        self._initiator: Final = initiator
        self._text: Final = text

    def text(self) -> bytes:
        return self._text

    def is_answer(self) -> bool:
        return True

    def verify_sender(self, name: str) -> bool:
        return name == self._name

    def is_replayed(self) -> bool:
        return False

    def answered_stamp(self) -> int:
        return 0

    def answer_late(self, text: bytes) -> bytes:
        raise AssertionError(f"an answer is not answered: {text!r}")

    def previous_reply(self) -> bytes:
        return b""

    def reply(self, text: bytes) -> bytes:
        raise AssertionError(f"an answer is not answered: {text!r}")

    def session_keys(self, now_ns: int) -> SessionKeys:
        ours, theirs = self._initiator.keys()
        return SessionKeys(session_key, ours, theirs, self._initiator.responder, now_ns)


def check_key(public: bytes) -> bytes:
    """What the check of a hello to this key is made with."""
    return blake2s(b"antecede hello" + public).digest()


def check_of(key: bytes, start: bytes) -> bytes:
    """The check at the end of a hello."""
    return blake2s(start, key=key, digest_size=CHECK_BYTES).digest()
