"""The errors of a running node, each with a sentence that says what to do.

Names and numbers are attributes, so that a program can act on them; `str()` is for people. As in
the core a `LocalError` is the caller's fault and has changed nothing. What no caller could have
prevented (a peer that does not answer, a disk that fails) is an `AntecedeError` of its own kind.
"""

from collections.abc import Mapping, Sequence
from typing import Final

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
    "KeyNeeded",
    "LocalError",
    "MissingExtra",
    "NodeClosed",
    "PayloadTooLarge",
    "PeerAway",
    "PeerGone",
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

GONE: Final = "it has left, was restarted or expelled"
"""Why messages are undeliverable, if nothing else is known."""


class BadConfiguration(LocalError):  # noqa: N818 - reads as what it is
    """A setting has a value that makes no sense; the text says which, and what it may be."""


class KeyNeeded(BadConfiguration):
    """A node without a key would have to talk with other machines."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.reason}, and {KEY_REMEDY}"


class MissingExtra(BadConfiguration, ImportError):  # noqa: N818 - reads as what it is
    """A feature needs a package that a plain install does not have; the text says how to add it."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package
        self.extra = EXTRAS[package]

    def __str__(self) -> str:
        return str(missing_sentence(self.package))


class UnknownPeer(LocalError):  # noqa: N818 - reads as what it is
    """A name is not that of a peer of this node."""

    def __init__(self, name: str, known: Sequence[str] = ()) -> None:
        super().__init__(name, tuple(known))
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        listed = listing(list(self.known)) if self.known else "nobody yet"
        return (
            f"no peer is called {self.name!r}{near_miss(self.name, self.known)}; "
            f"this node knows {listed}. Introduce a peer with peers={{...}} or add_peer()"
        )


class PeerAway(LocalError):  # noqa: N818 - reads as what it is
    """All targets of a message are away: they have left, were expelled, or never came."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"{self.name!r} is away: it has left, was expelled or was never met, and nobody else "
            "is to get this. node.online says who is here; the events PeerMet and PeerRestarted "
            "say when it comes, and with away='wait' send() waits for that"
        )


PeerGone = PeerAway
"""The former name, for one release."""


class PayloadTooLarge(LocalError):  # noqa: N818 - reads as what it is
    """A payload is larger than the settings allow."""

    def __init__(self, size: int, limit: int, unordered: bool = False) -> None:
        super().__init__(size, limit, unordered)
        self.size = size
        self.limit = limit
        self.unordered = unordered
        """Whether the limit is one datagram: `order="none"` does not keep fragments in order."""

    def __str__(self) -> str:
        if self.unordered:
            return (
                f"a payload of {self.size:,} bytes takes more than one datagram, and "
                f"order='none' keeps no parts in order: at most {self.limit:,} bytes"
            )
        return (
            f"a payload of {self.size:,} bytes is larger than payload_limit, "
            f"{size_text(self.limit)}; send it in parts, or raise the limit on every node"
        )


class NodeClosed(LocalError):  # noqa: N818 - reads as what it is
    """The node is closed, or is closing, and accepts nothing more."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"node {self.name!r} is closed: it sends and delivers nothing more; "
            "open a new one with open_node()"
        )


class WouldDeadlock(BufferFull):
    """A consumer waits for room in the send buffer that only its own reading could make."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"the buffers of node {self.name!r} are full, and a handler that waits for room keeps "
            "the deliveries waiting that would make it: return first and send from a task, use "
            "try_send() and keep what does not fit, or raise send_limit and send_bytes"
        )


class CannotBind(LocalError):  # noqa: N818 - reads as what it is
    """The node cannot listen at its address."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.address = address
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"cannot listen at {self.address}: {self.reason}; "
            "choose another address, or port 0 for any free one"
        )


class BadPayload(RemoteError):  # noqa: N818 - reads as what it is
    """The codec cannot read a payload; the message is consumed, and receiving can go on."""

    def __init__(self, sender: str, sequence: int, reason: str) -> None:
        super().__init__(sender, sequence, reason)
        self.sender = sender
        self.sequence = sequence
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"message {self.sequence} of {self.sender!r} cannot be decoded: {self.reason}; "
            "all nodes must use the same codec. Receiving can go on with the next message"
        )


class WrongThread(LocalError):  # noqa: N818 - reads as what it is
    """A node was called in a thread other than that of its event loop."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"node {self.name!r} belongs to the thread that opened it: call it there, for instance "
            "with asyncio.run_coroutine_threadsafe(node.send(...), loop), or open it with "
            "antecede.blocking, whose nodes any thread may call"
        )


class WrongProcess(LocalError):  # noqa: N818 - reads as what it is
    """A node was called in a process that was forked after it was opened."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return (
            f"node {self.name!r} belongs to the process that opened it, and this one was forked "
            "from that: open a node of another name here, or fork before a node is opened"
        )


class TimedOut(AntecedeError, TimeoutError):  # noqa: N818 - reads as what it is
    """A call did not finish within its timeout; nothing was lost, and it may be called again."""

    def __init__(self, action: str, seconds: float, waiting_for: str = "") -> None:
        super().__init__(action, seconds, waiting_for)
        self.action = action
        self.seconds = seconds
        self.waiting_for = waiting_for

    def __str__(self) -> str:
        still = f": {self.waiting_for}" if self.waiting_for else ""
        return (
            f"{self.action} did not finish within {written_seconds(self.seconds)}{still}. "
            "Call it again to go on waiting; explain() says what is in the way"
        )


class Stranded(AntecedeError):  # noqa: N818 - reads as what it is
    """This node has closed although peers may still need something from it."""

    def __init__(self, names: Sequence[str], seconds: float, reasons: Sequence[str] = ()) -> None:
        super().__init__(tuple(names), seconds, tuple(reasons))
        self.names = tuple(names)
        self.seconds = seconds
        self.reasons = tuple(reasons)

    def __str__(self) -> str:
        known = f" ({'; '.join(self.reasons)})" if self.reasons else ""
        return (
            f"left without a bye from {listing(list(self.names))} within "
            f"{written_seconds(self.seconds)}{known}: what they had not yet got is lost to them. "
            "Close with a longer timeout, or find out why they are silent"
        )


class Undelivered(AntecedeError):  # noqa: N818 - reads as what it is
    """Messages were given up: their targets are gone, or do not accept them."""

    def __init__(self, counts: Mapping[str, int], reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(dict(counts), dict(reasons or {}))
        self.counts = dict(counts)
        self.reasons = dict(reasons or {})
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


class TraceFailed(AntecedeError):  # noqa: N818 - reads as what it is
    """The event log could not be written to its end."""

    def __init__(self, reason: str, rows_lost: int) -> None:
        super().__init__(reason, rows_lost)
        self.reason = reason
        self.rows_lost = rows_lost

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
