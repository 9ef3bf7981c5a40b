"""Readings of latency in the words of the paper's table: optimal or not, where, how much."""

from typing import Final

from antecede.lab.comparison import readings as measured
from antecede.lab.comparison.readings import Readings
from antecede.lab.comparison.stationarity import unsettled_text

BOUNDED_RTTS: Final = 3.0
"""What never waits longer than so many round trips, whatever the traffic, waits O(r)."""

GROWS_BY: Final = 2.0
"""A wait is not bounded by round trips if it grows so many times over a series."""

BUFFERED_RTTS: Final = 4.0
"""A wait of at most so many round trips for every message ahead in the buffer is O(b r)."""

STARVED_SHARE: Final = 0.9
"""A message is starved if it waits for so much of a run, however long the run is."""

MAIN_SHARE: Final = 0.8
"""A side has the wait if it has so much of it."""

NOTHING_RTTS: Final = 1e-9


def how_optimal(protocol: str, readings: Readings) -> tuple[str, str] | None:
    """Whether every copy is delivered exactly when RST delivers it."""
    latest = figures(readings.series(protocol, measured.LATEST, ""))
    earliest = figures(readings.series(protocol, measured.EARLIEST, ""))
    if not latest or not earliest:
        return None
    exact = max(latest) <= NOTHING_RTTS and min(earliest) >= -NOTHING_RTTS
    detail = "every copy was delivered at the same instant as under RST"
    if not exact:
        late = readings.series(protocol, measured.LATE, "")
        detail = "later than under RST by " + series_text(late, "mean RTT, at load")
    return "yes" if exact else "no", detail


def where_late(protocol: str, readings: Readings) -> tuple[str, str] | None:
    """Before leaving the sender, after reaching the receiver, or between the two."""
    total = sum(figures(readings.series(protocol, measured.LATE, "")))
    sender = sum(figures(readings.series(protocol, measured.LATE_SENDER, "")))
    receiver = sum(figures(readings.series(protocol, measured.LATE_RECEIVER, "")))
    latest = figures(readings.series(protocol, measured.LATEST, ""))
    if not latest:
        return None
    if max(latest) <= NOTHING_RTTS or total <= NOTHING_RTTS:
        return "no", "nothing waited longer than under RST"
    shares = {"sender": sender / total, "receiver": receiver / total}
    shares["on the way"] = 1 - shares["sender"] - shares["receiver"]
    detail = ", ".join([f"{round(100 * share)} % {side}" for side, share in shares.items()])
    main = [side for side, share in shares.items() if share >= MAIN_SHARE]
    return main[0] if main else "both", f"of all non-causal latency {detail}"


def how_late(protocol: str, readings: Readings) -> tuple[str, str] | None:
    """`0`, `O(r)`, `O(b r)`, `unbounded`; `bounded` if it is long but does not grow."""
    loads = readings.series(protocol, measured.LATEST, "")
    if not loads:
        return None
    timed = readings.series(protocol, measured.TIMED, "")
    reported = readings.series(protocol, measured.REPORTED, "")
    starved = readings.series(protocol, measured.STARVED, "")
    worst = max(figures(loads) + figures(timed) + figures(reported))
    detail = f"the longest: {series_text(loads, 'greatest RTT, at load')}"
    if worst <= NOTHING_RTTS:
        return "0", detail
    unsettled = unsettled_text(protocol, readings)
    if unsettled:
        detail += f"; {unsettled}"
    groups = readings.series(protocol, measured.GROUP_LATENCY, "")
    if groups:
        detail += f"; in groups {series_text(groups, 'one-way delays on average, messages')}"
    if reported:
        detail += f"; in a conversation with reports {series_text(reported, 'RTT, turns')}"
    if is_growing(timed):
        detail += f"; {series_text(timed, 'RTT, with patience in ms')}"
        return "unbounded", detail
    if is_starved(starved):
        detail += f"; starved for {starved[-1][1]:.1f} of {starved[-1][0]:.0f} turns"
        return "unbounded", detail
    if worst <= BOUNDED_RTTS:
        return "O(r)", detail
    if not is_growing(loads) and not is_growing(reported):
        return "bounded", detail
    ahead = figures(readings.series(protocol, measured.PER_BUFFERED, ""))
    ahead += figures(readings.series(protocol, measured.REPORTED_PER_BUFFERED, ""))
    detail += f"; at most {max(ahead):.1f} RTT per message ahead was seen, which is no proof"
    at_sender = where_late(protocol, readings)
    if at_sender is not None and at_sender[0] == "sender" and max(ahead) <= BUFFERED_RTTS:
        return "O(b r)", detail
    return "unbounded", detail


def is_starved(points: list[tuple[float, float]]) -> bool:
    """Whether the message waited for nearly all of the run, however long that was."""
    return bool(points) and min([waited / turns for turns, waited in points]) >= STARVED_SHARE


def is_growing(points: list[tuple[float, float]]) -> bool:
    """Whether a series ends or begins much higher than it is elsewhere, and not by little."""
    values = figures(points)
    if not values or max(values) <= BOUNDED_RTTS:
        return False
    return max(values) >= GROWS_BY * min(values)


def figures(points: list[tuple[float, float]]) -> list[float]:
    """The figures of a series."""
    return [figure for _, figure in points]


def series_text(points: list[tuple[float, float]], unit: str) -> str:
    """A few figures, and what they stand against."""
    shown = ", ".join([f"{figure:.2f}" for _, figure in points])
    against = ", ".join([f"{at:g}" for at, _ in points])
    return f"{shown} {unit} {against}"
