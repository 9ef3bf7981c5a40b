"""Every link of a document leads to a file that exists, and to a heading that exists in it."""

import posixpath
import re
from functools import cache

import pytest

from tests.documents.pages import ROOT, all_pages

AT_THE_TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (?P<title>.+?) *$", re.MULTILINE)
PAGES = sorted({*all_pages(), *AT_THE_TOP})


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def anchors(page: str) -> frozenset[str]:
    """What the headings of a page are called in addresses; builders differ in how many hyphens."""
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    titles = (re.sub(r"\]\([^)]*\)", "", match["title"]) for match in HEADING.finditer(text))
    return frozenset(
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles
    )


def complaint_about(page: str, target: str) -> str | None:
    """What is wrong with a link, if anything is."""
    place, _, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page), place)) if place else page
    if not (ROOT / file).exists():
        return f"{page} links to {target}: there is no {file}"
    if anchor and file.endswith(".md") and re.sub("-+", "-", anchor) not in anchors(file):
        return f"{page} links to {target}: {file} has no such heading"
    return None


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    links = LINK.finditer(CODE.sub("", read(page)))
    inner = [link["target"] for link in links if ":" not in link["target"]]
    assert [found for target in inner if (found := complaint_about(page, target))] == []


def test_a_link_to_nothing_is_noticed() -> None:
    assert complaint_about("docs/faq.md", "nothing.md") is not None
    assert complaint_about("docs/faq.md", "tutorial.md#nothing") is not None
    assert complaint_about("docs/faq.md", "tutorial.md#4-three-processes") is None
    assert complaint_about("README.md", "#install") is None
