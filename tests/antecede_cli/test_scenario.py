"""`antecede lab scenario`, as a user sees it."""

from click.testing import CliRunner, Result

from antecede_cli.main import main
from antecede_lab.scenarios.catalogue import SCENARIOS


def antecede(*words: str) -> Result:
    return CliRunner().invoke(main, ["lab", "scenario", *words])


def test_without_a_name_it_lists_the_stories() -> None:
    result = antecede()

    assert result.exit_code == 0
    for name, scenario in SCENARIOS.items():
        assert name in result.output
        assert scenario.title in result.output


def test_a_story_is_told_with_its_summary_and_lesson() -> None:
    result = antecede("figure", "--act", "cykas")

    assert result.exit_code == 0
    assert "    8.70  i sends m on its way to r" in result.output
    assert "=> Causal order is kept" in result.output
    assert SCENARIOS["figure"].lesson in result.output


def test_long_stories_are_told_by_their_main_characters() -> None:
    short = antecede("starvation", "--act", "cykas, traffic stops")
    full = antecede("starvation", "--act", "cykas, traffic stops", "--all")

    assert "steps left out" in short.output
    assert len(full.output.splitlines()) > 1000


def test_an_unknown_story_is_an_error_that_helps() -> None:
    result = antecede("squares")

    assert result.exit_code == 2
    assert "there are triangle, figure" in result.output


def test_an_unknown_act_is_an_error_that_helps() -> None:
    result = antecede("figure", "--act", "telepathy")

    assert result.exit_code == 2
    assert "cykas" in result.output
