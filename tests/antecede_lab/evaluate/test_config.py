"""What an evaluation is, as its file says it, and what is said of one that makes no sense."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede_lab.evaluate.config import (
    Evaluation,
    GrownTrace,
    Trace,
    TraceCut,
    quickened,
    read_evaluation,
    with_replay,
)
from antecede_lab.evaluate.evaluate import part_of
from tests.antecede_lab.sweep.grids import grid_of

WHOLE = """
title = "A test"
protocols = ["hybrid", "rst"]
networks = ["lan"]
seeds = 3
audited = ["hybrid"]
audited_messages = "5k"
quick.seeds = 1

[trace.shop]
path = "shop"
format = "jaeger"

[trace.mail]
path = ["mail.txt", "shop"]
time_unit = "s"

[cut.part]
trace = "mail"
start = "1s"
span = "2s"

[grown.town]
trace = "shop"
processes = 50
messages = "1k"
load = 2.5
quick.messages = 10

[grown.city]
trace = "part"
processes = 90
graph = "graph.json"

[scenario.shop]
of = "shop"
compress = 2.0
quick.span = "1s"

[scenario.town]
of = "town"
protocols = ["hybrid"]

[scenario.noise]
workload = "poisson"
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "shop").mkdir(parents=True)
    (folder / "mail.txt").touch()
    (folder / "graph.json").touch()
    return folder


def evaluation_of(folder: Path, text: str, data: Path | None, quick: bool = False) -> Evaluation:
    file = folder / "evaluation.toml"
    file.write_text(text, encoding="utf-8")
    return read_evaluation(file, data=data, quick=quick)


def test_evaluation_says_what_is_made_from_what(tmp_path: Path, data: Path) -> None:
    evaluation = evaluation_of(tmp_path, WHOLE, data)
    assert evaluation.title == "A test"
    assert evaluation.audited == ("hybrid",)
    assert evaluation.audited_messages == 5000
    assert evaluation.traces == {
        "shop": Trace(name="shop", paths=(str(data / "shop"),), format_name="jaeger", unit=None),
        "mail": Trace(
            name="mail",
            paths=(str(data / "mail.txt"), str(data / "shop")),
            format_name="auto",
            unit="s",
        ),
    }
    assert evaluation.cuts == {
        "part": TraceCut(name="part", trace="mail", start_ns=1_000_000_000, span_ns=2_000_000_000)
    }
    town = GrownTrace(
        name="town",
        trace="shop",
        processes=50,
        messages=1000,
        method="replicas",
        load=2.5,
        speed=1.0,
        seed=1,
        graph=None,
    )
    assert evaluation.grown["town"] == town
    assert evaluation.grown["city"].method == "graph"
    assert evaluation.grown["city"].graph == str(data / "graph.json")


def test_what_is_grown_several_times_has_a_seed_each(tmp_path: Path, data: Path) -> None:
    text = WHOLE.replace("load = 2.5", "load = 2.5\ngrowths = 3")
    evaluation = evaluation_of(tmp_path, text, data)
    grown = {name: (one.seed, one.again_of) for name, one in evaluation.grown.items()}
    assert grown == {
        "town": (1, None),
        "town-2": (2, "town"),
        "town-3": (3, "town"),
        "city": (1, None),
    }
    folders = {name: tmp_path / name for name in ("shop", *grown)}
    scenario = with_replay({"of": "town"}, folders, evaluation.grown)
    assert scenario == {
        "replay": [str(tmp_path / name / "workload") for name in ("town", "town-2", "town-3")]
    }


def test_only_scenarios_of_so_many_messages_are_recorded(tmp_path: Path) -> None:
    text = """
    protocols = ["hybrid", "rst"]
    seeds = 2
    [scenario.small]
    messages = 100
    [scenario.large]
    messages = 101
    """
    recorded = part_of(grid_of(tmp_path, text), ("hybrid", "none"), 100)
    assert recorded is not None
    assert [(plan.scenario, plan.protocol, plan.seed) for plan in recorded.plans()] == [
        ("small", "hybrid", 1)
    ]
    assert part_of(grid_of(tmp_path, text), ("hybrid",), 99) is None


def test_quick_evaluation_does_less(tmp_path: Path, data: Path) -> None:
    usual = evaluation_of(tmp_path, WHOLE, data)
    quick = evaluation_of(tmp_path, WHOLE, data, quick=True)
    assert (usual.grid["seeds"], quick.grid["seeds"]) == (3, 1)
    assert (usual.grown["town"].messages, quick.grown["town"].messages) == (1000, 10)
    assert usual.grid["scenario"] != quick.grid["scenario"]


def test_quick_keys_replace_and_disappear() -> None:
    table = {"a": 1, "quick": {"a": 2, "b": 3}, "deep": {"c": 4, "quick": {"c": 5}}}
    assert quickened(table, True) == {"a": 2, "b": 3, "deep": {"c": 5}}
    assert quickened(table, False) == {"a": 1, "deep": {"c": 4}}


def test_data_folder_may_come_from_the_environment(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTECEDE_DATA", str(data))
    assert evaluation_of(tmp_path, WHOLE, None) == evaluation_of(tmp_path, WHOLE, data)
    monkeypatch.delenv("ANTECEDE_DATA")
    with pytest.raises(LocalError, match=r"say --data, or set ANTECEDE_DATA"):
        evaluation_of(tmp_path, WHOLE, None)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('of = "town"', 'of = "tow"', "scenario 'town': of is 'tow'; there are shop, mail, part,"),
        ('path = "shop"', 'path = "shap"', "trace 'shop': there is no"),
        ('format = "jaeger"', 'format = "yeager"', "format is 'yeager'; there are auto,"),
        ('trace = "part"', 'trace = "bart"', "'city': trace is 'bart'; there are shop, mail, part"),
        ("[cut.part]", "[cut.mail]", "cut 'mail': something else has the same name"),
        ("load = 2.5", "lode = 2.5", "grown 'town': there is no 'lode'"),
        ('audited = ["hybrid"]', 'audited = ["hybird"]', "no protocol is called 'hybird'"),
        ("compress = 2.0", "protocols = ['x']", "scenario 'shop': no protocol is called 'x'"),
        ("seeds = 3", "sedes = 3", "there is no 'sedes'"),
        ("start = ", "stort = ", "cut 'part': there is no 'stort'"),
    ],
)
def test_mistake_is_told_before_anything_is_done(
    tmp_path: Path, data: Path, old: str, new: str, complaint: str
) -> None:
    assert old in WHOLE
    with pytest.raises(LocalError) as caught:
        evaluation_of(tmp_path, WHOLE.replace(old, new), data)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
