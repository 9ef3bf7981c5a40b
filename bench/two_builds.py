"""Runs modules of this repository on the compiled build or on the sources."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
COMPILED_TREE: Final = ROOT / "build" / "compiled"
SOURCE_TREE: Final = ROOT / "src"


def in_build(tree: Path, *arguments: str) -> Any:  # noqa: ANN401 - JSON has no better type
    """Run a module of ours on the build in `tree`; what it printed last, as JSON."""
    if not tree.is_dir():
        sys.exit("there is no compiled build: make compile")
    path = os.pathsep.join([str(tree), str(ROOT)])
    answer = subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(answer.stdout.splitlines()[-1])
