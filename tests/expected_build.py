"""Whether the package that the tests import is the build that they are meant to test."""

import filecmp
from pathlib import Path

import antecede
from antecede_lab.build_mode import compiled as laboratory_compiled


def wrong_build(expected: str) -> str:
    """Why the imported package is not the `expected` build; empty if it is."""
    if expected not in ("compiled", "interpreted"):
        return f"ANTECEDE_EXPECT is {expected!r}; it must be compiled or interpreted"
    actual = "compiled" if antecede.compiled() else "interpreted"
    if actual != expected:
        return f"expected the {expected} build, but {antecede.__file__} is the {actual} one"
    if laboratory_compiled() != antecede.compiled():
        return f"expected the {expected} build, but of the laboratory it is the other one"
    return ""


def stale_build(source: Path, built: Path) -> str:
    """Why the package in `built` was not made from `source`; empty if it was."""
    if source == built:
        return ""
    names = sorted(
        {file.relative_to(folder) for folder in (source, built) for file in folder.rglob("*.py")}
    )
    different = [str(name) for name in names if not same_file(source / name, built / name)]
    if not different:
        return ""
    return f"{built} is stale, run `make compile`: it differs in {', '.join(different)}"


def same_file(one: Path, other: Path) -> bool:
    """Whether both exist and hold the same bytes."""
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)
