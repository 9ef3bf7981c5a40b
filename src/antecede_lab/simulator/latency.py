"""Latencies of simulated networks, beside those that every test may use."""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.network_model.keyed_random import KeyedRandom
from antecede.network_model.latency import Latency, check_span, whole_ns


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
