"""What a hybrid process remembers: its own unacknowledged messages, and one record per peer.

These are the variables of the rule, under its names; each method is one step of it.
"""

from collections.abc import Iterator
from typing import ClassVar, Final, final

from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from antecede.core.expulsion import NoticedPeer
from antecede.core.hybrid.permits import PermitsOwedBy
from antecede.core.packets import DataPacket, Message
from antecede.core.process import NEVER_NS
from antecede.core.sliding import SlidingWindow

NEAR: Final = 32
"""Up to 32 peers (a power of two) are found by the last bits of their ids, without a dictionary."""


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class SentEntry:
    """A message of our own, until every one of its copies is acknowledged.

    It names its targets by their places in the roster of peers. Peers hold entries: if entries
    held peers, every one would be a matter for the garbage collector.
    """

    MADE_OF: ClassVar = ("blank", "permits_before", "targets")

    __slots__ = (
        "deferred_permits",
        "message",
        "permits_before",
        "sequence",
        "targets",
        "unacked",
        "unacked_key",
        "unsent",
    )

    def __init__(self, message: Message, permits_before: i64, targets: vec[i64]) -> None:
        self.sequence: Final[i64] = message.sequence
        # None once everybody has acknowledged it: the payload is not needed any more.
        self.message: Message | None = message
        self.permits_before: Final[i64] = permits_before
        self.targets: Final = targets
        self.unacked: i64 = len(targets)
        self.unsent: i64 = len(targets)
        # The exclusive or of the places of the unacked targets: the last one's, when one is left.
        self.unacked_key: i64 = targets[0] if len(targets) == 1 else all_of(targets)
        # Of the entries behind this one that are forgotten already, the permits that will be due
        # once this one is settled: the highest id by place.
        self.deferred_permits: dict[int, int] | None = None

    @property
    def blank(self) -> Message:
        """A message with the same id, to make a twin of this entry with."""
        return Message(0, self.sequence, b"")

    def drop_payload(self) -> i64:
        """Everybody has it; how many bytes are free now."""
        message, self.message = self.message, None
        return 0 if message is None else len(message.payload)

    def defer_permit(self, place: i64, sequence: i64) -> None:
        """The permit of a forgotten entry is due to the peer at `place` once this is settled."""
        if self.deferred_permits is None:
            self.deferred_permits = {}
        self.deferred_permits[place] = int(sequence)

    def take_deferred_permit(self, place: i64) -> i64:
        """Up to which id a permit that was deferred is due to the peer at `place`, or 0."""
        return 0 if self.deferred_permits is None else self.deferred_permits.pop(place, 0)

    def forget_transmissions(self) -> None:
        """After a restart: no copy counts as transmitted."""
        self.unsent = self.unacked

    def only_waits_for(self) -> i64:
        """The place of the only peer that has not acknowledged it; there must be one alone."""
        return self.unacked_key

    def is_only_unacked_by(self, place: i64) -> bool:
        """Whether nobody but the peer at `place` may still have to acknowledge it."""
        return self.unacked == 0 or (self.unacked == 1 and self.unacked_key == place)


def all_of(places: vec[i64]) -> i64:
    """The exclusive or of some places."""
    key: i64 = 0
    for place in places:
        key ^= place
    return key


@final
@mypyc_attr(acyclic=True)
class TargetPlaces:
    """The targets of a message, and their places: the next one is often for the same."""

    __slots__ = ("places", "targets", "to_self")

    def __init__(self, targets: list[int], places: vec[i64], to_self: bool) -> None:
        self.targets: Final = targets
        self.places: Final = places
        self.to_self: Final = to_self


