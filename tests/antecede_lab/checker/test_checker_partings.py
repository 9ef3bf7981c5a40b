"""Every interleaving with a crash, an expulsion, a wrong suspicion; and rules left out."""

import pytest
from click.testing import CliRunner

from antecede import compiled
from antecede.core.errors import LocalError
from antecede_cli.main import main
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.checker.expulsion_search import check_expulsions
from antecede_lab.checker.programs import PROGRAMS, parse
from antecede_lab.checker.verdicts import ORDER, RESTLESS, STUCK
from tests.antecede.core.expulsion_mutants import mutant
from tests.broken.mutants import info_like

HYBRID = PROTOCOLS["hybrid"]
TRIANGLE = PROGRAMS["triangle"]
STATES_MAX = 200_000


@pytest.mark.parametrize(
    ("name", "losses", "crashes", "expulsions"),
    [
        ("hybrid", 0, 0, 2),
        ("hybrid", 1, 1, 1),
        ("hybrid-sps", 0, 1, 1),
        ("hybrid-csps", 0, 1, 1),
    ],
)
def test_a_triangle_with_crashes_and_expulsions_is_right_in_every_state(
    name: str, losses: int, crashes: int, expulsions: int
) -> None:
    result = check_expulsions(PROTOCOLS[name], TRIANGLE, losses, crashes, expulsions, STATES_MAX)
    assert result.failure is None
    assert result.complete
    assert result.states > 1_500
    assert result.quiescent > 20


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_named_programs_with_a_crash_and_an_expulsion_are_right(name: str) -> None:
    result = check_expulsions(HYBRID, PROGRAMS[name], 0, 1, 1, 3_000_000)
    assert result.failure is None


UNSAFE = [
    "messages do not carry notices",
    "permits do not carry notices",
    "the packet is taken before its notices",
    "the expelled are listened to",
]
UNENDING = [
    "acks of the expelled are waited for",
    "permits of the expelled are waited for",
    "nobody is told without a message",
]


@pytest.mark.skipif(
    compiled(),
    reason="mutants of several files cannot inherit from compiled classes; they run interpreted",
)
@pytest.mark.parametrize("rule", UNSAFE)
def test_a_rule_of_safety_left_out_has_a_shortest_story(rule: str) -> None:
    result = check_expulsions(info_like(HYBRID, rule, mutant(rule)), TRIANGLE, 0, 1, 1, STATES_MAX)
    assert result.failure is not None
    assert result.failure.verdict.kind == ORDER
    story = result.failure.story()
    assert 5 < len(story) < 14
    assert any("expels" in line for line in story)


@pytest.mark.skipif(
    compiled(),
    reason="mutants of several files cannot inherit from compiled classes; they run interpreted",
)
@pytest.mark.parametrize("rule", UNENDING)
def test_a_rule_of_liveness_left_out_is_noticed(rule: str) -> None:
    result = check_expulsions(info_like(HYBRID, rule, mutant(rule)), TRIANGLE, 0, 1, 1, STATES_MAX)
    assert result.failure is not None
    assert result.failure.verdict.kind in (STUCK, RESTLESS)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(LocalError, match="rst cannot be expelled"):
        check_expulsions(PROTOCOLS["rst"], TRIANGLE, 0, 1, 1, 10)
    with pytest.raises(LocalError, match="counted from 0"):
        check_expulsions(HYBRID, TRIANGLE, 0, -1, 1, 10)


def test_a_search_may_end_early() -> None:
    result = check_expulsions(HYBRID, parse("0 sends a to 1; 1 sends b to 0"), 0, 1, 1, 50)
    assert not result.complete
    assert result.failure is None


def test_the_command_explores_crashes_and_expulsions() -> None:
    arguments = ["check", "--program", "triangle", "--crashes", "1", "--expulsions", "1"]
    result = CliRunner().invoke(main, [*arguments, "--losses", "0"])
    assert result.exit_code == 0, result.output
    assert "crashes 1, expulsions 1" in result.output
    assert "all states seen, all right" in result.output
