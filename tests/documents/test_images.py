"""Pictures that stand one above the other can be compared."""

import re

from tests.documents.pages import ROOT


def ticks(name: str) -> list[tuple[str, str]]:
    """Where a time stands on the axis of a picture."""
    text = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
    return re.findall(r'<text x="([\d.]+)" y="17"[^>]*>([^<]+)</text>', text)


def test_the_two_triangles_of_the_readme_have_one_axis() -> None:
    without, ordered = ticks("triangle-none.svg"), ticks("triangle-hybrid.svg")
    assert len(ordered) == 10
    assert without == ordered
