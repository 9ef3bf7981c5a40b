"""Counts steps on the sources: here if they are what runs, else in a process of their own.

An installed package that was compiled still has its sources beside the machine code. The child
process is told to take those for every module of this package, and to take everything else from
where this process takes it, so a user's own protocol is found there too.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from antecede.build_mode import compiled
from antecede.core import values
from antecede.core.catalogue import find_protocol
from antecede.core.errors import LocalError
from antecede.lab.comparison.steps import steps_per_copy

CHILD: Final = """
import json, sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

asked = json.load(sys.stdin)
sources = FileFinder.path_hook((SourceFileLoader, SOURCE_SUFFIXES))

def only_sources(folder):
    if not folder.startswith(asked["package"]):
        raise ImportError
    return sources(folder)

sys.path[:] = asked["path"]
sys.path_hooks.insert(0, only_sources)
from antecede.lab.comparison.interpreted import steps_here
print(json.dumps(steps_here(asked["protocol"], asked["processes"], asked["seed"])))
"""


def package_folder() -> Path:
    """Where this package is."""
    return Path(str(values.__file__)).parent.parent


def can_count() -> bool:
    """Whether there are sources to run."""
    return (package_folder() / "core" / "values.py").is_file()


def count_steps(protocol: str, processes: int, seed: int) -> tuple[float, float]:
    """Steps per copy at sender and receiver, of a protocol given by name."""
    if not compiled():
        return steps_here(protocol, processes, seed)
    asked = {
        "package": str(package_folder()),
        "path": sys.path,
        "protocol": protocol,
        "processes": processes,
        "seed": seed,
    }
    ran = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        lines = ran.stderr.strip().splitlines()
        raise LocalError(f"steps could not be counted: {lines[-1] if lines else 'no answer'}")
    sender, receiver = json.loads(ran.stdout.splitlines()[-1])
    return float(sender), float(receiver)


def steps_here(protocol: str, processes: int, seed: int) -> tuple[float, float]:
    """The same in this process, which runs the sources."""
    if compiled():
        raise LocalError("compiled code executes no lines that could be counted")
    return steps_per_copy(find_protocol(protocol), processes, seed)
