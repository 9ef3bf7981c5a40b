"""The layers that docs/ARCHITECTURE.md draws are those of the imports in the sources.

`python -m tests.documents.test_layers` draws the graph of imports as a table.
"""

import ast
import re
from functools import cache

import pytest

from tests.documents.pages import ROOT

SOURCES = ROOT / "src"
PACKAGES = ("antecede_cli", "antecede_lab", "antecede_audit", "antecede")
"""Each may import those behind it."""

FORMER = {"antecede.audit", "antecede.pipeline", "antecede.trace"}
"""Names of an earlier release, which lead to what they are called now."""

ENTRANCES = ("__init__", "__main__")

Layers = dict[str, list[list[str]]]
"""By package: lines of neighbours, the highest first."""


def drawn_layers(text: str) -> Layers:
    """The layers in a drawing: names of packages, and their layers in the column beside each."""
    layers: Layers = {}
    for block in text.split("\n\n"):
        lines = block.splitlines()
        columns = [match.start() for match in re.finditer(r"antecede\w*", lines[0])]
        for start, end in zip(columns, [*columns[1:], None], strict=True):
            package, *first = lines[0][start:end].split(maxsplit=1)
            rows = [*first, *(line[start:end] for line in lines[1:])]
            named = [[name.strip() for name in row.split("|")] for row in rows if row.strip()]
            layers[package] = named
    return layers


@cache
def page_layers() -> Layers:
    """Those of the page."""
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found = re.search(r"^```text\n(antecede .*?)\n```$", page, re.MULTILINE | re.DOTALL)
    assert found, "there is no drawing"
    return drawn_layers(found[1])


def part_of(module: str) -> str:
    """The folder (or the file) of a package that a module lies in; the package if it is that."""
    return ".".join(module.split(".")[:2])


def imported_modules(tree: ast.AST) -> set[str]:
    """The modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in names if name.partition(".")[0] in PACKAGES}


@cache
def parts() -> frozenset[str]:
    """The folders and files directly in the packages."""
    return frozenset(
        f"{package}.{entry.stem}"
        for package in PACKAGES
        for entry in (SOURCES / package).iterdir()
        if entry.suffix == ".py" or (entry / "__init__.py").is_file()
    )


@cache
def imports() -> dict[str, set[str]]:
    """By folder: the folders that it imports something of; of other packages, only their names."""
    graph: dict[str, set[str]] = {part: set() for part in parts()}
    for file in SOURCES.rglob("*.py"):
        part = part_of(".".join(file.relative_to(SOURCES).with_suffix("").parts))
        for module in imported_modules(ast.parse(file.read_text(encoding="utf-8"))):
            other = part_of(module)
            if other.partition(".")[0] != part.partition(".")[0]:
                other = other.partition(".")[0]
            elif other not in parts():
                continue  # A name that the package itself has.
            if part in graph and other != part:
                graph[part].add(other)
    return graph


def inner_parts(package: str) -> set[str]:
    """What has a place in the layers of a package."""
    names = {part for part in parts() if part.partition(".")[0] == package}
    return {part.partition(".")[2] for part in names - FORMER} - set(ENTRANCES)


@pytest.mark.parametrize("package", list(page_layers()))
def test_every_folder_stands_in_the_drawing_once(package: str) -> None:
    drawn = [name for line in page_layers()[package] for name in line]
    assert sorted(drawn) == sorted(inner_parts(package))


@pytest.mark.parametrize("package", list(page_layers()))
def test_imports_go_downward_in_the_drawing(package: str) -> None:
    height = {name: -at for at, line in enumerate(page_layers()[package]) for name in line}
    upward = [
        f"{name} imports {other}"
        for name in sorted(height)
        for other in sorted(imports()[f"{package}.{name}"])
        if "." in other and height[other.partition(".")[2]] >= height[name]
    ]
    assert upward == []


def test_packages_import_those_below_them_alone() -> None:
    found = {
        (part, other)
        for part, others in imports().items()
        for other in others
        if "." not in other and PACKAGES.index(other) < PACKAGES.index(part.partition(".")[0])
    }
    assert found == {("antecede.__main__", "antecede_cli")}


def test_a_drawing_with_two_columns_is_read() -> None:
    drawing = """
antecede_a     top           antecede_b   high
               left | right               low | deep
               bottom
""".strip("\n")
    assert drawn_layers(drawing) == {
        "antecede_a": [["top"], ["left", "right"], ["bottom"]],
        "antecede_b": [["high"], ["low", "deep"]],
    }


def main() -> None:
    """Show who imports what, and how large each is."""
    print("| folder | files | lines | imports |\n|---|---|---|---|")
    for package in reversed(PACKAGES):
        for part in sorted(one for one in parts() if one.partition(".")[0] == package):
            place = SOURCES.joinpath(*part.split("."))
            files = [*place.rglob("*.py")] or [place.with_suffix(".py")]
            lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
            others = (other.removeprefix(f"{package}.") for other in sorted(imports()[part]))
            print(f"| `{part}` | {len(files)} | {lines:,} | {', '.join(others)} |")


if __name__ == "__main__":
    main()
