"""Our own messages that are not acknowledged by all, and how far they are: u, u1, u2, v1, v2.

An entry is dropped when its last acknowledgement comes, wherever it stands, so the state follows
what is unacknowledged. A `Front` knows the first id that somebody has still to acknowledge, and the
first at which there are two such processes; both only move forward, so they cost constant time per
message. A second front does the same without the destinations that are stalled.
"""

from typing import ClassVar, Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.expulsion import NoticedPeer
from antecede.core.packets import Message
from antecede.core.process import NEVER_NS
from antecede.core.retransmission import RetransmissionTimer
from antecede.core.sliding import SlidingArray
from antecede_lab.protocols.facts.delivered import KnownDeliveries
from antecede_lab.protocols.facts.packets import (
    SENDER_ITSELF,
    FactsMessage,
    Mark,
    PastReportField,
    Watermark,
    sorted_marks,
)
from antecede_lab.protocols.facts.past import NeededDelivery
from antecede_lab.protocols.facts.reports import PastReport
from antecede_lab.protocols.sliding_maps import Numbered

NOBODY: Final = -1
SEVERAL: Final = -2
"""Instead of the only process that has to acknowledge a message."""


@final
class WindowCopy(Numbered):
    """A message of our own on its way to one target."""

    MADE_OF: ClassVar = ("message", "target", "previous")

    __slots__ = (
        "blocking",
        "message",
        "must",
        "previous",
        "report",
        "sent_ns",
        "snapshot",
        "target",
        "wanted",
    )

    def __init__(self, message: Message, target: i64, previous: i64) -> None:
        self.sequence = message.sequence
        self.message: Final = message
        self.target: Final[i64] = target
        self.previous: Final[i64] = previous
        # While it waits: which reports may be silent about its target, and what that must deliver
        # first. A parked one also keeps the past as it was.
        self.blocking: list[PastReport] = []
        self.wanted: list[NeededDelivery] = []
        self.snapshot: list[PastReport] = []
        # Once it has left: when, and what it said.
        self.sent_ns: i64 = -1
        self.must: list[Mark] = []
        self.report: PastReportField | None = None

    def depend_on(self, blocking: list[PastReport], wanted: list[NeededDelivery]) -> None:
        """Its message is at the head: it depends on what is the past now."""
        self.blocking = blocking
        self.wanted = wanted

    def park(self, snapshot: list[PastReport]) -> None:
        """It is set aside, with the past as it is."""
        self.snapshot = snapshot

    def leave(self, must: list[Mark], report: PastReportField | None, now_ns: i64) -> None:
        """It leaves, and says this of its past."""
        self.must = must
        self.report = report
        self.sent_ns = now_ns
        self.blocking = []
        self.wanted = []
        self.snapshot = []

    def state(self) -> str:
        """Equal copies, equal strings, whenever they left."""
        blocking = sorted([report.state() for report in self.blocking])
        snapshot = sorted([report.state() for report in self.snapshot])
        wanted = sorted([(want.sender, want.sequence) for want in self.wanted])
        sent = (self.sent_ns >= 0, self.must, self.report)
        return repr((self.message, self.target, self.previous, blocking, snapshot, wanted, sent))


def alive_marks(copy: WindowCopy, truths: KnownDeliveries) -> list[Mark]:
    """What the target of `copy` must deliver first and may not have; forgets the rest."""
    marks: list[Mark] = []
    if not copy.wanted:
        return marks
    copy.wanted = [w for w in copy.wanted if not w.is_delivered(truths, copy.target)]
    for want in copy.wanted:
        marks.append(Mark(want.sender, want.sequence))
    return sorted_marks(marks)


def undelivered_marks(copy: WindowCopy, truths: KnownDeliveries) -> list[Mark]:
    """What a copy said first that its target must deliver before it, as far as it may not have."""
    if not copy.must:
        return copy.must
    target = copy.target
    return [m for m in copy.must if not truths.is_delivered(m.sender, target, m.sequence)]


@final
@mypyc_attr(acyclic=True)
class WindowEntry:
    """A message of our own, until every target has acknowledged it."""

    MADE_OF: ClassVar = ("sequence", "targets", "payload_bytes")

    __slots__ = (
        "opened",
        "payload_bytes",
        "sequence",
        "targets",
        "unacked",
        "unacked_key",
        "unsent",
    )

    def __init__(self, sequence: i64, targets: list[int], payload_bytes: i64) -> None:
        self.sequence: Final[i64] = sequence
        self.payload_bytes: Final[i64] = payload_bytes
        self.targets: Final = targets
        self.unacked: i64 = len(targets)
        # The exclusive or of the unacked targets: the last one, when one is left.
        self.unacked_key: i64 = 0
        for target in targets:
            self.unacked_key ^= target
        # The copies that are neither transmitted nor parked.
        self.unsent: list[WindowCopy] = []
        self.opened = False

    def open(self) -> None:
        """It is at the head, and depends on nothing that comes later."""
        self.opened = True


