"""The documents build as a site without a warning, every page is on it, and nothing leaves it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the Python package mkdocs is not installed")

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
    missing = [page for page in documents if page not in named and "decisions/0" not in page]
    assert missing == []


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    decisions = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    assert [file.name for file in decisions if f"]({file.name})" not in listed] == []


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
