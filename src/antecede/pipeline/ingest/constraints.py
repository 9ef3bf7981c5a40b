"""Clock offsets as a system of difference constraints: small, exact, and without Spark.

If every message from p to q seems to take at least `gap` by the clocks of p and q, then offsets
that make no message arrive before it was sent satisfy `offset[p] - offset[q] <= gap`. Bellman and
Ford find such offsets, or a cycle of gaps whose sum is negative, in which case there are none. On
such a cycle the smallest gaps are wrong about something other than clocks (spans that close late,
truncated times), so the median gaps of its pairs decide instead; where these contradict each other
too, nobody does.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

Pair: TypeAlias = tuple[str, str]
"""Sender and receiver."""

SMALLEST: Final = "smallest"
MEDIAN: Final = "median"
NONE: Final = "none"

NEXT_BASIS: Final = {SMALLEST: MEDIAN, MEDIAN: NONE}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How long messages from one process to another seem to take."""

    sender: str
    receiver: str
    smallest_ns: int
    median_ns: int
    copies: int
    negative: int
    """How many of them seem to arrive before they were sent."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Offsets to add to what each process's clock says, and what each pair's gaps were good for."""

    offsets_ns: dict[str, int]
    """For every process; most are 0."""
    basis: dict[Pair, str]
    """For every pair: SMALLEST, or, where gaps contradict each other, MEDIAN or NONE."""

    @property
    def contradictory(self) -> list[Pair]:
        """The pairs for which no offsets make every message arrive after it was sent."""
        return [pair for pair, basis in self.basis.items() if basis != SMALLEST]


def repaired_clocks(gaps: Sequence[Gap]) -> Clocks:
    """Offsets that satisfy the smallest gaps, or as many of them as do not contradict each other.

    Only differences between offsets mean anything, so they are chosen to leave most clocks alone.
    """
    ordered = sorted(gaps, key=lambda gap: (gap.sender, gap.receiver))
    basis = {(gap.sender, gap.receiver): SMALLEST for gap in ordered}
    give_up_contrary_pairs(ordered, basis)
    names = sorted({name for pair in basis for name in pair})
    while cycle := contradiction(names, bounds_of(ordered, basis)):
        give_up(cycle, basis)
    return Clocks(offsets_ns=mended(names, bounds_of(ordered, basis)), basis=basis)


def give_up_contrary_pairs(gaps: Sequence[Gap], basis: dict[Pair, str]) -> None:
    """Deal with cycles of two, by far the most frequent, without looking for them one by one."""
    by_pair = {(gap.sender, gap.receiver): gap for gap in gaps}
    for (sender, receiver), gap in by_pair.items():
        back = by_pair.get((receiver, sender))
        if back is None or sender > receiver:
            continue
        pair, reverse = (sender, receiver), (receiver, sender)
        if gap.smallest_ns + back.smallest_ns < 0:
            contrary = gap.median_ns + back.median_ns < 0
            basis[pair] = basis[reverse] = NONE if contrary else MEDIAN


def give_up(cycle: Sequence[Pair], basis: dict[Pair, str]) -> None:
    """On a contradictory cycle let the smallest gaps go or, if none are left, the medians."""
    bases = [basis[pair] for pair in cycle]
    wrong = SMALLEST if SMALLEST in bases else MEDIAN
    for pair in cycle:
        if basis[pair] == wrong:
            basis[pair] = NEXT_BASIS[wrong]


def bounds_of(gaps: Sequence[Gap], basis: Mapping[Pair, str]) -> dict[Pair, int]:
    """For every pair that still counts: by how much the first offset may exceed the second."""
    bounds = {}
    for gap in gaps:
        pair = gap.sender, gap.receiver
        if basis[pair] == SMALLEST:
            bounds[pair] = gap.smallest_ns
        elif basis[pair] == MEDIAN:
            bounds[pair] = gap.median_ns
    return bounds


def contradiction(names: Sequence[str], bounds: Mapping[Pair, int]) -> list[Pair]:
    """A cycle of pairs whose bounds no offsets can satisfy; empty if there are such offsets.

    Bellman and Ford look for the shortest distances from a source that reaches every process at no
    cost. Where there are none, processes end up tightening each other in a circle.
    """
    distance = dict.fromkeys(names, 0)
    tightened_by: dict[str, str] = {}
    cycle: list[Pair] = []
    news = True
    while news and not cycle:
        news = False
        for (sender, receiver), bound in bounds.items():
            if distance[receiver] + bound < distance[sender]:
                distance[sender] = distance[receiver] + bound
                tightened_by[sender] = receiver
                news = True
        cycle = cycle_in(tightened_by)
    return cycle


def cycle_in(tightened_by: Mapping[str, str]) -> list[Pair]:
    """The pairs of a cycle in which each process was tightened by the next, if there is one."""
    settled: set[str] = set()
    for start in tightened_by:
        path: dict[str, None] = {}
        name = start
        while name in tightened_by and name not in settled and name not in path:
            path[name] = None
            name = tightened_by[name]
        if name in path:
            chain = list(path)
            members = chain[chain.index(name) :]
            return [(member, tightened_by[member]) for member in members]
        settled.update(path)
    return []


def mended(names: Sequence[str], bounds: Mapping[Pair, int]) -> dict[str, int]:
    """Offsets that satisfy bounds which do not contradict each other, and few of them not 0.

    The pairs that are wrong, the worst first, are mended one by one: either the sender's clock goes
    back or the receiver's forward, whichever has to take less of the others along.
    """
    offsets = dict.fromkeys(names, 0)
    senders: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    receivers: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    for (sender, receiver), bound in sorted(bounds.items(), key=lambda entry: -entry[1]):
        if bound >= 0:
            senders[receiver].append((sender, bound))
            receivers[sender].append((receiver, bound))
    for (sender, receiver), bound in sorted(bounds.items(), key=lambda entry: entry[1]):
        if bound >= 0:
            break
        senders[receiver].append((sender, bound))
        receivers[sender].append((receiver, bound))
        if offsets[sender] - offsets[receiver] > bound:
            mirrored = {name: -offset for name, offset in offsets.items()}
            back = taken_along(offsets, sender, offsets[receiver] + bound, senders)
            forward = taken_along(mirrored, receiver, bound - offsets[sender], receivers)
            if effort(offsets, back) <= effort(mirrored, forward):
                offsets.update(back)
            else:
                offsets.update({name: -offset for name, offset in forward.items()})
    return offsets


def taken_along(
    offsets: Mapping[str, int],
    first: str,
    lowered: int,
    held: Mapping[str, list[tuple[str, int]]],
) -> dict[str, int]:
    """The new offsets if one is lowered, and all whose distance from it is bounded with it."""
    moved = {first: lowered}
    ahead = deque([first])
    while ahead:
        name = ahead.popleft()
        for other, bound in held[name]:
            limit = moved[name] + bound
            if moved.get(other, offsets[other]) > limit:
                moved[other] = limit
                ahead.append(other)
    return moved


def effort(offsets: Mapping[str, int], moved: Mapping[str, int]) -> int:
    """How far clocks are moved, all together."""
    return sum(offsets[name] - offset for name, offset in moved.items())
