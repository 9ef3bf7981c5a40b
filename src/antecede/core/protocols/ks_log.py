"""What a Kshemkalyani-Singhal process still has to tell: a log of sends, and who may lack them.

A log maps a sender to its sends, a send to the targets at which it may yet have to be waited for:
`log[s][t]` holds d exactly if the send t of s is in my past, its delivery at d is not, and no later
message to d, from a past that holds that send, is. An entry with no targets left stays only while
it is the newest of its sender: it tells whoever merges the log that older ones are settled.

All functions are pure. Sends are in ascending order and never changed, so logs share them.
"""

from typing import TypeAlias

Targets: TypeAlias = frozenset[int]
Sends: TypeAlias = dict[int, Targets]
Log: TypeAlias = dict[int, Sends]


def without(log: Log, settled: Targets) -> Log:
    """The log when nobody has to wait at any of `settled` any more."""
    if not settled:
        return log
    return {sender: sends_without(sends, settled) for sender, sends in log.items()}


def sends_without(sends: Sends, settled: Targets) -> Sends:
    """One sender's sends when nobody has to wait at any of `settled` any more."""
    for targets in sends.values():
        if not targets.isdisjoint(settled):
            break
    else:
        return sends
    return purged({time: targets - settled for time, targets in sends.items()})


def adding(log: Log, sender: int, time: int, targets: Targets) -> Log:
    """The log with a further send, the newest of its sender."""
    return log | {sender: purged(log.get(sender, {}) | {time: targets})}


def merged(mine: Log, theirs: Log) -> Log:
    """What is in doubt for neither of two processes, once one of them knows what both knew."""
    both = mine | theirs
    for sender, sends in mine.items():
        other = theirs.get(sender)
        if other is not None and other is not sends:
            both[sender] = merged_sends(sends, other)
    return both


def merged_sends(mine: Sends, theirs: Sends) -> Sends:
    """Two logs of one sender: who lacks an entry but has a newer one knows it is settled.

    So whatever only one of them has is dropped, unless it is newer than all that the other has;
    of what both have, the targets stay that are in doubt for both.
    """
    newer, older = (mine, theirs) if max(mine) >= max(theirs) else (theirs, mine)
    newest_older = max(older)
    kept: Sends = {}
    changed = False
    for time, targets in newer.items():
        left = targets
        if time <= newest_older:
            if time not in older:
                changed = True
                continue
            left = targets & older[time]
            changed = changed or len(left) < len(targets)
        kept[time] = left
    # Handing back the same dictionary keeps logs sharing, and merging equal ones cheap.
    return purged(kept) if changed else newer


def purged(sends: Sends) -> Sends:
    """The sends with targets left, and the newest in any case."""
    newest = max(sends)
    return {time: targets for time, targets in sends.items() if targets or time == newest}


def facts(log: Log) -> list[tuple[int, int, int]]:
    """Every (sender, time, target) that the log states, in order."""
    stated: list[tuple[int, int, int]] = []
    for sender in sorted(log):
        for time, targets in log[sender].items():
            for target in sorted(targets):
                stated.append((sender, time, target))
    return stated


def log_integers(log: Log) -> int:
    """What the log counts in integers: sender, time and targets of every entry."""
    integers = 0
    for sends in log.values():
        for targets in sends.values():
            integers += 2 + len(targets)
    return integers


def in_log_order(log: Log) -> list[tuple[int, int, list[int]]]:
    """Every entry by sender and time, for whoever prints, compares or encodes it."""
    return [
        (sender, time, sorted(targets))
        for sender in sorted(log)
        for time, targets in log[sender].items()
    ]
