"""The errors of a running node, each with a sentence that says what to do.

Names and numbers are attributes, so that a program can act on them; `str()` is for people. As in
the core a `LocalError` is the caller's fault and has changed nothing. What no caller could have
prevented (a peer that does not answer, a disk that fails) is an `AntecedeError` of its own kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, dataclass_transform

from antecede.core.errors import AntecedeError, BufferFull, LocalError, RemoteError, near_miss
from antecede.events import NodeFenced
from antecede.installing import EXTRAS, missing_sentence
from antecede.units import duration_text, listing, size_text

__all__ = [
    "AntecedeError",
    "BadConfiguration",
    "BadPayload",
    "BufferFull",
    "CannotBind",
    "JoinFailed",
    "KeyNeeded",
    "LocalError",
    "MissingExtra",
    "NodeClosed",
    "NotInRoom",
    "PayloadTooLarge",
    "PeerAway",
    "PeerGone",
    "RequestFailed",
    "Stranded",
    "TimedOut",
    "TraceFailed",
    "Undelivered",
    "UnknownPeer",
    "WouldDeadlock",
    "WrongProcess",
    "WrongThread",
]

KEY_REMEDY: Final = (
    "beyond this machine a node needs a key. Make one (antecede key new FILE) and give it with "
    "key=FILE or --key FILE, and those of the peers with keys=[...] or --peer-key NAME=PUBLIC; or "
    "one key for all with cluster_key=FILE or --cluster-key FILE; or let anybody read and forge "
    "messages with insecure=True or --insecure"
)

REQUEST_ENDINGS: Final = {
    "away": "which is away: the request was not sent",
    "left": "which has left; perhaps it has handled the request",
    "expelled": "which was expelled; perhaps it has handled the request",
    "restarted": "which was restarted; perhaps it has handled the request before",
    "refused": "which refuses",
    "too large": "for which the request is too large",
    "closed": "as this node was closed",
}
"""What became of a request, in words, by `RequestFailed.why`."""

GONE: Final = "it has left, was restarted or expelled"
"""Why messages are undeliverable, if nothing else is known."""


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class FieldError(AntecedeError):
    """An error whose fields are its arguments: a dataclass, and so is whatever derives from it."""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, one.name)
            setattr(self, one.name, tuple(value) if isinstance(value, list) else value)
        # Exceptions are printed and pickled by these.
        self.args = tuple(vars(self).values())


class BadConfiguration(LocalError):  # noqa: N818 - reads as what it is
    """A setting has a value that makes no sense; the text says which, and what it may be."""


class KeyNeeded(FieldError, BadConfiguration):  # noqa: N818 - reads as what it is
    """A node without a key would have to talk with other machines."""

    reason: str

    def __str__(self) -> str:
        return f"{self.reason}, and {KEY_REMEDY}"


class MissingExtra(FieldError, BadConfiguration, ImportError):  # noqa: N818 - reads as what it is
    """A feature needs a package that a plain install does not have; the text says how to add it."""

    package: str

    @property
    def extra(self) -> str:
        """What is installed in brackets: `antecede[metrics]`."""
        return EXTRAS[self.package]

    def __str__(self) -> str:
        return str(missing_sentence(self.package))


class UnknownPeer(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """A name is not that of a peer of this node."""

    name: str
    known: Sequence[str] = ()

    def __str__(self) -> str:
        listed = listing(list(self.known)) if self.known else "nobody yet"
        return (
            f"no peer is called {self.name!r}{near_miss(str(self.name), self.known)}; "
            f"this node knows {listed}. Introduce a peer with peers={{...}} or add_peer()"
        )


class PeerAway(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """All targets of a message are away: they have left, were expelled, or never came."""

    name: str

    def __str__(self) -> str:
        return (
            f"{self.name!r} is away: it has left, was expelled or was never met, and nobody else "
            "is to get this. node.online says who is here; the events PeerMet and PeerRestarted "
            "say when it comes, and with away='wait' send() waits for that"
        )


PeerGone = PeerAway
"""The former name, for one release."""


class PayloadTooLarge(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """A payload is larger than the settings allow."""

    size: int
    limit: int
    unordered: bool = False
    """Whether the limit is one datagram: `order="none"` does not keep fragments in order."""

    def __str__(self) -> str:
        if self.unordered:
            return (
                f"a payload of {self.size:,} bytes takes more than one datagram, and "
                f"order='none' keeps no parts in order: send at most {self.limit:,} bytes, or "
                "choose another order"
            )
        return (
            f"a payload of {self.size:,} bytes is larger than payload_limit, "
            f"{size_text(self.limit)}; send it in parts, or raise the limit on every node"
        )


class NodeClosed(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """The node is closed, or is closing, and accepts nothing more."""

    name: str

    def __str__(self) -> str:
        return (
            f"node {self.name!r} is closed: it sends and delivers nothing more; "
            "open a new one with open_node()"
        )


class NotInRoom(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """This node is not in the room: it has left, or was expelled."""

    room: str

    def __str__(self) -> str:
        return f"this node is not in the room {self.room!r}: join it with node.join({self.room!r})"


class JoinFailed(FieldError):  # noqa: N818 - reads as what it is
    """A room could not be joined."""

    room: str
    reason: str

    def __str__(self) -> str:
        return f"the room {self.room!r} could not be joined: {self.reason}"


class WouldDeadlock(FieldError, BufferFull):  # noqa: N818 - reads as what it is
    """A consumer waits for room in the send buffer that only its own reading could make."""

    name: str

    def __str__(self) -> str:
        return (
            f"the buffers of node {self.name!r} are full, and a handler that waits for room keeps "
            "the deliveries waiting that would make it: return first and send from a task, use "
            "try_send() and keep what does not fit, or raise send_limit and send_bytes"
        )


class CannotBind(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """The node cannot listen at its address."""

    address: str
    reason: str

    def __str__(self) -> str:
        return (
            f"cannot listen at {self.address}: {self.reason}; "
            "choose another address, or port 0 for any free one"
        )


class BadPayload(FieldError, RemoteError):  # noqa: N818 - reads as what it is
    """The codec cannot read a payload; the message is consumed, and receiving can go on."""

    sender: str
    sequence: int
    reason: str

    def __str__(self) -> str:
        return (
            f"message {self.sequence} of {self.sender!r} cannot be decoded: {self.reason}; "
            "all nodes must use the same codec. Receiving can go on with the next message"
        )


class WrongThread(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """A node was called in a thread other than that of its event loop."""

    name: str

    def __str__(self) -> str:
        return (
            f"node {self.name!r} belongs to the thread that opened it: call it there, for instance "
            "with asyncio.run_coroutine_threadsafe(node.send(...), loop), or open it with "
            "antecede.blocking, whose nodes any thread may call"
        )


class WrongProcess(FieldError, LocalError):  # noqa: N818 - reads as what it is
    """A node was called in a process that was forked after it was opened."""

    name: str

    def __str__(self) -> str:
        return (
            f"node {self.name!r} belongs to the process that opened it, and this one was forked "
            "from that: open a node of another name here, or fork before a node is opened"
        )


class TimedOut(FieldError, TimeoutError):  # noqa: N818 - reads as what it is
    """A call did not finish within its timeout; nothing was lost, and it may be called again."""

    action: str
    seconds: float
    waiting_for: str = ""

    def __str__(self) -> str:
        still = f": {self.waiting_for}" if self.waiting_for else ""
        return (
            f"{self.action} did not finish within {written_seconds(self.seconds)}{still}. "
            "Call it again to go on waiting; explain() says what is in the way"
        )


class RequestFailed(FieldError):  # noqa: N818 - reads as what it is
    """There is no reply to a request; `why` is a word for programs."""

    name: str
    """Whom it was sent to."""
    why: str
    """`away`: it was never sent. `left`, `expelled`, `restarted`, `timed out`, `closed` (this node
    was): perhaps it was handled. `refused`: its receiver says so. `too large`: for its receiver."""
    detail: str = ""
    seconds: float | None = None
    """How long was waited, if it timed out."""

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        if self.seconds is not None:
            return f"no reply from {self.name!r} within {written_seconds(self.seconds)}{detail}"
        return f"no reply from {self.name!r}, {REQUEST_ENDINGS.get(self.why, self.why)}{detail}"


class Stranded(FieldError):  # noqa: N818 - reads as what it is
    """This node has closed although peers may still need something from it."""

    names: Sequence[str]
    seconds: float
    reasons: Sequence[str] = ()

    def __str__(self) -> str:
        known = f" ({'; '.join(self.reasons)})" if self.reasons else ""
        return (
            f"left without a bye from {listing(list(self.names))} within "
            f"{written_seconds(self.seconds)}{known}: what they had not yet got is lost to them. "
            "Close with a longer timeout, or find out why they are silent"
        )


class Undelivered(FieldError):  # noqa: N818 - reads as what it is
    """Messages were given up: their targets are gone, or do not accept them."""

    counts: Mapping[str, int]
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By target: why."""

    def __str__(self) -> str:
        reasons = {name: self.reasons.get(name, GONE) for name in self.counts}
        all_gone = all(reason == GONE for reason in reasons.values())
        lost = ", ".join(
            f"{count:,} to {name!r}" + ("" if all_gone else f" ({reasons[name]})")
            for name, count in self.counts.items()
        )
        why = "Their targets have left, or were restarted or expelled; the" if all_gone else "The"
        return (
            f"messages can no longer be delivered: {lost}. {why} event Undeliverable names each "
            "message, to be sent again if it matters"
        )


class TraceFailed(FieldError):  # noqa: N818 - reads as what it is
    """The event log could not be written to its end."""

    reason: str
    rows_lost: int

    def __str__(self) -> str:
        return (
            f"the event log stopped: {self.reason}; {self.rows_lost:,} events were not written. "
            "Messages were not affected; make room and restart the node to have a log again"
        )


def written_seconds(seconds: float) -> str:
    """A time span that came as seconds, for people."""
    return duration_text(seconds * 1e9)


def fenced_sentence(name: str, fenced: NodeFenced) -> str:
    """What a node says that others go on without."""
    why = f": {fenced.reason}" if fenced.reason else ""
    if fenced.by == name:
        return f"{name} must not go on{why}; open it again, and a new life begins"
    by = f" by {fenced.by}" if fenced.by else ""
    return f"{name} was expelled{by}{why}; open a new node to rejoin"
