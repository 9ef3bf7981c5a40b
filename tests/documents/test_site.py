"""The documents build as a site without a warning, every page is on it, and nothing leaves it."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("mkdocs", reason="the Python package mkdocs is not installed")
pytest.importorskip("mkdocstrings", reason="the Python package mkdocstrings is not installed")

from tests.documents.pages import ROOT, all_pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a dead link or a page that does not exist would have been an error."""
    folder = tmp_path_factory.mktemp("site")
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    for page in all_pages():
        if page.startswith("docs/"):
            name = page.removeprefix("docs/").removesuffix(".md")
            file = site / f"{re.sub('README$', 'index', name)}.html"
            assert file.is_file(), page


def test_every_page_but_single_decisions_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)
    documents = [page.removeprefix("docs/") for page in all_pages() if page.startswith("docs/")]
    single = ("decisions/0", "decisions/archive/")
    assert [page for page in documents if page not in named and not page.startswith(single)] == []


@pytest.mark.parametrize("folder", ["decisions", "decisions/archive"])
def test_every_decision_is_listed_in_its_folder(folder: str) -> None:
    decisions = sorted((ROOT / "docs" / folder).glob("0*.md"))
    listed = (ROOT / "docs" / folder / "README.md").read_text(encoding="utf-8")
    assert len(decisions) > 10
    assert [file.name for file in decisions if f"]({file.name})" not in listed] == []


def test_no_number_of_a_decision_is_given_twice() -> None:
    numbers = [file.name[:4] for file in (ROOT / "docs" / "decisions").rglob("0*.md")]
    assert sorted(numbers) == sorted(set(numbers))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loading = re.compile(
        r'<(?:script|link|img)\b[^>]*(?:src|href)="?(?P<where>(?:https?:)?//[^" >]+)'
    )
    for file in site.rglob("*.html"):
        found = loading.findall(file.read_text(encoding="utf-8"))
        assert found == [], file


def test_links_to_files_outside_the_site_became_text(site: Path) -> None:
    page = (site / "tutorial.html").read_text(encoding="utf-8")
    assert "<code>examples/README.md</code>" in page
    assert 'href="../examples' not in page


NOT_DOCUMENTED = {
    "antecede": {"__version__", "compiled", "AntecedeError", "BufferFull", "LocalError"},
    "antecede.events": {"Event"},
}
"""Modules have pages of their own, these errors stand with the others, and unions have no words."""


@pytest.mark.parametrize(
    ("package", "page"),
    [
        ("antecede", "nodes"),
        ("antecede.blocking", "blocking"),
        ("antecede.errors", "errors"),
        ("antecede.events", "events"),
        ("antecede.testing", "testing"),
    ],
)
def test_every_public_name_is_in_the_reference(site: Path, package: str, page: str) -> None:
    text = (site / "reference" / "api" / f"{page}.html").read_text(encoding="utf-8")
    shown = set(re.findall(rf'id="{re.escape(package)}\.(\w+)"', text))
    module = importlib.import_module(package)
    offered = {name: getattr(module, name) for name in module.__all__}
    former = {name for name, what in offered.items() if getattr(what, "__name__", name) != name}
    public = {name for name, what in offered.items() if not isinstance(what, ModuleType)} - former
    assert public - shown - NOT_DOCUMENTED.get(package, set()) == set()
