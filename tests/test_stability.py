"""Running the suite again and again: failures are counted, and no busy loop is left behind."""

import sys
from pathlib import Path

import pytest

from tests.stability import BUSY_LOOP, LOOPS, run_often

COUNT_SIBLINGS = f"""
import os, pathlib

def is_busy(process):
    try:
        parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        words = (process / "cmdline").read_bytes().split(bytes(1))
    except OSError:
        return False
    return parent == os.getppid() and {BUSY_LOOP!r}.encode() in words

print("beside me:", sum(map(is_busy, pathlib.Path("/proc").glob("[0-9]*"))))
"""


def test_every_failure_is_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = (
        f"import pathlib, sys; file = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "count = len(file.read_text()) if file.exists() else 0\n"
        "file.write_text('x' * (count + 1)); sys.exit(count % 2)"
    )
    assert run_often([sys.executable, "-c", script], times=4, busy=0) == 2
    assert "== run 4 of 4, 0 busy loops: status 1" in capfd.readouterr().out


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
def test_busy_loops_run_beside_the_last_runs_and_end_with_them(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = [sys.executable, "-c", COUNT_SIBLINGS]
    assert run_often(command, times=2, busy=1) == 0
    assert run_often(command, times=1, busy=0) == 0
    counts = [line for line in capfd.readouterr().out.splitlines() if "beside" in line]
    assert counts == ["beside me: 0", f"beside me: {LOOPS}", "beside me: 0"]
