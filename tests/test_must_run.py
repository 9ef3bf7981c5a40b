"""A test that cannot run says why; where what it needs must be there, that is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SKIPPING = """
import pytest

@pytest.mark.skipif(True, reason="no lute is here")
def test_by_mark(): pass

def test_while_it_runs(): pytest.skip("the lute has no strings")

def test_with_an_import(): pytest.importorskip("no_such_package", reason="harps are not installed")
"""


@pytest.mark.parametrize(
    ("must_run", "failed", "skipped"), [("", 0, 3), ("drum,lute", 2, 1), ("lute,harps", 3, 0)]
)
def test_a_skip_for_want_of_what_must_run_is_a_failure(
    tmp_path: Path, must_run: str, failed: int, skipped: int
) -> None:
    (tmp_path / "test_some.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, "-rs", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"ANTECEDE_MUST_RUN": must_run},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.count("but ANTECEDE_MUST_RUN says that it is here") == failed, ran.stdout
    assert ran.stdout.count("SKIPPED ") == skipped, ran.stdout
    assert (ran.returncode != 0) is (failed > 0)
