"""The guide to a protocol of one's own: its code is extracted, and everything it says is done."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antecede.core import Message, RemoteError
from antecede.core.catalogue import ProtocolInfo
from antecede_cli.main import main
from antecede_lab.catalogue import find_protocol
from antecede_lab.scenarios.catalogue import TRIANGLE
from antecede_lab.scenarios.player import perform
from antecede_lab.simulator.reliable_link import over_lossy
from antecede_lab.simulator.run import simulate
from antecede_lab.simulator.workloads.open_loop import Poisson
from antecede_lab.wire.codec import codec_of, metadata_size_with

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guides" / "your-own-protocol.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python\n(?P<body>\"\"\"(?P<name>\w+)\.py:.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ antecede (?P<arguments>.+)$", re.M)

MODULES = {found["name"]: found["body"] for found in BLOCK.finditer(GUIDE)}
COMMANDS = [found["arguments"].split() for found in COMMAND.finditer(GUIDE)]

HONEST = "effects = self.first() if remote and len(self.waiting) == 1 else []"
HASTY = "effects = self.first() if remote else []"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the modules of the guide, on the path for as long as a test lasts."""
    for name, body in MODULES.items():
        (tmp_path / f"{name}.py").write_text(body, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


def antecede(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), prog_name="antecede")


def test_guide_shows_four_modules_and_four_commands() -> None:
    assert list(MODULES) == ["patient", "try_patient", "tell_patient", "stamped"]
    assert [" ".join(command[:2]) for command in COMMANDS] == [
        "check --protocol",
        "check --protocol",
        "simulate --protocol",
        "lab compare",
    ]


def test_protocol_has_about_thirty_lines() -> None:
    body = MODULES["patient"].partition("class PatientProcess")[2].partition("INFO =")[0]
    assert len([line for line in body.splitlines() if line.strip()]) <= 35


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_of_the_guide_succeeds(command: list[str]) -> None:
    result = antecede(*command)
    assert result.exit_code == 0, result.output
    assert "patient" in result.output


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("try_patient", "fifty schedules, no finding"),
        ("tell_patient", "Causal order is kept; everything is delivered exactly once."),
    ],
)
def test_program_of_the_guide_says_what_it_should(folder: Path, module: str, said: str) -> None:
    path = [str(folder), str(ROOT), *sys.path]
    script = f"import sys; sys.path[:] = {path}; import {module}"
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert said in ran.stdout


def test_story_of_the_guide_is_told_in_causal_order() -> None:
    """Whoever answers has read what is answered, and the story shows it in this order."""
    performance = perform(TRIANGLE, find_protocol("patient:INFO"))
    [asked], [hinted] = (
        performance.when("delivered", "question"),
        performance.when("delivered", "hint"),
    )
    [wanted], [answered] = (
        performance.when("submitted", "answer"),
        performance.when("delivered", "answer"),
    )
    assert asked < hinted < wanted < answered


def test_one_condition_less_is_caught_by_the_checker(folder: Path) -> None:
    """The mistake that the guide suggests."""
    assert MODULES["patient"].count(HONEST) == 1
    assert f"`{HASTY}`" in GUIDE.replace("\n", " ")
    broken = MODULES["patient"].replace(HONEST, HASTY)
    (folder / "patient.py").write_text(broken, encoding="utf-8")
    result = antecede("check", "--protocol", "patient:INFO")
    assert result.exit_code == 1
    assert "Verdict: process 2 delivers a twice." in result.output


def test_comparison_recognises_it_for_what_it_is() -> None:
    """It is MF without timers, and has MF's place in the table."""
    command = COMMANDS[-1]
    table = antecede(*command, "--only", "network,throughput,latency").output
    own = table.partition("patient")[2]
    assert re.search(r"network: failures +│ reliable", own)
    assert re.search(r"how much +│ O\(b r\)", own)
    assert re.search(r"in transit +│ 1 ", own)


def test_it_runs_over_a_lossy_network_with_a_link() -> None:
    info = over_lossy(find_protocol("patient:INFO"))
    workload = Poisson(3, messages=40, interval_ns=1_000_000, seed=1)
    result = simulate(info, workload)
    assert result.leftovers.empty


def test_packet_of_ones_own_goes_to_bytes_and_back_and_is_measured() -> None:
    stamped = import_module("stamped")
    codec = stamped.StampedCodec()
    packet = stamped.Stamped(Message(3, 7, b"hello"), 12)
    assert codec.decode(codec.encode(packet), 3) == packet
    with pytest.raises(RemoteError):
        codec.decode(b"short", 3)
    info = ProtocolInfo(
        "stamped",
        find_protocol("patient:INFO").create,
        ordering="causal",
        multicast=False,
        network="reliable",
        paper="-",
        codec=codec,
    )
    assert metadata_size_with(codec_of(info), packet) == 16
    assert (packet.kind, packet.metadata_integers) == ("message", 2)
