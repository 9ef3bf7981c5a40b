"""The events that a listener of `on_event` receives: what happens to peers and to the node."""

from dataclasses import dataclass
from typing import Final, TypeAlias, final

__all__ = [
    "Event",
    "Joined",
    "Left",
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
    "RoomSplit",
    "SnapshotProgress",
    "Split",
    "Stranger",
    "StrangerSeen",
    "TooLarge",
    "Undeliverable",
]

PeerAddress: TypeAlias = tuple[str, int] | tuple[str, int, int, int] | str
"""Where a sender is: host and port, with IPv6 also flow and scope; on a broker its subject."""


def seen_at(address: object) -> PeerAddress:
    """An address as the transport gave it, in a report."""
    if isinstance(address, tuple):
        return address
    return str(address)


@final
@dataclass(frozen=True)
class PeerMet:
    """A peer has answered for the first time."""

    name: str


@final
@dataclass(frozen=True)
class PeerRestarted:
    """A peer has come back as a new incarnation, which knows nothing of the one before."""

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
    """Datagrams of 1,200 bytes, the size of a hello, do not reach a peer any more.

    Messages are sent in fragments, if any get through. If the peer restarted, it could not be met
    again.
    """

    name: str
    size: int
    """The largest datagram known to reach it, in bytes; 0 if not even small ones do."""


@final
@dataclass(frozen=True)
class PeerSilent:
    """Nothing has come from a peer for longer than `silent_after`; messages for it are kept."""

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
    """A peer has closed its node; it receives nothing more."""

    name: str


GONE: Final = "gone"
LEFT_OUT: Final = "left out"
TOO_LARGE: Final = "too large"
"""Values of `Undeliverable.why`. `GONE`: the target has left or was expelled, and may have
delivered the messages. `LEFT_OUT`: it was away, so they were never sent to it. `TOO_LARGE`: the
payload is beyond its limit."""


@final
@dataclass(frozen=True)
class Undeliverable:
    """Messages that a peer did not deliver, or perhaps did not: `why` says which.

    With a journal the event is repeated after a crash, unless it is known to have been handled.
    """

    name: str
    sequences: tuple[int, ...]
    life: int | None = None
    """The incarnation of this node that sent them, if it was an earlier one."""
    reason: str | None = None
    """Details, if there are any, such as the limit that a payload exceeds."""
    why: str = GONE
    """`gone`: perhaps delivered; `left out`: certainly not; `too large`: certainly not."""


@final
@dataclass(frozen=True)
class PeerExpelled:
    """A peer is expelled for good: nobody waits for it any more, and what it sends is ignored."""

    name: str
    incarnation: int
    by: str
    """Who decided it."""
    reason: str
    undelivered: tuple[int, ...]
    """Sequence numbers of our messages that it may or may not have delivered."""
    unreceived: int
    """How many of its messages had arrived but cannot be delivered, as earlier ones are missing."""


@final
@dataclass(frozen=True)
class NodeFenced:
    """This node itself is expelled: it sends and delivers nothing more."""

    name: str
    """The name of this node."""
    by: str
    """Who decided it."""
    reason: str
    told_by: str
    """Which peer told this node: the one that decided it, or another that heard of it."""


@final
@dataclass(frozen=True)
class Split:
    """This node and a peer have expelled each other, and both are alive.

    They stay apart until one of the two is restarted.
    """

    name: str


@final
@dataclass(frozen=True)
class TooLarge:
    """A peer sent a payload larger than `payload_limit`; it was discarded."""

    name: str
    sequence: int
    size: int
    limit: int


@final
@dataclass(frozen=True)
class PeerRefused:
    """A peer refuses to talk to this node, or this node to the peer; `reason` says why."""

    name: str
    address: PeerAddress
    reason: str


@final
@dataclass(frozen=True)
class StrangerSeen:
    """A node that was never introduced has said hello, and becomes a peer (`accept_unknown`)."""

    name: str
    address: PeerAddress


@final
@dataclass(frozen=True)
class Joined:
    """A node is in a room now; when the name is this node's own, its join is complete."""

    name: str
    room: str


@final
@dataclass(frozen=True)
class Left:
    """A node is not in a room any more: it has left the room, or was expelled."""

    name: str
    room: str


@final
@dataclass(frozen=True)
class SnapshotProgress:
    """The state of a room is on its way here; `name` sends it."""

    name: str
    room: str
    received: int
    size: int
    """How many bytes have come, and how many there are."""


@final
@dataclass(frozen=True)
class RoomSplit:
    """There are two rooms of one name, and this peer is in the other one.

    They stay apart: leave one of them, and join the other through one of its members.
    """

    name: str
    room: str


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
    | Joined
    | Left
    | SnapshotProgress
    | RoomSplit
)

Event: TypeAlias = Report
"""Any of these events."""