@final
class SentWindow(SlidingWindow):
    """A sliding array of entries, which are also found by their ids."""

    __slots__ = ()

    def add(self, entry: SentEntry) -> None:
        """Append at index `next`."""
        self._append(entry)

    def remove(self) -> SentEntry:
        """Remove and return the oldest one."""
        entry = self._remove_first()
        assert isinstance(entry, SentEntry), "nothing else is in it"
        return entry

    def peek(self) -> SentEntry:
        """The oldest one."""
        place = self.first & self._mask
        entry = self._ring[place]
        assert isinstance(entry, SentEntry), "there is one"
        return entry

    def at(self, index: i64) -> SentEntry:
        """The one at `index`, which must be inside the window: elsewhere there is none."""
        place = index & self._mask
        entry = self._ring[place]
        assert isinstance(entry, SentEntry), "an index inside the window"
        return entry

    def find(self, sequence: i64) -> i64:
        """The index of the one with this id, or -1 if it is not among them."""
        index = self.find_from(sequence)
        return index if index < self.next and self.at(index).sequence == sequence else -1

    def find_from(self, sequence: i64) -> i64:
        """The index of the first one with this id or a higher one; `next` if there is none.

        Doubles its reach from the oldest, then bisects: few steps for what is near the front.
        """
        low = self.first
        reach: i64 = 1
        while low + reach < self.next and self.at(low + reach).sequence <= sequence:
            reach <<= 1
        high = low + reach
        if high > self.next:
            high = self.next
        low += reach >> 1
        while low < high:
            middle = (low + high) >> 1
            if self.at(middle).sequence < sequence:
                low = middle + 1
            else:
                high = middle
        return low

    def __iter__(self) -> Iterator[SentEntry]:
        index = self.first
        while index < self.next:
            yield self.at(index)
            index += 1


