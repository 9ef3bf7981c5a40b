"""`antecede report` and `antecede lab scenario --html`, as a user sees them."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antecede.eventlog.writers import write_events
from antecede_cli.main import main
from tests.antecede_audit.report.logs import overtaken


def antecede(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="antecede")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have been opened in a browser."""
    addresses: list[str] = []

    def note(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", note)
    return addresses


def test_a_report_is_written_and_says_what_it_is_made_of(tmp_path: Path) -> None:
    write_events(tmp_path / "run.jsonl", overtaken().log)
    out = tmp_path / "new" / "report.html"
    result = antecede("report", str(tmp_path), "--out", str(out), "--title", "Mine")

    assert result.exit_code == 0
    assert f"Found 1 recorded run in {tmp_path}." in result.stderr
    assert f"The report is in {out} (0." in result.stdout
    assert "<title>Mine</title>" in out.read_text(encoding="utf-8")


def test_a_report_is_opened_if_that_is_wanted(tmp_path: Path, opened: list[str]) -> None:
    write_events(tmp_path / "run.jsonl", overtaken().log)
    out = tmp_path / "report.html"
    antecede("report", str(tmp_path / "run.jsonl"), "--out", str(out))
    assert opened == []

    antecede("report", str(tmp_path / "run.jsonl"), "--out", str(out), "--open")
    assert opened == [out.absolute().as_uri()]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["."], "has nothing to report"),
        (["run.jsonl", "--run", "x"], "no run is called 'x'; there are 'run'"),
        (["run.jsonl", "--from", "2s", "--to", "1s"], "--from must be earlier than --to"),
        (["run.jsonl", "--from", "soon"], "'soon' is not a duration"),
        (["missing"], "does not exist"),
        ([], "Missing argument 'DIR...'"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if "run.jsonl" in words:
        write_events(tmp_path / "run.jsonl", overtaken().log)
    result = antecede("report", *words)

    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not (tmp_path / "report.html").exists()


def test_a_part_of_a_run_is_shown_with_units_as_people_write_them(tmp_path: Path) -> None:
    write_events(tmp_path / "run.parquet", overtaken().log)
    out = tmp_path / "report.html"
    antecede("report", str(tmp_path), "--out", str(out), "--from", "1ms", "--to", "0.004s")

    assert "A part of the run: 8 of 12 events" in out.read_text(encoding="utf-8")


def test_a_story_is_written_into_a_file_that_has_a_name(tmp_path: Path, opened: list[str]) -> None:
    file = tmp_path / "figure.html"
    result = antecede("lab", "scenario", "figure", f"--html={file}")

    assert result.exit_code == 0
    assert f"The story is in {file}." in result.stderr
    assert "when may i send m?" in file.read_text(encoding="utf-8")
    assert opened == []


def test_a_story_without_a_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = antecede("lab", "scenario", "triangle", "--act", "hybrid", "--html")

    assert result.exit_code == 0
    assert opened == [(tmp_path / "triangle.html").as_uri()]
