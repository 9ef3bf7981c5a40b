"""Clock offsets as a system of difference constraints: small, exact, and without Spark.

If every message from p to q seems to take at least `gap` by the clocks of p and q, then offsets
that make no message arrive before it was sent satisfy `offset[p] - offset[q] <= gap`. Bellman and
Ford find such offsets, or a cycle of gaps whose sum is negative, in which case there are none. On
such a cycle the smallest gaps are wrong about something other than clocks (spans that close late,
truncated times), so the median gaps of its pairs decide instead; where these contradict each other
too, nobody does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[Any]
"""Nanoseconds: integers of 64 bits, or Python's own."""

Pair: TypeAlias = tuple[str, str]
"""Sender and receiver."""

SMALLEST: Final = "smallest"
MEDIAN: Final = "median"
NONE: Final = "none"

NOBODY: Final = -1

SUMMED_NS_MAX: Final = 1 << 42
"""Bounds up to this (73 minutes) can be added two million times in 64 bits."""

UNBOUND_NS: Final = 1 << 61
"""No offset is ever that far from another."""

LOOKED_EVERY: Final = 16
"""Contradictions are looked for after 1, 2, 4, 8 turns, and then this often."""

PASSES_MAX: Final = 50
"""All clocks are tried at most 50 times; three to five times is usual."""

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
class ClockOffsets:
    """Offsets to add to what each process's clock says, and what each pair's gaps were good for."""

    offsets_ns: dict[str, int]
    """For every process; most are 0."""
    basis: dict[Pair, str]
    """For every pair: SMALLEST, or, where gaps contradict each other, MEDIAN or NONE."""

    def by_number(self, keys: Sequence[str]) -> npt.NDArray[np.int64]:
        """What is added to the clocks of these processes, in their order."""
        return np.array([self.offsets_ns.get(key, 0) for key in keys], np.int64)

    def beyond_repair(self, gaps: Sequence[Gap]) -> list[Gap]:
        """Those of these gaps that no offsets make right, where a message seems to go back."""
        contrary = set(self.contradictory)
        return [gap for gap in gaps if (gap.sender, gap.receiver) in contrary and gap.negative]

    @property
    def contradictory(self) -> list[Pair]:
        """The pairs for which no offsets make every message arrive after it was sent."""
        return [pair for pair, basis in self.basis.items() if basis != SMALLEST]


def repaired_clocks(gaps: Sequence[Gap]) -> ClockOffsets:
    """Offsets that satisfy the smallest gaps, or as many of them as do not contradict each other.

    Only differences between offsets mean anything, so they are chosen to leave most clocks alone.
    """
    ordered = sorted(gaps, key=lambda gap: (gap.sender, gap.receiver))
    basis = {(gap.sender, gap.receiver): SMALLEST for gap in ordered}
    give_up_contrary_pairs(ordered, basis)
    names = sorted({name for pair in basis for name in pair})
    settle_contradictions(names, ordered, basis)
    return ClockOffsets(offsets_ns=mended(names, bounds_of(ordered, basis)), basis=basis)


def settle_contradictions(
    names: Sequence[str], gaps: Sequence[Gap], basis: dict[Pair, str]
) -> None:
    """Give up gaps, cycle by cycle, until the others do not contradict each other.

    What has been lowered stays so: any offsets are as good as others to begin with.
    """
    system = ConstraintSystem(names, bounds_of(gaps, basis))
    offsets = np.zeros(len(names), system.kind)
    by_pair = {(gap.sender, gap.receiver): gap for gap in gaps}
    while cycles := system.settle(offsets):
        for cycle in cycles:
            for pair in give_up(cycle, basis):
                is_median = basis[pair] == MEDIAN
                system.loosen(pair, by_pair[pair].median_ns if is_median else None)


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


def give_up(cycle: Sequence[Pair], basis: dict[Pair, str]) -> list[Pair]:
    """On a contradictory cycle let the smallest gaps go or, if none are left, the medians.

    The pairs whose gaps went.
    """
    bases = [basis[pair] for pair in cycle]
    wrong = SMALLEST if SMALLEST in bases else MEDIAN
    gone = [pair for pair in cycle if basis[pair] == wrong]
    for pair in gone:
        basis[pair] = NEXT_BASIS[wrong]
    return gone


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


