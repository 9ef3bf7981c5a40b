"""Whose fault was it? Two answers, and a driver treats them differently.

A method that raises either of these has changed nothing: the caller may correct its call, and a
driver may count the packet and drop it. Any other exception that leaves the core is a bug.

They stay ordinary Python classes in the compiled build, so that an error further up can be a
`TimeoutError` or the like as well.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from mypy_extensions import mypyc_attr


@mypyc_attr(native_class=False)
class AntecedeError(Exception):
    """Everything this library raises on purpose."""


@mypyc_attr(native_class=False)
class LocalError(AntecedeError):
    """The caller's fault: the call makes no sense as it was made."""


@mypyc_attr(native_class=False)
class BufferFull(LocalError):  # noqa: N818 - the contract names it
    """The caller's fault, but only for now: too much is unacknowledged; try again later."""


@mypyc_attr(native_class=False)
class Fenced(LocalError):  # noqa: N818 - the contract names it
    """This process has been expelled and does nothing any more; open a new one to rejoin."""


@mypyc_attr(native_class=False)
class RemoteError(AntecedeError):
    """A peer's fault: a packet that no correct peer sends. Count it and drop it."""


def near_miss(name: str, known: Sequence[str]) -> str:
    """` (did you mean 'bob'?)`, if something known looks like that."""
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def not_called(nothing: str, name: str, known: Iterable[str]) -> LocalError:
    """That `nothing` ("no network") has this name, what was perhaps meant, and what there is."""
    names = list(known)
    listed = ", ".join(names)
    return LocalError(f"{nothing} is called {name!r}{near_miss(name, names)}; there are {listed}")
