"""Columns of whole numbers as text that a browser unpacks: small, and exact.

A number becomes 1 to 10 bytes of seven bits each, lowest first, all but the last with the high bit
set; 0, -1, 1, -2, … are written as 0, 1, 2, 3, … so that small numbers of either sign are short. A
column that mostly grows is written as differences. All of it is compressed (zlib) and put into
base64. `page/assets/columns.js` is the other half.
"""

import base64
import zlib
from collections.abc import Iterable, Sequence

LEVEL = 6
"""Of compression: more takes much longer and gains a few percent."""


def packed(values: Sequence[int], *, growing: bool = False) -> str:
    """The column as text."""
    return base64.b64encode(
        zlib.compress(varints(steps(values) if growing else values), LEVEL)
    ).decode()


def steps(values: Sequence[int]) -> list[int]:
    """The differences from one to the next; the first from 0."""
    return [value - before for before, value in zip([0, *values], values, strict=False)]


def varints(values: Iterable[int]) -> bytes:
    """The numbers, one after the other."""
    out = bytearray()
    append = out.append
    for value in values:
        rest = value << 1 if value >= 0 else (-value << 1) - 1
        while rest > 127:
            append(rest & 127 | 128)
            rest >>= 7
        append(rest)
    return bytes(out)
