"""Runs a command again and again, some of the times beside busy loops: `make test-stability`.

A test that waits for a while instead of for a condition, or takes a port that somebody else is
given, passes nearly always. The status is 1 if any run failed.
"""

import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

LOOPS: Final = 4
BUSY_LOOP: Final = "while True: pass"


@contextmanager
def busy_machine(loops: int) -> Iterator[None]:
    """So many processes that do nothing, as fast as they can."""
    command = [sys.executable, "-S", "-c", BUSY_LOOP]
    started = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(loops)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def run_often(command: Sequence[str], times: int, busy: int) -> int:
    """How many of so many runs fail; the last ones run on a busy machine."""
    failed = 0
    for number in range(1, times + 1):
        loops = LOOPS if number > times - busy else 0
        begun = time.monotonic()
        with busy_machine(loops):
            status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
        failed += status != 0
        took = time.monotonic() - begun
        print(
            f"== run {number} of {times}, {loops} busy loops: status {status}, {took:.0f} s, "
            f"{failed} failed so far",
            flush=True,
        )
    return failed


def main() -> int:
    """Run what the command line says; the exit status."""
    parser = ArgumentParser(prog="python -m tests.stability", description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--busy", type=int, default=3, help="of them, beside busy loops")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    return 1 if run_often(asked.command, asked.times, asked.busy) else 0


if __name__ == "__main__":
    sys.exit(main())
