"""The page of the dashboard: one file that loads nothing, and may talk to its own server alone."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from antecede.version import __version__
from antecede_audit.report.page import document
from antecede_audit.report.page.markup import Markup, element, joined

STYLES: Final = ("page.css",)
REPLAY_STYLES: Final = ("page.css", "charts.css", "spacetime.css")
"""What it has in common with reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page, and what a browser may do with it."""

    body: bytes
    policy: str
    """The Content-Security-Policy: its own scripts and styles and nobody else's."""


def live_page() -> Page:
    """The page of a cluster that lives."""
    script = joined([Markup(asset("dashboard.js")), Markup(asset("live.js"))])
    return make_page(style(STYLES), script, replay=False)


def make_page(
    styles: Markup, script: Markup, *, replay: bool, stage: Sequence[Markup] = ()
) -> Page:
    """A page with these styles and scripts; `stage` stands between its head and what is asked."""
    title = "antecede"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"antecede {__version__}"),
        element("title", title),
        element("style", styles),
    )
    theme = element(
        "button", "◐", type="button", id="theme", title="Light or dark", aria_label="Light or dark"
    )
    login = element(
        "form",
        element("input", type="password", id="token", autocomplete="off", aria_label="Token"),
        element("button", "Look", type="submit"),
        id="login",
        hidden=True,
    )
    words = element(
        "div",
        element("h1", title),
        element("p", "asking", id="line", role="status"),
        element("a", "All nodes", href="#/", id="back", hidden=True),
    )
    body = element(
        "body",
        element("header", words, theme),
        login,
        *stage,
        element("main", id="board", tabindex=-1),
        element("footer", element("p", KEYS)),
        element("div", id="tip", role="status", hidden=True),
        element("script", script, type="module"),
        data_replay="true" if replay else "false",
    )
    text = f"<!doctype html>\n{element('html', head, body, lang='en')}\n"
    return Page(body=text.encode(), policy=policy_of(styles, script))


KEYS: Final = (
    "Keys: / filter, j and k from node to node, Enter look into one, Escape back to all, Tab "
    "everything else."
)


def style(shared: Sequence[str]) -> Markup:
    """The colours, these styles of reports, and those of the dashboard."""
    parts = [document.theme_style(), *(document.asset(name) for name in shared)]
    return Markup("\n".join([*parts, asset("dashboard.css")]))


def asset(name: str) -> str:
    """A file of this package."""
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def policy_of(styles: Markup, script: Markup) -> str:
    """What a browser may load and run: this very style, this very script, and the answers."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{digest(styles)}'",
            f"script-src '{digest(script)}'",
            "connect-src 'self'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def digest(text: str) -> str:
    """How a policy names an element with this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
