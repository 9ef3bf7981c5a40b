"""A cluster at one moment, as one value for JSON: what the terminal, the page and scripts show.

Nodes are known by their names. Beside those that answer there are some that do not, and some that
others name and that nobody can ask.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from antecede.runtime.config.addresses import Address
from antecede_cli.view.answers import STATES, PeerState, RoomState, Wait
from antecede_cli.view.collector import Collector, seen_of
from antecede_cli.view.happenings import Happening
from antecede_cli.view.watched import FIGURES, Watched

UNREACHABLE: Final = "unreachable"
"""The status of a node that does not answer."""

UNKNOWN: Final = "unknown"
"""That of one which others name, and of which nobody knows where to ask it."""

AWAY: Final = "away"
"""The same, if all who name it say that it is away."""

STATUSES: Final = ("failing", UNREACHABLE, "blocked", "degraded", "ok", UNKNOWN, AWAY)
"""Every status, the worst first."""

SPARK_LENGTH: Final = 60
"""Beside each node the last 60 values of a figure are drawn."""

OTHERS_MAX: Final = 1_000
"""Of those that others name and nobody can ask, at most 1,000 are shown."""

EDGES_MAX: Final = 500
"""At most 500 lines of who waits for whom."""

Object: TypeAlias = dict[str, Any]


def cluster_object(collector: Collector, now_s: float) -> Object:
    """The whole: a line for each node and room, who waits for whom, and what has happened."""
    seen = seen_of(collector.watched)
    edges = wait_edges(collector.watched)
    nodes = [
        node_line(one, seen.get(one.name, {}), edges, now_s) for one in collector.watched.values()
    ]
    tell_doubles(nodes)
    asked = {one["name"] for one in nodes}
    others = [name for name in seen if name not in asked][:OTHERS_MAX]
    nodes += [other_line(name, seen[name], edges) for name in others]
    nodes.sort(key=lambda one: str(one["name"]))
    return {
        "at_s": round(now_s, 3),
        "counts": {one: sum(node["status"] == one for node in nodes) for one in STATUSES},
        "source_failure": collector.source_failure,
        "nodes": nodes,
        "rooms": room_lines(collector.watched),
        "waits": list(edges.values()),
        "happenings": [happening_object(one, now_s) for one in collector.happenings.last()],
        "figures": {name: [one.title, one.unit] for name, one in FIGURES.items()},
        "total": total_figures(collector.watched.values()),
    }


def node_object(collector: Collector, name: str, now_s: float) -> Object | None:
    """Everything about one node; None if nobody knows it."""
    seen = seen_of(collector.watched).get(name, {})
    edges = wait_edges(collector.watched)
    one = next((one for one in collector.watched.values() if one.name == name), None)
    if one is None:
        return {**other_line(name, seen, edges), **opinions(seen)} if seen else None
    found: Object = {**node_line(one, seen, edges, now_s), **opinions(seen)}
    found["history"] = {figure: list(values) for figure, values in one.history.items()}
    found["happenings"] = [
        happening_object(event, now_s) for event in collector.happenings.last(name)
    ]
    state = one.state
    if state is not None and one.answers:
        found |= {
            "incarnation": str(state.incarnation),
            "address": state.address,
            "text": list(state.text),
            "figures": dict(state.figures),
            "journal": {} if not state.journal.get("files") else dict(state.journal),
            "peer_list": [peer_object(peer) for peer in state.peers],
            "rooms": [room.name for room in state.rooms],
        }
    return found


def room_object(collector: Collector, name: str, now_s: float) -> Object | None:
    """Everything about one room; None if nobody knows it."""
    line = next((one for one in room_lines(collector.watched) if one["name"] == name), None)
    if line is None:
        return None
    seen = seen_of(collector.watched)
    views: Object = {}
    for one in collector.watched.values():
        for room in rooms_of(one):
            if room.name == name:
                views[one.name] = {**room.words, **room.figures, "members": list(room.members)}
    known = {one.name: one for one in collector.watched.values()}
    members = [member_line(member, known, seen, now_s) for member in line["members"]]
    return {**line, "member_list": members, "views": views}


# Nodes.


def node_line(one: Watched, seen: Mapping[str, PeerState], edges: "Edges", now_s: float) -> Object:
    """What stands in the line of a node that is asked."""
    state = one.state
    status = state.status if state is not None and one.answers else UNREACHABLE
    reasons = [one.failure] if one.failure else [] if state is None else list(state.reasons)
    held = one.answers and state is not None
    figures = state.figures if held and state is not None else {}
    return {
        "name": one.name,
        "place": str(one.place),
        "status": status if one.changed_s is not None else UNKNOWN,
        "since_s": 0 if one.changed_s is None else round(now_s - one.changed_s, 1),
        "reasons": reasons,
        "version": "" if state is None else state.version,
        "peers": count_states(state.peers if held and state is not None else ()),
        "rooms": len(state.rooms) if state is not None else 0,
        "held_back_s": round(figures.get("held_back_ns", 0) / 1e9, 1),
        "waits_for": waits_for(one.name, edges),
        **seen_by(seen),
        **{name: one.figure(name) for name in FIGURES},
        "spark": list(one.history["delivered"])[-SPARK_LENGTH:],
    }


def tell_doubles(nodes: Sequence[Object]) -> None:
    """Say of nodes that answer by one name that they do: one of them is not who it says."""
    counts = Counter(one["name"] for one in nodes)
    for one in nodes:
        if counts[one["name"]] > 1:
            one["reasons"].insert(0, f"{counts[one['name']]} nodes answer by this name")
            one["status"] = "failing" if one["status"] != UNREACHABLE else UNREACHABLE


def other_line(name: str, seen: Mapping[str, PeerState], edges: "Edges") -> Object:
    """What stands in the line of one that is only named by others."""
    away = all(peer.state == "away" for peer in seen.values())
    return {
        "name": name,
        "place": "",
        "status": AWAY if away else UNKNOWN,
        "since_s": 0,
        "reasons": ["nobody has told where to ask it (http=)"],
        "version": "",
        "peers": count_states(()),
        "rooms": 0,
        "held_back_s": 0,
        "waits_for": waits_for(name, edges),
        **seen_by(seen),
        **dict.fromkeys(FIGURES, 0.0),
        "spark": [],
    }


def member_line(
    name: str,
    known: Mapping[str, Watched],
    seen: Mapping[str, Mapping[str, PeerState]],
    now_s: float,
) -> Object:
    """What stands in the line of a member of a room."""
    if name in known:
        return node_line(known[name], seen.get(name, {}), {}, now_s)
    return other_line(name, seen.get(name, {}), {})


def count_states(peers: Iterable[PeerState]) -> dict[str, int]:
    """How many peers are in each state."""
    counts = dict.fromkeys(STATES, 0)
    for peer in peers:
        counts[peer.state] += 1
    return counts


def seen_by(seen: Mapping[str, PeerState]) -> Object:
    """How the others see a node, in numbers."""
    return {"seen": count_states(seen.values())}


def opinions(seen: Mapping[str, PeerState]) -> Object:
    """How each of the others sees a node."""
    return {"seen_by": {name: peer.state for name, peer in sorted(seen.items())}}


def peer_object(peer: PeerState) -> Object:
    """What a node says of one peer."""
    return {
        "name": peer.name,
        "state": peer.state,
        "refusal": peer.refusal,
        "undelivered": peer.undelivered,
        "held_back": peer.held_back,
        "held_back_s": round(peer.held_back_ns / 1e9, 1),
        "round_trip": round(peer.round_trip_ns / 1e6, 3),
        "sent": peer.datagrams_sent,
        "received": peer.datagrams_received,
        "lost": peer.lost,
    }


def total_figures(watched: Iterable[Watched]) -> Object:
    """Figures of all nodes together, over time; of round trips the longest."""
    total: Object = {}
    found = list(watched)
    for name in FIGURES:
        join = max if name == "round_trip" else sum
        columns = [list(one.history[name])[-SPARK_LENGTH:] for one in found]
        length = max(map(len, columns), default=0)
        padded = [[0.0] * (length - len(column)) + column for column in columns]
        total[name] = [round(join(values), 3) for values in zip(*padded, strict=True)]
    return total


# Who waits for whom.

Edges: TypeAlias = dict[tuple[str, str], Object]


def wait_edges(watched: Mapping[Address, Watched]) -> Edges:
    """Who waits for whom, by the two: the lines of the graph."""
    edges: Edges = {}
    for one in watched.values():
        if one.answers and one.state is not None:
            for wait in one.state.waits:
                add_chain(edges, wait)
    return edges


def add_chain(edges: Edges, wait: Wait) -> None:
    """Take over the links of a chain: the first says what is held back, the last why."""
    for number, pair in enumerate(zip(wait.names, wait.names[1:], strict=False)):
        if len(edges) >= EDGES_MAX and pair not in edges:
            return
        edge = edges.setdefault(
            pair,
            {"from": pair[0], "to": pair[1], "messages": 0, "oldest_s": 0, "why": "", "text": ""},
        )
        if number == 0 and wait.messages >= edge["messages"]:
            edge["messages"] = wait.messages
            edge["oldest_s"] = max(edge["oldest_s"], round(wait.oldest_ns / 1e9, 1))
            edge["text"] = wait.text
        if number == len(wait.names) - 2:
            edge["why"] = why_of(wait) or edge["why"]


def why_of(wait: Wait) -> str:
    """Why the last one of a chain gives nothing."""
    if wait.gone:
        return "has ended"
    if wait.silent_ns:
        return f"silent for {wait.silent_ns // 10**9:,} s"
    return "reads nothing" if wait.reads_nothing else ""


def waits_for(name: str, edges: Edges) -> list[str]:
    """For whom a node waits."""
    return [edge["to"] for edge in edges.values() if edge["from"] == name]


# Rooms and happenings.


def rooms_of(one: Watched) -> tuple[RoomState, ...]:
    """The rooms that a node tells of; none if it does not answer."""
    return one.state.rooms if one.answers and one.state is not None else ()


def room_lines(watched: Mapping[Address, Watched]) -> list[Object]:
    """A line for each room: its members as all see it, and who tells of it."""
    found: dict[str, Object] = {}
    for one in watched.values():
        for room in rooms_of(one):
            line = found.setdefault(room.name, {"name": room.name, "members": {}, "told_by": []})
            line["members"] |= dict.fromkeys(room.members)
            line["told_by"].append(one.name)
    for line in found.values():
        line["members"] = sorted(line["members"])
    return sorted(found.values(), key=lambda line: str(line["name"]))


def happening_object(one: Happening, now_s: float) -> Object:
    """One thing that has happened."""
    return {
        "ago_s": round(max(0.0, now_s - one.at_s), 1),
        "at_s": round(one.at_s, 1),
        "kind": one.kind,
        "peer": one.peer,
        "text": one.text,
        "nodes": one.nodes,
    }
