"""No datagram makes a node raise: with a fuzzer that follows the branches, and without one."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from tests.antecede_lab.wire.test_fuzz import damaged
from tests.fuzz.datagram_target import Target, sample_inputs

RUNS = 200_000
ROUNDS = 3_000


def test_damaged_datagrams_are_survived() -> None:
    random = Random(1)
    corpus = sample_inputs()
    target = Target()
    for _ in range(ROUNDS):
        target.receive(damaged(random.choice(corpus), random.choice(corpus), random))
    noticed = int(target.ann.malformed + target.ann.directory.stale)
    assert ROUNDS // 10 < noticed < ROUNDS, "the damage is too mild or too strong"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_datagrams_are_survived(seed: int) -> None:
    random = Random(seed)
    corpus = sample_inputs()
    for _ in range(20):
        target = Target()
        for _ in range(ROUNDS):
            data = damaged(random.choice(corpus), random.choice(corpus), random)
            for _ in range(random.randrange(3)):
                data = damaged(data, random.choice(corpus), random)
            target.receive(data)


@pytest.mark.long
@pytest.mark.skipif(
    find_spec("atheris") is None,
    reason="atheris, which not every Python has, is not installed: pip install atheris",
)
def test_atheris_finds_no_datagram_that_makes_a_node_raise(tmp_path: Path) -> None:
    for index, data in enumerate(sample_inputs()):
        (tmp_path / str(index)).write_bytes(data)
    command = [sys.executable, "-m", "tests.fuzz.datagram_harness", str(tmp_path)]

    fuzzing = subprocess.run(
        [*command, f"-runs={RUNS}", "-max_len=1500", "-seed=1", f"-artifact_prefix={tmp_path}/"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert fuzzing.returncode == 0, fuzzing.stderr[-2000:]
    assert f"Done {RUNS} runs" in fuzzing.stderr
