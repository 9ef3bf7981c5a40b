"""Everything that `on_event` may be called with: what a node has to say about its peers."""

from typing import TypeAlias

from antecede.link.reports import (
    NodeFenced,
    PathNarrow,
    PeerBack,
    PeerExpelled,
    PeerLeft,
    PeerMet,
    PeerMoved,
    PeerRestarted,
    PeerSilent,
    Refused,
    Report,
    Split,
    Stranger,
    TooLarge,
    Undeliverable,
)

__all__ = [
    "Event",
    "NodeFenced",
    "PathNarrow",
    "PeerBack",
    "PeerExpelled",
    "PeerLeft",
    "PeerMet",
    "PeerMoved",
    "PeerRestarted",
    "PeerSilent",
    "Refused",
    "Split",
    "Stranger",
    "TooLarge",
    "Undeliverable",
]

Event: TypeAlias = Report
"""Any of them."""
