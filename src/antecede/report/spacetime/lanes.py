"""Where bars go: those that overlap in time on one process line are stacked in lanes.

A bar is the time that a copy spends in a buffer: above the line of its sender from submission to
transmission, below the line of its target from arrival to delivery. A copy that is still in a
buffer when the log ends has a bar to the end. What passes through in no time has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from antecede.report.spacetime.run import MISSING, Copies, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """One bar or none for each copy, a list per column; `lane` is `MISSING` where there is none."""

    begin_ns: list[int]
    end_ns: list[int]
    lane: list[int]
    depth: list[int]
    """How many lanes each row needs."""

    def spans(self) -> list[tuple[int, int]]:
        """From when to when each bar lasts."""
        columns = zip(self.begin_ns, self.end_ns, self.lane, strict=True)
        return [(begin_ns, end_ns) for begin_ns, end_ns, lane in columns if lane != MISSING]


def send_bars(run: Run) -> Bars:
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


def receive_bars(run: Run) -> Bars:
    """Time in receive buffers."""
    copies = run.copies
    ends = [run.span_ns if end_ns == MISSING else end_ns for end_ns in copies.delivered_ns]
    return stacked(copies.arrived_ns, ends, copies.target, None, len(run.processes))


def transmits(run: Run) -> bool:
    """Whether the log says when packets were transmitted, as that of a foreign system may not."""
    return any(time_ns != MISSING for time_ns in run.copies.transmitted_ns)


def is_waiting(copies: Copies, copy: int) -> bool:
    """Whether a copy that was never transmitted is still to be."""
    travels = copies.sender[copy] != copies.target[copy]
    return travels and copies.delivered_ns[copy] == MISSING


def stacked(
    begins: Sequence[int],
    ends: Sequence[int],
    rows: Sequence[int],
    shared: Copies | None,
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
