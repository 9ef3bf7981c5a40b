"""Spin goes through every run of the protocol's steps with three processes and three messages."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).parent.parent.parent / "proofs" / "permits.pml"
STEP_SECONDS_MAX = 240
RULES = {"hybrid": "ORDERED", "hybrid-sps": "SPS", "hybrid-csps": "CSPS"}

# What is left out, and what must be found: an effect before its cause, or messages that never come.
BROKEN = {
    "NO_PERMISSION": "past",
    "NO_FIFO": "past",
    "OWN_ONLY": "past",
    "EARLIER_ONLY": "past",
    "ACK_ON_THE_WIRE": "past",
    "ANY_TARGET": "past",
    "ANY_MISSING": "past",
    "NO_PERMITS": "next",
}

pytestmark = [
    pytest.mark.skipif(shutil.which("spin") is None, reason="Spin is not installed"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler for what Spin writes"),
]


def explored(folder: Path, rule: str, broken: str = "0") -> str:
    """What the verifier says about one rule."""
    options = [f"-DRULE={rule}", f"-DBROKEN={broken}"]
    said(folder, ["spin", *options, "-a", str(MODEL)])
    said(folder, ["cc", "-w", "-O0", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"])
    return said(folder, ["./pan", "-m10000"])


def said(folder: Path, command: list[str]) -> str:
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=STEP_SECONDS_MAX, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def states(report: str) -> int:
    found = re.search(r"(\d+) states, stored", report)
    assert found, report
    return int(found[1])


@pytest.mark.parametrize("protocol", RULES)
def test_every_run_is_causal_and_delivers_everything(tmp_path: Path, protocol: str) -> None:
    report = explored(tmp_path, RULES[protocol])
    assert "errors: 0" in report
    assert "max search depth too small" not in report
    assert states(report) > 500_000


@pytest.mark.parametrize("broken", BROKEN)
def test_a_rule_left_out_is_found(tmp_path: Path, broken: str) -> None:
    report = explored(tmp_path, "ORDERED", broken)
    assert "errors: 1" in report
    violated = re.search(r"assertion violated (.*)", report)
    assert violated, report
    assert BROKEN[broken] in violated[1]
