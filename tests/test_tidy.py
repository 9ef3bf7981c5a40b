"""What linters do not look for: dead links, foreign words, files that should not be there."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import antecede
from tests.test_packaging import load_setup

ROOT = Path(__file__).parent.parent
FOLDERS = (".ci", ".github", "bench", "docs", "examples", "proofs", "src", "tests")

FILE_BYTES_MAX = 512 * 1024

COMPILED_IMPORTS = frozenset(sys.stdlib_module_names) | {
    *("antecede", "antecede_audit", "antecede_lab"),
    *("librt", "mypy_extensions"),
}
"""What compiled modules may import: a build environment has nothing else."""

# One letter of each stands in brackets, so that this file does not contain what it looks for.
FOREIGN_WORDS = re.compile(
    "|".join(
        (
            # Where packages come from is the business of the machine that installs them.
            r"pyp[i]\.org",
            r"pythonhoste[d]",
            r"npmj[s]\.",
            r"deb\.debia[n]\.",
            r"crate[s]\.io",
            r"repo1?\.mave[n]",
            # Folders of one machine.
            r"/[r]oot/",
            r"/[w]ork/",
            r"/[f]arm/",
            r"/hom[e]/\w",
            r"/[U]sers/\w",
            # Talk about tools instead of the project.
            r"\bas an a[i]\b",
            r"\blanguage mode[l]\b",
            r"\bchatgp[t]\b",
            r"\bclaud[e]\b",
            r"\bsubagen[t]\b",
            r"\bdeveloper sessio[n]\b",
        )
    ),
    re.IGNORECASE,
)
"""Words that belong to one machine or to somebody's tools, not to the project."""

LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(#[^)\s]*)?\)")

Rule = Callable[[str], list[str]]


def foreign_words(text: str) -> list[str]:
    """Each with its line."""
    return [
        f"{number}: {found[0]!r}"
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := FOREIGN_WORDS.search(line))
    ]


def undocumented_methods(text: str) -> list[str]:
    """Public methods of classes that inherit nothing, and so override nothing."""
    return [
        f"{member.lineno}: {member.name} has no docstring"
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not any(may_define(base) for base in node.bases)
        for member in node.body
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
        and not (node.name.startswith("_") or member.name.startswith("_"))
        and not ast.get_docstring(member)
    ]


def may_define(base: ast.expr) -> bool:
    """Whether a base class may have methods that are documented there."""
    name = base.value if isinstance(base, ast.Subscript) else base
    return not (isinstance(name, ast.Name) and name.id in ("ABC", "Generic", "Protocol"))


def heavy_imports(text: str) -> list[str]:
    """Imports that a compiled layer may not have."""
    return [
        f"{line}: imports {package}"
        for line, package in imported_packages(ast.parse(text))
        if package not in COMPILED_IMPORTS
    ]


def imported_packages(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every import."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or "").partition(".")[0]


def prose_lines(text: str) -> Iterator[str]:
    """The lines of a Markdown document that are not code."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield line


def local_links(text: str) -> list[str]:
    """The files that a Markdown document links to, as it writes them."""
    targets = [found["target"] for line in prose_lines(text) for found in LINK.finditer(line)]
    return [
        target for target in targets if "://" not in target and not target.startswith("mailto:")
    ]


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


def test_public_methods_say_what_a_caller_can_rely_on() -> None:
    assert complaints(undocumented_methods, python_files("src")) == []


def test_compiled_layers_import_nothing_heavy() -> None:
    setup = load_setup()
    patterns = setup.INSTALLED + setup.LABORATORY
    files = [Path(source) for source in setup.compiled_sources(ROOT / "src", patterns)]
    assert len(files) > 10
    assert complaints(heavy_imports, files) == []


def test_every_folder_of_sources_is_a_package() -> None:
    folders = {file.parent for file in python_files("src")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_links_between_documents_lead_somewhere() -> None:
    dead = [
        f"{file.relative_to(ROOT)}: {target}"
        for file in documents()
        for target in local_links(file.read_text(encoding="utf-8"))
        if not (file.parent / target).exists()
    ]
    assert dead == []


def test_nothing_speaks_of_machines_or_tools() -> None:
    texts = [file for file in project_files() if b"\0" not in file.read_bytes()]
    assert complaints(foreign_words, texts) == []


def test_no_file_is_large() -> None:
    assert [file for file in project_files() if file.stat().st_size > FILE_BYTES_MAX] == []


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


BAD_SAMPLES: list[tuple[Rule, str, list[str]]] = [
    (undocumented_methods, "class C(Generic[T]):\n    def m(self): ...", ["2: m has no docstring"]),
    (undocumented_methods, "class C(Base):\n    def m(self): ...", []),
    (heavy_imports, "import os\nimport numpy.linalg", ["2: imports numpy"]),
    (heavy_imports, "def f():\n    from rich import box", ["2: imports rich"]),
    (foreign_words, "ok\nsee /" + "work/here", ["2: '/" + "work/'"]),
    (foreign_words, "from PyP" + "I.org", ["1: 'PyP" + "I.org'"]),
]
"""Some are put together from halves, because this file is checked too."""


@pytest.mark.parametrize(("rule", "sample", "expected"), BAD_SAMPLES)
def test_a_rule_catches_what_it_is_for(rule: Rule, sample: str, expected: list[str]) -> None:
    assert rule(sample) == expected


def test_links_are_found_in_prose_only() -> None:
    text = "[a](b.md#c) [d](https://e.f)\n```\n[g](h)\n```\n![i](images/j.svg)"
    assert local_links(text) == ["b.md", "images/j.svg"]
