"""Which seeds a build tries: all of them, about half, or a fifth.

`ANTECEDE_SHARE` asks for it. Of each test with seeds, and with each of its other parameters, a
share stays, and what is left out differs from it in nothing but the seed:

- `fifth`: the first, and after it every fifth. For the second of two builds. Not every fourth:
  tests do other things on odd seeds than on even ones, or every third time, and five has no factor
  in common with any of that. Small programs that every protocol is led through are as many chances
  to see the same, as seeds are.
- `half`: the first three, and after them two of every five that follow each other, those of the
  other share among them. For the first build, which leads every protocol through all programs.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import pytest

EVERY: Final = 5
FIRST: Final = 3
"""Whatever is done every other or every third time is among them."""

CHANCES: Final = (("seed", int), ("program", str))
"""Parameters of which a fifth is enough, and what they are if they are what is meant here."""

Item = TypeVar("Item", bound=pytest.Item)
Stays = Callable[[int], bool]


def in_a_fifth(place: int) -> bool:
    """Whether the seed at this place is one of every five."""
    return place % EVERY == 0


def in_a_half(place: int) -> bool:
    """Whether the seed at this place is one of the first, or of two of every five."""
    return place < FIRST or place % EVERY < 2


SHARE: Final = os.environ.get("ANTECEDE_SHARE", "")
IS_FIFTH: Final = SHARE == "fifth"
IS_SHARED: Final = SHARE in ("fifth", "half")


def seeds(count: int) -> Sequence[int]:
    """Seeds for a loop: all of them up to `count`, or this build's share."""
    if not IS_SHARED:
        return range(count)
    stays = in_a_fifth if IS_FIFTH else in_a_half
    return [seed for seed in range(count) if stays(seed)]


def left_out(tests: Sequence[Item], share: str) -> list[Item]:
    """The tests with seeds that a build with this share need not try."""
    is_fifth = share == "fifth"
    stays: Stays = in_a_fifth if is_fifth else in_a_half
    chances = CHANCES if is_fifth else CHANCES[:1]
    seen: Counter[object] = Counter()
    left: list[Item] = []
    for test in tests:
        family = family_of(test, chances)
        if family is None:
            continue
        if not stays(seen[family]):
            left.append(test)
        seen[family] += 1
    return left


def family_of(test: pytest.Item, chances: Sequence[tuple[str, type]]) -> object | None:
    """What tests share that differ in nothing but the seed, or program; None if there is none.

    Nor for a test that may skip: some of those the other build must skip.
    """
    callspec = getattr(test, "callspec", None)
    if callspec is None or test.get_closest_marker("skipif") is not None:
        return None
    parameters = callspec.params
    shared = [name for name, kind in chances if isinstance(parameters.get(name), kind)]
    if not shared:
        return None
    # The very same objects: parameters need not be comparable.
    others = sorted((name, id(one)) for name, one in parameters.items() if name != shared[0])
    return (test.nodeid.partition("[")[0], *others)
