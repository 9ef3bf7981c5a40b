"""What a node tells its application about its peers, as values."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias, final


@final
@dataclass(frozen=True, kw_only=True)
class PeerMet:
    """A peer has been reached for the first time."""

    name: str


@final
@dataclass(frozen=True, kw_only=True)
class PeerRestarted:
    """A peer has come back as a new incarnation: it knows nothing of what was before."""

    name: str


@final
@dataclass(frozen=True, kw_only=True)
class PeerMoved:
    """A peer without a configured address now answers from another one."""

    name: str
    address: Hashable


@final
@dataclass(frozen=True, kw_only=True)
class PeerSilent:
    """Nothing has come from a peer for longer than allowed; what is for it is kept."""

    name: str
    silent_ns: int


@final
@dataclass(frozen=True, kw_only=True)
class PeerBack:
    """A silent peer has answered."""

    name: str


@final
@dataclass(frozen=True, kw_only=True)
class PeerLeft:
    """A peer has said good-bye and wants nothing more."""

    name: str


@final
@dataclass(frozen=True, kw_only=True)
class Undeliverable:
    """These messages may never have been delivered to a peer that is gone.

    With a journal: told again after a crash that came before it was known to be told.
    """

    name: str
    sequences: tuple[int, ...]
    life: int | None = None
    """The incarnation of this node that had sent them, if it was one before this one."""


@final
@dataclass(frozen=True, kw_only=True)
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
@dataclass(frozen=True, kw_only=True)
class NodeFenced:
    """This node itself is expelled: it takes and delivers nothing more."""

    name: str
    """Who has said so."""
    by: str
    """Who decided it."""
    reason: str


@final
@dataclass(frozen=True, kw_only=True)
class TooLarge:
    """A payload of a peer was beyond our limit, and was not handed over."""

    name: str
    sequence: int
    size: int
    limit: int


@final
@dataclass(frozen=True, kw_only=True)
class Refused:
    """A peer will not talk to us, or we not to it."""

    name: str
    address: Hashable
    reason: str


@final
@dataclass(frozen=True, kw_only=True)
class Stranger:
    """Somebody who was never introduced has said hello, and strangers are welcome."""

    name: str
    address: Hashable


Report: TypeAlias = (
    PeerMet
    | PeerRestarted
    | PeerMoved
    | PeerSilent
    | PeerBack
    | PeerLeft
    | Undeliverable
    | PeerExpelled
    | NodeFenced
    | TooLarge
    | Refused
    | Stranger
)
