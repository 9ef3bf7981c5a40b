"""Results that appear together, or not at all."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import replace_folder_atomically
from antecede.eventlog.ownership import NOTE

NAMES = ["table", "summary.json"]


def write_results(folder: Path, text: str, *, fails: bool = False) -> None:
    with replace_folder_atomically(folder, NAMES) as stage:
        (stage / "table").mkdir()
        (stage / "table" / "part").write_text(text)
        if fails:
            raise LocalError("half way")
        (stage / "summary.json").write_text(text)


def write_in_the_way(folder: Path) -> None:
    with replace_folder_atomically(folder, NAMES) as stage:
        (stage / "table").mkdir()
        (stage / "table" / "part").write_text("new")
        replaced = next(folder.glob(".*.replaced"))
        (replaced / "summary.json").mkdir()


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != NOTE)
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def test_results_replace_each_other_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    write_results(tmp_path, "old")
    write_results(tmp_path, "new")

    assert contents(tmp_path) == {"notes": "mine", "table/part": "new", "summary.json": "new"}


def test_a_failure_leaves_the_old_results(tmp_path: Path) -> None:
    write_results(tmp_path, "old")
    with pytest.raises(LocalError, match="half way"):
        write_results(tmp_path, "new", fails=True)

    assert contents(tmp_path) == {"table/part": "old", "summary.json": "old"}


def test_a_failure_while_they_are_exchanged_leaves_the_old_results(tmp_path: Path) -> None:
    """A folder that is in the way of a file cannot be moved aside onto one that is not empty."""
    write_results(tmp_path, "old")
    with pytest.raises(LocalError, match="cannot write"):
        write_in_the_way(tmp_path)

    assert contents(tmp_path) == {"table/part": "old", "summary.json": "old"}
