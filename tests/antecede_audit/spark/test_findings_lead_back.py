"""From spans to a page: findings name their traces, say what they rest on, and link to them."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from antecede_cli.main import main
from tests.antecede_audit.spans.samples import as_json, attribute, otlp, otlp_span

PRODUCER, CONSUMER = 4, 5
MS = 1_000_000
TRACE = "5b8efff798038103"


def overtaken(b_behind_ms: int) -> dict[str, Any]:
    """a writes to c, then to b; what b writes to c arrives first. The clock of b may be wrong."""

    def span(name: str, parent: str, start_ms: int, kind: int) -> dict[str, Any]:
        spans = otlp_span(name, parent, start_ms * MS, start_ms * MS + 1, kind=kind)
        return spans | {"attributes": [attribute("http.route", f"/{name}"), attribute("x", "y")]}

    return otlp(
        a=[span("a1", "", 0, PRODUCER), span("a2", "", 10, PRODUCER)],
        b=[
            span("b1", "a2", 20 - b_behind_ms, CONSUMER),
            span("b2", "b1", 30 - b_behind_ms, PRODUCER),
        ],
        c=[span("c2", "b2", 40, CONSUMER), span("c1", "a1", 90, CONSUMER)],
    )


def run(*arguments: str) -> str:
    done = CliRunner().invoke(main, list(arguments), prog_name="antecede")
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.stdout


def chain(folder: Path, b_behind_ms: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The only violation, and the summary of the audit."""
    folder.mkdir(exist_ok=True)
    (folder / "t.json").write_bytes(as_json(overtaken(b_behind_ms)))
    trace, found = str(folder / "trace"), str(folder / "found")
    run("ingest", str(folder / "t.json"), "--out", trace, "--keep", "http.route, tenant")
    run("audit", trace, "--out", found)
    [violation] = pq.read_table(folder / "found" / "violations").to_pylist()
    return violation, json.loads((folder / "found" / "summary.json").read_text())


def test_a_finding_names_both_steps_and_what_was_kept_of_them(tmp_path: Path) -> None:
    violation, summary = chain(tmp_path, 0)

    assert summary["order"] == "trace"
    assert {
        name: violation[name]
        for name in ("early_trace_id", "early_span_id", "late_trace_id", "late_span_id")
    } == {
        "early_trace_id": TRACE,
        "early_span_id": "c2",
        "late_trace_id": TRACE,
        "late_span_id": "c1",
    }
    assert (violation["early_operation"], violation["late_operation"]) == ("something",) * 2
    assert violation["early_attributes"] == [("http.route", "/c2")], "x was not asked for"
    assert violation["late_attributes"] == [("http.route", "/c1")]
    assert violation["held_back_ns"] == 50 * MS


@pytest.mark.parametrize(
    ("b_behind_ms", "grade"), [(0, "recorded"), (25, "clear"), (100, "possible")]
)
def test_a_finding_says_how_far_it_rests_on_moved_clocks(
    tmp_path: Path, b_behind_ms: int, grade: str
) -> None:
    """The message to c was overtaken by 50 ms; the clock of b has to be moved by 5 or 80."""
    violation, summary = chain(tmp_path, b_behind_ms)

    assert violation["grade"] == grade
    assert summary["grades"] == {"recorded": 0, "clear": 0, "possible": 0} | {grade: 1}


def test_the_report_links_findings_to_their_traces_and_says_what_the_data_is_like(
    tmp_path: Path,
) -> None:
    chain(tmp_path, 25)
    page = tmp_path / "report.html"
    url = "https://traces.example/trace/{trace_id}?a=1"
    run(
        *("report", str(tmp_path / "trace"), str(tmp_path / "found")),
        *("--trace-url", url, "--out", str(page)),
    )
    html = page.read_text()

    assert f"https://traces.example/trace/{TRACE}?a=1" in html
    assert "arrive before they are sent" in html or "before they were sent" in html
    refused = CliRunner().invoke(
        main, ["report", str(tmp_path / "found"), "--trace-url", "javascript:{trace_id}"]
    )
    assert refused.exit_code == 2
    assert "must begin with https:// or http://" in refused.output


def test_quality_shows_raw_beside_repaired(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(as_json(overtaken(25)))
    found = json.loads(run("ingest", "--check", str(tmp_path / "t.json"), "--json"))

    assert (found["spans"], found["messages"]) == (6, 3)
    assert (found["backwards"], found["backwards_repaired"]) == (1, 0)
    assert {one["name"]: one["resolution_ns"] for one in found["services"]}.keys() == {
        "a",
        "b",
        "c",
    }
