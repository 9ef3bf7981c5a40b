"""In which order tests run: what takes long first, so that nobody waits for it at the end.

Workers each begin with a part of the list, and take from the end of another's when they are done.
So the files that share a Spark session stand first, all of them: one worker runs them, on one Java
that gets quicker with every test, and others take the rest off its hands. Then come the folders
with the largest shares of the time budget. Files stay whole, and within them nothing moves.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from tests.time_budget import folder_of

SESSION: Final = "spark"
"""The fixture that has a Java running."""


class Collected(Protocol):
    """What has to be known of a test."""

    @property
    def nodeid(self) -> str: ...


Test = TypeVar("Test", bound=Collected)


def in_running_order(tests: Sequence[Test], budget: Mapping[str, float]) -> list[Test]:
    """The tests, those that take long first."""
    on_java = files_with(SESSION, tests)

    def place(test: Test) -> tuple[bool, float]:
        return file_of(test) not in on_java, -budget.get(folder_of(test.nodeid), 1.0)

    return sorted(tests, key=place)


def files_with(fixture: str, tests: Iterable[Collected]) -> set[str]:
    """The files in which some test asks for this fixture."""
    return {file_of(test) for test in tests if fixture in getattr(test, "fixturenames", ())}


def file_of(test: Collected) -> str:
    """The file that a test is in."""
    return test.nodeid.partition("::")[0]