@final
class HybridPeer(NoticedPeer):
    """Everything about one other process, its retransmission alarm included."""

    MADE_OF: ClassVar[tuple[str, ...]] = ("id", "place")

    __slots__ = (
        "acked",
        "acks_since_ns",
        "alone",
        "copies",
        "delivered",
        "due",
        "due_next",
        "early",
        "last_submitted",
        "last_transmitted",
        "owed_permits",
        "permits_since_ns",
        "permitted",
        "permitted_up_to",
        "place",
        "unsent_at",
    )

    def __init__(self, process: i64, place: i64) -> None:
        super().__init__(process)
        self.place: Final[i64] = place
        # The targets of every message to this peer alone: the same for all of them.
        self.alone: Final = vec[i64]([place])
        # Sending to it: our messages to it, oldest first, transmitted ones before unsent ones.
        self.copies = SentWindow()
        self.unsent_at: i64 = 1
        self.acked: i64 = 0
        self.last_submitted: i64 = 0
        self.last_transmitted: i64 = 0
        # The highest id for which it has been sent a permit, or that left unflagged.
        self.permitted_up_to: i64 = 0
        # The permit that is due to it now, and whose is due next: see `PermitsToSend`.
        self.due: i64 = 0
        self.due_next: HybridPeer | None = None
        # Receiving from it: `early` maps the id of a missing predecessor to the packet waiting.
        self.delivered: i64 = 0
        self.permitted: i64 = 0
        self.early: dict[int, DataPacket] | None = None
        self.owed_permits: PermitsOwedBy | None = None
        # Since when its acks, permits and the like have been waited for without any progress: a
        # clock for each, because a steady stream of permits is no reason not to repeat a message.
        self.acks_since_ns: i64 = 0
        self.permits_since_ns: i64 = 0

    # Sending to it.

    def submit_copy(self, entry: SentEntry) -> None:
        """ls = its id, and out += its id."""
        self.last_submitted = entry.sequence
        self.copies.add(entry)

    def transmit_first(self, entry: SentEntry, now_ns: i64) -> i64:
        """The first of its unsent copies leaves: unsent -= j; the id of its predecessor."""
        if self.copies.first == self.unsent_at:
            self.acks_since_ns = now_ns
        previous = self.last_transmitted
        entry.unsent -= 1
        self.unsent_at += 1
        self.last_transmitted = entry.sequence
        return previous

    def take_ack(self) -> SentEntry:
        """It has delivered the oldest copy: unack -= j, and out loses it."""
        entry = self.copies.remove()
        entry.unacked -= 1
        entry.unacked_key ^= self.place
        self.acked = entry.sequence
        return entry

    def raise_permitted_up_to(self, sequence: i64) -> None:
        """It has the permit of this id, or will have it with the packet that leaves now."""
        if self.permitted_up_to < sequence:
            self.permitted_up_to = sequence

    def abandon(self) -> list[SentEntry]:
        """Wait for nothing that was sent to it; what it has not acknowledged, oldest first."""
        given_up: list[SentEntry] = []
        while self.copies.first < self.copies.next:
            if self.copies.first >= self.unsent_at:
                self.copies.peek().unsent -= 1
            given_up.append(self.take_ack())
        self.unsent_at = self.copies.next
        self.acked = self.last_submitted
        self.last_transmitted = self.last_submitted
        self.rearm()
        return given_up

    def on_expelled(self) -> None:
        """Nothing of it is taken any more, and it gets neither permits nor notices."""
        self.early = None
        self.unacked_notices = None
        self.permitted_up_to = NEVER_NS

    def restore(self, delivered: i64, acked: i64, last_submitted: i64) -> None:
        """What a record says of it, after a restart."""
        self.delivered = delivered
        self.acked = acked
        self.last_submitted = last_submitted

    def forget_transmissions(self) -> None:
        """After a restart: no copy counts as transmitted."""
        self.unsent_at = self.copies.first
        self.last_transmitted = self.acked

    def start_waiting(self, now_ns: i64) -> None:
        """After a restart: its permits and its word on notices are waited for from now on."""
        self.permits_since_ns = now_ns
        self.notices_since_ns = now_ns

    # Receiving from it.

    def on_delivered(self, sequence: i64) -> None:
        """ld = this id."""
        self.delivered = sequence

    def buffer_early(self, packet: DataPacket, limit: i64) -> None:
        """rb[pid] = this packet; a full rb drops it, and it will come again."""
        if self.early is None:
            self.early = {}
        if len(self.early) < limit:
            self.early[packet.previous] = packet

    def take_early(self, sequence: i64) -> DataPacket | None:
        """Remove and return the packet in rb that follows this id."""
        early = self.early
        following = None if early is None else early.pop(sequence, None)
        if not early:
            self.early = None
        return following

    def on_permitted(self, sequence: i64) -> None:
        """pw = this id."""
        self.permitted = sequence

    def owe_permit(self, now_ns: i64) -> PermitsOwedBy:
        """It owes one permit more; all that it owes."""
        owed = self.permits_owed()
        if owed.lowest == 0:
            self.permits_since_ns = now_ns
        return owed

    def permits_owed(self) -> PermitsOwedBy:
        """The permits that it owes us."""
        if self.owed_permits is None:
            self.owed_permits = PermitsOwedBy(self.id)
        return self.owed_permits

    # The clocks.

    def on_acks(self, now_ns: i64) -> None:
        """It has sent new acks: their timeout restarts."""
        self.doublings = 0
        self.acks_since_ns = now_ns
        self.rearm()

    def on_permits(self, now_ns: i64) -> None:
        """It has sent missing permits: their timeout restarts."""
        self.doublings = 0
        self.permits_since_ns = now_ns
        self.rearm()

    def restart_acks(self, due_since_ns: i64, now_ns: i64) -> bool:
        """Whether copies that left have waited for acks long enough; they then wait again."""
        due = self.copies.first < self.unsent_at and self.acks_since_ns <= due_since_ns
        if due:
            self.acks_since_ns = now_ns
        return due

    def restart_permits(self, due_since_ns: i64, now_ns: i64) -> bool:
        """Whether permits have been missing for long enough; the clock then starts again."""
        due = self.lowest_missing() > 0 and self.permits_since_ns <= due_since_ns
        if due:
            self.permits_since_ns = now_ns
        return due

    def rearm(self) -> None:
        """Set the alarm by what has been waited for longest; off, if nothing is."""
        if self.owed_permits is None and self.unacked_notices is None:
            self.on = self.copies.first < self.unsent_at
            self.since_ns = self.acks_since_ns
            return
        since_ns: i64 = NEVER_NS
        if self.copies.first < self.unsent_at:
            since_ns = self.acks_since_ns
        owed = self.owed_permits
        if owed is not None and self.permits_since_ns < since_ns and owed.lowest > 0:
            since_ns = self.permits_since_ns
        if self.unacked_notices is not None and self.notices_since_ns < since_ns:
            since_ns = self.notices_since_ns
        self.on = since_ns < NEVER_NS
        if self.on:
            self.since_ns = since_ns

    def lowest_missing(self) -> i64:
        """The lowest id of its messages whose permit it owes us, or 0."""
        return 0 if self.owed_permits is None else self.owed_permits.lowest

    def state(self) -> str:
        """Everything but the alarm; empty if nothing was ever exchanged."""
        sent = self.last_submitted > 0 or self.unacked_notices is not None
        received = self.delivered > 0 or self.permitted > 0 or self.early is not None
        if not sent and not received:
            return ""
        copies = [entry.sequence for entry in self.copies]
        early = [] if self.early is None else sorted(self.early.items(), key=predecessor_id)
        sending = (copies, self.unsent_at - self.copies.first, self.acked, self.last_submitted)
        receiving = (self.delivered, self.permitted, early)
        permits = (self.last_transmitted, self.permitted_up_to, sorted(self.unacked_notices or {}))
        return repr((self.id, sending, permits, receiving))


