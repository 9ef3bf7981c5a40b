"""Results that are damaged or cannot be read: every command says which file, and fails."""

from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

from antecede_audit.jobs.ingest import ingest_here
from antecede_cli.main import main
from tests.antecede_audit.spans.samples import as_lines


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an ingest has left, and beside it the file it read."""
    folder = tmp_path_factory.mktemp("ingested")
    (folder / "a.csv").write_bytes(as_lines("a,b,1", "b,c,2", "c,a,3"))
    ingest_here([str(folder / "a.csv")], str(folder / "out"))
    return folder


COMMANDS = [
    ("workload", "profile {0} --out {1}"),
    ("workload", "simulate -w replay --set file={0}/workload"),
    ("events", "audit {0} --out {1}"),
    ("events", "measure {0}/events"),
    ("events", "report {0} --out {1}/page.html"),
    ("files", "ingest {0}/../b.csv --append --out {0}"),
    ("lines", "ingest {0}/../b.csv --append --out {0}"),
    ("rejects", "ingest --show-rejects {0}"),
]


@pytest.mark.parametrize("damage", ["truncated", "gone"])
@pytest.mark.parametrize(("table", "command"), COMMANDS)
def test_a_damaged_table_is_one_sentence_that_names_it(
    tmp_path: Path, ingested: Path, table: str, command: str, damage: str
) -> None:
    """Truncated, or a link to nothing."""
    out = tmp_path / "out"
    copytree(ingested / "out", out)
    (tmp_path / "b.csv").write_bytes(as_lines("a,b,4"))
    for file in (out / table).rglob("*.parquet"):
        data = file.read_bytes()
        file.unlink()
        if damage == "truncated":
            file.write_bytes(data[:-10])
        else:
            file.symlink_to(tmp_path / "nothing")
    words = command.format(out, tmp_path / "new").split()
    done = CliRunner().invoke(main, words, prog_name="antecede")

    assert done.exit_code == 2, done.output
    assert str(out / table) in done.stderr
    assert "Traceback" not in done.output


def test_a_damaged_summary_is_not_added_to(tmp_path: Path, ingested: Path) -> None:
    out = tmp_path / "out"
    copytree(ingested / "out", out)
    text = (out / "summary.json").read_text()
    (out / "summary.json").write_text(text[: len(text) // 2])
    done = CliRunner().invoke(
        main, ["ingest", str(ingested / "a.csv"), "--append", "--out", str(out)]
    )

    assert done.exit_code == 2, done.output
    assert "summary.json is damaged" in done.stderr


def test_records_that_are_missing_are_noticed_before_anything_is_added(
    tmp_path: Path, ingested: Path
) -> None:
    out = tmp_path / "out"
    copytree(ingested / "out", out)
    (tmp_path / "b.csv").write_bytes(as_lines("a,b,4"))
    for file in (out / "lines").rglob("*.parquet"):
        file.unlink()
    done = CliRunner().invoke(
        main, ["ingest", str(tmp_path / "b.csv"), "--append", "--out", str(out)]
    )

    assert done.exit_code == 2, done.output
    assert "3 records were read, and" in done.stderr
