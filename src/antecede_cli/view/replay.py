"""A recorded run, seen at any of its moments as a cluster that lives is seen.

An event log knows of every copy of a message when it was submitted, transmitted, arrived and was
delivered. So it is known who held what back at a moment, and for whom that waited: a message leaves
when all that its sender had sent or read before it was delivered, which is what causal order asks.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from antecede.core.errors import LocalError
from antecede.units import NS_OF_UNIT, counted, duration_text, listing
from antecede_audit.report.assemble import all_audits, all_diagrams
from antecede_audit.report.page import document
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.recordings_page import (
    NamedRecording,
    chosen_runs,
    logged_runs,
    read_recording,
    spacetime_section,
)
from antecede_audit.report.sources import find_sources
from antecede_audit.report.spacetime.recording import MISSING, Recording
from antecede_cli.view.answers import shown
from antecede_cli.view.cluster import (
    AWAY,
    EDGES_MAX,
    SPARK_LENGTH,
    STATUSES,
    UNKNOWN,
    UNREACHABLE,
    Object,
    count_states,
)
from antecede_cli.view.dashboard import Views
from antecede_cli.view.happenings import TOLD_MAX
from antecede_cli.view.page import REPLAY_STYLES, Page, asset, make_page, style

SECOND_NS: Final = NS_OF_UNIT["s"]

PARTS: Final = 20
"""What lasts for a second, or for a twentieth of a shorter run, is long."""

LOOKED_AT: Final = 500
"""For whom a node waits is looked up among the 500 oldest messages that are not delivered."""

STORIES_MAX: Final = 5_000
"""Of messages that were held back for long, the first 5,000 are told of."""

LINES_MAX: Final = 50

FIGURES: Final = {
    "sent": ("sent", "messages/s"),
    "delivered": ("delivered", "messages/s"),
    "buffered": ("not yet delivered", "copies"),
    "inbox": ("in receive buffers", "copies"),
    "held_back": ("held back", "copies"),
}
"""What an event log knows."""

SUBMIT, TRANSMIT, ARRIVE, DELIVER, GIVE_UP = range(5)

MISSED_MAX: Final = 50
"""When others went on without a process is seen by the first 50 messages that it never got."""


class Moment:
    """Which copies are where, at a moment that moves."""

    def __init__(self, run: Recording, given_up_ns: Mapping[int, int]) -> None:
        """`given_up_ns` says since when others go on without a process, by its row."""
        self._run: Final = run
        copies = run.copies
        columns = (
            copies.submitted_ns,
            copies.transmitted_ns,
            copies.arrived_ns,
            copies.delivered_ns,
        )
        changes = [
            (time_ns, kind, copy)
            for kind, column in enumerate(columns)
            for copy, time_ns in enumerate(column)
            if time_ns != MISSING
        ]
        changes += [
            (max(given_up_ns[target], copies.submitted_ns[copy]), GIVE_UP, copy)
            for copy, target in enumerate(copies.target)
            if target in given_up_ns and copies.delivered_ns[copy] == MISSING
        ]
        self._changes: Final = sorted(changes)
        self._next = 0
        self._at_ns = -1
        # Copies by their numbers, the oldest first.
        self.under_way: dict[int, None] = {}
        """Submitted, and not delivered."""
        self.held: dict[int, None] = {}
        """Submitted, and not transmitted."""
        self.arrived: dict[int, None] = {}
        """Arrived, and not delivered."""
        self.buffered: Final[Counter[int]] = Counter()
        """How many copies under way each process has sent."""
        self.awaited: Final[Counter[int]] = Counter()
        """How many are under way to it."""
        self.received: Final[Counter[int]] = Counter()
        """How many have arrived there."""
        self._transmits: Final = any(time_ns != MISSING for time_ns in copies.transmitted_ns)

    def move_to(self, at_ns: int) -> None:
        """From now on it is this moment; back means from the beginning."""
        if at_ns < self._at_ns:
            self._next = 0
            for copies in (self.under_way, self.held, self.arrived):
                copies.clear()
            for counts in (self.buffered, self.awaited, self.received):
                counts.clear()
        self._at_ns = at_ns
        changes = self._changes
        while self._next < len(changes) and changes[self._next][0] <= at_ns:
            _, kind, copy = changes[self._next]
            self._change(kind, copy)
            self._next += 1

    def _change(self, kind: int, copy: int) -> None:
        sender, target = self._run.copies.sender[copy], self._run.copies.target[copy]
        if kind == SUBMIT:
            self.under_way[copy] = None
            self.buffered[sender] += 1
            self.awaited[target] += 1
            if self._transmits and sender != target:
                self.held[copy] = None
        elif kind == TRANSMIT:
            self.held.pop(copy, None)
        elif kind == ARRIVE and copy in self.under_way:
            self.received[target] += copy not in self.arrived
            self.arrived[copy] = None
        elif kind in (DELIVER, GIVE_UP) and copy in self.under_way:
            del self.under_way[copy]
            self.held.pop(copy, None)
            self.buffered[sender] -= 1
            self.awaited[target] -= 1
            if copy in self.arrived:
                del self.arrived[copy]
                self.received[target] -= 1


class ReplayViews(Views):
    """A run at the moments that are asked for, in nanoseconds since its start."""

    def __init__(self, run: Recording) -> None:
        self._run: Final = run
        self._names: Final = [shown(name) for name in run.names]
        self._long_ns: Final = min(SECOND_NS, max(1, run.span_ns // PARTS))
        copies = run.copies
        rows = range(len(run.processes))
        self._sent: Final = [
            sorted(
                {
                    copies.sequence[copy]: copies.submitted_ns[copy]
                    for copy in range(len(copies))
                    if copies.sender[copy] == row and copies.submitted_ns[copy] != MISSING
                }.values()
            )
            for row in rows
        ]
        self._delivered: Final[list[list[int]]] = [[] for _ in rows]
        # By sender and reader: when something was read, and the highest number read by then.
        self._read: Final[dict[tuple[int, int], tuple[list[int], list[int]]]] = {}
        delivered = [(when_ns, copy) for copy, when_ns in enumerate(copies.delivered_ns)]
        for when_ns, copy in sorted(delivered):
            if when_ns != MISSING:
                row = copies.target[copy]
                self._delivered[row].append(when_ns)
                times, numbers = self._read.setdefault((copies.sender[copy], row), ([], []))
                times.append(when_ns)
                numbers.append(max([copies.sequence[copy], *numbers[-1:]]))
        self._spans: Final = [self._span_of(row) for row in rows]
        self._given_up_ns: Final = self._find_given_up()
        self._moment: Final = Moment(run, self._given_up_ns)
        self._stories: Final = sorted(self._make_stories(), key=lambda story: story[0])
        self._story_times: Final = [story[0] for story in self._stories]

    def _span_of(self, row: int) -> tuple[int, int]:
        """From the first to the last that the log says of a process."""
        copies = self._run.copies
        sent, delivered = self._sent[row], self._delivered[row]
        arrived = [
            copies.arrived_ns[copy] for copy in range(len(copies)) if copies.target[copy] == row
        ]
        times = [*sent[:1], *sent[-1:], *delivered[:1], *delivered[-1:], *arrived]
        known = [time_ns for time_ns in times if time_ns != MISSING]
        return min(known, default=0), max(known, default=0)

    def _find_given_up(self) -> dict[int, int]:
        """Since when others go on without a process of which the log says no more.

        A message that was held back for long leaves, though one that its sender had sent or read
        before never got to that process: so the process was expelled, or has left.
        """
        copies = self._run.copies
        long = [copy for copy in range(len(copies)) if self._was_held_long(copy)][:STORIES_MAX]
        found: dict[int, int] = {}
        for row, (_, last_ns) in enumerate(self._spans):
            missed = [
                copy
                for copy in range(len(copies))
                if copies.target[copy] == row and copies.delivered_ns[copy] == MISSING
            ][:MISSED_MAX]
            times = [
                copies.transmitted_ns[copy]
                for copy in long
                if copies.transmitted_ns[copy] > last_ns
                and any(self._in_the_way(copies.sender[copy], copy, missed))
            ]
            if times:
                found[row] = min(times)
        return found

    def _was_held_long(self, copy: int) -> bool:
        """Whether a copy left at last, long after it was submitted."""
        copies = self._run.copies
        begin_ns, end_ns = copies.submitted_ns[copy], copies.transmitted_ns[copy]
        return MISSING not in (begin_ns, end_ns) and end_ns - begin_ns >= self._long_ns

    # What is shown.

    def whole(self, at: str) -> Object:
        at_ns = self._move_to(at)
        edges = self._edges()
        nodes = [self._line(row, at_ns, edges) for row in range(len(self._names))]
        for (_, whom), edge in edges.items():
            if nodes[whom]["status"] == UNREACHABLE:
                edge["why"] = "of which the log says no more"
        return {
            "at_s": at_ns / SECOND_NS,
            "counts": {one: sum(node["status"] == one for node in nodes) for one in STATUSES},
            "source_failure": "",
            "nodes": nodes,
            "rooms": [],
            "waits": list(edges.values()),
            "happenings": self._happenings(at_ns),
            "figures": {name: list(words) for name, words in FIGURES.items()},
            "total": self._totals(nodes, at_ns),
        }

    def node(self, name: str, at: str) -> Object | None:
        if name not in self._names:
            return None
        at_ns = self._move_to(at)
        row = self._names.index(name)
        line = self._line(row, at_ns, self._edges())
        history = {kind: self._history(row, kind, at_ns) for kind in ("sent", "delivered")}
        told = [one for one in self._happenings(at_ns) if name == one["peer"]]
        return {**line, "history": history, "text": self._waiting(row, at_ns), "happenings": told}

    def room(self, name: str, at: str) -> Object | None:
        del name, at  # Event logs know of no rooms.
        return None

    def _move_to(self, at: str) -> int:
        at_ns = min(int(at), self._run.span_ns) if at.isdecimal() else 0
        self._moment.move_to(at_ns)
        return at_ns

    def _line(self, row: int, at_ns: int, edges: dict[tuple[int, int], Object]) -> Object:
        copies = self._run.copies
        moment = self._moment
        held = [copy for copy in moment.held if copies.sender[copy] == row]
        oldest_ns = max((at_ns - copies.submitted_ns[copy] for copy in held), default=0)
        status, reasons = self._status(row, at_ns, len(held), oldest_ns)
        sent = self._history(row, "sent", at_ns)
        delivered = self._history(row, "delivered", at_ns)
        return {
            "name": self._names[row],
            "place": "",
            "status": status,
            "since_s": 0,
            "reasons": reasons,
            "version": "",
            "peers": count_states(()),
            "rooms": 0,
            "held_back_s": oldest_ns / SECOND_NS,
            "waits_for": [edge["to"] for pair, edge in edges.items() if pair[0] == row],
            "seen": count_states(()),
            "sent": sent[-1],
            "delivered": delivered[-1],
            "buffered": moment.buffered[row],
            "inbox": moment.received[row],
            "held_back": len(held),
            "spark": delivered,
        }

    def _status(self, row: int, at_ns: int, held: int, oldest_ns: int) -> tuple[str, list[str]]:
        """A status as a node would say it, as far as the log goes."""
        first_ns, last_ns = self._spans[row]
        if at_ns < first_ns:
            return UNKNOWN, ["the log says nothing of it yet"]
        if at_ns >= self._given_up_ns.get(row, at_ns + 1):
            return AWAY, ["the others go on without it"]
        if at_ns > last_ns + self._long_ns and self._is_awaited(row):
            said = f"the log says nothing of it for {duration_text(at_ns - last_ns)}"
            return UNREACHABLE, [f"{said}, though messages for it are under way"]
        if oldest_ns >= self._long_ns:
            oldest = duration_text(oldest_ns)
            return "blocked", [f"{counted(held, 'copy', 'copies')} held back, for up to {oldest}"]
        return "ok", []

    def _is_awaited(self, row: int) -> bool:
        """Whether something is under way to a process."""
        return self._moment.awaited[row] > 0

    def _history(self, row: int, kind: str, at_ns: int) -> list[float]:
        """How many messages a second, in each of the last stretches of time."""
        times = self._sent[row] if kind == "sent" else self._delivered[row]
        edges_ns = [at_ns - back * self._long_ns for back in range(SPARK_LENGTH, -1, -1)]
        places = [bisect_right(times, edge_ns) for edge_ns in edges_ns]
        per_second = SECOND_NS / self._long_ns
        return [round((after - before) * per_second, 3) for before, after in pairwise(places)]

    def _totals(self, nodes: list[Object], at_ns: int) -> Object:
        rows = range(len(self._names))
        found: Object = {
            kind: [
                round(sum(values), 3)
                for values in zip(*(self._history(row, kind, at_ns) for row in rows), strict=True)
            ]
            for kind in ("sent", "delivered")
        }
        for kind in ("buffered", "inbox", "held_back"):
            found[kind] = [sum(node[kind] for node in nodes)]
        return found

    def _waiting(self, row: int, at_ns: int) -> list[str]:
        """What a process holds back, in words."""
        copies = self._run.copies
        lines = [
            f"message {copies.sequence[copy]} to {self._names[copies.target[copy]]} is held back "
            f"for {duration_text(at_ns - copies.submitted_ns[copy])}"
            for copy in self._moment.held
            if copies.sender[copy] == row
        ]
        lines += [
            f"message {copies.sequence[copy]} of {self._names[copies.sender[copy]]} has arrived "
            "and waits for one that is missing before it"
            for copy in self._moment.arrived
            if copies.target[copy] == row
        ]
        return lines[:LINES_MAX] or ["nothing is waiting"]

    # Who waits for whom.

    def _edges(self) -> dict[tuple[int, int], Object]:
        """For each process that holds something back: for whom, and for whom that one in turn."""
        copies, moment = self._run.copies, self._moment
        first_held: dict[int, int] = {}
        held: dict[int, int] = {}
        for copy in moment.held:
            sender = copies.sender[copy]
            first_held.setdefault(sender, copy)
            held[sender] = held.get(sender, 0) + 1
        oldest = list(moment.under_way)[:LOOKED_AT]
        edges: dict[tuple[int, int], Object] = {}
        for row, copy in first_held.items():
            for other in self._in_the_way(row, copy, oldest):
                sender, target = copies.sender[other], copies.target[other]
                if sender != row:
                    self._add(edges, row, sender, held[row])
                self._add(edges, sender, target, held[row] if sender == row else 0)
        first_arrived: dict[int, int] = {}
        for copy in moment.arrived:
            first_arrived.setdefault(copies.target[copy], copy)
        for target, copy in first_arrived.items():
            for other in self._in_the_way(copies.sender[copy], copy, oldest):
                if copies.target[other] == target and copies.sender[other] != target:
                    self._add(edges, target, copies.sender[other], 1)
        return edges

    def _in_the_way(self, row: int, copy: int, oldest: list[int]) -> Iterator[int]:
        """Copies under way of messages that a process had sent before it sent this one, or that
        their sender had sent before one that this process had read."""
        copies = self._run.copies
        submitted_ns, sequence = copies.submitted_ns[copy], copies.sequence[copy]
        last_read: dict[int, int] = {}
        for other in oldest:
            sender, number = copies.sender[other], copies.sequence[other]
            if sender == row:
                if number < sequence:
                    yield other
                continue
            if sender not in last_read:
                last_read[sender] = self._last_read(sender, row, submitted_ns)
            if number <= last_read[sender]:
                yield other

    def _last_read(self, sender: int, row: int, before_ns: int) -> int:
        """The highest number of a sender's messages that a process had read by then; or -1."""
        times, numbers = self._read.get((sender, row), ([], []))
        place = bisect_left(times, before_ns)
        return numbers[place - 1] if place else -1

    def _add(
        self, edges: dict[tuple[int, int], Object], waiting: int, whom: int, messages: int
    ) -> None:
        if waiting == whom or (len(edges) >= EDGES_MAX and (waiting, whom) not in edges):
            return
        edge = edges.setdefault(
            (waiting, whom),
            {"from": self._names[waiting], "to": self._names[whom], "messages": 0}
            | {"oldest_s": 0, "why": "", "text": ""},
        )
        edge["messages"] = max(edge["messages"], messages)

    # What has happened.

    def _make_stories(self) -> Iterator[tuple[int, str, int, str]]:
        """When, what kind, about which process, and in words."""
        for row, (first_ns, last_ns) in enumerate(self._spans):
            yield first_ns, "met", row, f"the log of {self._names[row]} begins"
            if last_ns + self._long_ns < self._run.span_ns:
                yield last_ns, "left", row, f"the log of {self._names[row]} says no more"
        for row, when_ns in self._given_up_ns.items():
            yield when_ns, "expelled", row, f"the others go on without {self._names[row]}"
        copies = self._run.copies
        told: set[tuple[int, int]] = set()
        for copy in range(len(copies)):
            message = copies.sender[copy], copies.sequence[copy]
            begin_ns, end_ns = copies.submitted_ns[copy], copies.transmitted_ns[copy]
            if not self._was_held_long(copy) or message in told or len(told) >= STORIES_MAX:
                continue
            told.add(message)
            what = f"message {message[1]} of {self._names[message[0]]}"
            yield begin_ns + self._long_ns, "held_back", message[0], f"{what} is held back"
            lasted = duration_text(end_ns - begin_ns)
            yield end_ns, "goes_on", message[0], f"{what} goes on, after {lasted}"

    def _happenings(self, at_ns: int) -> list[Object]:
        end = bisect_right(self._story_times, at_ns)
        return [
            {
                "ago_s": (at_ns - time_ns) / SECOND_NS,
                "at_s": time_ns / SECOND_NS,
                "kind": kind,
                "peer": self._names[row],
                "text": text,
                "nodes": [],
            }
            for time_ns, kind, row, text in reversed(self._stories[max(0, end - TOLD_MAX) : end])
        ]


