"""What a node answers at `/state`, read with care: it may be anything, of anybody, of any version.

Whatever is missing or of another type is as if it were not told, every text is cut and cannot
command a terminal, and every list has a limit. What is no state of a node at all is a `BadAnswer`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, TypeGuard

from antecede.core.errors import RemoteError
from antecede.wire.handshake import escape_controls

NAME_MAX: Final = 100
"""Of a name 100 characters are shown; a node allows 64 bytes."""

TEXT_MAX: Final = 500
"""Of a sentence 500 characters are shown."""

PEERS_MAX: Final = 5_000
ROOMS_MAX: Final = 1_000
WAITS_MAX: Final = 500
LINES_MAX: Final = 50
EVENTS_MAX: Final = 256
FIGURES_MAX: Final = 100
"""Of what one node tells, at most so much is taken."""

STATES: Final = ("new", "here", "silent", "away")
STATUSES: Final = ("ok", "degraded", "blocked", "failing")
NUMBER_MAX: Final = 1 << 62


class BadAnswer(RemoteError):  # noqa: N818 - reads as what it is
    """What was answered is no state of a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerState:
    """How a node stands with one peer."""

    name: str
    state: str
    http: str
    """Where the peer serves HTTP, if it has said so."""
    refusal: str
    undelivered: int
    datagrams_sent: int
    datagrams_received: int
    lost: int
    round_trip_ns: int
    held_back: int
    held_back_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Somebody waits for somebody, who may wait in turn."""

    names: tuple[str, ...]
    """Who waits first; at least two."""
    silent_ns: int
    gone: bool
    reads_nothing: bool
    messages: int
    oldest_ns: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomState:
    """A room, as one of its members sees it."""

    name: str
    members: tuple[str, ...]
    figures: Mapping[str, float]
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """Something that has happened at a node."""

    number: int
    ago_s: float
    kind: str
    peer: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """How a node stands."""

    name: str
    incarnation: int
    version: str
    address: str
    status: str
    reasons: tuple[str, ...]
    """Why the status is not `ok`."""
    figures: Mapping[str, float]
    journal: Mapping[str, float]
    peers: tuple[PeerState, ...]
    rooms: tuple[RoomState, ...]
    waits: tuple[Wait, ...]
    text: tuple[str, ...]
    """What is waiting, in words."""
    events: tuple[NodeEvent, ...]


def read_state(body: bytes) -> NodeState:
    """The state in an answer; `BadAnswer` if there is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise BadAnswer("no JSON is served there") from None
    if not isinstance(found, dict) or not text_in(found, "name", NAME_MAX):
        raise BadAnswer("the state of no node is served there")
    status = text_in(found, "status")
    reasons = [line for key in ("problems", "blocked", "warnings") for line in texts_in(found, key)]
    return NodeState(
        name=text_in(found, "name", NAME_MAX),
        incarnation=number_in(found, "incarnation"),
        version=text_in(found, "version", NAME_MAX),
        address=text_in(found, "address", NAME_MAX),
        status=status if status in STATUSES else "failing",
        reasons=tuple(reasons),
        figures=figures_of(found.get("figures")),
        journal=figures_of(found.get("journal")),
        peers=tuple(peer_of(one) for one in named_in(found, "peers", PEERS_MAX)),
        rooms=tuple(room_of(one) for one in named_in(found, "rooms", ROOMS_MAX)),
        waits=tuple(
            wait
            for one in objects_in(found, "waits", WAITS_MAX)
            if len((wait := wait_of(one)).names) > 1
        ),
        text=tuple(texts_in(found, "text")),
        events=tuple(event_of(one) for one in objects_in(found, "events", EVENTS_MAX)),
    )


