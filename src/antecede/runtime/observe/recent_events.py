"""What has lately happened at a node, for whoever looks at it: a ring of events, in words.

Events have numbers, so that one who looks again asks only for those since. What happens with every
message, such as messages that leave out a peer, is one event that counts.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from antecede import events
from antecede.events import LEFT_OUT, Report
from antecede.units import messages_text

RECENT_MAX: Final = 256
"""A node remembers its last 256 events."""

KINDS: Final[dict[type[Report], str]] = {
    events.PeerMet: "met",
    events.PeerRestarted: "restarted",
    events.PeerMoved: "moved",
    events.PathNarrow: "narrow",
    events.PeerSilent: "silent",
    events.PeerBack: "back",
    events.PeerLeft: "left",
    events.Undeliverable: "undeliverable",
    events.PeerExpelled: "expelled",
    events.NodeFenced: "fenced",
    events.Split: "split",
    events.TooLarge: "too_large",
    events.PeerRefused: "refused",
    events.StrangerSeen: "stranger",
    events.Joined: "joined",
    events.Left: "left",
    events.SnapshotProgress: "progress",
    events.RoomSplit: "split",
}
"""What events are called in one word."""

COUNTED: Final = ("undeliverable", "progress")
"""Those that may come with every message: the last of them stands for those right before it."""

HELD_BACK: Final = "held_back"
GOES_ON: Final = "goes_on"
"""And those that are no `Report`: messages are held back for long, and are not any more."""


@dataclass(slots=True, kw_only=True)
class RecentEvent:
    """One thing that has happened."""

    number: int
    """Events count from 1."""
    at_s: float
    """When, by `time.monotonic`; of one that counts when it happened last."""
    kind: str
    """In one word, such as `met` or `expelled`."""
    peer: str
    """Who it is about."""
    text: str
    """All of it in words."""
    count: int = 0
    """How many messages it is about, if it is about messages."""


class RecentEvents:
    """The last events of one node."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock: Final = clock
        self._events: Final[deque[RecentEvent]] = deque(maxlen=RECENT_MAX)
        self._number = 0

    def note(self, kind: str, peer: str, text: str, count: int = 0) -> None:
        """This has happened."""
        self._number += 1
        self._events.append(
            RecentEvent(
                number=self._number,
                at_s=self._clock(),
                kind=kind,
                peer=peer,
                text=text,
                count=count,
            )
        )

    def note_report(self, report: Report) -> None:
        """An event of the application has happened."""
        kind, peer, count = KINDS[type(report)], report.name, count_of(report)
        last = self._events[-1] if self._events else None
        if kind in COUNTED and last is not None and (last.kind, last.peer) == (kind, peer):
            # It goes on, under a new number: who has asked before is told again.
            self._events.pop()
            count += last.count
        self.note(kind, peer, text_of(report, count), count)

    def since(self, number: int) -> list[RecentEvent]:
        """Those after this number that are still known, the oldest first."""
        return [event for event in self._events if event.number > number]


def count_of(report: Report) -> int:
    """How many messages a report is about; 0 if it is about none."""
    return len(report.sequences) if isinstance(report, events.Undeliverable) else 0


def text_of(report: Report, count: int) -> str:
    """A report in words."""
    name = report.name
    match report:
        case events.PeerSilent():
            return f"{name} is silent"
        case events.PeerExpelled() | events.NodeFenced():
            why = f": {report.reason}" if report.reason else ""
            return f"{name} was expelled by {report.by}{why}"
        case events.Undeliverable():
            if report.why == LEFT_OUT:
                return f"{messages_text(count)} left out {name}, which was away"
            return f"{messages_text(count)} can no longer be delivered to {name}"
        case events.TooLarge():
            return f"a message of {name} was too large: {report.size:,} bytes"
        case events.PeerRefused():
            return f"no talk with {name}: {report.reason}"
        case events.PathNarrow():
            return f"the way to {name} is too narrow for datagrams of 1,200 bytes"
        case events.Joined() | events.Left() | events.RoomSplit():
            return f"{name} {IN_ROOMS[type(report)]} {report.room!r}"
        case events.SnapshotProgress():
            share = f"{report.received:,} of {report.size:,} bytes"
            return f"the state of the room {report.room!r} comes from {name}: {share}"
    return f"{name} {PLAIN[type(report)]}"


PLAIN: Final[dict[type[Report], str]] = {
    events.PeerMet: "was met",
    events.PeerRestarted: "was restarted",
    events.PeerMoved: "has moved",
    events.PeerBack: "is back",
    events.PeerLeft: "has left",
    events.Split: "and this node have expelled each other",
    events.StrangerSeen: "asked to join",
}

IN_ROOMS: Final[dict[type[Report], str]] = {
    events.Joined: "is in the room",
    events.Left: "has left the room",
    events.RoomSplit: "is in another room that is called",
}