# The page.


def read_run(path: Path, run_id: str | None) -> NamedRecording:
    """The run that is to be replayed; `LocalError` if it is not clear which."""
    logged = logged_runs(find_sources([path], ()))
    if run_id is not None:
        logged = chosen_runs(logged, [run_id])
    if len(logged) != 1:
        names = listing([one.run_id for one in logged])
        raise LocalError(f"{path} has {counted(len(logged), 'run')}: {names}; name one with --run")
    return read_recording(logged[0], logged[0].run_id)


def replay_page(recording: NamedRecording) -> Page:
    """The page of a recorded run: how to play it, its spacetime diagram, and the cluster."""
    diagrams = all_diagrams([recording], all_audits({}, [], [recording]))
    section = spacetime_section(diagrams)
    assert section is not None, "there is a diagram"
    player = element(
        "div",
        element("button", "▶", type="button", id="play", aria_label="Play or pause"),
        element("select", id="speed", aria_label="How fast"),
        element(
            "input",
            type="range",
            id="moment",
            min=0,
            max=1000,
            value=0,
            step="any",
            aria_label="Moment of the run",
        ),
        element("output", "0", id="clock"),
        class_="player",
        data_span=recording.run.span_ns,
    )
    diagram = element("div", document.section_markup(section), class_="stage")
    scripts = [document.bundled(document.asset(name)) for name in document.SCRIPTS]
    script = joined(
        [Markup(text) for text in (*scripts, asset("dashboard.js"), asset("replay.js"))]
    )
    return make_page(style(REPLAY_STYLES), script, replay=True, stage=[player, diagram])
