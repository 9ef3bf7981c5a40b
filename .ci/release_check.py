#!/usr/bin/env python3
"""Refuses a release that says something untrue about itself: release_check.py v1.2.3

The tag must be the version, the changelog must have a part for it, and pyproject.toml must have
the addresses of the project, real ones.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
ADDRESSES = ("Homepage", "Documentation", "Repository", "Issues", "Changelog")
"""What people who find a package need to find next."""


def complaints(tag: str, root: Path = ROOT) -> list[str]:
    """What is wrong; empty if nothing is."""
    source = (root / "src/antecede/version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__: Final = "(.+)"', source)
    version = found[1] if found else "none"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    wrong = [] if tag == f"v{version}" else [f"the tag is {tag}, the version is {version}"]
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        wrong.append(f"CHANGELOG.md has nothing about {version}")
    urls = project.get("urls", {})
    wrong += [
        f"pyproject.toml has no address called {name}" for name in ADDRESSES if name not in urls
    ]
    wrong += [
        f"the address of {name}, {url}, is a placeholder"
        for name, url in urls.items()
        if ".example" in url
    ]
    return wrong


if __name__ == "__main__":
    if found := complaints(sys.argv[1]):
        sys.exit("\n".join(found))