@final
class FactsPeer(NoticedPeer):
    """Everything exchanged with one other process, its retransmission alarm included."""

    MADE_OF: ClassVar[tuple[str, ...]] = ("id",)

    __slots__ = (
        "acked",
        "acks_since_ns",
        "copies",
        "delivered",
        "early",
        "last_submitted",
        "last_transmitted",
        "permits_since_ns",
        "stall",
        "unclean",
        "unsent_at",
    )

    def __init__(self, process: i64) -> None:
        super().__init__(process)
        # Sending to it: copies, oldest first, transmitted ones before unsent ones.
        self.copies: SlidingArray[WindowCopy] = SlidingArray()
        self.unsent_at: i64 = 1
        self.acked: i64 = 0
        self.last_submitted: i64 = 0
        self.last_transmitted: i64 = 0
        # Receiving from it: packets by the id of their predecessor.
        self.delivered: i64 = 0
        self.early: dict[int, FactsMessage] | None = None
        # Its last delivered message that was not clean.
        self.unclean: i64 = 0
        self.acks_since_ns: i64 = 0
        self.permits_since_ns: i64 = 0
        # Rings when its oldest transmitted copy has been unacknowledged for too long.
        self.stall = RetransmissionTimer(process)

    # Sending to it.

    def submit(self, message: Message) -> WindowCopy:
        """A message is for it; its copy."""
        copy = WindowCopy(message, self.id, self.last_submitted)
        self.copies.add(copy)
        self.last_submitted = copy.sequence
        return copy

    def on_first_transmitted(self, sequence: i64, now_ns: i64) -> None:
        """The oldest copy that had not left has left."""
        if not self.awaits_acks():
            self.acks_since_ns = now_ns
        self.unsent_at += 1
        self.last_transmitted = sequence

    def on_acked(self, sequence: i64, now_ns: i64) -> None:
        """It has acknowledged everything up to this."""
        self.acked = sequence
        self.acks_since_ns = now_ns
        self.progress(now_ns)

    def abandon(self) -> None:
        """It is gone: nothing is kept of it, nor waited for."""
        self.early = None
        self.unsent_at = self.copies.next
        self.acked = self.last_submitted
        self.last_transmitted = self.last_submitted

    def on_expelled(self) -> None:
        """It is expelled: nothing of it is in the past, and it is told nothing."""
        self.unclean = 0
        self.unacked_notices = None

    # Receiving from it.

    def early_packets(self) -> dict[int, FactsMessage]:
        """Its packets that wait for their turn, by the id of their predecessor."""
        if self.early is None:
            self.early = {}
        return self.early

    def deliver(self, packet: FactsMessage) -> None:
        """The turn of this packet has come."""
        if self.early is not None:
            del self.early[self.delivered]
            if not self.early:
                self.early = None
        self.delivered = packet.carried.sequence

    def set_unclean(self, sequence: i64) -> None:
        """The past of this message of its, which is delivered, is not delivered everywhere."""
        self.unclean = sequence

    # Its alarm.

    def wait_for_acks(self, now_ns: i64) -> None:
        """Be patient with its acks afresh."""
        self.acks_since_ns = now_ns

    def wait_for_permits(self, now_ns: i64) -> None:
        """Be patient with its permits afresh."""
        self.permits_since_ns = now_ns

    def wait_for_noting(self, now_ns: i64) -> None:
        """Be patient afresh until it has noted who is expelled."""
        self.notices_since_ns = now_ns

    def awaits_acks(self) -> bool:
        """Whether a copy that left has not been acknowledged."""
        return self.copies.first < self.unsent_at

    def oldest_sent_ns(self) -> i64:
        """When the oldest transmitted copy left that it has not acknowledged."""
        return self.copies.peek().sent_ns

    def watch(self, misses_permit: bool) -> None:
        """Set the alarm by what has been waited for longest; off, if nothing is."""
        since_ns: i64 = NEVER_NS
        if self.copies.first < self.unsent_at:
            since_ns = self.acks_since_ns
        if misses_permit and self.permits_since_ns < since_ns:
            since_ns = self.permits_since_ns
        if self.unacked_notices is not None and self.notices_since_ns < since_ns:
            since_ns = self.notices_since_ns
        self.on = since_ns < NEVER_NS
        if self.on:
            self.since_ns = since_ns

    def state(self) -> str:
        """Everything but the alarms; empty if nothing was ever exchanged."""
        early: list[tuple[int, FactsMessage]] = []
        if self.early is not None:
            early = sorted(self.early.items(), key=early_key)
        if not (self.last_submitted or self.delivered or early or self.unacked_notices):
            return ""
        copies = [copy.state() for copy in self.copies]
        sending = (copies, self.unsent_at - self.copies.first, self.acked, self.last_submitted)
        receiving = (self.delivered, self.unclean, early)
        unacked_notices = sorted(self.unacked_notices or {})
        return repr((self.id, sending, self.last_transmitted, receiving, unacked_notices))


def early_key(item: tuple[int, FactsMessage]) -> int:
    """Sorts the packets that wait by the id of their predecessor."""
    return item[0]


