"""How a figure grows with the number of processes: the exponent, and its name.

The exponent is the slope of a straight line through the larger half of the sizes, both axes
logarithmic (least squares): what is constant at small sizes fades there, and one odd point does not
decide. It says how a figure grew in these runs, not how it must.
"""

from math import log
from typing import Final

CONSTANT_BELOW: Final = 0.2
"""A figure that grows with a smaller power of n counts as constant."""

NEAR: Final = 0.2
"""How far from a whole power an exponent may be to bear its name."""

NAMES: Final = {0: "O(1)", 1: "O(n)", 2: "O(n²)", 3: "O(n³)"}

POINTS_MIN: Final = 2


def exponent(points: list[tuple[float, float]]) -> float | None:
    """The power of the size with which the figure grows; None if that cannot be told."""
    positive = sorted([point for point in points if point[0] > 0 and point[1] > 0])
    if len(points) >= POINTS_MIN and not positive:
        return 0.0
    if len(positive) < POINTS_MIN:
        return None
    chosen = positive[min(len(positive) // 2, len(positive) - POINTS_MIN) :]
    return slope([(log(size), log(figure)) for size, figure in chosen])


def slope(points: list[tuple[float, float]]) -> float | None:
    """The slope of the least-squares line, or None if all points have the same abscissa."""
    count = len(points)
    middle_x = sum([x for x, _ in points]) / count
    middle_y = sum([y for _, y in points]) / count
    spread = sum([(x - middle_x) ** 2 for x, _ in points])
    if spread == 0:
        return None
    return sum([(x - middle_x) * (y - middle_y) for x, y in points]) / spread


def name_of(power: float) -> str:
    """The usual name of a growth, where one is near: `O(n)`; else the power itself: `n^1.4`."""
    if power < CONSTANT_BELOW:
        return NAMES[0]
    whole = round(power)
    if abs(power - whole) <= NEAR and whole in NAMES:
        return NAMES[whole]
    return f"n^{power:.1f}"
