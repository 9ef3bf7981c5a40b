"""Everything that `on_event` may be called with: what a node has to say about its peers."""

from dataclasses import dataclass
from typing import Final, TypeAlias, final

__all__ = [
    "Event",
    "NodeFenced",
    "PathNarrow",
    "PeerBack",
    "PeerExpelled",
    "PeerLeft",
    "PeerMet",
    "PeerMoved",
    "PeerRefused",
    "PeerRestarted",
    "PeerSilent",
    "Refused",
    "Split",
    "Stranger",
    "StrangerSeen",
    "TooLarge",
    "Undeliverable",
]

PeerAddress: TypeAlias = tuple[str, int] | tuple[str, int, int, int] | str
"""Where somebody is seen: host and port, with IPv6 also flow and scope; on a carrier whose places
have no ports, its name there."""


def seen_at(address: object) -> PeerAddress:
    """An address as the transport gave it, in a report."""
    if isinstance(address, tuple):
        return address
    return str(address)


@final
@dataclass(frozen=True)
class PeerMet:
    """A peer has been reached for the first time."""

    name: str


@final
@dataclass(frozen=True)
class PeerRestarted:
    """A peer has come back as a new incarnation: it knows nothing of what was before."""

    name: str


@final
@dataclass(frozen=True)
class PeerMoved:
    """A peer without a configured address now answers from another one."""

    name: str
    address: PeerAddress


@final
@dataclass(frozen=True)
class PathNarrow:
    """Datagrams of 1,200 bytes, which hellos have, do not reach a peer any more.

    Messages go in pieces, if at all, and the peer could not be met again if it restarted.
    """

    name: str
    size: int
    """The largest datagrams that reach it, as far as is known; 0 if not even small ones do."""


@final
@dataclass(frozen=True)
class PeerSilent:
    """Nothing has come from a peer for longer than allowed; what is for it is kept."""

    name: str
    silent_ns: int


@final
@dataclass(frozen=True)
class PeerBack:
    """A silent peer has answered."""

    name: str


@final
@dataclass(frozen=True)
class PeerLeft:
    """A peer has said good-bye and wants nothing more."""

    name: str


GONE: Final = "gone"
LEFT_OUT: Final = "left out"
TOO_LARGE: Final = "too large"
"""Why messages are undeliverable: their target is over, and may have delivered them; it was away,
so they were never submitted to it and are certainly not delivered; it does not take them."""


@final
@dataclass(frozen=True)
class Undeliverable:
    """These messages were not delivered to a peer, or perhaps not: `why` says which.

    With a journal: told again after a crash that came before it was known to be told.
    """

    name: str
    sequences: tuple[int, ...]
    life: int | None = None
    """The incarnation of this node that had sent them, if it was one before this one."""
    reason: str | None = None
    """More words about it, where there are any: how large they may be."""
    why: str = GONE
    """`gone`: perhaps delivered; `left out`: certainly not; `too large`: certainly not."""


@final
@dataclass(frozen=True)
class PeerExpelled:
    """A peer is out for good: nobody waits for it any more, and nothing of it is taken."""

    name: str
    incarnation: int
    by: str
    """Who decided it."""
    reason: str
    undelivered: tuple[int, ...]
    """Our messages of which nobody knows whether it delivered them."""
    unreceived: int
    """How many of its messages were here and could not be delivered, for want of earlier ones."""


@final
@dataclass(frozen=True)
class NodeFenced:
    """This node itself is expelled: it takes and delivers nothing more."""

    name: str
    """The name of this node, as that of whoever is expelled in `PeerExpelled`."""
    by: str
    """Who decided it."""
    reason: str
    told_by: str
    """Who has said so: the one who decided it, or another peer that follows it."""


@final
@dataclass(frozen=True)
class Split:
    """A peer that is expelled here lives, and has expelled this node as well: both go on apart.

    Restart one of the two to bring them together again.
    """

    name: str


@final
@dataclass(frozen=True)
class TooLarge:
    """A payload of a peer was beyond our limit, and was not handed over."""

    name: str
    sequence: int
    size: int
    limit: int


@final
@dataclass(frozen=True)
class PeerRefused:
    """A peer will not talk to us, or we not to it."""

    name: str
    address: PeerAddress
    reason: str


@final
@dataclass(frozen=True)
class StrangerSeen:
    """Somebody who was never introduced has said hello, and strangers are welcome."""

    name: str
    address: PeerAddress


Refused = PeerRefused
Stranger = StrangerSeen
"""The former names, for one release."""


Report: TypeAlias = (
    PeerMet
    | PeerRestarted
    | PeerMoved
    | PathNarrow
    | PeerSilent
    | PeerBack
    | PeerLeft
    | Undeliverable
    | PeerExpelled
    | NodeFenced
    | Split
    | TooLarge
    | PeerRefused
    | StrangerSeen
)

Event: TypeAlias = Report
"""Any of them."""
