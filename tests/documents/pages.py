"""Which documents there are, and who runs the code in them."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

ON_SPARK = (
    "docs/guides/audit-your-traces.md",
    "docs/pipeline/shuffles.md",
    "examples/sample-log/README.md",
)
"""Their commands and programs share the session of tests/antecede_audit/spark."""

ELSEWHERE = ("docs/guides/your-own-protocol.md",)
"""tests/guides does everything that these say."""

OF_THE_PIPELINE = ("docs/pipeline/", "docs/EVALUATION.md", "examples/evaluation/")
"""Reference pages: that their commands exist is checked, tests/antecede_audit/spark does the
rest."""


def all_pages() -> list[str]:
    """Every document, as a path from the top of the repository."""
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def pages_run_here() -> list[str]:
    """Pages whose blocks need nothing but this machine."""
    return [
        page
        for page in all_pages()
        if page not in (*ON_SPARK, *ELSEWHERE) and not page.startswith(OF_THE_PIPELINE)
    ]
