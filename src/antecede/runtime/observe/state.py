"""How a node stands, as one value for JSON: what a view of many nodes asks each of them for.

It says no more than `stats`, `health` and `explain`, but all of it at one moment. The cost grows
with the number of peers, and the loop gets a turn after some of them.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Final, Protocol

from antecede.runtime.config.addresses import Address
from antecede.runtime.notifier import yield_to_loop
from antecede.runtime.observe.explain import Explanation
from antecede.runtime.observe.prometheus import MetricsSource
from antecede.runtime.observe.recent_events import RecentEvent
from antecede.runtime.observe.stats import PeerStats, Stats
from antecede.runtime.observe.stats_reader import PEERS_PER_TURN
from antecede.version import __version__

LINES_MAX: Final = 50
"""Of what waits, at most 50 lines are told in words; `/explain` has all of them."""

PEER_FIELDS: Final = tuple(item.name for item in fields(PeerStats))
NOT_FIGURES: Final = ("name", "peers", "journal")
"""Fields of `Stats` that are told elsewhere."""

FIGURES: Final = tuple(item.name for item in fields(Stats) if item.name not in NOT_FIGURES)


class StateSource(MetricsSource, Protocol):
    """What has a state to tell: a node."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def incarnation(self) -> int:
        """The number of this life."""

    @property
    def address(self) -> Address:
        """Where peers reach it."""

    @property
    def closed(self) -> bool:
        """Whether it has left."""

    @property
    def rooms(self) -> Mapping[str, Sequence[str]]:
        """Its rooms, and who is in them."""

    def recent_events(self, since: int = 0) -> list[RecentEvent]:
        """What has lately happened, after the event of this number."""


async def state_of(node: StateSource, since: int = 0) -> dict[str, object]:
    """Everything that a view shows of this node; of its events those after the number `since`."""
    stats = await node.stats_in_turns()
    health = node.health(stats)
    explanation = node.explain()
    return {
        "name": node.name,
        "incarnation": node.incarnation,
        "version": __version__,
        "address": str(node.address),
        "closed": node.closed,
        "status": health.status,
        **asdict(health),
        "figures": {name: getattr(stats, name) for name in FIGURES},
        "journal": asdict(stats.journal),
        "peers": await peer_objects(stats),
        "rooms": [room_object(name, members) for name, members in node.rooms.items()],
        "waits": wait_objects(explanation),
        "text": str(explanation).splitlines()[:LINES_MAX],
        "events": [event_object(event, time.monotonic()) for event in node.recent_events(since)],
    }


async def peer_objects(stats: Stats) -> list[dict[str, object]]:
    """All that is known of each peer."""
    found: list[dict[str, object]] = []
    for start in range(0, len(stats.peers), PEERS_PER_TURN):
        chunk = stats.peers[start : start + PEERS_PER_TURN]
        found += [{name: getattr(peer, name) for name in PEER_FIELDS} for peer in chunk]
        await yield_to_loop()
    return found


def wait_objects(explanation: Explanation) -> list[dict[str, object]]:
    """Who waits for whom, as far as this node knows."""
    return [{**asdict(chain), "text": chain.held_back()} for chain in explanation.chains]


def event_object(event: RecentEvent, now_s: float) -> dict[str, object]:
    """An event; when it was is told by how long ago, as clocks differ."""
    return {
        "number": event.number,
        "ago_s": round(now_s - event.at_s, 3),
        "kind": event.kind,
        "peer": event.peer,
        "text": event.text,
        "count": event.count,
    }


def room_object(name: str, members: Sequence[str]) -> dict[str, object]:
    """A room, and who is in it."""
    return {
        "name": name,
        "members": list(members),
        "state": "joined" if members else "joining",
    }
