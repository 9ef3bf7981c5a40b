"""Everything that the browser needs to draw one run, as an object for JSON.

Which row, which lane, which label, which violation: all of it is decided here. What depends on the
part of the run that is looked at (pixels, culling, what is under the pointer) is decided there.
"""

import base64
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from antecede_audit.report.spacetime.recording import IMPLIED, MISSING, CopyColumns, Recording

LEVEL = 6
"""Of compression: more takes much longer and gains a few percent."""


def packed(values: Sequence[int], *, growing: bool = False) -> str:
    """A column of whole numbers as text that a browser unpacks: small, and exact.

    A number becomes 1 to 10 bytes of seven bits each, lowest first, all but the last with the high
    bit set; 0, -1, 1, -2, … are written as 0, 1, 2, 3, … so that small numbers of either sign are
    short. A column that mostly grows is written as differences. All of it is compressed (zlib) and
    put into base64. `page/assets/columns.js` is the other half.
    """
    return base64.b64encode(
        zlib.compress(varints(steps(values) if growing else values), LEVEL)
    ).decode()


def steps(values: Sequence[int]) -> list[int]:
    """The differences from one to the next; the first from 0."""
    return [value - before for before, value in zip([0, *values], values, strict=False)]


def varints(values: Iterable[int]) -> bytes:
    """The numbers, one after the other."""
    out = bytearray()
    append = out.append
    for value in values:
        rest = value << 1 if value >= 0 else (-value << 1) - 1
        while rest > 127:
            append(rest & 127 | 128)
            rest >>= 7
        append(rest)
    return bytes(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """One bar or none for each copy, a list per column; `lane` is `MISSING` where there is none.

    A bar is the time that a copy spends in a buffer: above the line of its sender from submission
    to transmission, below the line of its target from arrival to delivery. Those that overlap in
    time on one process line are stacked in lanes. A copy that is still in a buffer when the log
    ends has a bar to the end. What passes through in no time has none.
    """

    begin_ns: list[int]
    end_ns: list[int]
    lane: list[int]
    depth: list[int]
    """How many lanes each row needs."""

    def spans(self) -> list[tuple[int, int]]:
        """From when to when each bar lasts."""
        columns = zip(self.begin_ns, self.end_ns, self.lane, strict=True)
        return [(begin_ns, end_ns) for begin_ns, end_ns, lane in columns if lane != MISSING]


def send_bars(run: Recording) -> Bars:
    """Time in send buffers."""
    copies = run.copies
    travelling = transmits(run)
    begins, ends = [], []
    for copy in range(len(copies)):
        begin_ns, end_ns = copies.submitted_ns[copy], copies.transmitted_ns[copy]
        if end_ns == MISSING and travelling and is_waiting(copies, copy):
            end_ns = run.span_ns
        begins.append(begin_ns)
        ends.append(end_ns)
    return stacked(begins, ends, copies.sender, copies, len(run.processes))


def receive_bars(run: Recording) -> Bars:
    """Time in receive buffers."""
    copies = run.copies
    ends = [run.span_ns if end_ns == MISSING else end_ns for end_ns in copies.delivered_ns]
    return stacked(copies.arrived_ns, ends, copies.target, None, len(run.processes))


def transmits(run: Recording) -> bool:
    """Whether the log says when packets were transmitted, as that of a foreign system may not."""
    return any(time_ns != MISSING for time_ns in run.copies.transmitted_ns)


def is_waiting(copies: CopyColumns, copy: int) -> bool:
    """Whether a copy that was never transmitted is still to be."""
    travels = copies.sender[copy] != copies.target[copy]
    return travels and copies.delivered_ns[copy] == MISSING


def stacked(
    begins: Sequence[int],
    ends: Sequence[int],
    rows: Sequence[int],
    shared: CopyColumns | None,
    row_count: int,
) -> Bars:
    """Bars in the lowest lanes that are free; copies of one message `shared` have one in common."""
    lanes = [MISSING] * len(begins)
    free: list[list[int]] = [[] for _ in range(row_count)]
    busy: list[list[tuple[int, int]]] = [[] for _ in range(row_count)]
    depth = [0] * row_count
    common: dict[tuple[int, int, int, int], int] = {}
    known = [copy for copy, begin in enumerate(begins) if begin != MISSING]
    for copy in sorted(known, key=lambda copy: begins[copy]):
        begin, end, row = begins[copy], ends[copy], rows[copy]
        if end == MISSING or end <= begin:
            continue
        if shared is not None:
            same = (row, shared.sequence[copy], begin, end)
            if same in common:
                lanes[copy] = common[same]
                continue
        while busy[row] and busy[row][0][0] <= begin:
            heappush(free[row], heappop(busy[row])[1])
        if free[row]:
            lane = heappop(free[row])
        else:
            lane = depth[row]
            depth[row] += 1
        lanes[copy] = lane
        heappush(busy[row], (end, lane))
        if shared is not None:
            common[same] = lane
    return Bars(begin_ns=list(begins), end_ns=list(ends), lane=lanes, depth=depth)


STYLES: Final = {
    "message": "message",
    IMPLIED: "message",
    "ack": "ack",
    "link-ack": "ack",
    "permit": "permit",
    "yct": "permit",
}
"""How packets of a kind are drawn; the others are "control". A yct, "you can tell", is what Cykas
calls a permit.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownViolation:
    """A violation that can be jumped to: the numbers of copies, and the story in words."""

    text: str
    early: int
    late: int
    path: tuple[int, ...]
    """The copies along which the late message caused the early one; empty if nobody looked."""
    held_back_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """One run, and what is said about it."""

    run: Recording
    violations: Sequence[ShownViolation] = ()
    violation_count: int = 0
    """How many there are in all, if those that can be jumped to are only the worst of them."""
    note: str = ""
    """What should be known about this run: what it shows, or what was left out."""
    watched: Sequence[str] = field(default=())
    """Labels of the messages that the story is about."""


def diagram_object(diagram: Diagram) -> dict[str, object]:
    """The run as the browser reads it."""
    run = diagram.run
    return {
        "name": run.name,
        "note": diagram.note,
        "span": run.span_ns,
        "start": str(run.start_ns),
        "names": list(run.names),
        "kinds": list(run.packet_kinds),
        "styles": [STYLES.get(kind, "control") for kind in run.packet_kinds],
        "messages": run.messages,
        "copies": copy_object(run),
        "packets": packet_object(run),
        "labels": [
            [sender, sequence, label] for (sender, sequence), label in sorted(run.labels.items())
        ],
        "watched": list(diagram.watched),
        "violations": [violation_object(violation) for violation in diagram.violations],
        "violationCount": max(diagram.violation_count, len(diagram.violations)),
    }


def copy_object(run: Recording) -> dict[str, object]:
    """The copies, packed; times but the first as differences to the one before them."""
    copies = run.copies
    sending, receiving = send_bars(run), receive_bars(run)
    begins = [copies.first_ns(copy) for copy in range(len(copies))]
    return {
        "count": len(copies),
        "sender": packed(copies.sender),
        "sequence": packed(copies.sequence),
        "target": packed(copies.target),
        "begin": packed(begins, growing=True),
        "known": packed(known_instants(run)),
        "transmitted": packed(offsets(copies.transmitted_ns, begins)),
        "arrived": packed(offsets(copies.arrived_ns, begins)),
        "delivered": packed(offsets(copies.delivered_ns, begins)),
        "submittedAt": packed(copies.submitted_at),
        "deliveredAt": packed(copies.delivered_at),
        "payload": packed(copies.payload_bytes),
        "sendLane": packed(sending.lane),
        "receiveLane": packed(receiving.lane),
        "sendDepth": sending.depth,
        "receiveDepth": receiving.depth,
    }


def packet_object(run: Recording) -> dict[str, object]:
    """The packets, packed."""
    packets = run.packets
    return {
        "count": len(packets),
        "kind": packed(packets.kind),
        "source": packed(packets.source),
        "target": packed(packets.target),
        "sent": packed(packets.sent_ns, growing=True),
        "lost": packed([int(time_ns == MISSING) for time_ns in packets.arrived_ns]),
        "flight": packed(offsets(packets.arrived_ns, packets.sent_ns)),
        "copy": packed(packets.copy, growing=True),
        "repeated": packed(packets.repeated),
        "metadata": packed(packets.metadata_bytes),
    }


def known_instants(run: Recording) -> list[int]:
    """For each copy, which of the four instants the log has: 1, 2, 4 and 8, added up."""
    return [
        sum(1 << bit for bit, time_ns in enumerate(instants) if time_ns != MISSING)
        for instants in run.copies.instants()
    ]


def offsets(times: Sequence[int], begins: Sequence[int]) -> list[int]:
    """How long after its beginning each time is; 0 where it is not known."""
    return [
        0 if time_ns == MISSING else time_ns - begin_ns
        for time_ns, begin_ns in zip(times, begins, strict=True)
    ]


def violation_object(violation: ShownViolation) -> dict[str, object]:
    """A violation as the browser reads it."""
    return {
        "text": violation.text,
        "early": violation.early,
        "late": violation.late,
        "path": list(violation.path),
        "held": violation.held_back_ns,
    }
