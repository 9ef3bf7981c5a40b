"""Colours can be read on their paper, light and dark."""

import pytest

from antecede.report.page.colours import COLOURS, contrast, theme_style

TEXTS = ("ink", "muted", "accent", "good", "warn", "bad", "past", "future", "late", "self")
"""Colours of letters: WCAG asks for 4.5."""

SHAPES = (
    *("send", "receive", "message", "permit", "early", "path"),
    *(f"c{number}" for number in range(1, 9)),
)
"""Colours of lines and areas: WCAG asks for 3."""


def test_contrast_is_counted_as_wcag_counts() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", TEXTS)
def test_letters_stand_out_from_the_paper(name: str, theme: int) -> None:
    assert contrast(COLOURS[name][theme], COLOURS["paper"][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", SHAPES)
def test_lines_stand_out_from_the_paper(name: str, theme: int) -> None:
    assert contrast(COLOURS[name][theme], COLOURS["paper"][theme]) >= 3


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_green_and_red_differ_in_brightness_too(theme: int) -> None:
    """Not by colour alone: bars also stand on different sides of a line."""
    assert contrast(COLOURS["send"][theme], COLOURS["receive"][theme]) > 1.05


def test_dark_is_what_the_system_prefers_or_the_page_says() -> None:
    style = theme_style()

    assert "@media (prefers-color-scheme: dark) { :root:not([data-theme='light'])" in style
    assert ":root[data-theme='dark'] { color-scheme: dark;" in style
    assert style.count("--send: #") == 3
