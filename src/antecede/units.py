"""How people write durations, sizes, shares and counts, and how they read them.

`1.5ms`, `64MiB`, `5%`, `20k`: the same notation on every command line and in every file.
"""

import re
from fractions import Fraction
from typing import Final

from antecede.core.errors import LocalError

NS_OF_UNIT: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}

DURATION: Final = re.compile(r"\s*(?P<number>[0-9]*\.?[0-9]+)\s*(?P<unit>ns|us|µs|ms|s|min|h)\s*")
NUMBER: Final = re.compile(r"[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,2})?")
COUNT: Final = re.compile(r"(?P<number>[0-9]*\.?[0-9]+)(?P<scale>[kM]?)")
SCALES: Final = {"": 1, "k": 1_000, "M": 1_000_000}

BYTES_OF_UNIT: Final = {
    "": 1,
    "B": 1,
    "kB": 1_000,
    "MB": 1_000_000,
    "GB": 1_000_000_000,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
SIZE: Final = re.compile(r"\s*(?P<number>[0-9]*\.?[0-9]+)\s*(?P<unit>|B|kB|MB|GB|KiB|MiB|GiB)\s*")

DURATION_NS_MAX: Final = 1 << 60
"""Longer than this nothing takes: 36 years."""


def parse_duration(text: str) -> int:
    """Nanoseconds: `250us`, `1.5ms`, `2s`, `1min`; a bare 0 needs no unit."""
    if text.strip() == "0":
        return 0
    found = DURATION.fullmatch(text)
    if found is None:
        raise LocalError(f"{text!r} is not a duration; write a number and a unit, such as 1.5ms")
    duration_ns = round(Fraction(found["number"]) * NS_OF_UNIT[found["unit"]])
    if duration_ns > DURATION_NS_MAX:
        raise LocalError(f"{text!r} is longer than 36 years")
    return duration_ns


def parse_size(text: str) -> int:
    """Bytes: `1400`, `64KiB`, `1.5MB`; units with an i are powers of 1024."""
    found = SIZE.fullmatch(text.replace("_", ""))
    if found is None:
        raise LocalError(f"{text!r} is not a size; write bytes, or a number and a unit: 64MiB")
    size = Fraction(found["number"]) * BYTES_OF_UNIT[found["unit"]]
    if size.denominator != 1:
        raise LocalError(f"{text!r} is not a size: it is not a whole number of bytes")
    return int(size)


def parse_share(text: str) -> float:
    """A number from 0 to 1: `0.05` or `5%`."""
    bare = text.strip()
    percent = bare.endswith("%")
    share = parse_number(bare[:-1] if percent else bare) / (100 if percent else 1)
    if share == 1 and not percent:
        raise LocalError(f"{text!r} may be one in a hundred or all; write 1% or 100%")
    if share > 1:
        raise LocalError(f"{text!r} is more than all; write a share such as 5% or 0.05")
    return share


def parse_number(text: str) -> float:
    """A number that is not negative: `1.5`, `2e-3`."""
    bare = text.strip()
    if NUMBER.fullmatch(bare) is None:
        raise LocalError(f"{text!r} is not a number")
    return float(bare)


def parse_count(text: str) -> int:
    """A whole number that is not negative: `1000`, `20k`, `1.5M`."""
    found = COUNT.fullmatch(text.strip().replace("_", ""))
    if found is None:
        raise LocalError(f"{text!r} is not a count; write a whole number such as 1000 or 20k")
    count = Fraction(found["number"]) * SCALES[found["scale"]]
    if count.denominator != 1:
        raise LocalError(f"{text!r} is not a whole number")
    return int(count)


def messages_text(count: int, in_parts: bool = False) -> str:
    """`1 message`, `2,000 messages`; if large ones count by their parts: `88 parts of messages`."""
    if in_parts:
        return "1 part of a message" if count == 1 else f"{count:,} parts of messages"
    return "1 message" if count == 1 else f"{count:,} messages"


def duration_text(duration_ns: float) -> str:
    """A duration for people, to three digits: `1.25 ms`."""
    if duration_ns == 0:
        return "0"
    for unit in ("s", "ms", "µs"):
        if round(duration_ns) >= NS_OF_UNIT[unit]:
            return f"{three_digits(duration_ns / NS_OF_UNIT[unit])} {unit}"
    return f"{three_digits(duration_ns)} ns"


def size_text(size: int) -> str:
    """A size that `parse_size` reads back, in the largest unit that it is a multiple of."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % BYTES_OF_UNIT[unit] == 0:
            return f"{size // BYTES_OF_UNIT[unit]}{unit}"
    return str(size)


def three_digits(number: float) -> str:
    """A number that is not negative, with three significant digits, none after those of a unit."""
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 message`, `2,000 messages`; a plural that does not end in s is given."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listing(names: list[str], shown: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(repr(name) for name in names[:shown]) + more
