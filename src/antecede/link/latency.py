"""How long a packet is under way: the distributions, each a value with one method.

A sampled delay is rounded to whole nanoseconds at once; no float ever becomes a time.
"""

from abc import ABCMeta, abstractmethod
from math import cos, exp, log, pi, sqrt
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.errors import LocalError
from antecede.link.keyed_random import KeyedRandom

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
"""Up to here a word times a span fits the 53 bits of a float, so whole numbers give the same."""


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


@final
class Pareto(Latency):
    """A heavy tail: never below `low_ns`, beyond it falling like a power `alpha`."""

    def __init__(self, low_ns: int, alpha: float) -> None:
        check_span(1, low_ns)
        if not 0.5 <= alpha <= 100:
            raise LocalError(f"alpha {alpha} is outside 0.5 to 100")
        self._low_ns: Final = float(low_ns)
        self._exponent: Final = -1.0 / alpha

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 the same for every pair
        return whole_ns(self._low_ns * chance.unit() ** self._exponent)


@final
class Empirical(Latency):
    """One of the delays that were measured, each equally likely."""

    def __init__(self, samples_ns: list[int]) -> None:
        if not samples_ns:
            raise LocalError("an empirical latency needs at least one sample")
        check_span(min(samples_ns), max(samples_ns))
        self._samples_ns: Final = list(samples_ns)

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:  # noqa: ARG002 the same for every pair
        return self._samples_ns[chance.below(len(self._samples_ns))]


@final
class Geography(Latency):
    """A delay per ordered pair of sites, jittered; process p is at site `p % number of sites`."""

    def __init__(self, matrix_ns: list[list[int]], jitter: float = 0.05) -> None:
        sites = len(matrix_ns)
        if sites == 0 or any(len(row) != sites for row in matrix_ns):
            raise LocalError("a latency matrix needs as many columns as rows, and at least one")
        for row in matrix_ns:
            check_span(min(row), max(row))
        if not 0 <= jitter <= 10:
            raise LocalError(f"jitter {jitter} is outside 0 to 10")
        self._matrix_ns: Final = [list(row) for row in matrix_ns]
        self._sites: Final[i64] = sites
        self._jitter: Final = jitter

    def draw(self, source: i64, target: i64, chance: KeyedRandom) -> i64:
        base_ns = self._matrix_ns[source % self._sites][target % self._sites]
        return whole_ns(base_ns * (1.0 + self._jitter * chance.exponential(1.0)))


def whole_ns(delay: float) -> i64:
    """A sampled delay in whole nanoseconds, cut off at the named maximum."""
    if delay > DELAY_NS_MAX:
        return DELAY_NS_MAX
    return i64(delay)


def check_span(low_ns: int, high_ns: int) -> None:
    """`LocalError` unless 0 <= low <= high <= the longest delay there is."""
    if not 0 <= low_ns <= high_ns <= DELAY_NS_MAX:
        raise LocalError(f"delays from {low_ns} to {high_ns} ns are outside 0 to {DELAY_NS_MAX} ns")
