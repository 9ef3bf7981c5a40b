"""HTML and SVG as values: whatever is not known to be markup is escaped.

Names of processes and runs come from other people's files, so nothing reaches the page unescaped
by accident: an element takes texts and `Markup`, and only `Markup` goes in as it is.
"""

import json
from collections.abc import Iterable
from html import escape
from typing import TypeAlias, final


@final
class Markup(str):
    """A piece of HTML that is safe as it stands."""

    __slots__ = ()


Child: TypeAlias = str | int | float | None
Attribute: TypeAlias = str | int | float | bool | None

VOID = ("br", "hr", "img", "input", "meta")
"""Elements that have no end tag."""


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element; `class_` and `for_` lose their underscore, others become dashes.

    An attribute that is None or False is left out, one that is True has no value.
    """
    start = name + "".join(attribute_text(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{start}>")
    return Markup(f"<{start}>{joined(children)}</{name}>")


def attribute_text(key: str, value: Attribute) -> str:
    """An attribute with the blank before it, or nothing."""
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-") if key != "viewBox" else key
    return f" {name}" if value is True else f' {name}="{escape(text_of(value))}"'


def joined(children: Iterable[Child]) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(as_markup(child) for child in children))


def as_markup(child: Child) -> Markup:
    """The child, escaped unless it is markup; nothing for None."""
    if child is None:
        return Markup()
    return child if isinstance(child, Markup) else Markup(escape(text_of(child), quote=False))


def text_of(value: Child | Attribute) -> str:
    """A value as text; a float with as many digits as a drawing needs."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def json_script(identity: str, value: object) -> Markup:
    """Data for scripts; nothing in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for letter, code in (("<", "\\u003c"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        text = text.replace(letter, code)
    return Markup(f'<script type="application/json" id="{escape(identity)}">{text}</script>')
