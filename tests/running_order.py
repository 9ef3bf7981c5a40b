"""In which order tests run: what takes long first, so that nobody waits for it at the end.

Workers each begin with a part of the list, and take from the end of another's when they are done.
Two of them divide the work so:

1. The files that share a Spark session. One worker runs them all, on one Java that gets quicker
   with every test. Its half is filled up with short tests, which the other takes off its hands.
2. What takes long, by its share of the time budget: with this the other worker begins. Much of it
   are real processes; while they wait, Spark has something to do.
3. The rest of the short tests.

Files stay whole, and within them nothing moves.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from tests.time_budget import folder_of

SESSION: Final = "spark"
"""The fixture that has a Java running."""

SHORT: Final = frozenset(
    f"tests/{name}"
    for name in (
        *("antecede/core", "antecede/endpoint", "antecede/eventlog", "antecede/network_model"),
        *("antecede/transport", "antecede/wire", "antecede_audit/judging"),
        *("antecede_lab/checker", "antecede_lab/comparison", "antecede_lab/protocols"),
        *("antecede_lab/simulator", "antecede_lab/wire", "fuzz", "papers", "properties"),
    )
)
"""Folders of short tests that wait for nothing."""


class Collected(Protocol):
    """What has to be known of a test."""

    @property
    def nodeid(self) -> str: ...


Test = TypeVar("Test", bound=Collected)


def in_running_order(tests: Sequence[Test], budget: Mapping[str, float]) -> list[Test]:
    """The tests, those that take long first."""
    on_java = files_with(SESSION, tests)
    parts: tuple[list[Test], ...] = ([], [], [])
    first, short, long = parts
    for test in sorted(tests, key=lambda test: -budget.get(folder_of(test.nodeid), 1.0)):
        is_short = folder_of(test.nodeid) in SHORT
        (first if file_of(test) in on_java else short if is_short else long).append(test)
    cut = end_of_file(short, max(0, len(tests) // 2 - len(first)))
    return [*first, *short[:cut], *long, *short[cut:]]


def end_of_file(tests: Sequence[Collected], place: int) -> int:
    """The next place at or after this one at which a file begins."""
    while 0 < place < len(tests) and file_of(tests[place]) == file_of(tests[place - 1]):
        place += 1
    return min(place, len(tests))


def files_with(fixture: str, tests: Iterable[Collected]) -> set[str]:
    """The files in which some test asks for this fixture."""
    return {file_of(test) for test in tests if fixture in getattr(test, "fixturenames", ())}


def file_of(test: Collected) -> str:
    """The file that a test is in."""
    return test.nodeid.partition("::")[0]
