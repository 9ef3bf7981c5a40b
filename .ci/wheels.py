#!/usr/bin/env python3
"""Builds what is released, and tries each archive in an environment of its own. Run: make wheels.

In dist/ are afterwards the source archive and a compiled wheel that runs on any Linux as old as
the oldest symbol it needs (auditwheel says which). Then three clean environments get the wheel, the
source archive (compiled on the spot), and the source archive without a C compiler.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
SMOKE = ROOT / ".ci" / "smoke.py"
CHECK = (sys.executable, "-m", "check_jsonschema", "--builtin-schema")


def run(*command: object, **environment: str) -> None:
    """Run a command of this Python's environment; its failure is ours."""
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(words, check=True, cwd=ROOT, env=os.environ | {"PATH": tools} | environment)


def build(optimize: str) -> tuple[Path, Path]:
    """The source archive, and the compiled wheel made from it."""
    shutil.rmtree(DIST, ignore_errors=True)
    front_end = (sys.executable, "-m", "build", "--no-isolation", "--outdir")
    with tempfile.TemporaryDirectory() as folder:
        wish = {"ANTECEDE_COMPILE": "require", "ANTECEDE_OPTIMIZE": optimize}
        run(*front_end, folder, ".", **wish)  # The wheel is built from the archive, not from here.
        [archive] = Path(folder).glob("*.tar.gz")
        [wheel] = Path(folder).glob("*.whl")
        DIST.mkdir()
        archive = Path(shutil.copy(archive, DIST))
        if sys.platform == "linux":
            run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel)
        else:
            shutil.copy(wheel, DIST)
    [wheel] = DIST.glob("*.whl")
    return archive, wheel


def try_out(archive: Path, expected: str, **environment: str) -> None:
    """Install into a new environment, away from the sources, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        # Build dependencies are constrained too: what is tried is what is tested.
        pins = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PYTHONPATH": ""}
        run(*pip, archive, **pins, **environment)
        run(python, "-I", SMOKE, expected)


def main() -> None:
    """Build, then try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optimize", default="3", choices=("0", "1", "2", "3"))
    optimize = parser.parse_args().optimize
    run(*CHECK, "vendor.github-workflows", ROOT / ".github" / "workflows" / "release.yml")
    archive, wheel = build(optimize)
    try_out(wheel, "compiled")
    try_out(archive, "compiled", ANTECEDE_COMPILE="require", ANTECEDE_OPTIMIZE=optimize)
    try_out(archive, "interpreted", CC="false")
    for file in (archive, wheel):
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
