"""What traces are like, before any verdict."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from antecede_audit.spans.quality import quality_of
from antecede_cli.main import main
from tests.antecede_audit.spans.samples import as_json, jaeger, jaeger_span


def write_traces(folder: Path) -> str:
    """A web server asks a database whose clock is 40 µs slow; one parent is missing."""
    spans = [
        jaeger_span("1", None, "p1", 100, 100),
        jaeger_span("2", "1", "p2", 90, 30),
        jaeger_span("2", "1", "p2", 90, 30),
        jaeger_span("3", "gone", "p2", 150, 10),
        jaeger_span("4", "1", "p1", 99, 10),
        jaeger_span("5", "1", "p1", 120, -10),
    ]
    path = folder / "traces.json"
    path.write_bytes(as_json(jaeger(*spans, p1="web", p2="db")))
    return str(path)


def test_a_page_says_what_is_missing_twice_and_backwards(tmp_path: Path) -> None:
    found = quality_of([write_traces(tmp_path)])

    assert (found.spans, found.traces, found.complete) == (5, 1, True)
    assert (found.missing_parents, found.duplicate_spans, found.before_parent) == (1, 1, 1)
    assert found.rejects == {"it ends before it starts": 1}
    assert (found.messages, found.backwards, found.backwards_repaired) == (2, 1, 0)
    services = {one.name: one for one in found.services}
    assert (services["web"].resolution_ns, services["db"].resolution_ns) == (1_000, 10_000)
    assert services["db"].offset_ns - services["web"].offset_ns == 10_000
    assert services["db"].uncertain_ns == 70_000


def test_only_so_many_spans_are_looked_at_and_that_is_said(tmp_path: Path) -> None:
    found = quality_of([write_traces(tmp_path)], spans_max=2)

    assert (found.spans, found.complete) == (2, False)


def test_the_command_prints_a_page_or_json(tmp_path: Path) -> None:
    path = write_traces(tmp_path)
    page = CliRunner().invoke(main, ["ingest", "--check", path])
    data = CliRunner().invoke(main, ["ingest", "--check", path, "--json"])

    assert page.exit_code == 0, page.output
    assert "start before their parent" in page.stdout
    assert json.loads(data.stdout) == quality_of([path]).as_object()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--check", "x", "--out", "y"], "--out has no meaning with --check"),
        (["--check", "x", "--append"], "--append has no meaning with --check"),
        (["--check", "--show-rejects", "x"], "--check has no meaning with --show-rejects"),
        (["--check", "x", "--format", "messages"], "message tables have none"),
        (["--show-rejects", "x", "y"], "--show-rejects takes one PATH"),
        (["x", "--out", "y", "--limit", "5"], "no meaning without --show-rejects"),
        (["--check", "x", "--reason", "y"], "no meaning without --show-rejects"),
        (["x"], "Missing option '--out'"),
    ],
)
def test_an_option_without_a_meaning_is_refused(words: list[str], complaint: str) -> None:
    result = CliRunner().invoke(main, ["ingest", *words])
    assert result.exit_code == 2
    assert complaint in result.output
