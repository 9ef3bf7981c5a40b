"""What the second of two builds tries, when the first tries everything: every fifth seed.

`ANTECEDE_SHARE=fifth` asks for it. Of each test with seeds, and with each of its other parameters,
the first one stays, and after it every fifth. Not every fourth: tests do other things on odd seeds
than on even ones, or every third time, and five has no factor in common with any of that. Small
programs that every protocol is led through are as many chances to see the same, as seeds are.
"""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeVar

import pytest

EVERY: Final = 5

CHANCES: Final = (("seed", int), ("program", str))
"""Parameters of which a share is enough, and what they are if they are what is meant here."""

IS_SHARED: Final = os.environ.get("ANTECEDE_SHARE") == "fifth"

Item = TypeVar("Item", bound=pytest.Item)


def seeds(count: int) -> range:
    """Seeds for a loop: all of them up to `count`, or this build's share."""
    return range(0, count, EVERY if IS_SHARED else 1)


def left_to_the_other_build(tests: Sequence[Item]) -> list[Item]:
    """The tests with seeds that this build need not try."""
    seen: Counter[object] = Counter()
    left: list[Item] = []
    for test in tests:
        family = family_of(test)
        if family is None:
            continue
        if seen[family] % EVERY:
            left.append(test)
        seen[family] += 1
    return left


def family_of(test: pytest.Item) -> object | None:
    """What tests share that differ in nothing but the seed, or program; None if there is none.

    Nor for a test that may skip: some of those the other build must skip.
    """
    callspec = getattr(test, "callspec", None)
    if callspec is None or test.get_closest_marker("skipif") is not None:
        return None
    parameters = callspec.params
    shared = [name for name, kind in CHANCES if isinstance(parameters.get(name), kind)]
    if not shared:
        return None
    # The very same objects: parameters need not be comparable.
    others = sorted((name, id(one)) for name, one in parameters.items() if name != shared[0])
    return (test.nodeid.partition("[")[0], *others)
