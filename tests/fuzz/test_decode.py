"""The same promise as in `tests/antecede_lab/wire/test_fuzz.py`, with a fuzzer that follows the
branches."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from antecede_lab.wire import encode
from tests.antecede_lab.wire.packet_strategies import sample_packets

RUNS = 400_000


@pytest.mark.long
@pytest.mark.skipif(
    find_spec("atheris") is None,
    reason="atheris, which not every Python has, is not installed: pip install atheris",
)
def test_atheris_finds_no_bytes_that_break_decode(tmp_path: Path) -> None:
    for index, packet in enumerate(sample_packets()):
        (tmp_path / str(index)).write_bytes(encode(packet))
    command = [sys.executable, "-m", "tests.fuzz.decode_harness", str(tmp_path)]

    fuzzing = subprocess.run(
        [*command, f"-runs={RUNS}", "-max_len=120", "-seed=1", f"-artifact_prefix={tmp_path}/"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert fuzzing.returncode == 0, fuzzing.stderr[-2000:]
    assert f"Done {RUNS} runs" in fuzzing.stderr
