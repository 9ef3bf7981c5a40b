"""Files of others are never replaced: a note says which are ours."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.atomic_files import (
    check_replaceable,
    claim,
    replace_folder_atomically,
    settle,
)
from antecede.eventlog.ownership import NOTE

NAMES = ["table", "gone", "summary.json"]


def write_results(folder: Path, text: str, *, known: bool = False) -> None:
    with replace_folder_atomically(folder, NAMES, known=known) as stage:
        (stage / "table").mkdir()
        (stage / "table" / f"part-{text}.parquet").write_text(text)
        (stage / "summary.json").write_text(text)


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != NOTE)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.mark.parametrize("theirs", ["table/a.txt", "table/deep/b.parquet", "gone", "summary.json"])
def test_a_file_of_others_is_refused_and_stays(tmp_path: Path, theirs: str) -> None:
    (tmp_path / theirs).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / theirs).write_text("theirs")

    with pytest.raises(LocalError, match=f"{theirs} would be lost.*move it away"):
        write_results(tmp_path, "new")
    assert contents(tmp_path) == {theirs: "theirs"}
    assert sorted(tmp_path.rglob(".*")) == [], "nothing is left behind"


def test_what_others_add_to_our_tables_is_refused_and_stays(tmp_path: Path) -> None:
    write_results(tmp_path, "old")
    before = contents(tmp_path)
    (tmp_path / "table" / "mine.csv").write_text("theirs")

    with pytest.raises(LocalError, match=r"table/mine\.csv would be lost"):
        write_results(tmp_path, "new")
    assert contents(tmp_path) == {**before, "table/mine.csv": "theirs"}


def test_what_others_add_while_we_write_is_refused_and_stays(tmp_path: Path) -> None:
    def write_slowly() -> None:
        with replace_folder_atomically(tmp_path, NAMES) as stage:
            (stage / "summary.json").write_text("new")
            (tmp_path / "summary.json").write_text("theirs")

    with pytest.raises(LocalError, match=r"summary\.json would be lost"):
        write_slowly()
    assert contents(tmp_path) == {"summary.json": "theirs"}


def test_a_link_to_elsewhere_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.txt").write_text("theirs")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "table").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(LocalError, match="table would be lost"):
        write_results(tmp_path / "out", "new")
    assert (tmp_path / "out" / "table" / "a.txt").read_text() == "theirs"


def test_files_of_other_names_do_not_matter_and_an_empty_folder_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("theirs")
    (tmp_path / "table").mkdir()
    for text in ("old", "new"):
        write_results(tmp_path, text)

    assert contents(tmp_path) == {
        "notes.txt": "theirs",
        "table/part-new.parquet": "new",
        "summary.json": "new",
    }


def test_results_without_a_note_are_replaced_only_where_they_are_known(tmp_path: Path) -> None:
    write_results(tmp_path, "old")
    (tmp_path / NOTE).unlink()

    with pytest.raises(LocalError, match="results of versions without such a note, too"):
        write_results(tmp_path, "new")
    (tmp_path / "table" / "mine.txt").write_text("theirs")
    with pytest.raises(LocalError, match=r"table/mine\.txt would be lost"):
        write_results(tmp_path, "new", known=True)
    (tmp_path / "table" / "mine.txt").unlink()
    write_results(tmp_path, "new", known=True)
    assert contents(tmp_path) == {"table/part-new.parquet": "new", "summary.json": "new"}


def test_a_note_that_somebody_else_wrote_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text("{}")

    with pytest.raises(LocalError, match="choose another folder"):
        write_results(tmp_path, "new")
    assert (tmp_path / NOTE).read_text() == "{}"
    assert contents(tmp_path) == {}


def test_a_claim_holds_for_what_comes_later_until_it_is_settled(tmp_path: Path) -> None:
    claim(tmp_path, ["runs"])
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one").write_text("ours")
    claim(tmp_path, ["runs", "events"])
    settle(tmp_path, ["runs"])
    claim(tmp_path, ["runs"])
    settle(tmp_path, ["runs"])
    (tmp_path / "runs" / "two").write_text("theirs")

    with pytest.raises(LocalError, match="runs/two would be lost"):
        claim(tmp_path, ["runs"])
    check_replaceable(tmp_path, ["events", "summary.json"])
