"""Changes the sources a little, again and again, and sees whether the tests notice: `make mutants`.

Each change is made to a copy of the sources, and the tests of that part are run on it. A change
that no test notices is shown: it is either a gap in the tests or makes no difference. Which changes
are tried is a matter of the seed, and as many as were asked for; fewer than `LEAST_CAUGHT` of them
caught is a failure.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from tests.mutation.changes import Change, changes_of

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ROOT / "src"

LEAST_CAUGHT: Final = 0.6
TEST_SECONDS: Final = 240
"""A change may make the tests hang: that is noticed, too."""


@dataclass(frozen=True, slots=True)
class Part:
    """Sources, and the tests that answer for them."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]


PARTS: Final = {
    "endpoint": Part(
        ("antecede/endpoint/*.py", "antecede/membership/*.py", "antecede/transport/*.py"),
        ("antecede/endpoint", "antecede/transport", "antecede/runtime/test_test_network.py"),
    ),
    "recovery": Part(
        ("antecede/transport/recovery/*.py",),
        ("antecede/transport/recovery", "antecede/endpoint"),
    ),
    "kernel": Part(("antecede_audit/judging/kernel.py",), ("antecede_audit/judging",)),
    "journal": Part(("antecede/durability/*.py",), ("antecede/durability",)),
}


def main() -> int:
    """Try changes; the exit status."""
    parser = ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--number", type=int, default=10, help="changes to each part")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    status = 0
    for name in asked.parts:
        caught = try_part(name, asked.number, asked.seed)
        status |= caught < LEAST_CAUGHT * asked.number
    return status


def try_part(name: str, number: int, seed: int) -> int:
    """How many of so many changes to a part are caught."""
    part = PARTS[name]
    files = sorted(file for pattern in part.sources for file in SOURCES.glob(pattern))
    every = [(file, change) for file in files for change in changes_of(file.read_text())]
    chosen = Random(f"{name} {seed}").sample(every, min(number, len(every)))
    caught = 0
    for file, change in chosen:
        noticed = is_noticed(file, change, part.tests)
        caught += noticed
        word = "caught" if noticed else "SURVIVED"
        print(f"{word:>8}  {file.relative_to(SOURCES)} {change}", flush=True)
    print(f"{name}: {caught} of {len(chosen)} caught; {len(every)} can be made", flush=True)
    return caught + number - len(chosen)


def is_noticed(file: Path, change: Change, tests: tuple[str, ...]) -> bool:
    """Whether a test fails, or does not end, with this change."""
    with tempfile.TemporaryDirectory(prefix="antecede-mutant-") as scratch:
        copy = Path(scratch) / "src"
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
        target = copy / file.relative_to(SOURCES)
        target.write_text(change.apply(target.read_text()))
        existing = [f"tests/{test}" for test in tests if (ROOT / "tests" / test).exists()]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *existing]
        try:
            ran = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TEST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return ran.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
