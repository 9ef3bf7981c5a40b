"""How many seeds and examples the tests try: all, or a fifth with `ANTECEDE_SEEDS=few`.

`make test` runs the tests of compiled modules twice. The compiled build tries every seed; the
sources try every fifth, because what differs between two builds differs in a line of code, not in a
seed. Five, because tests do something else with every second or third seed, and the first, sixth
and eleventh are a mixture of these.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import pytest

Item = TypeVar("Item", bound=pytest.Item)

EVERY: Final = 5
FEW: Final = os.environ.get("ANTECEDE_SEEDS") == "few"


def seeds(count: int) -> Sequence[int]:
    """Seeds for a loop: those up to `count`, or every fifth of them."""
    return range(0, count, EVERY if FEW else 1)


def beyond_a_few(tests: Iterable[Item]) -> list[Item]:
    """Of the tests that differ in their parameter `seed` alone, all but the first and every fifth.

    Not those that may skip: some of them skip on the other build.
    """
    seen: Counter[object] = Counter()
    beyond: list[Item] = []
    for test in tests:
        parameters = getattr(getattr(test, "callspec", None), "params", {})
        if not isinstance(parameters.get("seed"), int) or test.get_closest_marker("skipif"):
            continue
        # The very same objects: parameters need not be comparable.
        others = sorted((name, id(one)) for name, one in parameters.items() if name != "seed")
        family = (test.nodeid.partition("[")[0], *others)
        if seen[family] % EVERY:
            beyond.append(test)
        seen[family] += 1
    return beyond
