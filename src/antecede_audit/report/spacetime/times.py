"""Where the time of a run went: levels of buffers over time, and latencies in their parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from antecede_audit.report.spacetime.diagram import receive_bars, send_bars
from antecede_audit.report.spacetime.recording import MISSING, Recording

COLUMNS: Final = 160
"""Points of a curve over time: the fullest moment of each stretch of time."""

STEPS: Final = 50
"""Equal parts into which copies are cut, sorted by their latency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """How many copies were where, over time; the most in each stretch."""

    times_ns: tuple[float, ...]
    sending: tuple[int, ...]
    travelling: tuple[int, ...]
    receiving: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyParts:
    """Copies from the quickest to the slowest: what their time consisted of, on average."""

    shares: tuple[float, ...]
    sender_wait_ns: tuple[float, ...]
    channel_ns: tuple[float, ...]
    receiver_wait_ns: tuple[float, ...]


def levels_of(run: Recording) -> Levels:
    """The levels of all buffers of a run together, and of what is on its way."""
    copies = run.copies
    on_the_way = [
        (begin_ns, run.span_ns if end_ns == MISSING else end_ns)
        for begin_ns, end_ns in zip(copies.transmitted_ns, copies.arrived_ns, strict=True)
        if begin_ns != MISSING
    ]
    return Levels(
        times_ns=tuple(run.span_ns * column / COLUMNS for column in range(COLUMNS)),
        sending=fullest(send_bars(run).spans(), run.span_ns),
        travelling=fullest(on_the_way, run.span_ns),
        receiving=fullest(receive_bars(run).spans(), run.span_ns),
    )


def fullest(spans: Sequence[tuple[int, int]], span_ns: int) -> tuple[int, ...]:
    """For each stretch of time, the most spans that ever held at once in it."""
    changes = sorted(
        [(begin_ns, 1) for begin_ns, end_ns in spans if end_ns > begin_ns]
        + [(end_ns, -1) for begin_ns, end_ns in spans if end_ns > begin_ns]
    )
    most = [0] * COLUMNS
    level = reached = 0
    for time_ns, change in changes:
        column = min(time_ns * COLUMNS // span_ns, COLUMNS - 1)
        for between in range(reached, column + 1):
            most[between] = max(most[between], level)
        reached = column
        level += change
        most[column] = max(most[column], level)
    for between in range(reached, COLUMNS):
        most[between] = max(most[between], level)
    return tuple(most)


def latencies_ns(run: Recording) -> list[int]:
    """From submission to delivery, of every copy that travelled and came, ascending."""
    copies = run.copies
    return sorted(
        copies.delivered_ns[copy] - copies.submitted_ns[copy]
        for copy in range(len(copies))
        if copies.sender[copy] != copies.target[copy]
        and copies.submitted_ns[copy] != MISSING
        and copies.delivered_ns[copy] != MISSING
    )


def parts_of(run: Recording) -> LatencyParts | None:
    """What latencies consist of; None if the log does not say where copies were in between."""
    copies = run.copies
    split = sorted(
        (delivered - submitted, transmitted - submitted, arrived - transmitted, delivered - arrived)
        for sender, target, instants in zip(
            copies.sender, copies.target, copies.instants(), strict=True
        )
        if sender != target and MISSING not in instants
        for submitted, transmitted, arrived, delivered in (instants,)
    )
    if not split:
        return None
    steps = min(STEPS, len(split))
    cuts = [len(split) * step // steps for step in range(steps + 1)]
    stretches = [split[cuts[step] : cuts[step + 1]] for step in range(steps)]
    means = [
        tuple(sum(row[part] for row in stretch) / len(stretch) for part in (1, 2, 3))
        for stretch in stretches
    ]
    # A part's height holds for its whole width, so the first and last reach the edges.
    shares = tuple(step / max(steps - 1, 1) for step in range(steps))
    sender, channel, receiver = (tuple(column) for column in zip(*means, strict=True))
    return LatencyParts(
        shares=shares, sender_wait_ns=sender, channel_ns=channel, receiver_wait_ns=receiver
    )


def cdf_of(values: Sequence[int], points: int = 100) -> tuple[tuple[float, float], ...]:
    """How many of these ascending values are at most so large, as shares."""
    if not values:
        return ()
    count = len(values)
    ranks = sorted({max(1, count * number // points) for number in range(points + 1)})
    return tuple((float(values[rank - 1]), rank / count) for rank in ranks)
