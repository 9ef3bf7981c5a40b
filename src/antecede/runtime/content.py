"""What a message carries: a payload, and what its receiver is told beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from antecede.core.errors import LocalError
from antecede.durability.unconfirmed import Payload as Payload
from antecede.wire.envelope import (
    MESSAGE,
    REFUSAL,
    REPLY,
    Envelope,
    escaped,
    seal_envelope,
)

Headers: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Content:
    """A payload, and what stands in its envelope."""

    payload: bytes
    headers: Headers = field(default_factory=dict)
    reply_to: str = ""
    kind: int = MESSAGE
    number: int = 0
    """Which request it is, or replies to."""
    remaining_ms: Callable[[], int] | None = None
    """Tells how long a reply is waited for from now on."""

    @property
    def needs_envelope(self) -> bool:
        """Whether its receivers must know what an envelope is."""
        return bool(self.headers or self.reply_to or self.kind != MESSAGE)

    @property
    def is_reply(self) -> bool:
        """Whether somebody waits for it, who may be gone."""
        return self.kind in (REPLY, REFUSAL)

    def sealed(self, targets: Sequence[str]) -> bytes:
        """What is sent; with several targets each is told who the others are."""
        named = tuple(targets) if len(targets) > 1 else ()
        if not (self.needs_envelope or named):
            return escaped(self.payload)
        envelope = Envelope(
            self.kind,
            self.number,
            -1 if self.remaining_ms is None else self.remaining_ms(),
            self.reply_to,
            named,
            dict(self.headers),
        )
        return seal_envelope(envelope, self.payload)


def read_headers(headers: Headers | None) -> dict[str, bytes]:
    """The headers that somebody has given, or none; `LocalError` if they make no sense."""
    if headers is not None and not isinstance(headers, Mapping):
        raise LocalError(f"headers map names to bytes; this does not: {headers!r}")
    for key, value in (headers or {}).items():
        if not isinstance(key, str) or not isinstance(value, bytes):
            raise LocalError(f"headers map names to bytes, not {key!r} to {value!r}")
    return dict(headers) if headers else {}


def read_content(
    payload: object, headers: Headers | None = None, reply_to: str | None = None
) -> Content:
    """What `send` was given; `LocalError` if it makes no sense."""
    if reply_to is not None and not isinstance(reply_to, str):
        raise LocalError(f"reply_to is the name of a peer, not {reply_to!r}")
    return Content(payload_bytes(payload), read_headers(headers), reply_to or "")


def payload_bytes(payload: object) -> bytes:
    """What is sent: bytes, or a copy of what is like them and may change afterwards."""
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    raise LocalError(
        f"the payload must be bytes, a bytearray or a memoryview, not {type(payload).__name__}; "
        "encode it"
    )
