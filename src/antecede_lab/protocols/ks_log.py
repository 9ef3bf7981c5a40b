"""What a Kshemkalyani-Singhal process still has to tell: a log of sends, and who may lack them.

A log maps a sender to its sends, a send to the targets at which it may yet have to be waited for:
`log[s].entries[t]` holds d exactly if the send t of s is in my past, its delivery at d is not, and
no later message to d, from a past that holds that send, is. An entry with no targets left stays
only while it is the newest of its sender: it tells whoever merges the log that older ones are
done.

All functions are pure, and `Sends` never change: logs and packets share them, and most steps only
look at what a `Sends` says of itself as a whole.
"""

from typing import Final, TypeAlias, final

from mypy_extensions import mypyc_attr

Targets: TypeAlias = frozenset[int]


@final
@mypyc_attr(acyclic=True)
class Sends:
    """One sender's sends, by ascending time, each with the targets at which it may be missing.

    `targets` are those of all entries together. `orderly` says whether times ascend from 1 on and
    no entry but the newest is without targets. `encoded` is a place for the wire to keep its bytes.
    """

    __slots__ = ("encoded", "entries", "integers", "newest", "orderly", "targets")

    def __init__(self, entries: dict[int, Targets]) -> None:
        newest = 0
        orderly = bool(entries)
        integers = 0
        everyone: Targets = frozenset()
        idle = False
        for time, targets in entries.items():
            if time <= newest or idle:
                orderly = False
            newest = time
            idle = not targets
            integers += 2 + len(targets)
            everyone = everyone | targets if everyone else targets
        self.entries: Final = entries
        self.targets: Final = everyone
        self.newest: Final = newest
        self.orderly: Final = orderly
        self.integers: Final = integers
        self.encoded: bytes | None = None

    def remember_encoded(self, encoded: bytes) -> None:
        """These are its bytes on the wire."""
        self.encoded = encoded

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sends) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash((self.newest, self.integers))

    def __repr__(self) -> str:
        shown = {time: sorted(targets) for time, targets in self.entries.items()}
        return f"Sends({shown})"


Log: TypeAlias = dict[int, Sends]


def without(log: Log, done: Targets) -> Log:
    """The log when nobody has to wait at any of `done` any more."""
    if not done:
        return log
    return {sender: sends_without(sends, done) for sender, sends in log.items()}


def sends_without(sends: Sends, done: Targets) -> Sends:
    """One sender's sends when nobody has to wait at any of `done` any more."""
    if sends.targets.isdisjoint(done):
        return sends
    return purged({time: less(targets, done) for time, targets in sends.entries.items()})


def less(targets: Targets, done: Targets) -> Targets:
    """The targets that are not done: the same object if that is all of them."""
    return targets if targets.isdisjoint(done) else targets - done


def adding(log: Log, sender: int, time: int, targets: Targets) -> Log:
    """The log with a further send, the newest of its sender."""
    entries = {time: targets}
    before = log.get(sender)
    return log | {sender: purged(entries if before is None else before.entries | entries)}


def merged(mine: Log, theirs: Log, done: Targets) -> Log:
    """What is in doubt for neither of two processes, once one of them knows what both knew.

    Of `theirs`, what is to be waited for at any of `done` does not count any more.
    """
    both = dict(mine)
    for sender, told in theirs.items():
        sends = sends_without(told, done)
        known = both.get(sender)
        both[sender] = sends if known is None else merged_sends(known, sends)
    return both


def merged_sends(mine: Sends, theirs: Sends) -> Sends:
    """Two logs of one sender: who lacks an entry but has a newer one knows it is done.

    So whatever only one of them has is dropped, unless it is newer than all that the other has;
    of what both have, the targets stay that are in doubt for both.
    """
    if mine is theirs:
        return mine
    newer, older = (mine, theirs) if mine.newest >= theirs.newest else (theirs, mine)
    kept: dict[int, Targets] = {}
    changed = False
    for time, targets in newer.entries.items():
        left = targets
        if time <= older.newest:
            if time not in older.entries:
                changed = True
                continue
            left = targets & older.entries[time]
            if len(left) < len(targets):
                changed = True
            else:
                left = targets
        kept[time] = left
    # Handing back the same objects keeps logs sharing, and merging equal ones cheap.
    return purged(kept) if changed else newer


def purged(entries: dict[int, Targets]) -> Sends:
    """The entries with targets left, and the newest in any case."""
    newest = max(entries)
    return Sends({time: left for time, left in entries.items() if left or time == newest})


def log_integers(log: Log) -> int:
    """What the log counts in integers: sender, time and targets of every entry."""
    integers = 0
    for sends in log.values():
        integers += sends.integers
    return integers
