"""`antecede lab compare`: what it prints, what it writes, and what it says about mistakes."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antecede_cli.main import main

OWN = "tests.antecede_lab.comparison.looping:INFO"


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lab", "compare", *arguments], prog_name="antecede")


def rows_of(result: Result) -> list[list[str]]:
    """The cells of all tables, without borders."""
    lines = [line for line in result.stdout.splitlines() if line[:1] in ("│", "┃")]
    return [
        [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in lines
    ]


def test_table_has_the_rows_that_were_measured_and_a_mark_for_every_claim() -> None:
    result = compare("--quick", "--protocols", "ks,mf", "--only", "network")
    assert result.exit_code == 0, result.output
    assert rows_of(result) == [
        ["", "ks", "mf"],
        ["network: failures", "✓ reliable", "✓ any"],
        ["network: order", "~ FIFO → any", "✓ any"],
    ]
    assert "4 claims: 3 confirmed, 1 qualified, 0 refuted" in result.output


def test_verdict_that_is_no_confirmation_is_explained_with_its_run() -> None:
    output = compare("--quick", "--protocols", "ks", "--only", "network", "--seed", "7").output
    assert "qualified ks, network: order: the paper says FIFO; no run without it" in output
    assert "3 of 3 runs with packets overtaking each other were clean" in output
    command = "antecede lab compare --protocols ks --only network --quick --seed 7"
    assert command in output
    again = compare(*command.split()[3:])
    assert again.output == output


def test_protocol_of_ones_own_is_measured_like_any_other() -> None:
    """Its figures are its own: a thousand turns of a loop at every submission."""
    result = compare("--quick", "--protocols", f"mf,{OWN}", "--only", "network,steps")
    assert result.exit_code == 0, result.output
    rows = rows_of(result)
    assert ["", "mf"] in rows
    assert ["", "looping"] in rows
    assert ["network: order", "any"] in rows, "it promises no order, so it needs none"
    assert ["network: failures", "reliable"] in rows
    assert ["computation: sender", "O(1)"] in rows


def test_protocol_with_a_plus_is_added_to_the_usual_ones(tmp_path: Path) -> None:
    arguments = ("--quick", "--protocols", f"+{OWN}", "--only", "network", "--out", str(tmp_path))
    assert compare(*arguments).exit_code == 0
    written = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert written["protocols"][:6] == ["rst", "ks", "newtop", "mf", "cykas", "paper-basic"]
    assert written["protocols"][-1] == "looping"


def test_files_say_what_was_typed(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    result = compare(
        "--quick", "--protocols", "mf", "--only", "liveness", "--seeds", "2", "--out", str(folder)
    )
    assert result.exit_code == 0
    assert f"Written: {folder / 'readings.csv'}" in result.stderr
    written = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    assert written["run"] == (
        "antecede lab compare --protocols mf --only liveness --quick --seed 1 --seeds 2"
    )
    rows = list(csv.DictReader((folder / "verdicts.csv").read_text("utf-8").splitlines()))
    assert [(row["aspect"], row["verdict"]) for row in rows] == [("liveness", "confirmed")]


def test_metadata_is_shown_against_the_number_of_processes() -> None:
    rows = rows_of(compare("--quick", "--protocols", "hybrid", "--only", "space"))
    assert ["protocol", "unit", "n = 4", "n = 8", "n = 16"] in rows
    assert ["hybrid", "integers", "2 (2)", "2 (2)", "2 (2)"] in rows


def test_wide_table_is_cut_where_the_terminal_is_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = rows_of(compare("--quick", "--protocols", "ks,mf,hybrid", "--only", "network"))
    assert rows[0] == ["", "ks", "mf"]
    assert ["", "hybrid"] in rows
    assert [row[0] for row in rows].count("network: order") == 2


def test_ks_experiment_prints_shares_with_intervals(tmp_path: Path) -> None:
    result = compare("--ks", "--quick", "--seeds", "2", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    rows = rows_of(result)
    assert rows[0] == ["n", "MTT/MIMT", "multicasts 0%", "multicasts 50%"]
    assert [row[:2] for row in rows[1:]] == [["5", "1"], ["10", "1"]]
    assert all("±" in cell for row in rows[1:] for cell in row[2:])
    written = json.loads((tmp_path / "ks.json").read_text(encoding="utf-8"))
    assert written["run"] == "antecede lab compare --ks --quick --seed 1 --seeds 2"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--protocols", "guess"], "no protocol is called 'guess'"),
        (["--protocols", "no_such_module:INFO"], "cannot load the protocol"),
        (["--only", "beauty"], "nothing is called 'beauty'; there are network, space"),
        (["--ks", "--protocols", "rst"], "--ks measures KS alone"),
        (["--sizes", "10,many"], "is no number of processes from 3 to 10,000"),
        (["--seeds", "0"], "Invalid value for '--seeds'"),
    ],
)
def test_mistake_is_one_clear_sentence(arguments: list[str], complaint: str) -> None:
    result = compare("--quick", *arguments)
    assert result.exit_code == 2
    assert complaint in result.output


def test_numbers_of_processes_can_be_chosen(tmp_path: Path) -> None:
    space = ["--quick", "--only", "space", "--protocols", "hybrid", "--sizes", "7,6"]
    assert compare(*space, "--out", str(tmp_path)).exit_code == 0
    with (tmp_path / "readings.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == "integers per message"]
    assert {float(row["at"]) for row in rows} == {6.0, 7.0}
    assert "--sizes 7,6" in (tmp_path / "comparison.md").read_text(encoding="utf-8")
    ks = compare("--ks", "--quick", "--sizes", "6", "--out", str(tmp_path))
    assert ks.exit_code == 0
    with (tmp_path / "ks.csv").open(encoding="utf-8") as file:
        assert {row["processes"] for row in csv.DictReader(file)} == {"6"}


def test_help_teaches_by_examples() -> None:
    output = compare("--help").output
    assert "antecede lab compare --protocols +my_module:INFO" in output
    assert "✓ is confirmed, ~ qualified, ✗ refuted" in output


def test_two_sizes_of_runs_at_once_are_refused() -> None:
    result = compare("--quick", "--full", "--only", "network", "--protocols", "mf")
    assert (result.exit_code, result.output) == (2, "Error: give --quick or --full, not both\n")


def test_a_folder_that_cannot_be_made_is_noticed_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("in the way")
    for what in (["--protocols", "mf", "--only", "network"], ["--ks"]):
        result = compare("--quick", *what, "--out", str(tmp_path / "file" / "table"))
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("Error: Not a directory: ")


def test_protocols_for_nodes_are_measured_alone_and_on_nodes() -> None:
    arguments = ["lab", "compare", "--host", "node", "--quick", "--protocols", "rst,hybrid"]
    result = CliRunner().invoke(main, arguments, terminal_width=200)
    assert result.exit_code == 0, result.output
    assert "rst" not in result.output
    assert result.output.count("hybrid") == 12
    assert "NO" not in result.output


def test_what_is_not_for_nodes_is_refused_there() -> None:
    result = CliRunner().invoke(main, ["lab", "compare", "--host", "node", "--protocols", "rst"])
    assert result.exit_code != 0
    assert "none of these can run on a node" in result.output + str(result.exception)
