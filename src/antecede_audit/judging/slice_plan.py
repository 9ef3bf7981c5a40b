"""Decides how a log is cut: into how many slices, where, and with how much overlap.

Times become slices by way of *cells*: each run has a grid of equally wide cells, and each cell
knows the first and the last slice that see it. Slices begin and end at the edges of cells.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from antecede_audit.judging.slices import Slice, UntrustedTimes

SLICE_COPIES: Final = 400_000
"""400,000 copies begin in a slice: few enough for memory, enough to make overlaps cheap.

Judging one takes less than 1 kB a copy.
"""

GROWTH_MAX: Final = 8
"""Where flights are long, a slice may have up to 8 times as many copies."""

OVERLAP_MAX: Final = 0.5
"""The overlap of a slice has at most half as many copies as usually begin in it."""

OVERLAP_CHEAP: Final = 0.1
"""An overlap this long costs little, and a generous one saves the search for longer flights."""

LONG_MAX: Final = 0.1
"""If more flights longer than the overlap are under way at a time, measured by what usually begins
in a slice, a larger one is worth it. Fewer are judged apart, in one more pass over the log.
"""

CELLS_OF_SLICE: Final = 64
CELLS_MAX: Final = 1 << 17
INT64_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExtent:
    """What must be known about a run to cut it."""

    copies: int
    first_ns: int
    last_ns: int
    sample: npt.NDArray[np.int64]
    """Some of its copies, chosen evenly: times of submission and of delivery, a row each."""
    blurs: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """The first and the last time of each stretch in which the clock is wrong, a row each."""


@dataclass(slots=True, kw_only=True)
class SlicePlan:
    """How runs are cut; lists by run hold what is needed to find the cell of a time."""

    runs: list[int] = field(default_factory=list)
    """The numbers of the runs, for the lists that follow."""
    cut: list[int] = field(default_factory=list)
    """The numbers of those that have slices of their own."""
    base: list[int] = field(default_factory=list)
    """The number of each run's first cell."""
    start_ns: list[int] = field(default_factory=list)
    width_ns: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """The first slice that sees each cell."""
    last: list[int] = field(default_factory=list)
    """The last slice that sees each cell."""
    slices: dict[int, Slice] = field(default_factory=dict)
    """The stretches of time; a number that is missing stands for whole runs."""
    count: int = 0
    """How many slices there are."""
    overlap_ns: int = 0
    """The longest overlap."""
    blurs: dict[int, UntrustedTimes] = field(default_factory=dict)
    """By run: the stretches in which its clock is wrong; no slice begins or ends in one."""
    wanted: frozenset[int] | None = None
    """The slices that are of interest; None for all."""

    def add_whole(self, number: int, run: RunExtent, slice_number: int) -> None:
        """Put a run into a slice as a whole."""
        self.runs.append(number)
        self._add_cells(
            run.first_ns, run.last_ns - run.first_ns + 1, [slice_number], [slice_number]
        )
        self.count = max(self.count, slice_number + 1)

    def add_cut(self, number: int, run: RunExtent, slice_copies: int) -> None:
        """Cut a run into slices of its own."""
        copies, overlap_ns = overlap_of(run, slice_copies)
        edges, width_ns, cells = cut_evenly(run, copies)
        clear, blurs = clear_edges(run, width_ns, cells)
        if blurs is not None:
            self.blurs[number] = blurs
        edges = np.unique(clear[edges])
        overlap = min(math.ceil(overlap_ns / width_ns), cells)
        ends = clear[np.minimum(edges[1:] + overlap, cells)]
        cell = np.arange(cells)
        last = np.searchsorted(edges, cell, side="right") - 1
        first = np.searchsorted(ends, cell, side="right")
        for index, (begin, follow, end) in enumerate(zip(edges[:-1], edges[1:], ends, strict=True)):
            self.slices[self.count + index] = Slice(
                start_ns=run.first_ns + int(begin) * width_ns,
                next_ns=run.first_ns + int(follow) * width_ns,
                end_ns=run.first_ns + int(end) * width_ns,
            )
        self.runs.append(number)
        self.cut.append(number)
        self._add_cells(
            run.first_ns,
            width_ns,
            (first + self.count).tolist(),
            (last + self.count).tolist(),
        )
        self.count += len(edges) - 1
        self.overlap_ns = max(self.overlap_ns, overlap * width_ns)

    def slices_of(
        self, run: npt.NDArray[np.int64], clock_ns: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Which rows are in the plan, and the first and the last slice that see each of them.

        In: the run and the time of each row.
        """
        known = np.full(max([int(run.max(initial=0)), *self.runs]) + 1, -1)
        known[self.runs] = np.arange(len(self.runs))
        placed = np.flatnonzero(known[run] >= 0)
        at = known[run[placed]]
        if len(at) and (at == at[0]).all():
            at = at[0]  # To divide all by one number takes a tenth of the time.
        start_ns, width_ns, base = (
            np.array(of_runs, np.int64)[at] for of_runs in (self.start_ns, self.width_ns, self.base)
        )
        cell = base + (clock_ns[placed] - start_ns) // width_ns
        first, last = (np.array(of_cells, np.int64)[cell] for of_cells in (self.first, self.last))
        return placed, first, last

    def slices_of_run(self, run: int) -> range:
        """The numbers of the slices that a run is cut into."""
        place = self.runs.index(run)
        ends = [*self.base, len(self.last)]
        return range(self.last[ends[place]], self.last[ends[place + 1] - 1] + 1)

    def without(self, runs: Sequence[int]) -> "SlicePlan":
        """The same plan, but not for these runs."""
        return replace(self, cut=[run for run in self.cut if run not in runs])

    def restricted(self, wanted: Set[int]) -> "SlicePlan":
        """The same cut, of which only these slices are of interest."""
        return replace(self, wanted=frozenset(wanted))

    def counting(self, other: "SlicePlan") -> "SlicePlan":
        """The same cut; slices, overlap and blurs are told as if those of another were its own."""
        return replace(
            self,
            count=self.count + other.count,
            overlap_ns=max(self.overlap_ns, other.overlap_ns),
            blurs=self.blurs | other.blurs,
        )

    def _add_cells(self, start_ns: int, width_ns: int, first: list[int], last: list[int]) -> None:
        self.base.append(len(self.first))
        self.start_ns.append(start_ns)
        self.width_ns.append(width_ns)
        self.first += first
        self.last += last


def plan_slices(
    runs: Mapping[int, RunExtent] | Sequence[RunExtent], slice_copies: int = SLICE_COPIES
) -> SlicePlan:
    """Cut large runs, and put small ones together, so that slices are about equally large."""
    plan = SlicePlan()
    room, current = 0, 0
    for number, run in runs.items() if isinstance(runs, Mapping) else enumerate(runs):
        if run.copies > slice_copies:
            plan.add_cut(number, run, slice_copies)
            continue
        if run.copies > room:
            current, room = plan.count, slice_copies
        plan.add_whole(number, run, current)
        room -= run.copies
    return plan


def clear_edges(
    run: RunExtent, width_ns: int, cells: int
) -> tuple[npt.NDArray[np.int64], UntrustedTimes | None]:
    """For each edge between cells the first from there on that is not blurred; and the blurs.

    The blurs are made to begin and end at edges.
    """
    edges = np.arange(cells + 1)
    if not len(run.blurs):
        return edges, None
    first, last = ((run.blurs - run.first_ns) // width_ns).clip(0, cells - 1).T
    # How many blurs reach across each edge.
    across = np.zeros(cells + 2, np.int64)
    np.add.at(across, first + 1, 1)
    np.add.at(across, last + 1, -1)
    glued = np.cumsum(across)[: cells + 1] > 0
    clear = np.minimum.accumulate(np.where(glued, cells, edges)[::-1])[::-1]
    touched = np.zeros(cells + 1, np.int64)
    touched[first] = 1
    starts = np.flatnonzero(touched[:cells].astype(np.bool_) & ~glued[:cells])
    ends = clear[starts + 1]
    return clear, UntrustedTimes(
        start_ns=run.first_ns + starts * width_ns, end_ns=run.first_ns + ends * width_ns
    )


def overlap_of(run: RunExtent, slice_copies: int) -> tuple[int, int]:
    """How many copies a slice of this run has, and how far it looks beyond its own stretch."""
    flights_ns = run.sample[:, 1] - run.sample[:, 0]
    longest_ns = int(flights_ns.max(initial=0))
    rate = run.copies / (run.last_ns - run.first_ns + 1)
    if 2 * longest_ns * rate <= OVERLAP_CHEAP * slice_copies:
        return slice_copies, 2 * longest_ns
    copies = slice_copies
    while True:
        overlap_ns = min(longest_ns, int(OVERLAP_MAX * copies / rate))
        long_ns = float(flights_ns[flights_ns > overlap_ns].sum()) / max(1, len(flights_ns))
        enough = long_ns * rate <= LONG_MAX * slice_copies
        if enough or 2 * copies > GROWTH_MAX * slice_copies:
            return copies, overlap_ns
        copies *= 2


def cut_evenly(run: RunExtent, slice_copies: int) -> tuple[npt.NDArray[np.int64], int, int]:
    """The cells where slices begin, and the end; how wide a cell is; how many there are.

    Cells are made finer until none holds a large part of a slice, or there would be too many: then
    very many events have about the same time, and a slice may be larger.
    """
    count = math.ceil(run.copies / slice_copies)
    span_ns = run.last_ns - run.first_ns + 1
    cells = CELLS_OF_SLICE * count
    while True:
        width_ns = math.ceil(span_ns / cells)
        cells = math.ceil(span_ns / width_ns)
        cell = (run.sample[:, 0] - run.first_ns) // width_ns
        filled = np.bincount(cell, minlength=cells)
        if width_ns == 1 or cells * 2 > CELLS_MAX:
            break
        if filled.max() * 8 * count <= len(cell):
            break
        cells *= 2
    before = np.concatenate([[0], np.cumsum(filled)])
    targets = np.arange(1, count) * len(cell) / count
    inner = np.unique(np.searchsorted(before, targets))
    inner = inner[(inner > 0) & (inner < cells)]
    return np.concatenate([[0], inner, [cells]]).astype(np.int64), width_ns, cells
