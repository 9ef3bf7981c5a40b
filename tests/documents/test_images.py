"""Pictures can be compared where they stand one above the other, and read on any page."""

import re
from pathlib import Path

import pytest

from tests.documents.pages import ROOT


def text_of(picture: Path) -> str:
    return picture.read_text(encoding="utf-8")


def ticks(name: str) -> list[tuple[str, str]]:
    """Where a time stands on the axis of a picture."""
    text = text_of(ROOT / "docs" / "images" / name)
    return re.findall(r'<text x="([\d.]+)" y="17"[^>]*>([^<]+)</text>', text)


def test_the_two_measured_triangles_have_one_axis() -> None:
    without, ordered = ticks("triangle-none.svg"), ticks("triangle-hybrid.svg")
    assert len(ordered) == 10
    assert without == ordered


DRAWN = ("triangle", "packages", "node", "audit", "unified-buffer")
"""The pictures that are drawn by hand."""


@pytest.mark.parametrize("picture", DRAWN)
def test_a_picture_brings_its_own_background_for_light_and_dark_pages(picture: str) -> None:
    drawn = text_of(ROOT / "docs" / "images" / f"{picture}.svg")
    assert "prefers-color-scheme: dark" in drawn
    assert 'class="page"' in drawn, "text on whatever the page has behind it cannot be read"
    assert "<title" in drawn
    assert "<desc" in drawn
