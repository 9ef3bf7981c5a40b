"""From a grid to the runs it consists of, and what is said of a grid that makes no sense."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede_lab.sweep.grid import read_grid
from antecede_lab.sweep.run_plan import NetworkPlan, ReplayPlan, RunPlan, TrafficPlan, parse_plan
from tests.antecede_lab.sweep.grids import grid_of, trace_file

WHOLE = """
protocols = ["hybrid", "rst"]
networks = ["lan", "slow"]
processes = [4, 8]
seeds = 2
time_limit = "1min"

[scenario.chatter]
workload = "poisson"
messages = "2k"
interval = "5ms"
payload = 10
set.multicast = "10%"
until = "10s"

[scenario.services]
workload = "service-dag"
protocols = "mf"
networks = ["reliable"]
processes = 7
seeds = [4, 9]
handling = "1ms"
non_causal = false

[network.slow]
like = "wan"
latency = "exponential:50ms"
loss = 0.02
patience = "2s"
slow = ["0:1:20ms"]

[limit.rst]
processes = 4
because = "its messages grow"
"""


def test_grid_is_every_combination(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, WHOLE)
    plans = grid.plans()
    chatter = [plan for plan in plans if plan.scenario == "chatter"]
    assert len(plans) == 18
    assert [(p.protocol, p.network.name, p.processes, p.seed) for p in chatter[:5]] == [
        ("hybrid", "lan", 4, 1),
        ("hybrid", "lan", 4, 2),
        ("rst", "lan", 4, 1),
        ("rst", "lan", 4, 2),
        ("hybrid", "lan", 8, 1),
    ]
    assert len({plan.digest for plan in plans}) == len({plan.run_id for plan in plans}) == 18
    assert grid.time_limit_ns == 60_000_000_000


def test_plan_says_everything_about_a_run(tmp_path: Path) -> None:
    plans = grid_of(tmp_path, WHOLE).plans()
    (plan,) = [p for p in plans if p.run_id.startswith("chatter-rst-slow-n8-s2-")]
    assert plan == RunPlan(
        protocol="rst",
        scenario="chatter",
        network=NetworkPlan(
            name="slow",
            like="wan",
            patience_ns=2_000_000_000,
            latency="exponential:50ms",
            loss=0.02,
            slow_links=("0:1:20ms",),
        ),
        traffic=TrafficPlan(
            name="poisson",
            messages=2000,
            interval_ns=5_000_000,
            payload_bytes=10,
            settings={"multicast": "10%"},
        ),
        processes=8,
        seed=2,
        until_ns=10_000_000_000,
        handling_ns=0,
        non_causal=True,
    )
    assert plan.network.faults().slow_links[0].extra_ns == 20_000_000


def test_scenario_may_have_axes_of_its_own(tmp_path: Path) -> None:
    plans = [plan for plan in grid_of(tmp_path, WHOLE).plans() if plan.scenario == "services"]
    assert [(p.protocol, p.network.name, p.processes, p.seed) for p in plans] == [
        ("mf", "reliable", 7, 4),
        ("mf", "reliable", 7, 9),
    ]
    assert {(p.handling_ns, p.non_causal) for p in plans} == {(1_000_000, False)}


def test_limit_says_why_a_run_is_left_out(tmp_path: Path) -> None:
    grid = grid_of(tmp_path, WHOLE)
    beyond = {(p.protocol, p.processes): grid.beyond(p) for p in grid.plans()}
    assert beyond[("rst", 8)] == "more than 4 processes: its messages grow"
    assert [key for key, reason in beyond.items() if reason] == [("rst", 8)]


@pytest.mark.parametrize("number", [0, 17])
def test_plan_survives_as_text(tmp_path: Path, number: int) -> None:
    plan = grid_of(tmp_path, WHOLE).plans()[number]
    assert parse_plan(plan.text()) == plan
    assert parse_plan(plan.text()).digest == plan.digest


def test_replay_has_the_processes_of_its_table(tmp_path: Path) -> None:
    file = trace_file(tmp_path)
    text = f"""
    processes = [99]
    [scenario.shop]
    replay = "{file.name}"
    compress = 2.5
    start = "1ms"
    span = "1s"
    unicast = true
    """
    (plan,) = grid_of(tmp_path, text).plans()
    assert isinstance(plan.traffic, ReplayPlan)
    assert (plan.processes, plan.messages) == (5, 7)
    assert plan.traffic == ReplayPlan(
        path=str(file.resolve()),
        run_id=None,
        content=plan.traffic.content,
        processes=5,
        messages=7,
        start_ns=1_000_000,
        span_ns=1_000_000_000,
        compress=2.5,
        unicast=True,
    )
    assert parse_plan(plan.text()) == plan


def test_seeds_get_the_tables_of_a_replay_in_turn(tmp_path: Path) -> None:
    names = []
    for number in range(2):
        folder = tmp_path / f"grown-{number}"
        folder.mkdir()
        trace_file(folder)
        names.append(f"grown-{number}/trace.parquet")
    text = f"""
    protocols = ["hybrid", "none"]
    seeds = 3
    [scenario.shop]
    replay = {names}
    """
    plans = grid_of(tmp_path, text).plans()
    used = [plan.traffic.path for plan in plans if isinstance(plan.traffic, ReplayPlan)]
    first, second = (str((tmp_path / name).resolve()) for name in names)
    assert used == [first, second, first] * 2


def test_same_contents_elsewhere_are_the_same_run(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    text = '[scenario.shop]\nreplay = "trace.parquet"\n'
    for folder in (here, there):
        folder.mkdir()
        trace_file(folder)
    (one,), (other,) = grid_of(here, text).plans(), grid_of(there, text).plans()
    assert one.text() != other.text()
    assert one.digest == other.digest


def test_other_contents_are_another_run(tmp_path: Path) -> None:
    delays = tmp_path / "delays.txt"
    text = '[scenario.x]\nnetworks = ["n"]\n[network.n]\nlatency = "empirical:delays.txt"\n'
    delays.write_text("1ms 2ms")
    (before,) = grid_of(tmp_path, text).plans()
    delays.write_text("1ms 3ms")
    (after,) = grid_of(tmp_path, text).plans()
    assert before.text() != after.text()
    assert before.digest != after.digest


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("protocols = 3\n[scenario.a]", "protocols must be a list of texts, not 3"),
        ("x = 1\n[scenario.a]", "there is no 'x'; there are: "),
        ("seeds = 1", "there is no scenario; write at least one [scenario.…]"),
        ("[scenario.a]\nmessage = 5", "scenario 'a': there is no 'message'; there are: "),
        ("[scenario.a]\nmessages = '5x'", "scenario 'a': messages is wrong: '5x' is not a count"),
        ("[scenario.a]\ninterval = 5", "interval is wrong: '5' is not a duration"),
        ("[scenario.a]\nworkload = 'poison'", "scenario 'a': no workload is called 'poison'"),
        ("[scenario.a]\nset.zip = 1", "scenario 'a': poisson has no setting 'zip'"),
        ("[scenario.a]\nset.zipf = true", "scenario 'a': set.zipf cannot be True"),
        ("[scenario.a]\nprotocols = ['hybird']", "'a': no protocol is called 'hybird'"),
        ("[scenario.a]\nprotocols = []", "protocols must name at least one"),
        ("[scenario.a]\nprotocols = ['mf', 'mf']", "protocols names something twice"),
        (
            "[scenario.a]\nnetworks = ['lam']",
            "no network is called 'lam' (did you mean 'lan'?)",
        ),
        ("[scenario.a]\nseeds = 0", "seeds must be at least 1"),
        ("[scenario.a]\nprocesses = [2, 'x']", "processes is wrong: 'x' is not a count"),
        ("[scenario.a]\nnon_causal = 1", "non_causal must be true or false, not 1"),
        ("[scenario.a]\nworkload = 'replay'", 'write: replay = "FOLDER/workload"'),
        ("[scenario.a]\nreplay = 'nowhere'", "nowhere: there is no such file or directory"),
        ("[scenario]\na = 1", "a must be a table, not 1"),
        ("[scenario.a]\n[network.n]\nlike = 'lam'", "network 'n': like is 'lam'; there are"),
        ("[scenario.a]\n[network.n]\nloss = 2", "network 'n': loss is wrong: '2' is more than"),
        ("[scenario.a]\n[network.n]\nlatency = 'x:1ms'", "'n': 'x:1ms' is not a latency"),
        ("[scenario.a]\n[network.n]\nlatency = 'matrix:no.txt'", "cannot read"),
        ("[scenario.a]\n[limit.rst]\nprocesses = 5", "limit 'rst': because is missing"),
        ("[scenario.a]\n[protocol.rst]\nof = 'ks'", "'rst': a protocol of the catalogue has the"),
        ("[scenario.a]\n[protocol.x]\nof = 'kss'", "protocol 'x': no protocol is called 'kss'"),
        ("[scenario.a]\n[protocol.x]\nof = 'ks'\nset.y = 1", "protocol 'x': "),
        ("[scenario.a]\n[protocol.x]\nof = 'ks'\nset.y = 'z'", "set.y cannot be 'z'"),
        ("[scenario.a]\n[network.n]\nrecovery = -1", "recovery"),
        ("[scenario.a]\n[scenario.a]", "is not TOML"),
    ],
)
def test_mistake_in_a_grid_is_told_in_one_sentence(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(LocalError) as caught:
        grid_of(tmp_path, text)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_grid_is_told(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"cannot read .*nowhere\.toml"):
        read_grid(tmp_path / "nowhere.toml")


def test_grid_file_is_named_in_errors(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"grid\.toml"):
        grid_of(tmp_path, "y = 1\n[scenario.a]")


def test_example_grid_is_sound() -> None:
    example = Path(__file__).parents[3] / "examples" / "sweep.toml"
    assert len(read_grid(example).plans()) > 100
