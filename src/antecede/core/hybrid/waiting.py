"""What waits in a hybrid process, and for whose permits: found by bisection, not one by one.

Messages are submitted in order and note how many permits had been missed by then, so both ids and
`permits_before` only grow along every queue. What waits for a permit is therefore the rest of a
queue, and only where that begins has to be looked for.
"""

from typing import Final

from mypy_extensions import i64

from antecede.core.hybrid.state import HybridPeer, SentEntry, SentWindow
from antecede.core.process import OWNERS_NAMED, PermitsOwed

LOOK_AHEAD: Final = 64
"""64 entries to one peer alone are passed one by one before the rest of them is skipped."""


def first_after(entries: SentWindow, start: i64, position: i64) -> i64:
    """The index, from `start` on, of the first entry that waits for the permit at `position`."""
    low, high = start, entries.next
    while low < high:
        middle = (low + high) >> 1
        if entries.at(middle).permits_before > position:
            high = middle
        else:
            low = middle + 1
    return low


def first_not_alone(unacked: SentWindow, start: i64, peer: HybridPeer) -> i64:
    """The index, from `start` on, of the first entry that is not for `peer` alone.

    Such entries do not wait for its permits. Beyond `LOOK_AHEAD` of them one that is for others
    too may be passed over, which makes the answer too high, never too low.
    """
    index = start
    while index < unacked.next and index < start + LOOK_AHEAD:
        entry = unacked.at(index)
        if len(entry.targets) != 1 or entry.targets[0] != peer.place:
            return index
        index += 1
    if index == unacked.next:
        return index
    # As long as all entries are copies to the peer, both queues run side by side.
    lead = peer.copies.find_from(unacked.at(index).sequence) - index
    low, high = index, unacked.next
    while low < high:
        middle = (low + high) >> 1
        beside = middle + lead
        sequence = unacked.at(middle).sequence
        if beside < peer.copies.next and peer.copies.at(beside).sequence == sequence:
            low = middle + 1
        else:
            high = middle
    return low


def held_in_order(
    unacked: SentWindow, start: i64, owing: HybridPeer, exempts: bool
) -> PermitsOwed | None:
    """What a peer's permits hold back where messages leave in order; None if nothing."""
    owed = owing.owed_permits
    if owed is None or owed.lowest == 0:
        return None
    index = first_after(unacked, start, owed.first)
    if exempts:
        index = first_not_alone(unacked, index, owing)
    if index >= unacked.next:
        return None
    since = unacked.at(index).sequence
    return PermitsOwed(owing.id, owed.lowest, owed.highest, since, unacked.next - index)


def held_one_by_one(roster: list[HybridPeer], owing: HybridPeer) -> PermitsOwed | None:
    """The same where every copy leaves by itself, and none waits for permits of its own target."""
    owed = owing.owed_permits
    if owed is None or owed.lowest == 0:
        return None
    since: i64 = 0
    holds: i64 = 0
    for peer in roster:
        if peer is owing:
            continue
        index = first_after(peer.copies, peer.unsent_at, owed.first)
        if index < peer.copies.next:
            sequence = peer.copies.at(index).sequence
            since = sequence if since == 0 or sequence < since else since
            holds += peer.copies.next - index
    if holds == 0:
        return None
    return PermitsOwed(owing.id, owed.lowest, owed.highest, since, holds)


def named_owners(owed: list[PermitsOwed], last: i64, exempt: i64) -> list[PermitsOwed]:
    """Of those who owe permits, by `since`, the first that our message `last` waits for."""
    named: list[PermitsOwed] = []
    for permits in owed:
        if permits.since > last or len(named) == OWNERS_NAMED:
            break
        if permits.owner != exempt:
            named.append(permits)
    return named


def unacknowledged_by(entry: SentEntry, roster: list[HybridPeer], exempt: HybridPeer) -> list[int]:
    """The targets that a message has left for and that have not acknowledged it, but for one."""
    found: list[int] = []
    for place in entry.targets:
        peer = roster[place]
        if peer is not exempt and peer.acked < entry.sequence <= peer.last_transmitted:
            found.append(int(peer.id))
    return found


def since_key(owed: PermitsOwed) -> int:
    """Sorts those who owe permits by our first message that waits for them."""
    return int(owed.since)
