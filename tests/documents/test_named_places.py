"""A document or a docstring that names a file, a module or a function names one that exists."""

import builtins
import importlib
import re
import subprocess
import tomllib
from functools import cache, reduce
from itertools import takewhile
from pathlib import Path

import pytest

from tests.documents.pages import ROOT, all_pages

BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FILE = re.compile(r"(?:[\w.-]+/)*[\w-]+\.(?:py|md|toml|v|pml|csv|yaml|yml|ipynb|css|svg|txt)")
MODULE = re.compile(r"antecede(?:\.\w+)+")
CALL = re.compile(r"(?:\w+\.)*(\w+)\([^()]*\)")
NAME = re.compile(r"(?:\w+\.)*([a-z]+(?:_[a-z]+)+)")
KIND = re.compile(r"(?:[a-z_]+\.)*((?:[A-Z][a-z0-9]+){2,})(?:\.\w+)*(?:\([^()]*\))?")
CONSTANT = re.compile(r"([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)")

FORMER_PACKAGES = " | trace | audit | pipeline"

TO_BE_WRITTEN = {
    "docs/EVALUATION.md": {"tables/traces.csv", "evaluation/EVALUATION.md"},
    "docs/guides/service-mesh.md": {"mesh.toml"},
    "docs/guides/your-own-protocol.md": {"patient.py"},
    "docs/tutorial.md": {"hello.py", "chatter.py"},
    "docs/decisions/archive/0130-out-folders-belong-to-their-owners.md": {"notes.txt"},
    "src/antecede_lab/evaluate/evaluate.py": {"OUT/EVALUATION.md"},
}
"""Files that a reader of the page writes, or a command."""

OF_OTHERS = {
    *("io_submit", "io_uring", "epoll_wait", "IOCB_CMD_FDSYNC"),
    *("collect_set", "dumpTimeSpent", "createDataFrame", "RuleExecutor", "PYSPARK_SUBMIT_ARGS"),
    "OutOfMemoryException",
}
"""Names of the kernel and of Spark."""

PLACEHOLDERS = {"antecede.NAME", "antecede.alice"}
METRIC = "antecede_"
"""Names of figures, which tests/antecede/runtime compares with the page about them."""