@final
class ConstraintSystem:
    """Bounds between processes as columns: `offset[sender] - offset[receiver] <= bound`."""

    def __init__(self, names: Sequence[str], bounds: Mapping[Pair, int]) -> None:
        self.names: Final = list(names)
        place = {name: number for number, name in enumerate(self.names)}
        rows = sorted((place[pair[0]], place[pair[1]], bound) for pair, bound in bounds.items())
        largest = max((abs(bound) for *_, bound in rows), default=0)
        # Where sums might not fit 64 bits, numpy calculates with Python's own integers.
        self.kind: Final = np.dtype(np.int64 if largest <= SUMMED_NS_MAX else object)
        self.sender: Final = np.array([row[0] for row in rows], np.int64)
        self.receiver: Final = np.array([row[1] for row in rows], np.int64)
        self.bound: Final[Column] = np.array([row[2] for row in rows], self.kind)
        self._rows: Final = {
            (self.names[row[0]], self.names[row[1]]): number for number, row in enumerate(rows)
        }

    def loosen(self, pair: Pair, bound: int | None) -> None:
        """Put another bound in the place of a pair's, or none at all."""
        self.bound[self._rows[pair]] = UNBOUND_NS if bound is None else bound

    def reversed(self) -> "ConstraintSystem":
        """The same bounds for the negatives of all offsets: senders are receivers."""
        names = self.names
        return ConstraintSystem(
            names, {(names[q], names[p]): bound for p, q, bound in self.triples()}
        )

    def triples(self) -> list[tuple[int, int, int]]:
        """Sender, receiver and bound of all pairs."""
        columns = (self.sender, self.receiver, self.bound)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def settle(self, offsets: Column) -> list[list[Pair]]:
        """Lower offsets until all bounds hold, and no further; or find what contradicts itself.

        Bellman and Ford, for all bounds at a time. Where there are no such offsets, processes end
        up tightening each other in circles: those are found, none of them sharing a process.
        """
        if not len(self.sender):
            return []
        changes = np.append(True, self.sender[1:] != self.sender[:-1])
        starts = np.flatnonzero(changes)
        group = np.cumsum(changes) - 1
        lowered = self.sender[starts]
        tightened_by = np.full(len(self.names), NOBODY)
        for turn in count(1):
            reached = offsets[self.receiver] + self.bound
            least = np.minimum.reduceat(reached, starts)
            better = (least < offsets[lowered]).astype(np.bool_)
            if not better.any():
                return []
            tight = better[group] & (reached == least[group]).astype(np.bool_)
            tightened_by[self.sender[tight]] = self.receiver[tight]
            offsets[lowered[better]] = least[better]
            if turn & (turn - 1) == 0 or turn % LOOKED_EVERY == 0:
                cycles = cycles_in(tightened_by.tolist())
                if cycles:
                    return [[(self.names[p], self.names[q]) for p, q in one] for one in cycles]
        return []


def cycles_in(tightened_by: Sequence[int]) -> list[list[tuple[int, int]]]:
    """All cycles in which each process was tightened by the next; no two share a process."""
    seen_from = [NOBODY] * len(tightened_by)
    cycles = []
    for start in range(len(tightened_by)):
        place = start
        while place != NOBODY and seen_from[place] == NOBODY:
            seen_from[place] = start
            place = tightened_by[place]
        if place != NOBODY and seen_from[place] == start:
            cycle = [(place, tightened_by[place])]
            while cycle[-1][1] != place:
                cycle.append((cycle[-1][1], tightened_by[cycle[-1][1]]))
            cycles.append(cycle)
    return cycles


def mended(names: Sequence[str], bounds: Mapping[Pair, int]) -> dict[str, int]:
    """Offsets that satisfy bounds which do not contradict each other, and few of them not 0.

    If clocks may only go back, there is a solution that moves each as little as possible, another
    if they may only go forward, and one half way between them. In each, what most clocks agree on
    is called 0, and then every clock in turn goes as close to 0 as the others let it, until none
    moves any more. Of the three the one that moves fewest clocks is taken.
    """
    system = ConstraintSystem(names, bounds)
    back, forward = (np.zeros(len(names), system.kind) for _ in range(2))
    system.settle(back)
    system.reversed().settle(forward)
    triples = system.triples()
    groups = connected(len(names), triples)
    found: list[list[int]] = []
    for start in ((back - forward) // 2, back, -forward):
        offsets: list[int] = start.tolist()
        for members in groups:
            agreed = sorted(offsets[place] for place in members)[(len(members) - 1) // 2]
            for place in members:
                offsets[place] -= agreed
        relaxed(offsets, triples)
        found.append(offsets)
    least: list[int] = min(found, key=effort)
    return dict(zip(names, least, strict=True))


def effort(offsets: Sequence[int]) -> tuple[int, int]:
    """How many clocks are moved, and how far, all together."""
    return sum(offset != 0 for offset in offsets), sum(map(abs, offsets))


def connected(size: int, triples: Sequence[tuple[int, int, int]]) -> list[list[int]]:
    """The processes that bounds connect, directly or by others; only differences among them mean
    anything."""
    leader = list(range(size))
    for sender, receiver, _ in triples:
        ends = []
        for place in (sender, receiver):
            while leader[place] != place:
                leader[place] = leader[leader[place]]
                place = leader[place]
            ends.append(place)
        leader[max(ends)] = min(ends)
    groups: dict[int, list[int]] = {}
    for place in range(size):
        top = place
        while leader[top] != top:
            top = leader[top]
        groups.setdefault(top, []).append(place)
    return list(groups.values())


def relaxed(offsets: list[int], triples: Sequence[tuple[int, int, int]]) -> None:
    """Move each offset as close to 0 as the bounds allow, the closest first, again and again."""
    above: list[list[tuple[int, int]]] = [[] for _ in offsets]
    below: list[list[tuple[int, int]]] = [[] for _ in offsets]
    for sender, receiver, bound in triples:
        above[sender].append((receiver, bound))
        below[receiver].append((sender, bound))
    for _ in range(PASSES_MAX):
        moved = False
        for place in sorted(range(len(offsets)), key=lambda place: abs(offsets[place])):
            if offsets[place] == 0:
                continue
            wanted = 0
            if offsets[place] < 0 and above[place]:
                wanted = min(0, *(offsets[other] + bound for other, bound in above[place]))
            elif offsets[place] > 0 and below[place]:
                wanted = max(0, *(offsets[other] - bound for other, bound in below[place]))
            moved = moved or wanted != offsets[place]
            offsets[place] = wanted
        if not moved:
            return
