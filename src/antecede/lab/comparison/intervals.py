"""A mean over several seeds, and how sure of it we are.

The interval is Student's, for 95 %: the mean over runs with different seeds is taken to be normal,
its standard error is estimated from those very runs, and the quantile of the t distribution makes
up for there being only a few. One run alone has no interval.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final, final

T_95: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95 % quantiles of Student's t for 1, 2, 3, … degrees of freedom."""

NORMAL_95: Final = 1.960
"""The same for very many."""


@final
@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean, and half the width of its 95 % interval (None: one sample says nothing of that)."""

    mean: float
    half_width: float | None
    samples: int

    def text(self, digits: int = 1) -> str:
        """For people: `12.3 ± 0.4`."""
        if self.half_width is None:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {self.half_width:.{digits}f}"


def estimate(samples: list[float]) -> Estimate:
    """The mean of at least one sample, with its interval."""
    count = len(samples)
    mean = sum(samples) / count
    if count < 2:
        return Estimate(mean=mean, half_width=None, samples=count)
    variance = sum([(sample - mean) ** 2 for sample in samples]) / (count - 1)
    return Estimate(mean=mean, half_width=t_95(count - 1) * sqrt(variance / count), samples=count)


def t_95(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return T_95[degrees - 1] if degrees <= len(T_95) else NORMAL_95