def peer_of(found: Mapping[str, Any]) -> PeerState:
    """One peer."""
    state = text_in(found, "state")
    return PeerState(
        name=text_in(found, "name", NAME_MAX),
        state=state if state in STATES else "away",
        http=text_in(found, "http", NAME_MAX),
        refusal=text_in(found, "refusal"),
        undelivered=number_in(found, "undelivered"),
        datagrams_sent=number_in(found, "datagrams_sent"),
        datagrams_received=number_in(found, "datagrams_received"),
        lost=number_in(found, "lost"),
        round_trip_ns=number_in(found, "round_trip_ns"),
        held_back=number_in(found, "held_back"),
        held_back_ns=number_in(found, "held_back_ns"),
    )


def wait_of(found: Mapping[str, Any]) -> Wait:
    """One chain of those who wait."""
    names = [text_in(found, "waiting", NAME_MAX), *texts_in(found, "names", NAME_MAX)]
    return Wait(
        names=tuple(name for name in names if name),
        silent_ns=number_in(found, "silent_ns"),
        gone=found.get("gone") is True,
        reads_nothing=found.get("reads_nothing") is True,
        messages=number_in(found, "messages"),
        oldest_ns=number_in(found, "oldest_ns"),
        text=text_in(found, "text"),
    )


def room_of(found: Mapping[str, Any]) -> RoomState:
    """One room; members are names, or objects that have one."""
    listed = found.get("members")
    listed = listed[:PEERS_MAX] if isinstance(listed, list) else []
    members = [one.get("name") if isinstance(one, dict) else one for one in listed]
    rest = {key: value for key, value in found.items() if key not in ("name", "members")}
    words = {key: value for key, value in rest.items() if isinstance(value, str)}
    return RoomState(
        name=text_in(found, "name", NAME_MAX),
        members=tuple(shown(name, NAME_MAX) for name in members if isinstance(name, str)),
        figures=figures_of(rest),
        words={
            shown(key, NAME_MAX): shown(value, TEXT_MAX)
            for key, value in list(words.items())[:FIGURES_MAX]
        },
    )


def event_of(found: Mapping[str, Any]) -> NodeEvent:
    """One event."""
    ago = found.get("ago_s")
    return NodeEvent(
        number=number_in(found, "number"),
        ago_s=max(0.0, float(ago)) if is_number(ago) else 0.0,
        kind=text_in(found, "kind", NAME_MAX),
        peer=text_in(found, "peer", NAME_MAX),
        text=text_in(found, "text"),
    )


# The pieces.


def shown(text: str, limit: int = TEXT_MAX) -> str:
    """A text of somebody else: no longer than this, and without control characters."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return escape_controls(cut.encode(errors="replace").decode())


def text_in(found: Mapping[str, Any], key: str, limit: int = TEXT_MAX) -> str:
    """The text under this key, or an empty one."""
    value = found.get(key)
    return shown(value, limit) if isinstance(value, str) else ""


def texts_in(found: Mapping[str, Any], key: str, limit: int = TEXT_MAX) -> list[str]:
    """The texts in the list under this key."""
    listed = found.get(key)
    listed = listed[:LINES_MAX] if isinstance(listed, list) else []
    return [shown(one, limit) for one in listed if isinstance(one, str)]


def objects_in(found: Mapping[str, Any], key: str, limit: int) -> list[dict[str, Any]]:
    """The objects in the list under this key."""
    listed = found.get(key)
    listed = listed[:limit] if isinstance(listed, list) else []
    return [one for one in listed if isinstance(one, dict)]


def named_in(found: Mapping[str, Any], key: str, limit: int) -> list[dict[str, Any]]:
    """The objects in the list under this key that have a name."""
    return [one for one in objects_in(found, key, limit) if text_in(one, "name")]


def number_in(found: Mapping[str, Any], key: str) -> int:
    """The number under this key; 0 if there is none."""
    value = found.get(key)
    return int(value) if is_number(value) else 0


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a number that can be counted with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < NUMBER_MAX and isfinite(value)


def figures_of(found: object) -> dict[str, float]:
    """The numbers of an object by their names."""
    items = list(found.items())[:FIGURES_MAX] if isinstance(found, dict) else []
    return {shown(str(key), NAME_MAX): value for key, value in items if is_number(value)}
