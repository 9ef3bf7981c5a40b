"""Every story of the catalogue can be seen as diagrams."""

import json
import re

import pytest
from click.testing import CliRunner

from antecede_audit.report.page.document import Report, page_text
from antecede_cli.main import main
from antecede_lab.report.scenario_page import message_names, pair_of, story_report
from antecede_lab.scenarios.catalogue import SCENARIOS, Act
from antecede_lab.scenarios.player import Script, perform, send

SHORT = [name for name in SCENARIOS if name != "starvation"]


def told(name: str) -> Report:
    scenario = SCENARIOS[name]
    return story_report(scenario, scenario.acts, [act.play() for act in scenario.acts])


@pytest.mark.parametrize("name", SHORT)
def test_a_story_is_a_page_with_a_diagram_for_each_act(name: str) -> None:
    text = page_text(told(name))
    acts = [
        json.loads(found)["name"]
        for found in re.findall(
            r'<script type="application/json" id="run-\d+">(.*?)</script>', text
        )
    ]

    assert acts == [act.label for act in SCENARIOS[name].acts]


def test_the_figure_begins_with_cykas_against_hybrid() -> None:
    report = told("figure")

    assert 'data-pair="0,4"' in report.sections[0].body
    assert [section.title for section in report.sections] == [
        "Spacetime diagram",
        "What became of it",
    ]


def test_a_story_that_goes_wrong_tells_what() -> None:
    report = told("triangle")
    audit = report.sections[-1]

    assert audit.title == "Audit"
    assert "carol delivered message 1 of bob" in audit.body


def test_messages_have_the_names_of_the_script_also_if_it_is_not_in_order() -> None:
    script = Script(
        processes=("a", "b"),
        sends=(send(2.0, "a", "b", "later"), send(1.0, "a", "b", "sooner")),
    )
    performance = perform(script, SCENARIOS["triangle"].acts[0].info)

    assert message_names(performance) == {(0, 1): "sooner", (0, 2): "later"}
    assert performance.when("submitted", "sooner") == [1.0]


def test_one_act_alone_needs_no_second() -> None:
    acts: list[Act] = list(SCENARIOS["triangle"].acts[:1])

    assert pair_of(acts) == [0]
    assert pair_of(SCENARIOS["rst-self-send"].acts) == [0, 1]


def test_a_page_of_no_story_is_a_mistake_that_is_told() -> None:
    result = CliRunner().invoke(main, ["lab", "scenario", "--html", "figure"])

    assert result.exit_code == 2
    assert "name a scenario before --html" in result.stderr
