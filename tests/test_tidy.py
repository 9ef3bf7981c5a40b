"""Our tidy: the habits that can be checked, and each check shown to catch what it should."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import antecede
from tests import tidy_rules as rules
from tests.test_packaging import load_setup

ROOT = Path(__file__).parent.parent
FOLDERS = (".ci", ".github", "bench", "docs", "examples", "proofs", "src", "tests")
PYTHON_FOLDERS = ("bench", "examples", "src", "tests")

Rule = Callable[[str], list[str]]


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that belongs to the project, generated ones left out."""
    top = [file for file in ROOT.iterdir() if file.is_file()]
    below = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.is_file()]
    return tuple(sorted(file for file in top + below if not is_generated(file)))


def is_generated(file: Path) -> bool:
    parts = file.relative_to(ROOT).parts
    # In a second work tree of one repository, .git is a file.
    return any(part.endswith((".git", "__pycache__", "_cache", ".egg-info")) for part in parts)


def python_files(*folders: str) -> list[Path]:
    return [
        file
        for file in project_files()
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in folders
    ]


def documents() -> list[Path]:
    return [file for file in project_files() if file.suffix == ".md"]


def complaints(rule: Rule, files: list[Path]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}:{complaint}"
        for file in files
        for complaint in rule(file.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    "rule",
    [
        rules.long_lines,
        rules.long_file,
        rules.long_functions,
        rules.bare_ignores,
        rules.bare_noqas,
    ],
)
def test_python_is_tidy(rule: Rule) -> None:
    assert complaints(rule, python_files(*PYTHON_FOLDERS)) == []


@pytest.mark.parametrize("rule", [rules.missing_docstrings, rules.unfinished_places])
def test_sources_are_finished_and_explained(rule: Rule) -> None:
    assert complaints(rule, python_files("src")) == []


def test_compiled_layers_import_nothing_heavy() -> None:
    files = [Path(source) for source in load_setup().compiled_sources(ROOT / "src")]
    assert len(files) > 10
    assert complaints(rules.heavy_imports, files) == []


def test_modules_are_named_for_the_idea_in_them() -> None:
    assert [file for file in python_files("src") if file.name in rules.VAGUE_NAMES] == []


def test_every_folder_of_sources_is_a_package() -> None:
    folders = {file.parent for file in python_files("src")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_documents_have_one_title() -> None:
    assert complaints(rules.wrong_headings, documents()) == []


def test_links_between_documents_lead_somewhere() -> None:
    dead = [
        f"{file.relative_to(ROOT)}: {target}"
        for file in documents()
        for target in rules.local_links(file.read_text(encoding="utf-8"))
        if not (file.parent / target).exists()
    ]
    assert dead == []


def test_nothing_speaks_of_machines_or_tools() -> None:
    texts = [file for file in project_files() if b"\0" not in file.read_bytes()]
    assert complaints(rules.foreign_words, texts) == []


def test_no_file_is_large() -> None:
    assert [file for file in project_files() if file.stat().st_size > rules.FILE_BYTES_MAX] == []


def test_no_machine_code_stands_among_the_sources() -> None:
    suffixes = (".so", ".pyd", ".c", ".h", ".o")
    assert [file for file in project_files() if in_sources(file) and file.suffix in suffixes] == []


def in_sources(file: Path) -> bool:
    return file.is_relative_to(ROOT / "src")


SCREEN_LINES: Final = 60
"""What somebody reads of a release before updating."""


def test_changelog_knows_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {antecede.__version__}" in changelog


def test_version_changelog_citation_and_security_agree() -> None:
    """The newest release of the changelog is the version, and each release fits on a screen."""
    parts = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    releases = [tuple(map(int, part.split(maxsplit=1)[0].split("."))) for part in parts]
    assert releases == sorted(releases, reverse=True)
    assert ".".join(map(str, releases[0])) == antecede.__version__
    assert [part.splitlines()[0] for part in parts if part.count("\n") > SCREEN_LINES] == []
    assert f"\nversion: {antecede.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"({antecede.__version__}) gets fixes" in (ROOT / "SECURITY.md").read_text("utf-8")


@pytest.mark.parametrize("command", ["make test", "make demo"])
def test_readme_has_the_two_commands(command: str) -> None:
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")


GOOD_MODULE = '''"""A module."""

from heapq import heappush


class Thing(ABC):
    """A thing."""

    def public(self) -> None:
        """Do it."""

    def _private(self) -> None: ...


class Special(Thing):
    """An override needs no docstring."""

    def public(self) -> None: ...


def work() -> None:  # noqa: ANN001 the reason, which may be so long that the line is over a hundred
    """Work."""
    return broken()  # type: ignore[no-any-return]  # the reason
'''

# Some are put together from halves, because this file is checked too.
BAD_SAMPLES: list[tuple[Rule, str, list[str]]] = [
    (rules.long_lines, "x" * 100 + "\n" + "y" * 101, ["2: 101 columns"]),
    (rules.long_lines, "y" * 101 + "  # no" + "qa: E501 the reason", ["1: 101 columns"]),
    (rules.long_file, "x\n" * 701, ["701 lines"]),
    (rules.long_functions, "def f():\n" + "    x\n" * 70, ["1: f has 71 lines"]),
    (rules.missing_docstrings, "x = 1", ["the module has no docstring"]),
    (rules.missing_docstrings, '"""M."""\ndef f(): ...', ["2: f has no docstring"]),
    (
        rules.missing_docstrings,
        '"""M."""\nclass C(Generic[T]):\n    """C."""\n    def m(self): ...',
        ["4: m has no docstring"],
    ),
    (rules.bare_ignores, "x = 1  # type" + ": ignore", ["1: type: ignore without a code"]),
    (rules.bare_noqas, "x = 1  # no" + "qa", ["1: noqa without a code and a reason"]),
    (rules.bare_noqas, "x = 1  # no" + "qa: E501", ["1: noqa without a code and a reason"]),
    (rules.bare_noqas, "# ruff: no" + "qa", ["1: noqa without a code and a reason"]),
    (rules.unfinished_places, "x = 1\n# TODO later", ["2: TODO"]),
    (rules.unfinished_places, "raise NotImplementedError", ["1: NotImplemented"]),
    (rules.heavy_imports, "import os\nimport numpy.linalg", ["2: imports numpy"]),
    (rules.heavy_imports, "def f():\n    from rich import box", ["2: imports rich"]),
    (rules.foreign_words, "ok\nsee /" + "work/here", ["2: '/" + "work/'"]),
    (rules.foreign_words, "from PyP" + "I.org", ["1: 'PyP" + "I.org'"]),
    (rules.wrong_headings, "text\n", ["0 titles"]),
    (rules.wrong_headings, "# One\n\n# Two\n", ["2 titles"]),
    (rules.wrong_headings, "text\n# Title\n", ["the title does not come first"]),
]


@pytest.mark.parametrize(("rule", "sample", "expected"), BAD_SAMPLES)
def test_rule_catches_a_bad_sample(rule: Rule, sample: str, expected: list[str]) -> None:
    assert rule(sample) == expected


@pytest.mark.parametrize("rule", {rule: None for rule, _, _ in BAD_SAMPLES})
def test_rule_accepts_a_good_sample(rule: Rule) -> None:
    good = GOOD_MODULE if rule is not rules.wrong_headings else "# Title\n\n```\n# comment\n```\n"
    assert rule(good) == []


def test_links_are_found_in_prose_only() -> None:
    text = "[a](b.md#c) [d](https://e.f)\n```\n[g](h)\n```\n![i](images/j.svg)"
    assert rules.local_links(text) == ["b.md", "images/j.svg"]