@final
class PermitsToSend:
    """The peers that a permit is due to, in a chain; empty between any two steps."""

    __slots__ = ("_last", "first")

    def __init__(self) -> None:
        self.first: HybridPeer | None = None
        self._last: HybridPeer | None = None

    def note(self, peer: HybridPeer, sequence: i64) -> None:
        """The permit of `sequence` may go to `peer`; remember that, unless it has it already."""
        if sequence <= peer.permitted_up_to:
            return
        if peer.due == 0:
            if self.first is None or self._last is None:
                self.first = peer
            else:
                self._last.due_next = peer
            self._last = peer
        peer.due = sequence

    def take(self) -> HybridPeer | None:
        """Remove and return the first of them: it may have permits up to `permitted_up_to`."""
        peer = self.first
        if peer is not None:
            self.first = peer.due_next
            peer.due_next = None
            peer.permitted_up_to = peer.due
            peer.due = 0
        return peer


@final
class Peers:
    """Everybody that was met. They come at first contact: state follows who talks, not who exists.

    An entry names its targets by their places in `all`.
    """

    MADE_OF: ClassVar = ()

    __slots__ = ("_by_id", "_near", "all")

    def __init__(self) -> None:
        self.all: list[HybridPeer] = []
        self._by_id: dict[int, HybridPeer] = {}
        self._near: list[HybridPeer | None] = [None] * NEAR

    def find(self, process: i64) -> HybridPeer | None:
        """The record of a process, if it was met, on the hot path."""
        place = process & (NEAR - 1)
        peer = self._near[place]
        if peer is None or peer.id != process:
            peer = self._by_id.get(process)
            self._near[place] = peer
        return peer

    def get(self, process: int) -> HybridPeer | None:
        """The same for an id of any size."""
        return self._by_id.get(process)

    def known(self, process: i64) -> HybridPeer:
        """The record of a process that was met."""
        return self._by_id[process]

    def add(self, process: i64) -> HybridPeer:
        """A process is met."""
        peer = HybridPeer(process, len(self.all))
        self._by_id[process] = peer
        self.all.append(peer)
        return peer


def predecessor_id(item: tuple[int, DataPacket]) -> int:
    """Sorts the packets that wait for a gap to close by the id they wait for."""
    return item[0]
