"""Everything that the browser needs to draw one run, as an object for JSON.

Which row, which lane, which label, which violation: all of it is decided here. What depends on the
part of the run that is looked at (pixels, culling, what is under the pointer) is decided there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from antecede.report.spacetime.columns import packed
from antecede.report.spacetime.lanes import receive_bars, send_bars
from antecede.report.spacetime.run import IMPLIED, MISSING, Run

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

    run: Run
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


def copy_object(run: Run) -> dict[str, object]:
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


def packet_object(run: Run) -> dict[str, object]:
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


def known_instants(run: Run) -> list[int]:
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
