"""From values to places on paper, and the values worth a mark on an axis."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from antecede.units import NS_OF_UNIT, duration_text

Text: TypeAlias = Callable[[float], str]

MARKS: Final = 5
"""Marks on an axis, about."""

ROUND: Final = (1, 2, 5, 10)

TIMES_NS: Final = (
    *(
        step * NS_OF_UNIT[unit]
        for unit in ("ns", "µs", "ms")
        for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)
    ),
    *(step * NS_OF_UNIT["s"] for step in (1, 2, 5, 10, 20, 30)),
)
"""Round durations below a minute."""

LOG_TIMES_S: Final = (600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600, 70 * 24 * 3600)
"""Marks of a logarithmic axis beyond 100 seconds, where powers of ten are no round durations."""

LONG_TIMES_S: Final = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Maps values from `low` to `high` onto places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where the value goes; what lies outside goes to the nearer end."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def linear_marks(low: float, high: float, count: int = MARKS) -> list[float]:
    """Round numbers between the two, about `count`."""
    if high <= low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in ROUND if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_marks(low: float, high: float) -> list[float]:
    """Powers of ten between the two, fewer if they are many, with 2 and 5 between if they are few.

    Less than a power of ten has the round numbers of a linear axis.
    """
    if high < 10 * low:
        return [mark for mark in linear_marks(low, high, MARKS - 1) if mark > 0]
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    powers = last - first
    factors = ROUND[:3] if powers <= 2 else ROUND[:1]
    stride = max(1, math.ceil(powers / MARKS))
    marks = [factor * 10.0**power for power in range(first, last + 1, stride) for factor in factors]
    return [mark for mark in marks if low * 0.999 <= mark <= high * 1.001]


def duration_marks(low: float, high: float) -> list[float]:
    """Round durations between the two, which are in nanoseconds."""
    rough = (high - low) / MARKS
    steps = [*TIMES_NS, *(seconds * NS_OF_UNIT["s"] for seconds in LONG_TIMES_S)]
    step = next((step for step in steps if step >= rough), None)
    if step is None:
        return linear_marks(low, high)
    return [float(number * step) for number in range(math.ceil(low / step), int(high // step) + 1)]


def log_duration_marks(low: float, high: float) -> list[float]:
    """Powers of ten up to 100 s, then minutes, hours, days; `low` and `high` in nanoseconds."""
    hundred_seconds = 100 * NS_OF_UNIT["s"]
    if high <= hundred_seconds:
        return log_marks(low, high)
    short = log_marks(low, hundred_seconds) if low < hundred_seconds else []
    long = [float(seconds * NS_OF_UNIT["s"]) for seconds in LOG_TIMES_S]
    return [*short, *(mark for mark in long if low <= mark <= high)]


def number_text(value: float) -> str:
    """A number on an axis: 1,000 and 0.5, but 1M instead of 1,000,000."""
    if abs(value) >= 999_999.5:
        return f"{plain(value / 1e6)}M"
    if abs(value) >= 9_999.5:
        return f"{plain(value / 1e3)}k"
    return plain(value)


def plain(value: float) -> str:
    """Three significant digits, without zeros that say nothing."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count_text(value: float) -> str:
    """A whole number that says which one it is, so that every digit matters."""
    return f"{value:,.0f}"


def percent_text(value: float) -> str:
    """A share as people read it."""
    return f"{plain(value * 100)} %"


def time_text(value: float) -> str:
    """A duration in nanoseconds, without zeros that say nothing; `2 h` where seconds are many."""
    if value < 0:
        return f"-{time_text(-value)}"
    hour_ns, minute_ns = NS_OF_UNIT["h"], NS_OF_UNIT["min"]
    for unit, unit_ns in (("d", 24 * hour_ns), ("h", hour_ns), ("min", minute_ns)):
        if value >= 2 * unit_ns:
            return f"{plain(value / unit_ns)} {unit}"
    number, blank, unit = duration_text(value).partition(" ")
    short = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{short}{blank}{unit}"


def bounds(values: Iterable[float], log: bool) -> tuple[float, float] | None:
    """The least and the greatest value that an axis has to show; None if there is none."""
    shown = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not shown:
        return None
    low, high = min(shown), max(shown)
    if low == high:
        return (low / 2, high * 2) if log else (min(low, 0.0), high * 1.2 or 1.0)
    return low, high
