"""A part of the page, and the pieces that all parts are made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from antecede_audit.report.charts.draw import draw, draw_marker
from antecede_audit.report.charts.spec import WAIT_CLASSES, WAITS, Chart, LineChart, Look
from antecede_audit.report.page.markup import Child, Markup, element, joined


class Place(IntEnum):
    """Where on the page a section stands; within a place, parts stand in the order given."""

    FIRST = 0
    """Answers."""
    MIDDLE = 1
    LAST = 2
    """Long tables, and what few people look for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with what belongs under it."""

    identity: str
    """What links to it call it."""
    title: str
    lead: str
    """What there is to see, in a sentence or two."""
    body: Markup
    place: Place = Place.MIDDLE


def page_order(sections: Iterable[Section | None]) -> list[Section]:
    """Sections as a page has them: those of one identity as one, where the first of them stands."""
    merged: dict[str, Section] = {}
    for section in sections:
        if section is None:
            continue
        first = merged.get(section.identity)
        if first is not None:
            section = replace(first, body=joined([first.body, section.body]))
        merged[section.identity] = section
    return sorted(merged.values(), key=lambda section: section.place)


def chart_grid(charts: Sequence[Chart]) -> Markup:
    """Charts beside each other where there is room, else below each other."""
    return element("div", *[draw(chart) for chart in charts], class_="charts")


def legend(looks: Iterable[tuple[str, Look]]) -> Markup:
    """What lines look like; a script lets them light up in all charts of the section."""
    items = [
        element(
            "button",
            element(
                "svg",
                element("path", d="M1 6H29", stroke_dasharray=look.dashes),
                draw_marker(look.marker, 15, 6),
                viewBox="0 0 30 12",
                class_=f"line c{look.colour}",
                aria_hidden="true",
            ),
            name,
            type="button",
            data_series=name,
        )
        for name, look in looks
    ]
    return element("div", *items, class_="legend")


def waits_legend() -> Markup:
    """What the colours of waiting mean."""
    items = [
        element("span", element("i", class_=class_), name)
        for name, class_ in zip(WAITS, WAIT_CLASSES, strict=True)
    ]
    return element("div", *items, class_="legend")


def table(
    head: Sequence[Child], rows: Iterable[Sequence[Child]], *, texts: int = 1, class_: str = ""
) -> Markup:
    """A table; its first `texts` columns are words, the others numbers."""
    heading = element(
        "tr",
        *[
            element("th", cell, scope="col", class_="text" if number < texts else None)
            for number, cell in enumerate(head)
        ],
    )
    lines = [element("tr", *row_cells(row, texts)) for row in rows]
    whole = element("table", element("thead", heading), element("tbody", *lines))
    return element("div", whole, class_=f"table {class_}".rstrip(), tabindex=0)


def row_cells(row: Sequence[Child], texts: int) -> list[Markup]:
    """The first cell of a row says what the row is about."""
    cells = [element("th", row[0], scope="row", class_="text")]
    cells += [
        element("td", cell, class_="text" if number < texts else None)
        for number, cell in enumerate(row[1:], start=1)
    ]
    return cells


def folded(title: str, *content: Child) -> Markup:
    """What most readers do not need: there, but closed."""
    return element("details", element("summary", title), joined(content))


def code(text: str) -> Markup:
    """A command or an id."""
    return element("code", text)


def paragraph(*content: Child, class_: str | None = None) -> Markup:
    """A paragraph."""
    return element("p", *content, class_=class_)


def protocols_legend(names: Sequence[str], charts: Sequence[LineChart]) -> Markup:
    """The looks of the lines that there are, in the order of the protocols."""
    looks = {line.name: line.look for chart in charts for line in chart.series}
    return legend((name, looks[name]) for name in dict.fromkeys(names) if name in looks)
