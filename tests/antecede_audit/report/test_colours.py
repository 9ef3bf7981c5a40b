"""Colours can be read on their paper, light and dark."""

import pytest

from antecede_audit.report.page.document import COLOURS, theme_style

TEXTS = ("ink", "muted", "accent", "good", "warn", "bad", "past", "future", "late", "self")
"""Colours of letters: WCAG asks for 4.5."""

SHAPES = (
    *("send", "receive", "message", "permit", "early", "path"),
    *(f"c{number}" for number in range(1, 9)),
)
"""Colours of lines and areas: WCAG asks for 3."""


def contrast(one: str, other: str) -> float:
    """How much two colours stand out from each other, from 1 to 21, as WCAG 2 counts it."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """How bright a colour `#rrggbb` is, from 0 to 1."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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


def seen_without_green(colour: str) -> str:
    """A colour as somebody with deuteranopia sees it (Machado, Oliveira and Fernandes, 2009)."""
    linear = []
    for place in (1, 3, 5):
        share = int(colour[place : place + 2], 16) / 255
        linear.append(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)
    matrix = (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    )
    mixed = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in matrix]
    shares = [min(1.0, max(0.0, one)) for one in mixed]
    bytes_ = [
        round(255 * (12.92 * one if one <= 0.0031308 else 1.055 * one ** (1 / 2.4) - 0.055))
        for one in shares
    ]
    return "#" + "".join(f"{one:02x}" for one in bytes_)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("buffer", ["send", "receive"])
def test_layers_that_touch_differ_in_brightness_for_everybody(buffer: str, theme: int) -> None:
    """What waits in a buffer lies beside what is on the way, as areas without a pattern."""
    beside = COLOURS["way"][theme]
    assert contrast(COLOURS[buffer][theme], beside) >= 1.6
    assert contrast(seen_without_green(COLOURS[buffer][theme]), seen_without_green(beside)) >= 1.6


def test_dark_is_what_the_system_prefers_or_the_page_says() -> None:
    style = theme_style()

    assert "@media (prefers-color-scheme: dark) { :root:not([data-theme='light'])" in style
    assert ":root[data-theme='dark'] { color-scheme: dark;" in style
    assert style.count("--send: #") == 3
