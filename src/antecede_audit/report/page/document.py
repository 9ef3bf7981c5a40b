"""One HTML file out of sections: style and scripts are in it, and it asks no network for anything.

Scripts are ES modules that import each other by name. A page that was opened from a file may not
load modules, so they are put one after the other into a single one, imports and exports removed;
no two of them may use the same name at their top level.
"""

import re
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from antecede.eventlog.atomic_files import write_whole
from antecede.version import __version__
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section

COLOURS: Final[dict[str, tuple[str, str]]] = {
    "page": ("#f6f5f2", "#131519"),
    "paper": ("#ffffff", "#1b1e24"),
    "ink": ("#1d2126", "#e7e9ec"),
    "muted": ("#5d6570", "#9aa4b0"),
    "line": ("#a6adb6", "#5b6470"),
    "grid": ("#e9e8e4", "#2a2f37"),
    "border": ("#dedcd6", "#30353e"),
    "accent": ("#005f99", "#6cb8ee"),
    "good": ("#00724f", "#4cc9a0"),
    "warn": ("#8a5a00", "#e0b24a"),
    "bad": ("#b34700", "#f08a4b"),
    "send": ("#009e73", "#2bbd93"),
    "receive": ("#d55e00", "#f0803c"),
    "way": ("#c0c8d1", "#6d7682"),
    "message": ("#39424d", "#c3cad3"),
    "ack": ("#98a1ab", "#77818d"),
    "permit": ("#6f55c4", "#a893f0"),
    "self": ("#111417", "#ffffff"),
    "past": ("#0072b2", "#56b4e9"),
    "future": ("#aa3377", "#e884bd"),
    "early": ("#d55e00", "#f0803c"),
    "late": ("#0072b2", "#56b4e9"),
    "path": ("#b07d00", "#e6b422"),
    "c1": ("#0072b2", "#56b4e9"),
    "c2": ("#d55e00", "#f0803c"),
    "c3": ("#b98200", "#e6b422"),
    "c4": ("#3a9bd6", "#8fd0f5"),
    "c5": ("#009e73", "#2bbd93"),
    "c6": ("#8c4fa8", "#bd8fd8"),
    "c7": ("#c2598f", "#e884bd"),
    "c8": ("#6b7280", "#9aa4b0"),
}
"""By name: on light paper, on dark paper.

Waiting is green in a send buffer and red in a receive buffer, as in the paper's figure. Lines take
theirs from the palette of Okabe and Ito, which is told apart with any kind of colour vision, made
a little darker or lighter so that they stand out from the paper of either theme.
"""


def theme_style() -> str:
    """Custom properties for both themes; the system chooses, unless the page does."""
    light = properties(0, "light")
    dark = properties(1, "dark")
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme='light']) {{ {dark} }} }}\n"
        f":root[data-theme='dark'] {{ {dark} }}\n"
    )


def properties(theme: int, scheme: str) -> str:
    """The colours of one theme."""
    lines = [f"--{name}: {values[theme]};" for name, values in COLOURS.items()]
    return " ".join([f"color-scheme: {scheme};", *lines])


STYLES: Final = ("page.css", "charts.css", "spacetime.css")
SCRIPTS: Final = (
    "words.js",
    "columns.js",
    "time_index.js",
    "run_data.js",
    "causality.js",
    "viewport.js",
    "scene.js",
    "palette.js",
    "canvas_pen.js",
    "svg_pen.js",
    "hits.js",
    "tip.js",
    "details.js",
    "overview.js",
    "gestures.js",
    "panel.js",
    "viewer.js",
    "charts.js",
    "start.js",
)
"""In the order in which they may use each other."""

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""Forbids the page to load anything, or to send anything anywhere."""

IMPORT: Final = re.compile(r"^import\b[^;]*;\n", re.MULTILINE)
EXPORT: Final = re.compile(r"^export (?=(class|const|function|async function)\b)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that goes onto the page."""

    title: str
    subtitle: str
    opening: Markup
    """What comes before the first section."""
    sections: Sequence[Section]
    sources: Sequence[tuple[str, str]]
    """What was found, and where."""
    refresh_s: int | None = None
    """After how long a page that changes is to be loaded again."""


def page_text(report: Report) -> str:
    """The whole file."""
    seconds = report.refresh_s
    refresh = element("meta", http_equiv="refresh", content=str(seconds)) if seconds else None
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"antecede {__version__}"),
        refresh,
        element("title", report.title),
        element("style", style()),
    )
    body = element(
        "body",
        header(report),
        navigation(report.sections),
        element("main", report.opening, *[section_markup(one) for one in report.sections]),
        footer(report),
        element("div", id="tip", role="status", hidden=True),
        element("script", script(), type="module"),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def header(report: Report) -> Markup:
    """The title, and the switch between light and dark."""
    switch = element(
        "button", "◐", type="button", id="theme", title="Light or dark", aria_label="Light or dark"
    )
    return element(
        "header",
        element("div", element("h1", report.title), element("p", report.subtitle)),
        switch,
    )


def navigation(sections: Sequence[Section]) -> Markup:
    """Links to all sections."""
    links = [element("a", one.title, href=f"#{one.identity}") for one in sections]
    return element("nav", *links, aria_label="Sections") if len(links) > 1 else Markup()


def section_markup(section: Section) -> Markup:
    """A section with its heading."""
    return element(
        "section",
        element("h2", section.title),
        element("p", section.lead, class_="lead"),
        section.body,
        id=section.identity,
    )


def footer(report: Report) -> Markup:
    """What the report was made of, and by what."""
    items = [element("li", what, " in ", element("code", where)) for what, where in report.sources]
    found = [element("h2", "Made from"), element("ul", *items)] if items else []
    made = element("p", f"Made by antecede {__version__}. This file needs no network.")
    return element("footer", *found, made)


def asset(name: str) -> str:
    """A file of this package."""
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def style() -> Markup:
    """All styles."""
    return Markup("\n".join([theme_style(), *(asset(name) for name in STYLES)]))


def script() -> Markup:
    """All scripts as one module."""
    return joined([Markup(bundled(asset(name))) for name in SCRIPTS])


def bundled(module: str) -> str:
    """A module as a part of a larger one."""
    return EXPORT.sub("", IMPORT.sub("", module))


def write_report(path: Path, report: Report) -> int:
    """Write the file, which appears when it is complete; how many bytes it has."""
    text = page_text(report).encode()
    write_whole(path, text)
    return len(text)


def open_report(path: Path) -> bool:
    """Open the file in a browser; False if there is none that would."""
    return webbrowser.open(path.absolute().as_uri())
