"""Moments in words: three digits, or as many as it takes to tell them apart."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

DATES_FROM_NS: Final = 10**17
DATES_TO_NS: Final = 10**19
"""No run lasts for years, so a time in between is one since 1970: from 1973 to 2286."""

DIGITS: Final = 3
NS_DIGITS: Final = 9
"""Digits of a second after the point."""

UNITS: Final = (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1))


def moment(time_ns: int, among: Collection[int] = ()) -> str:
    """A time for people: a date if it can only be one, else how long after the run began.

    It has three digits; if it is shown `among` others, as many as tell all of them apart.
    """
    times_ns = {time_ns, *among}
    digits = DIGITS
    while len({written(one, digits) for one in times_ns}) < len(times_ns):
        digits += 1
    return written(time_ns, digits)


def written(time_ns: int, digits: int) -> str:
    """A time with this number of digits: all of it, or of a date those after the point."""
    if DATES_FROM_NS <= time_ns < DATES_TO_NS:
        decimals = min(digits, NS_DIGITS)
        whole, rest = divmod(rounded(time_ns, NS_DIGITS - decimals), 10**NS_DIGITS)
        fraction = f"{rest:0{NS_DIGITS}d}"[:decimals]
        return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%d %H:%M:%S}.{fraction} UTC"
    size_ns = abs(time_ns)
    size_ns = rounded(size_ns, min(len(str(size_ns)) - digits, NS_DIGITS))
    unit, length = next((one for one in UNITS if size_ns >= one[1]), ("ms", 10**6))
    whole, rest = divmod(size_ns, length)
    fraction = f"{rest:0{len(str(length)) - 1}d}".rstrip("0") if rest else ""
    sign = "-" if time_ns < 0 and size_ns else ""
    return f"{sign}{whole}{'.' if fraction else ''}{fraction} {unit}"


def rounded(number: int, zeros: int) -> int:
    """The nearest number that ends in this number of zeros."""
    if zeros <= 0:
        return number
    step: int = 10**zeros
    return (number + step // 2) // step * step
