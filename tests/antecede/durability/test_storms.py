"""Real processes that are killed in the middle of everything lose, double and reorder nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.antecede.durability.storm import Plan, as_argument, seeded

ROOT = Path(__file__).parents[3]


def weather(plan: Plan) -> dict[str, Any]:
    """A storm, in a process of its own; what came of it."""
    command = [sys.executable, "-m", "tests.antecede.durability.storm", as_argument(plan)]
    storm = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = storm.communicate(timeout=plan.patience * 4)
    finally:
        if storm.poll() is None:
            os.killpg(storm.pid, signal.SIGKILL)
            storm.wait()
    assert storm.returncode == 0, errors
    answer: dict[str, Any] = json.loads(out)
    assert answer["wrong"] == [], f"{answer}: {command[-1]}\n{errors}"
    return answer


@pytest.mark.parametrize("durable", ["process", "sync"])
def test_killed_senders_and_receivers_lose_nothing(tmp_path: Path, durable: str) -> None:
    plan = Plan(
        folder=str(tmp_path),
        seed=1,
        kills=110,
        pause=0.03,
        patience=120,
        loss=0.05,
        duplication=0.05,
        options={"durable": durable},
    )
    answer = weather(plan)
    assert answer["kills"] >= 110
    assert answer["in_a_write"] > 0
    assert answer["messages"] > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(34))
def test_thousands_of_kills(tmp_path: Path, seed: int) -> None:
    """300 each, so 10,200 in all."""
    assert weather(seeded(str(tmp_path), seed, kills=300))["kills"] >= 300
