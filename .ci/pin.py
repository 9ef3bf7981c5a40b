#!/usr/bin/env python3
"""Writes constraints.txt anew: the newest versions that pyproject.toml allows, all the way down.

Run it as `make pin`. Names and versions only; where packages come from is the machine's own affair.
"""

import json
import subprocess
import sys
from pathlib import Path

HEADER = """\
# Every version that `.[all]` and the groups need, directly or not. `make pin` writes it.
# Python 3.11 decides: what runs there runs on every later version that we support.
"""

GROUPS = ("dev", "bench", "wheels")


def resolve() -> dict[str, str]:
    """Name to version, as pip would install them into an empty environment."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", "-"]
    command += ["--ignore-installed", "--no-build-isolation", ".[all]"]
    command += [word for group in GROUPS for word in ("--group", group)]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    found = [item["metadata"] for item in report["install"]]
    return {item["name"].lower().replace("_", "-"): item["version"] for item in found}


def main() -> None:
    """Write the file in the current folder."""
    pins = resolve()
    del pins["antecede"]
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    Path("constraints.txt").write_text(HEADER + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