@final
class Front:
    """How far our messages are acknowledged by everybody, some destinations left out."""

    MADE_OF: ClassVar = ()

    __slots__ = ("first", "second", "sole", "without")

    def __init__(self) -> None:
        # u1, and u2: the first id somebody has to acknowledge, the first where there are two.
        self.first: i64 = 1
        self.second: i64 = 1
        # Who alone has to acknowledge what lies between them.
        self.sole: i64 = NOBODY
        self.without: list[int] = []

    def at(self, target: i64) -> i64:
        """The highest id up to which nobody but `target` has to acknowledge anything."""
        return self.second - 1 if self.sole == target else self.first - 1


@final
class Window:
    """Our own messages, and the two fronts in them."""

    MADE_OF: ClassVar = ("peers",)

    __slots__ = ("_watermark", "entries", "excepting", "next", "payload_bytes", "peers", "plain")

    def __init__(self, peers: dict[int, FactsPeer]) -> None:
        self.peers: Final = peers
        self.entries: dict[int, WindowEntry] = {}
        self.next: i64 = 1
        self.payload_bytes: i64 = 0
        self.plain = Front()
        self.excepting = Front()
        self._watermark = Watermark(SENDER_ITSELF, 0)

    def add(self, targets: list[int], payload_bytes: i64) -> WindowEntry:
        """One more message, to these others."""
        entry = WindowEntry(self.next, targets, payload_bytes)
        self.next += 1
        if targets:
            self.entries[entry.sequence] = entry
            self.payload_bytes += payload_bytes
        return entry

    def acknowledged(self, target: i64, sequence: i64) -> None:
        """`target` has delivered message `sequence`."""
        entry = self.entries[sequence]
        entry.unacked -= 1
        entry.unacked_key ^= target
        if entry.unacked == 0:
            del self.entries[sequence]
            self.payload_bytes -= entry.payload_bytes

    def advance(self) -> bool:
        """Move the fronts on; True if the plain one moved."""
        before, second, sole = self.plain.first, self.plain.second, self.plain.sole
        self._advance(self.plain)
        if self.excepting.without:
            self._advance(self.excepting)
        return self.plain.first != before or self.plain.second != second or self.plain.sole != sole

    def leave_out(self, targets: list[int]) -> bool:
        """From now on the excepting front leaves out these; True if they are others than before."""
        if self.excepting.without == targets:
            return False
        front = Front()
        front.without = targets
        front.first = self.plain.first
        front.second = self.plain.first
        self.excepting = front
        if targets:
            self._advance(front)
        return True

    def excepting_at(self, target: i64) -> i64:
        """Like `Front.at`, without the destinations that are left out."""
        front = self.excepting if self.excepting.without else self.plain
        return front.at(target)

    def suspects_at(self, sequence: i64) -> list[int]:
        """Those left out that have not acknowledged something up to `sequence`."""
        found: list[int] = []
        for target in self.excepting.without:
            peer = self.peers.get(target)
            if peer is None or peer.copies.first == peer.copies.next:
                continue
            if peer.copies.peek().sequence <= sequence:
                found.append(target)
        return found

    def watermark(self) -> Watermark:
        """How far all of our messages are delivered."""
        low = self.plain.first - 1
        low_except: i64 = 0
        exceptions: tuple[int, ...] = ()
        if self.excepting.without and self.excepting.first - 1 > low:
            low_except = self.excepting.first - 1
            exceptions = tuple(sorted(self.suspects_at(low_except)))
        own = self._watermark
        if own.low != low or own.low_except != low_except or own.exceptions != exceptions:
            own = Watermark(SENDER_ITSELF, low, low_except, exceptions)
            self._watermark = own
        return own

    def _advance(self, front: Front) -> None:
        while front.first < self.next and self._sole(front.first, front) == NOBODY:
            front.first += 1
        if front.second < front.first:
            front.second = front.first
        sole: i64 = NOBODY if front.first == self.next else self._sole(front.first, front)
        front.sole = sole if sole != SEVERAL else NOBODY
        if front.sole == NOBODY:
            return
        while front.second < self.next:
            waited = self._sole(front.second, front)
            if waited not in (NOBODY, front.sole):
                break
            front.second += 1

    def _sole(self, sequence: i64, front: Front) -> i64:
        """Who alone has to acknowledge it; NOBODY, or SEVERAL."""
        entry = self.entries.get(sequence)
        if entry is None:
            return NOBODY
        if not front.without:
            return entry.unacked_key if entry.unacked == 1 else SEVERAL
        found: i64 = NOBODY
        for target in entry.targets:
            if self.peers[target].acked < sequence and target not in front.without:
                if found != NOBODY:
                    return SEVERAL
                found = target
        return found

    def state(self) -> str:
        """Equal windows, equal strings."""
        entries = [
            (entry.sequence, entry.targets, [copy.target for copy in entry.unsent], entry.opened)
            for entry in self.entries.values()
        ]
        return repr((self.next, entries, self.excepting.without))
