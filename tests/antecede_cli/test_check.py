"""`antecede check`: what it prints, and what its exit status says."""

import json

import pytest
from click.testing import CliRunner, Result

from antecede_cli.main import main
from antecede_lab.checker.programs import PROGRAMS


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], prog_name="antecede")


def rows_of(result: Result) -> list[list[str]]:
    """The cells of the table, without its borders."""
    lines = [line for line in result.output.splitlines() if line[:1] in ("│", "┃")]
    return [
        [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in lines
    ]


def test_a_program_without_failure_is_a_row_of_counts() -> None:
    result = check("--program", "triangle", "--program", "ping-pong", "--losses", "0")
    assert result.exit_code == 0
    head, triangle, ping_pong, totals = rows_of(result)
    assert head == ["program", "states", "transitions", "quiescent", "verdict"]
    assert (triangle[0], triangle[4]) == ("triangle", "right")
    assert (ping_pong[0], ping_pong[4]) == ("ping-pong", "right")
    assert (totals[0], totals[4]) == ("2 programs", "all states seen, all right")
    for column in (1, 2, 3):
        assert int(totals[column]) == int(triangle[column]) + int(ping_pong[column]) > 0


def test_the_counts_are_one_line_of_json_if_wanted() -> None:
    right = check("--program", "triangle", "--losses", "0", "--json")
    row = rows_of(check("--program", "triangle", "--losses", "0"))[1]
    (line,) = right.stdout.splitlines()
    found = json.loads(line)
    assert (found["ok"], found["complete"]) == (True, True)
    counts = found["programs"]["triangle"]
    assert list(counts.values()) == [*map(int, row[1:4]), "right"]
    assert found["states"] == counts["states"]

    wrong = check("--protocol", "tests.antecede_cli.hasty:INFO", "--program", "relay", "--json")
    assert wrong.exit_code == 1
    assert json.loads(wrong.stdout)["programs"]["relay"]["verdict"] != "right"
    assert "To see it again" in wrong.stderr


def test_all_programs_that_the_protocol_can_run_are_the_default() -> None:
    result = check("--protocol", "bss")
    assert result.exit_code == 0
    assert [row[0] for row in rows_of(result)[1:-1]] == [
        "stream",
        "ping-pong",
        "multicast-chain",
        "broadcast-race",
        "broadcast-four",
    ]
    assert "nothing lost or doubled, which this protocol needs" in result.output


def test_faults_are_named_below_the_table() -> None:
    result = check("--program", "self-send", "--duplications", "1", "--expiries", "1")
    assert "any order, losses 1, duplications 1; expiries 1" in result.output
    assert "FIFO channels" in check("--protocol", "tree", "--program", "triangle").output


def test_a_search_cut_short_is_shown_as_such() -> None:
    result = check("--program", "fan", "--states-max", "50")
    assert result.exit_code == 0
    assert rows_of(result)[1][1] == "50"
    assert rows_of(result)[1][4] == "right so far: --states-max reached"
    assert rows_of(result)[2][4] == "1 wrong or unfinished"


def test_the_named_programs_can_be_listed() -> None:
    result = check("--list")
    assert result.exit_code == 0
    assert rows_of(result)[1:] == [[program.name, program.text] for program in PROGRAMS.values()]


def test_a_failure_is_told_as_a_story_and_can_be_seen_again() -> None:
    protocol = "tests.antecede_cli.hasty:INFO"
    result = check("--protocol", protocol, "--program", "relay")
    assert result.exit_code == 1
    assert rows_of(result)[1][4] == "order"
    story = result.output.splitlines()[-10:]
    program = "0 sends a to 3, b to 1; 1 sends c to 2 after b; 2 sends d to 3 after c"
    assert story[0] == f"hasty runs: {program}"
    assert story[-2].startswith(
        "Verdict: process 3 delivers d before a, although a happened before"
    )
    assert story[-1] == (
        f'To see it again: antecede check --protocol {protocol} --program "{program}" '
        "--losses 0 --duplications 0 --expiries 0"
    )
    again = check("--protocol", protocol, "--program", program, "--losses", "0")
    assert again.exit_code == 1
    assert again.output.splitlines()[-10:] == story


def test_the_first_failure_ends_a_campaign() -> None:
    result = check("--protocol", "tests.antecede_cli.hasty:INFO", "--every", "3")
    assert result.exit_code == 1
    assert len([row for row in rows_of(result) if row[-1] == "order"]) == 1
    assert "Verdict: " in result.output


def test_every_program_of_a_size_is_a_campaign() -> None:
    result = check("--every", "2", "--multicast", "--losses", "0")
    assert result.exit_code == 0
    assert rows_of(result)[-1][0] == "17 programs"


def test_a_large_campaign_is_shown_as_totals() -> None:
    result = check("--protocol", "rst", "--every", "3", "--multicast")
    assert result.exit_code == 0
    assert [row[0] for row in rows_of(result)] == ["program", "168 programs"]


def test_a_campaign_can_be_a_part_of_all_programs() -> None:
    result = check("--every", "3", "--programs-max", "5", "--losses", "0")
    assert "Taking 5 of 38 programs" in result.output
    assert rows_of(result)[-1][0] == "5 programs"


def test_broadcast_protocols_get_a_campaign_of_broadcasts() -> None:
    result = check("--protocol", "bss", "--every", "2")
    assert result.exit_code == 0
    assert int(rows_of(result)[-1][0].split()[0]) > 3


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--program", "circle"], "no program is called 'circle'; there are triangle, "),
        (["--program", "0 sends a"], "expected 'a to 1+2' or 'a to 1 after b' in place of 'a'"),
        (["--protocol", "unknown"], "no protocol is called 'unknown'"),
        (["--protocol", "mf", "--program", "multicast-mix"], "mf has no multicast"),
    ],
)
def test_what_makes_no_sense_is_answered_in_one_sentence(
    arguments: list[str], complaint: str
) -> None:
    result = check(*arguments)
    assert result.exit_code == 2
    assert complaint in result.output


def test_help_teaches_by_examples() -> None:
    result = check("--help")
    assert result.exit_code == 0
    assert (
        'antecede check --program "0 sends a to 2, b to 1; 1 sends c to 2 after b"' in result.output
    )


@pytest.mark.parametrize("option", ["--losses", "--duplications", "--expiries", "--states-max"])
def test_a_number_beyond_all_reason_is_refused(option: str) -> None:
    result = check("--program", "relay", option, str(10**20))
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in result.output


def test_a_message_whose_name_is_no_text_is_refused() -> None:
    result = check("--program", "0 sends \udcff to 1")
    assert result.exit_code == 2
    assert "a message cannot be called '\\udcff'" in result.output
