"""A document that names a test names one that exists."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.documents.pages import ROOT, all_pages

NAMED = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<test>\w+)`")
PLACE = re.compile(r"`(?P<place>(?:tests|proofs)/[\w/]+(?:\.\w+)?/?)`")
FOUND = re.compile(r"`(?P<theorem>\w+)` (?:in |\()`(?P<file>proofs/\w+\.v)`")


@cache
def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", all_pages())
def test_tests_and_proofs_that_a_page_names_exist(page: str) -> None:
    text = text_of(ROOT / page)
    for match in PLACE.finditer(text):
        assert (ROOT / match["place"]).exists(), match["place"]
    for match in NAMED.finditer(text):
        assert f"def {match['test']}(" in text_of(ROOT / match["file"]), match["test"]
    for match in FOUND.finditer(text):
        assert re.search(rf"\b{match['theorem']}\b", text_of(ROOT / match["file"])), match[0]


def test_the_page_on_what_was_broken_names_what_catches_it() -> None:
    assert len(NAMED.findall(text_of(ROOT / "docs" / "broken.md"))) > 10
