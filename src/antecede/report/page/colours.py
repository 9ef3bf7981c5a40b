"""The colours of the page, light and dark, in one place.

Waiting is green in a send buffer and red in a receive buffer, as in the paper's figure. Lines take
theirs from the palette of Okabe and Ito, which is told apart with any kind of colour vision, made
a little darker or lighter so that they stand out from the paper of either theme.
"""

from typing import Final

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
"""By name: on light paper, on dark paper."""


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
