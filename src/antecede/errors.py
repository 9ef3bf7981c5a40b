"""Every error that a program may want to catch.

`LocalError` and what derives from it is the caller's fault and has changed nothing; `RemoteError`
is a peer's. Others are nobody's: time is over, a disk is full. All of them are `AntecedeError`s,
and say in one sentence what to do.
"""

from antecede.core.errors import AntecedeError, BufferFull, Fenced, LocalError, RemoteError
from antecede.durability.errors import (
    JournalCorrupt,
    JournalFailed,
    JournalFull,
    JournalInUse,
    JournalUnavailable,
)
from antecede.runtime.errors import (
    BadConfiguration,
    BadPayload,
    CannotBind,
    JoinFailed,
    KeyNeeded,
    MissingExtra,
    NodeClosed,
    NotInRoom,
    PayloadTooLarge,
    PeerAway,
    PeerGone,
    RequestFailed,
    Stranded,
    TimedOut,
    TraceFailed,
    Undelivered,
    UnknownPeer,
    WouldDeadlock,
    WrongProcess,
    WrongThread,
)
from antecede.runtime.security.noise import AuthenticationFailed

__all__ = [
    "AntecedeError",
    "AuthenticationFailed",
    "BadConfiguration",
    "BadPayload",
    "BufferFull",
    "CannotBind",
    "Fenced",
    "JoinFailed",
    "JournalCorrupt",
    "JournalFailed",
    "JournalFull",
    "JournalInUse",
    "JournalUnavailable",
    "KeyNeeded",
    "LocalError",
    "MissingExtra",
    "NodeClosed",
    "NotInRoom",
    "PayloadTooLarge",
    "PeerAway",
    "PeerGone",
    "RemoteError",
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
