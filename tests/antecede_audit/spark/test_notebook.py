"""The notebook of the examples: every cell runs, and the diagram is drawn inline."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from antecede.core.errors import LocalError
from antecede_audit.report.notebook import Spacetime

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "notebooks"
SAMPLE = ROOT / "examples" / "sample-log" / "services.jsonl.gz"


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "audit.ipynb").read_text("utf-8"))["cells"]
    return found


def test_every_cell_runs_on_a_session_that_is_lent(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has its settings back then. Cells with a session of their own run in the long test."""
    monkeypatch.chdir(FOLDER)
    settings = spark.conf.getAll
    known: dict[str, Any] = {"spark": spark}
    for cell in cells():
        if cell["cell_type"] == "code" and "session" not in cell["metadata"].get("tags", []):
            exec("".join(cell["source"]), known)
    known["found"].unpersist()
    assert spark.conf.getAll == settings
    said = capsys.readouterr().out
    assert "600 messages, " in said
    assert " 0 delivered too early" not in said


def test_the_notebook_is_kept_without_what_it_printed() -> None:
    assert [cell for cell in cells() if cell.get("outputs") or cell.get("execution_count")] == []


def test_a_diagram_is_a_page_in_a_page() -> None:
    html = Spacetime(SAMPLE, height=300)._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert 'height="300"' in html
    assert "data-runs=&quot;1&quot;" in html
    assert "<script" not in html  # All of it is inside the attribute.


def test_what_has_no_log_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(LocalError):
        Spacetime(tmp_path)


@pytest.mark.long
def test_the_notebook_runs_as_a_whole_in_a_kernel() -> None:
    nbformat = pytest.importorskip("nbformat", reason="the Python package nbformat is missing")
    nbclient = pytest.importorskip("nbclient", reason="the Python package nbclient is missing")
    notebook = nbformat.read(FOLDER / "audit.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    shown = [
        output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])
    ]
    assert [data for data in shown if "<iframe" in str(data.get("text/html", ""))]
