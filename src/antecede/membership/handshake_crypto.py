"""What keeps strangers out, as an interface: envelopes for greetings, seals for datagrams.

Nothing here knows ciphers. With a `HandshakeCrypto`, hellos and welcomes travel in envelopes that
only the one they are for can open, and that prove who wrote them; what an answered hello agrees on
is a `SessionKeys`, and every datagram of the session is sealed. Without a crypto nothing of this
happens.
"""

from abc import abstractmethod
from typing import Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import RemoteError
from antecede.transport.seals import SessionKeys
from antecede.transport.session import Session
from antecede.wire.frames import NO_KEY, NUMBER_AT
from antecede.wire.varint import WireReader

OFFERS_MAX: Final = 4
"""4 offers of keys to one peer may still be used by it; the oldest gives way."""


@mypyc_attr(allow_interpreted_subclasses=True)
class HandshakeMessage:
    """A greeting out of its envelope. Nothing has been remembered of it yet."""

    @abstractmethod
    def text(self) -> bytes:
        """The greeting, in the form in which it would travel without an envelope."""

    @abstractmethod
    def is_answer(self) -> bool:
        """Whether it answers a hello of ours; else it is a hello."""

    @abstractmethod
    def verify_sender(self, name: str) -> bool:
        """Whether nobody but `name` can have written it."""

    @abstractmethod
    def is_replayed(self) -> bool:
        """Whether a later hello of its writer has been answered: it is old, or recorded."""

    @abstractmethod
    def answered_stamp(self) -> int:
        """When the hello was made that makes this one late."""

    @abstractmethod
    def answer_late(self, text: bytes) -> bytes:
        """An answer to a late hello, in its envelope; nothing is remembered of it."""

    @abstractmethod
    def previous_reply(self) -> bytes:
        """The answer that this very hello has had, in its envelope; empty if it had none."""

    @abstractmethod
    def reply(self, text: bytes) -> bytes:
        """An answer to this hello, in its envelope; from now on it is remembered."""

    @abstractmethod
    def session_keys(self, now_ns: int) -> SessionKeys:
        """What is agreed on; of a hello, once it is answered."""


@mypyc_attr(allow_interpreted_subclasses=True)
class HandshakeCrypto:
    """The keys of one node, and of its peers."""

    @abstractmethod
    def greeting_size(self) -> int:
        """The size that a hello is padded to, so that no answer is larger than its envelope."""

    @abstractmethod
    def seal_bytes(self) -> int:
        """What sealing adds to a datagram."""

    @abstractmethod
    def encrypt_hellos(self, name: str, text: bytes, now_ns: int) -> list[bytes]:
        """A hello in an envelope for each key that `name` may have.

        The same hello is the same bytes for a while, so that any of its copies may be answered.
        """

    @abstractmethod
    def challenge(self, envelope: bytes, address: object, now_ns: int) -> bytes:
        """What to answer to a hello instead of opening it, because there are too many of them.

        Empty if it is to be opened; `RemoteError` if it deserves no answer. Nothing is remembered.
        """

    @abstractmethod
    def on_cookie(self, envelope: bytes, now_ns: int) -> str:
        """Such an answer to a hello of ours has come: whom to greet again at once, or nobody."""

    @abstractmethod
    def decrypt(self, envelope: bytes) -> HandshakeMessage | None:
        """What is inside; `RemoteError` if it is not for us, or not from whom it must be.

        None if it answers no hello that still waits for an answer.
        """

    @abstractmethod
    def stamp_above(self, stamp: int) -> bool:
        """Make hellos from now on later than this; False if they are, or if it makes no sense."""

    @abstractmethod
    def trusts(self, name: str, key: bytes) -> bool:
        """Whether who has this public key may speak under that name, now."""

    @abstractmethod
    def forget(self, name: str) -> None:
        """Whoever that was is not greeted any more."""


@final
class OfferedKeys:
    """Keys that a peer may use: they go with the token that it was given."""

    __slots__ = ("keys", "token")

    def __init__(self, token: i64, keys: SessionKeys) -> None:
        self.token: Final[i64] = token
        self.keys: Final = keys


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class SealedDatagram:
    """A datagram whose seal is still to be opened."""

    __slots__ = ("_body_at", "_data", "number")

    def __init__(self, data: bytes) -> None:
        if data[1] == NO_KEY:
            raise RemoteError("a datagram without a seal, where keys are required")
        reader = WireReader(data, NUMBER_AT)
        self.number: Final[i64] = reader.positive()
        self._body_at: Final[i64] = reader.position()
        self._data: Final = data

    def decrypt_with(self, keys: SessionKeys) -> bytes:
        """The body; `RemoteError` if it is not sealed with these."""
        return keys.decrypt(self._data, self._body_at, self.number)

    def opened_in(self, session: Session, offers: list[OfferedKeys], token: i64) -> bytes:
        """The body of a datagram of this session, sealed with what either side had offered."""
        channel = session.channel
        assert channel.keys is not None, "with a crypto every channel has some"
        try:
            return self.decrypt_with(channel.peer_keys or channel.keys)
        except RemoteError:
            if channel.peer_keys is not None:
                return self.decrypt_with(channel.keys)
            found = self.decrypt_with_one_of(offers, token)
            if found is None:
                raise
            body, offer = found
            offers.remove(offer)
            channel.accept_peer_keys(offer.keys)
            return body

    def decrypt_with_one_of(
        self, offers: list[OfferedKeys], token: i64
    ) -> tuple[bytes, OfferedKeys] | None:
        """The body and whose keys it was sealed with, of the offers that go with a token."""
        for offer in offers:
            if offer.token == token:
                try:
                    return self.decrypt_with(offer.keys), offer
                except RemoteError:
                    continue
        return None


Envelope: TypeAlias = HandshakeMessage | None
"""What a greeting came in; None where there is no key."""
