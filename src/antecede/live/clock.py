"""Two clocks: one that never goes back, for timers, and one that machines share, for the log."""

from time import monotonic_ns, time_ns

from antecede.link.rows import EventRows

TAKEN_AT_ONCE_NS = 20_000
"""Two readings further apart than this were interrupted, and say nothing about the difference."""


def follow_shared_clock(rows: EventRows) -> None:
    """Renew the difference between the two clocks, if both can be read at once just now."""
    before_ns = monotonic_ns()
    shared_ns = time_ns()
    after_ns = monotonic_ns()
    if after_ns - before_ns <= TAKEN_AT_ONCE_NS or rows.offset_ns == 0:
        rows.offset_ns = shared_ns - before_ns