@cache
def tracked() -> list[str]:
    """Every file of the repository."""
    command = ["git", "-C", str(ROOT), "ls-files"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:  # A copy without its history.
        pytest.skip("this is no clone")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


@cache
def words() -> frozenset[str]:
    """Every name in the sources, and in what they are built with."""
    kinds = (".py", ".toml", ".v", ".js", ".json", ".pml", "Makefile")
    texts = (read(name) for name in tracked() if name.endswith(kinds))
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def is_file(name: str) -> bool:
    return any(file == name or file.endswith(f"/{name}") for file in tracked())


def is_module(name: str) -> bool:
    """Whether this is a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        try:
            reduce(getattr, parts[count:], module)
        except AttributeError:
            return False
        return True
    return False


def is_lost(code: str) -> bool:
    """Whether this names something that is not there."""
    if code in PLACEHOLDERS or code.startswith(METRIC):
        return False
    if FILE.fullmatch(code):
        return not is_file(code)
    if MODULE.fullmatch(code):
        return not is_module(code)
    patterns = (CALL, NAME, KIND, CONSTANT)
    named = {found[1] for found in (one.fullmatch(code) for one in patterns) if found} - OF_OTHERS
    return any(name not in words() and not hasattr(builtins, name) for name in named)


def lost_in(page: str, text: str) -> list[str]:
    written = TO_BE_WRITTEN.get(page, set())
    named = {match[1] for match in CODE.finditer(text)} - written
    return sorted(filter(is_lost, named))


@pytest.mark.parametrize("page", [*all_pages(), "CONTRIBUTING.md"])
def test_what_a_page_names_exists(page: str) -> None:
    assert lost_in(page, BLOCK.sub("", read(page))) == []


def test_what_sources_name_in_their_words_exists() -> None:
    sources = [name for name in tracked() if name.startswith("src/") and name.endswith(".py")]
    lost = {name: lost_in(name, read(name)) for name in sources}
    assert {name: found for name, found in lost.items() if found} == {}


def test_what_is_not_there_is_noticed() -> None:
    """As far as this page goes: its own words are not looked at."""
    for place in ("core/nothing.py", "antecede.core.nothing"):
        assert is_lost(place), place
    for name in (
        "nothing_of_the" + "_sort()",
        "Nothing" + "OfIt",
        "Nothing" + "OfIt.said",
        "NO_" + "SUCH",
    ):
        assert is_lost(name), name
    for place in ("core/process.py", "process.py", "antecede.open_node"):
        assert not is_lost(place), place
    for name in ("open_node()", "len()", "PeerExpelled.name", "STRANGERS_MOST", "ValueError"):
        assert not is_lost(name), name


def test_no_cell_of_the_architecture_names_a_file_twice() -> None:
    rows = [line for line in read("docs/ARCHITECTURE.md").splitlines() if line.startswith("|")]
    assert len(rows) > 50
    for row in rows:
        for cell in row.split("|"):
            files = [code for code in CODE.findall(cell) if Path(code).suffix == ".py"]
            assert len(files) == len(set(files)), cell


def walks() -> list[tuple[str, list[str]]]:
    """The files of the walks in the architecture, and what each is said to have."""
    row = re.compile(r"^\| \d+ \| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)
    found = row.findall(read("docs/ARCHITECTURE.md"))
    return [(file, CODE.findall(named)) for file, named in found]


def test_a_walk_names_what_its_files_have() -> None:
    assert len(walks()) > 30
    for file, named in walks():
        paths = [f"src/{file}", f"src/antecede/{file}"]
        source = next(read(path) for path in paths if path in tracked())
        defined = set(re.findall(r"^ *(?:class|(?:async )?def) (\w+)", source, re.MULTILINE))
        assert named, file
        assert {part for name in named for part in name.split(".")} <= defined, file


def test_the_architecture_says_what_every_folder_is() -> None:
    text = read("docs/ARCHITECTURE.md")
    for package in ("antecede", "antecede_audit", "antecede_lab"):
        table = re.search(rf"^\| folder of `src/{package}/`.*\n(?:\|.*\n)+", text, re.MULTILINE)
        assert table is not None, package
        told = {place.rstrip("/") for place in CODE.findall(table[0])}
        root = ROOT / "src" / package
        folders = {file.parent.relative_to(root).as_posix() for file in root.rglob("*.py")}
        assert sorted(folders - told - {"."}) == [], f"{package} has folders that nobody explains"


def drawn_layers(package: str) -> list[str]:
    """The layers of a package as the architecture has them, from above to below."""
    blocks = re.findall(r"```text\n(.*?)```", read("docs/ARCHITECTURE.md"), re.DOTALL)
    lines = next(block for block in blocks if "antecede_audit" in block).splitlines()
    head = re.compile(rf"{package} +")
    first, title = next((n, found) for n, line in enumerate(lines) if (found := head.search(line)))
    rows = [line[title.end() :] for line in lines[first:]]
    cells = [re.split(r" {3,}", row)[0] for row in rows]
    return list(takewhile(bool, cells))


def test_the_layers_of_the_architecture_are_those_of_the_contracts() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layered = {one["containers"][0]: one for one in contracts if "containers" in one}
    assert len(layered) == 3
    for package, contract in layered.items():
        assert contract["exhaustive"], f"a new folder of {package} would be in no layer"
        layers = [layer.replace("(", "").replace(")", "") for layer in contract["layers"]]
        layers = [layer.removesuffix(FORMER_PACKAGES) for layer in layers]
        assert drawn_layers(package) == layers


def test_a_picture_of_the_architecture_names_files_that_exist() -> None:
    for picture in ("packages", "node", "audit"):
        drawn = read(f"docs/images/{picture}.svg")
        named = re.findall(r"[\w/]+\.py|\b\w+/(?=<)", drawn)
        lost = [name for name in named if not is_file(name) and not is_folder(name)]
        assert lost == [], f"{picture}.svg draws what is not there"


def is_folder(name: str) -> bool:
    return name.endswith("/") and any(f"/{name}" in file for file in tracked())
