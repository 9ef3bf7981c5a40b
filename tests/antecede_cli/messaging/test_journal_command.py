"""`antecede journal`: what it prints, and how it exits."""

from pathlib import Path

from click.testing import CliRunner, Result

from antecede.durability.journal import file_name, open_journal
from antecede.durability.log_format import FILE_HEADER
from antecede_cli.main import main


def run(verb: str, folder: Path) -> Result:
    return CliRunner().invoke(main, ["journal", verb, str(folder)])


def small_journal(folder: Path) -> Path:
    journal, _ = open_journal(folder)
    journal.rotate_file([b"snapshot"])
    journal.commit([bytes(40), b"x"])
    journal.close()
    return folder / file_name(1)


def test_a_sound_journal_is_shown(tmp_path: Path) -> None:
    small_journal(tmp_path)
    checked = run("check", tmp_path)
    assert checked.exit_code == 0
    assert "3 records in 2 commits" in checked.output
    shown = run("show", tmp_path).output.splitlines()
    assert shown[0] == f"snapshot  ?                    8 bytes  {b'snapshot'.hex()}"
    assert shown[1].endswith("00 …")
    assert shown[2] == "commit 1  ?                    1 bytes  78"


def test_a_corrupt_one_is_refused_then_set_aside(tmp_path: Path) -> None:
    file = small_journal(tmp_path)
    data = bytearray(file.read_bytes())
    data[FILE_HEADER.size + 25] ^= 1
    file.write_bytes(bytes(data))
    assert run("check", tmp_path).exit_code == 1
    repaired = run("repair", tmp_path)
    assert repaired.exit_code == 0
    assert "set aside" in repaired.output
    gone = run("check", tmp_path)
    assert gone.exit_code == 2
    assert "no journal here" in gone.output
