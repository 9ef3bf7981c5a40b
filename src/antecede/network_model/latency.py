"""How long a packet is under way: the distributions, each a value with one method.

A sampled delay is rounded to whole nanoseconds at once; no float ever becomes a time.
"""

from abc import ABCMeta, abstractmethod
from math import cos, exp, log, pi, sqrt
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import LocalError
from antecede.network_model.keyed_random import KeyedRandom

DELAY_NS_MAX: Final = 3_600_000_000_000
"""No packet takes longer than an hour: the tail of a heavy distribution ends here."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Latency(metaclass=ABCMeta):
    """A distribution of one-way delays, possibly different for every ordered pair."""

    @abstractmethod
    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:
        """A delay in nanoseconds for one packet from `source` to `target`."""


@final
class Constant(Latency):
    """Always the same delay."""

    def __init__(self, delay_ns: int) -> None:
        check_span(delay_ns, delay_ns)
        self._delay_ns: Final[i64] = delay_ns

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 no chance in it, and the same for every pair
        return self._delay_ns


EXACT_SPAN_NS: Final = 1 << 20
"""Up to 2**20 ns a word times a span fits the 53 bits of a float, so integers give the same."""


@final
class Uniform(Latency):
    """Any delay between two bounds, equally likely."""

    def __init__(self, low_ns: int, high_ns: int) -> None:
        check_span(low_ns, high_ns)
        self._low_ns: Final[i64] = low_ns
        self._span_ns: Final[i64] = high_ns - low_ns

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 the same for every pair
        span_ns = self._span_ns
        if span_ns <= EXACT_SPAN_NS:
            return self._low_ns + (((2 * chance.word() + 1) * span_ns) >> 33)
        return self._low_ns + i64(chance.unit() * float(span_ns))


@final
class Exponential(Latency):
    """A base delay plus a memoryless one with the given mean."""

    def __init__(self, mean_ns: int, base_ns: int = 0) -> None:
        check_span(base_ns, mean_ns + base_ns)
        self._mean_ns: Final = float(mean_ns)
        self._base_ns: Final[i64] = base_ns

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 the same for every pair
        return self._base_ns + whole_ns(chance.exponential(self._mean_ns))


@final
class Lognormal(Latency):
    """A delay whose logarithm is normal: `median_ns`, and `sigma` of the logarithm."""

    def __init__(self, median_ns: int, sigma: float) -> None:
        check_span(1, median_ns)
        if not 0 <= sigma <= 5:
            raise LocalError(f"sigma {sigma} is outside 0 to 5")
        self._median_ns: Final = float(median_ns)
        self._sigma: Final = sigma

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 the same for every pair
        normal = sqrt(-2.0 * log(chance.unit())) * cos(2.0 * pi * chance.unit())
        return whole_ns(self._median_ns * exp(self._sigma * normal))


def whole_ns(delay: float) -> i64:
    """A sampled delay in whole nanoseconds, cut off at the named maximum."""
    if delay > DELAY_NS_MAX:
        return DELAY_NS_MAX
    return i64(delay)


def check_span(low_ns: int, high_ns: int) -> None:
    """`LocalError` unless 0 <= low <= high <= the longest delay there is."""
    if not 0 <= low_ns <= high_ns <= DELAY_NS_MAX:
        raise LocalError(f"delays from {low_ns} to {high_ns} ns are outside 0 to {DELAY_NS_MAX} ns")
